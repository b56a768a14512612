import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, CONNECTION, routeOf, SERVER } from '../../test/support/asked.ts'
import { HttpError, WeirError } from '../base/errors.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../base/limits.ts'
import { exchangeOf } from '../http/exchange.ts'
import type { OutgoingResponse } from '../http/response/outgoing-response.ts'
import { t } from '../schema/t.ts'
import { Dispatcher, type OnError } from './dispatch.ts'
import { checkPolicy, type Usable } from './policies/policy.ts'
import type { Handler } from './routes/route.ts'
import { RouteTable } from './routes/route-table.ts'

interface Setup {
  readonly onError?: OnError
  readonly use?: Usable
  readonly declaration?: object
  readonly debug?: boolean
  readonly isTest?: boolean
  readonly hook?: (session: never, response: never) => unknown
}

/** A server with `POST /a`, and what it has logged. */
function serverOf(handler: Handler, { onError, use, declaration, hook, debug = false, isTest = false }: Setup = {}) {
  const logged: unknown[] = []
  const routes = new RouteTable()
  const dispatcher = new Dispatcher({
    server: SERVER,
    routes,
    limits: DEFAULT_LIMITS,
    timeouts: DEFAULT_TIMEOUTS,
    hostsAt: () => null,
    jsonEngine: null,
    invalidBodyStatus: 400,
    onError: onError ?? null,
    logger: { error: (_message, error) => void logged.push(error), warn: (message) => void logged.push(message) },
    debug,
  })
  if (use !== undefined) routes.root.use(checkPolicy('', use))
  if (hook !== undefined) routes.root.beforeSend(hook as never)
  routes.add(routeOf(routes, 'POST /a', declaration, handler))
  const ask = async (line: string, ...fields: string[]) => {
    const head = askedHead(line, ...fields)
    const exchange = dispatcher.open(head, null, { ...CONNECTION, isTest }, dispatcher.routes.find(head, null))
    const response = (await dispatcher.gate(exchange)) ?? (await dispatcher.handle(exchange))
    return { response, exchange }
  }
  return { ask, logged, dispatcher }
}

const fail =
  (error: unknown): Handler =>
  () => {
    throw error
  }
const codeOf = ({ content }: OutgoingResponse): string | undefined => (content.kind === 'text' ? content.problem?.code : undefined)

test('a path without a route is 404, and one with others 405 with what it allows', async () => {
  const { ask, logged } = serverOf(() => 'a', { declaration: { body: t.int } })
  assert.equal(codeOf((await ask('GET /b')).response), 'WEIR_ROUTE_NOT_FOUND')
  const { response } = await ask('PUT /a')
  assert.deepEqual(
    [response.statusCode, response.getHeader('Allow'), response.getHeader('Accept-Post')],
    [405, 'OPTIONS, POST', 'application/json'],
  )
  const options = (await ask('OPTIONS /a')).response
  assert.deepEqual([options.statusCode, options.getHeader('Allow'), logged.length], [204, 'OPTIONS, POST', 0])
})

test('a failure is a 500 and logged; an error of a client is neither', async () => {
  const bug = new Error('secret detail')
  const failing = serverOf(fail(bug))
  const { response, exchange } = await failing.ask('POST /a')
  assert.deepEqual([response.statusCode, exchange.failure, failing.logged], [500, bug, [bug]])
  assert.doesNotMatch(JSON.stringify(response.content), /secret detail/)
  const refusing = serverOf(fail(new HttpError(418, 'tea', { headers: { 'X-Pot': 'yes' } })))
  const refused = (await refusing.ask('POST /a')).response
  assert.deepEqual([refused.statusCode, refused.getHeader('X-Pot'), refusing.logged.length], [418, 'yes', 0])
})

test('undefined that is thrown is a failure like any other', async () => {
  const { exchange, response } = await serverOf(fail(undefined)).ask('POST /a')
  assert.deepEqual([response.statusCode, (exchange.failure as Error).message.includes('undefined was thrown')], [500, true])
})

test('onError answers, also later; what it does not answer is the usual problem; what it throws is a second failure', async () => {
  const answer = async (onError: OnError) => {
    const { ask, logged } = serverOf(fail(new Error('x')), { onError })
    const { response } = await ask('POST /a')
    return [response.statusCode, response.content.kind === 'text' && response.content.problem === undefined, logged.length]
  }
  assert.deepEqual(await answer(() => 'sorry'), [200, true, 1])
  assert.deepEqual(await answer(async (_error, { response }) => void response.status(503).text('later')), [503, true, 1])
  assert.deepEqual(await answer(() => {}), [500, false, 1])
  for (const onError of [fail(new Error('y')), async () => fail(new Error('y'))(null as never, null as never)])
    assert.deepEqual(await answer(onError as OnError), [500, false, 2])
})

test('a gate that answers keeps the handler from running, and its failure is answered', async () => {
  const never: Handler = () => assert.fail('the handler runs')
  assert.equal((await serverOf(never, { use: { gate: () => 'no' } }).ask('POST /a')).response.content.kind, 'text')
  assert.equal(
    (await serverOf(never, { use: { gate: () => fail(new HttpError(403, 'no'))(null as never, null as never) as never } }).ask('POST /a'))
      .response.statusCode,
    403,
  )
  assert.equal(
    (await serverOf(never, { use: { gate: async () => Promise.reject(new HttpError(401, 'no')) } }).ask('POST /a')).response.statusCode,
    401,
  )
})

