import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, CONNECTION, routeOf, tableOf } from '../../../test/support/asked.ts'
import { WeirError } from '../../base/errors.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../../base/limits.ts'
import { t } from '../../schema/t.ts'
import { upgradesTo } from '../routes/upgrade-handler.ts'
import { explain, explainRefusedHead } from './explain.ts'
import type { Explanation } from './explanation.ts'

const routes = tableOf({
  'GET /users/:id': { id: t.int, token: t.string.secret().optional(), tags: t.array(t.string).optional() },
  'PUT /users/:id': { body: t.object({ name: t.string }), maxRequestBodySize: 20, use: [{ name: 'auth', gate: () => {} }] },
  'GET /users/new': {},
  'POST /forms': { bodyOpen: t.string.default('x') },
})
routes.add(
  routeOf(
    routes,
    'GET /live',
    {},
    upgradesTo('websocket', () => {}),
  ),
)
routes.addFallbacks([routeOf(routes, '* /pages/*rest')])
const server = { routes, limits: DEFAULT_LIMITS, timeouts: DEFAULT_TIMEOUTS, hostsAt: () => null }

function explained(
  line: string,
  fields: readonly string[] = [],
  body: string | null = null,
  refusal: WeirError | null = null,
): Explanation {
  const content =
    body === null
      ? null
      : { bytes: Buffer.from(body), settings: { limits: DEFAULT_LIMITS, jsonEngine: null, invalidBodyStatus: 400 } as const }
  const length = body === null ? [] : [`Content-Length: ${body.length}`, 'Content-Type: application/json']
  const head = askedHead(line, ...length, ...fields)
  return explain(server, { head, connection: CONNECTION, refusal, otherMethods: [], content, application: null }, null)
}

test('says what would be answered, in the order in which a server finds out', () => {
  const long = 'Content-Length: 21'
  const json = 'Content-Type: application/json'
  const cases: readonly (readonly [string, readonly string[], number | null, string | null])[] = [
    ['GET /users/7', [], null, null],
    ['GET /users/x', [], 400, 'WEIR_PARAMETER_INVALID'],
    ['GET /none', [], 404, 'WEIR_ROUTE_NOT_FOUND'],
    ['DELETE /users/7', [], 405, 'WEIR_METHOD_NOT_ALLOWED'],
    ['OPTIONS /users/7', [], 204, null],
    ['PUT /users/7', [json, long], 413, 'WEIR_BODY_TOO_LARGE'],
    ['PUT /users/7', ['Content-Type: text/plain', long], 415, 'WEIR_CONTENT_TYPE_UNSUPPORTED'],
    ['PUT /users/7', [], 400, 'WEIR_BODY_MISSING'],
    ['GET /live', [], 426, 'WEIR_UPGRADE_REQUIRED'],
    ['GET /live', ['Connection: upgrade', 'Upgrade: websocket'], null, null],
    ['GET /pages/a', [], null, null],
  ]
  for (const [line, fields, status, code] of cases) {
    const { response } = explained(line, fields)
    assert.deepEqual([response.status, response.code], [status, code], `${line} ${fields.join()}`)
  }
  assert.deepEqual(explained('DELETE /users/7').response.allow, ['GET', 'HEAD', 'OPTIONS', 'PUT'])
  assert.equal(explained('GET /users/7', [], null, new WeirError('WEIR_MISDIRECTED')).response.status, 421)
})

test('a body is checked as that of a request', () => {
  assert.equal(explained('PUT /users/7', [], '{"name":"a"}').response.status, null)
  const wrong = explained('PUT /users/7', [], '{"name":1}')
  assert.deepEqual([wrong.response.status, wrong.arguments.at(-1)?.failures.length], [400, 1])
  assert.equal(explained('PUT /users/7', [], '{"name').response.status, 400)
})

test('arguments say where they come from, and repeat no secret', () => {
  const { arguments: args, target } = explained('GET /users/7?token=Zq7canary&tags=a&tags=b')
  assert.deepEqual(
    args.map(({ name, in: place, presence, received }) => [name, place, presence, received]),
    [
      ['id', 'path', 'required', '7'],
      ['token', 'query', 'optional', '(not shown)'],
      ['tags', 'query', 'optional', 'a, b'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(explained('GET /users/7?token=Zq7canary')), /Zq7canary/)
  assert.match(target, /token=\(not shown\)/)
})

test('the other routes come with their reasons, the nearest first', () => {
  const reasons = (line: string): string[] =>
    explained(line).others.map(({ method, path, reasons: all }) => `${method} ${path}: ${all.map(({ kind }) => kind).join()}`)
  assert.deepEqual(reasons('GET /users/7'), ['PUT /users/:id: method', 'GET /users/new: text'])
  assert.deepEqual(reasons('GET /users/new'), ['GET /users/:id: order', 'PUT /users/:id: method'])
  assert.deepEqual(reasons('GET /Users/new').sort(), ['GET /users/:id: case', 'GET /users/new: case', 'PUT /users/:id: case,method'])
  assert.deepEqual(reasons('GET /users/').sort(), ['GET /users/:id: empty', 'GET /users/new: text', 'PUT /users/:id: empty,method'])
})

test('policies, limits and the mode of the body are those of the route', () => {
  const { policies, limits, body } = explained('PUT /users/7', [], '{"name":"a"}')
  assert.deepEqual(policies, [{ name: 'auth', level: 'route', replaces: [], hooks: ['gate'] }])
  assert.deepEqual(limits.maxRequestBodySize, { value: 20, level: 'route' })
  assert.deepEqual(body, {
    mode: 'buffer',
    length: 12,
    contentType: 'application/json',
    accepts: ['application/json', 'application/x-www-form-urlencoded'],
  })
  assert.equal(explained('GET /none', [], 'x').body.mode, 'discard')
  assert.equal(
    explained('POST /forms', ['Transfer-Encoding: chunked', 'Content-Type: multipart/form-data; boundary=x']).body.mode,
    'stream',
  )
})

test('a head that is refused has a response and limits, and nothing else', () => {
  const refused = explainRefusedHead(server, 'GET', '/a', new WeirError('WEIR_HOST_SYNTAX'), CONNECTION)
  assert.deepEqual([refused.response.status, refused.path, refused.route, refused.body.mode], [400, null, null, 'none'])
})

test('what was answered in fact replaces what would be', () => {
  const head = askedHead('GET /users/7')
  const asked = { head, connection: CONNECTION, refusal: null, otherMethods: [], content: null, application: null }
  assert.deepEqual(explain(server, asked, { status: 418, error: null }).response, {
    status: 418,
    code: null,
    detail: 'the program has responded with it',
    allow: null,
  })
  assert.equal(explain(server, asked, { status: 403, error: new WeirError('WEIR_ROUTE_NOT_FOUND') }).response.status, 403)
})

test('the text has a line for each fact, and no line of the client’s', () => {
  const text = String(explained('GET /users/x%0Ay'))
  assert.match(text, /^GET \/users\/x%0Ay\n {2}response {3}400 WEIR_PARAMETER_INVALID: /)
  assert.match(text, /\n {2}arguments {2}id from the path: a whole number; received "x\\ny", does not fit\n/)
  assert.match(text, /\n {2}limits {5}maxRequestBodySize 10 MiB \(default\)\n/)
})
