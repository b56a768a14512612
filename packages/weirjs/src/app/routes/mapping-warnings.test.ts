import assert from 'node:assert/strict'
import { test } from 'node:test'
import { t } from '../../schema/t.ts'
import { mappingWarnings } from './mapping-warnings.ts'
import { header } from './parameter-source.ts'
import { type Handler, Route } from './route.ts'
import { Scope } from './scope.ts'

/** A handler as a program without types writes it. */
const handler = (code: string): Handler => new Function(`return ${code}`)() as Handler
const warnings = (code: string, path = '/users') =>
  mappingWarnings(new Route(new Scope(null, 'server', ''), 'POST', path, {}, handler(code)))

test('a required parameter of the query whose name is almost that of the path is perhaps misspelt', () => {
  const warned = (path: string, declaration: object) =>
    mappingWarnings(new Route(new Scope(null, 'server', ''), 'GET', path, declaration, () => 1))
  const says = (name: string, path: string, meant: string) => [
    `"${name}" of GET ${path} (inline) is read from the query: if ":${meant}" of the path is meant, write "${meant}"`,
  ]
  assert.deepEqual(warned('/users/:id', { idd: t.int }), says('idd', '/users/:id', 'id'))
  assert.deepEqual(warned('/users/:userId', { userid: t.int }), says('userid', '/users/:userId', 'userId'))
  assert.deepEqual(warned('/:shelf/:book', { shelf: t.int, boook: t.uuid }), says('boook', '/:shelf/:book', 'book'))
  for (const fine of [
    { id: t.int, ids: t.int },
    { ids: t.array(t.int) },
    { idd: t.int.optional() },
    { ids: t.int.default(1) },
    { page: t.int },
    { idd: header('idd', t.int) },
  ])
    assert.deepEqual(warned('/users/:id', fine), [])
})

test('a parameter in the notation of another framework is text', () => {
  assert.deepEqual(warnings('() => 1', '/users/{id}'), [
    '"{id}" in POST /users/{id} (inline) is literal text: write ":id" for a parameter, or "%7Bid%7D" for the text',
  ])
})

for (const code of [
  '(_, { request }) => { const { name } = request.body; return name }',
  '(_, session) => { const {name: who, age} = session.request.body\n return who }',
  'async function ({}, { request }) { let name; ({ name } = request.body); return name }',
])
  test(`a property of the body as text is undefined: ${code}`, () => {
    assert.deepEqual(warnings(code), [
      '"name" of request.body in POST /users (inline) is undefined, because the body is text there: declare the body, as in { body: t.object({ name: t.string }) }, and take it from the first argument',
    ])
  })

for (const code of ['({ body }) => body', 'async ({ id, body: { name } }) => name', 'function add ({\n  body,\n}) { return body }'])
  test(`a body that is not declared is undefined: ${code}`, () => {
    const warned = ['"body" of the first argument of POST /users (inline) is undefined: declare the body, as in { body: t.object({ … }) }']
    assert.deepEqual(warnings(code), warned)
    assert.deepEqual(warnings(code, '/users/:body'), [])
    for (const [method, body] of [
      ['POST', t.string],
      ['DELETE', undefined],
    ] as const)
      assert.deepEqual(mappingWarnings(new Route(new Scope(null, 'server', ''), method, '/users', { body }, handler(code))), [])
  })

for (const [code, says] of [
  [
    '(req, res) => res.json(1)',
    'the handler of POST /users (inline) takes (req, res), and gets (args, session): write (args, { request, response }) => …',
  ],
  [
    '(_, { request }) => request.body.name',
    '"name" of request.body in POST /users (inline) is undefined: declare the body, as in { body: t.object({ name: t.string }) }, or read request.bodyJson()',
  ],
  [
    '(_, session) => session.request.query.page',
    '"page" of request.query in POST /users (inline) is undefined: declare the parameter, or write request.query.get("page")',
  ],
  [
    '(_, { request }) => request.query?.["from-to"]',
    '"from-to" of request.query in POST /users (inline) is undefined: declare the parameter, or write request.query.get("from-to")',
  ],
  [
    '(_, { request }) => request.headers["x-name"] + request.headers["x-name"]',
    '"x-name" of request.headers in POST /users (inline) is undefined: write request.header("x-name")',
  ],
  ['(_, { request }) => request.cookies.sid', '"sid" of request.cookies in POST /users (inline) is undefined: write request.cookie("sid")'],
  [
    '(_, { request }) => { const { id } = request.params; return id }',
    '"id" of request.params in POST /users (inline) is undefined: take id from the first argument, or write request.routeValues',
  ],
  [
    '(_, { request }) => { const { page = 1, limit } = request.query; return page }',
    '"page" of request.query in POST /users (inline) is undefined: declare the parameter, or write request.query.get("page")',
  ],
] as const)
  test(`a property that is not there: ${code}`, () => assert.deepEqual(warnings(code), [says]))

for (const code of [
  '(_, { request }) => request.query.get("page") + [...request.query.entries()] + request.headers.get("x-name") + request.cookies.toFixed()',
  '(_, { request }) => { const { id } = request.routeValues; return id + request.body.trim() + request.body[0] }',
  '(_, session) => { const request = session.request.toWeb(); return request.body.getReader() }',
  '({ payload: body }) => body',
  '(body) => body',
  '(_, { body }) => body',
  '(_, { request }) => request.body.length',
  '(_, { request }) => { const { name } = JSON.parse(request.body); return name }',
  '(_, { request }) => { const { name } = request.bodyJson(); return name }',
  '(_, { request }) => { const { length } = request.body.split(","); return length }',
  '(_, { request }) => { const { body } = request; return body }',
  '(_, { request }) => { const body = request.body; return { body } }',
])
  test(`no warning for ${code}`, () => assert.deepEqual(warnings(code), []))