test('the type of the content is checked after the gates, before the body is read', async () => {
  const { ask } = serverOf(() => assert.fail('the handler runs'), { declaration: { body: t.int } })
  const { response } = await ask('POST /a', 'Content-Type: text/plain', 'Content-Length: 1')
  assert.deepEqual(
    [response.statusCode, codeOf(response), response.getHeader('Accept')],
    [415, 'WEIR_CONTENT_TYPE_UNSUPPORTED', 'application/json'],
  )
  const guarded = serverOf(() => {}, { declaration: { body: t.int }, use: { gate: () => Promise.reject(new HttpError(403, 'no')) } })
  assert.equal((await guarded.ask('POST /a', 'Content-Type: text/plain', 'Content-Length: 1')).response.statusCode, 403)
})

test('hooks see every response, and what they throw replaces it', async () => {
  const hook = (_session: never, response: { header: (name: string, value: string) => void }) => response.header('X-Hook', 'yes')
  const { ask } = serverOf(() => 'a', { hook })
  for (const line of ['POST /a', 'GET /b', 'PUT /a']) assert.equal((await ask(line)).response.getHeader('X-Hook'), 'yes', line)
  for (const broken of [fail(new Error('hook')), async () => fail(new Error('hook'))(null as never, null as never)]) {
    const failing = serverOf(() => 'a', { hook: broken as never })
    assert.deepEqual([(await failing.ask('POST /a')).response.statusCode, failing.logged.length], [500, 1])
  }
})

test('an exchange that cannot reach its handler is refused, and onError is not asked twice', async () => {
  let asked = 0
  const { dispatcher } = serverOf(() => {}, { onError: () => void asked++ })
  const head = askedHead('POST /a')
  const exchange = dispatcher.open(head, null, CONNECTION, dispatcher.routes.find(head, null))
  assert.equal((await dispatcher.refuse(exchange, new HttpError(413, 'no'))).statusCode, 413)
  assert.equal((await dispatcher.refuse(exchange, new Error('x'))).statusCode, 500)
  assert.equal(asked, 1)
})

test('a route that declares its answers sends what is declared, and in tests nothing else', async () => {
  const declaration = { answers: { 201: t.object({ a: t.int }) } }
  const { ask } = serverOf(() => ({ a: 1, secret: 2 }), { declaration })
  const { response } = await ask('POST /a')
  assert.deepEqual([response.statusCode, response.content.kind === 'text' && response.content.text], [201, '{"a":1}'])
  const other: Handler = (_args, session) => session.response.status(400).text('b')
  assert.equal((await serverOf(other, { declaration }).ask('POST /a')).response.statusCode, 400)
  const inTest = await serverOf(other, { declaration, isTest: true }).ask('POST /a')
  assert.deepEqual([inTest.response.statusCode, (inTest.exchange.failure as { code: string }).code], [500, 'WEIR_ANSWER_UNDECLARED'])
  for (const failing of [fail(new HttpError(409, 'x')), () => Promise.reject(new HttpError(409, 'x'))])
    assert.equal((await serverOf(failing, { declaration }).ask('POST /a')).response.statusCode, 409)
})

test('what fails after the request was answered is logged, unless it only finds that out', async () => {
  for (const [error, count] of [
    [new Error('late'), 1],
    [new WeirError('WEIR_RESPONSE_SENT'), 0],
  ] as const) {
    const late: Handler = async (_args, session) => {
      await null
      exchangeOf(session).response.text('time is up')
      exchangeOf(session).own.isTaken = true
      throw error
    }
    const { ask, logged } = serverOf(late)
    const { response } = await ask('POST /a')
    assert.deepEqual([response.statusCode, logged.length], [200, count], error.message)
  }
})

test('a hook that answers with an upgrade fails', async () => {
  const hook = (_session: never, response: { upgrade: (protocol: string, takeOver: () => void) => void }) =>
    response.upgrade('echo', () => {})
  const { ask, logged } = serverOf(() => 'a', { hook: hook as never })
  assert.deepEqual([(await ask('POST /a')).response.statusCode, logged.length], [500, 1])
})

test('a value that throws when it is read is answered with a plain 500', async () => {
  const throwing = new Proxy(new HttpError(404, 'x'), {
    get: () => {
      throw new Error('y')
    },
  })
  const { response } = await serverOf(fail(throwing)).ask('POST /a')
  assert.deepEqual([response.statusCode, codeOf(response)], [500, 'WEIR_HANDLER_FAILED'])
})

test('a silent middleware is named once, and is an error with debug and in tests', async () => {
  const { ask, logged } = serverOf(() => 'a', { use: function forgets() {} })
  for (let i = 0; i < 2; i++) assert.equal((await ask('POST /a')).response.statusCode, 204)
  assert.deepEqual(logged, ['weir: middleware "forgets" neither called next() nor answered, and the client gets 204'])
  for (const setup of [{ debug: true }, { isTest: true }])
    assert.equal((await serverOf(() => 'a', { use: function forgets() {}, ...setup }).ask('POST /a')).response.statusCode, 500)
})

test('with debug, errors are explained', async () => {
  const { response } = await serverOf(() => {}, { debug: true }).ask('GET /none')
  assert.ok(response.content.kind === 'text' && response.content.text.includes('"explanation"'))
})
