// Typical first mistakes: each message tells what to write instead.

import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'

import { Controller, file, form, HttpResponse, HttpServer, multipart, routes, t } from '../../src/index.ts'
import { auth } from '../../src/modules/auth/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { connect } from '../../src/testing/index.ts'

const Note = t.object({ title: t.string })
const quiet = () => new HttpServer({ logger: null })
const handler = () => 'x'
/** What `t.integer` is. */
const missing = undefined as never

describe('mapping', () => {
  const mistakes: Record<string, [attempt: () => unknown, message: RegExp]> = {
    'an option that does not exist': [
      () => quiet().mapGet('/a', { timeot: 5 } as never, handler),
      /"timeot" of \/a is neither a schema nor an option of a route; the options are use, .*requestTimeout/,
    ],
    'an option with another letter case': [
      () => quiet().mapGet('/a', { requestTimeOut: 5 } as never, handler),
      /nor an option of a route, perhaps "requestTimeout"; the options are /,
    ],
    'a module as a handler': [
      () => quiet().get('/a', staticFiles({ root: '.' }) as never),
      /GET \/a has no handler: the last argument is an object, not a function: policies and modules go to use\(\)$/,
    ],
    'an optional parameter of the path': [
      () => quiet().get('/a/:id?', handler),
      /":id\?" has no valid name; no parameter is optional: map the path without it, too$/,
    ],
    'a query in the path': [
      () => quiet().get('/a?page=:page', handler),
      /"a\?page=:page" has a query: declare its parameters, as in \{ page: t\.int \}$/,
    ],
    'a list of members': [() => t.union([t.int, t.string] as never), /t\.union\(\): the members are arguments, not a list/],
    'a record with two schemas': [
      () => (t.record as (...schemas: unknown[]) => unknown)(t.string, t.int),
      /t\.record\(\): it takes the schema of the values: write t\.record\(values\)\.keys\(names\)$/,
    ],
    'an object in an object': [
      () => t.object({ a: { b: t.int } as never }),
      /"a": an object is not a schema: write one with t, such as t\.string or t\.object\(\{ … \}\), or use a Standard Schema$/,
    ],
    'a default among the answers': [
      () => quiet().get('/a', { answers: { default: t.string } } as never, handler),
      /has "default", which is not a status from 200 to 599: write one, as in \{ 200: schema \}$/,
    ],
    'a status before the URL': [
      () => new HttpResponse().redirect(302 as never, '/b' as never),
      /the string "\/b" is not the status of a redirect: write redirect\(url, 302\)$/,
    ],
    'a cookie with an object': [
      () => new HttpResponse().cookie('a', {} as never),
      /the value of "a" is an object, not a text, such as JSON\.stringify\(value\)$/,
    ],
    'the name of a scheme': [
      () => auth({ schemes: ['bearer' as never] }),
      /schemes\[0\] is a string, not a scheme, such as basic\(\{ users \}\)$/,
    ],
    'checks under another name': [() => health({ checks: {} } as never), /no option "checks": it is called "ready"$/],
    'a misspelt method of a controller': [
      () =>
        routes(
          class A extends Controller {
            show = () => 1
            list() {}
          } as never,
          { lst: ['GET', '/'] } as never,
        ),
      /A has no method "lst", perhaps "list"; its members are constructor, list$/,
    ],
    'a contract in place of a method': [
      () => quiet().map({} as never, {} as never, {} as never),
      /an object is not a method such as "GET": a contract is mapped by mapContract\(contract, handlers\)$/,
    ],
    'the same in a group': [
      () =>
        quiet()
          .group('/a')
          .map({} as never, {} as never, {} as never),
      /: a contract is mapped by mapContract/,
    ],
    'an option by its name elsewhere': [
      () => quiet().mapGet('/a', { timeout: 5 } as never, handler),
      /"timeout" of \/a is not an option of a route: it is called "requestTimeout"$/,
    ],
    'parameters gathered under one name': [
      () => quiet().mapGet('/a/:id', { params: { id: t.int } } as never, handler),
      /"params" of \/a\/:id is not an option of a route: declare each parameter by its own name, such as \{ id: t\.int \}$/,
    ],
    'a gate as an option of a group': [
      () => quiet().group('/a', { gate: handler } as never),
      /"gate" of group \/a is not an option of a group: it is called "use"$/,
    ],
    'a schema that does not exist': [
      () => quiet().mapGet('/a/:id', { id: missing }, handler),
      /"id" of \/a\/:id is undefined, not a schema$/,
    ],
    'the same for a group': [() => quiet().group('/:id', { id: missing }), /"id" of group \/:id is undefined, not a schema$/],
    'a body under another name': [
      () => quiet().mapPost('/a', { schema: Note }, handler),
      /can only be read from JSON\. The body of a request is declared as "body"$/,
    ],
    'answers that are a schema': [
      () => quiet().mapGet('/a', { answers: Note }, handler),
      /can only be read from JSON\. Answers are declared by status, such as \{ 200: schema \}$/,
    ],
    'a group with a callback': [
      () => quiet().group('/a', handler as never),
      /not a function: map routes on the group that group\(\) returns$/,
    ],
    'a file among the fields': [
      () => multipart({ fields: { photo: file() as never } }),
      /multipart\(\): fields: "photo" is a file: write it under files$/,
    ],
    'a rule that does not exist': [
      () => file({ size: 5 } as never),
      /no option "size"; the options are maxSize, types, extensions, count, saveTo$/,
    ],
  }
  for (const [what, [attempt, message]] of Object.entries(mistakes)) test(what, () => assert.throws(attempt, message))

  test('an option that is undefined counts as missing', async () => {
    const server = quiet().mapGet('/a', { maxRequestBodySize: undefined, etag: undefined } as never, handler)
    assert.equal((await server.inject('/a')).text(), 'x')
  })
})

describe('JSON that curl sends as a form', () => {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const post = async (body: string, schema: object = Note) => {
    const server = quiet().mapPost('/a', { body: schema as typeof Note }, ({ body }) => body)
    const response = await server.inject({ method: 'POST', url: '/a', headers, body })
    return [response.status, (response.json() as { detail?: string }).detail]
  }
  const detail =
    'the body does not fit: body: expected a url-encoded form, got what looks like JSON, which needs Content-Type: application/json'

  test('the response names the cause', async () => {
    for (const body of ['{"title":"a"}', ' [1]', '{"title":"a&b=c"}']) assert.deepEqual(await post(body), [400, detail], body)
    assert.deepEqual(await post('{"title":"a"}', form(Note)), [400, detail])
  })
  test('a form that fits may have any other fields', async () => {
    assert.deepEqual(await post('{=1&title=a'), [200, undefined])
    assert.deepEqual(await post('name={'), [400, 'the body does not fit: body value "title": expected a string, got nothing'])
  })
})

test('sse without the session', () => {
  const { response } = { response: undefined }
  assert.throws(() => sse(response as never, handler as never), /sse: the first argument must be the session, not undefined$/)
})

test('a response that does not end, read whole by a test client', async () => {
  const server = quiet().mapGet('/a', async function* (_, { signal }) {
    yield 'a'
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const client = connect(server, { patience: 1_000 }) // the head arrives sooner, also on a busy machine
  await assert.rejects(client.get('/a'), /waited 1000 ms for more of the response 200 to GET \/a; no more bytes had arrived$/)
  client.abort()
})

describe('a file that does not exist', () => {
  const server = (options: object = {}) =>
    new HttpServer('127.0.0.1', 0, { logger: null, ...options })
      .mapGet('/absolute', (_, { response }) => response.file('/none/a.txt'))
      .mapGet('/relative', (_, { response }) => response.file('none/a.txt'))
      .mapGet('/directory', (_, { response }) => response.file(process.cwd()))
  const detailOf = (text: string) => (JSON.parse(text) as { readonly detail?: string }).detail

  test('is named in tests', async () => {
    const detail = async (url: string) => detailOf((await server().inject(url)).text())
    assert.equal(await detail('/absolute'), `${JSON.stringify(resolve('/none/a.txt'))} is not a file`)
    assert.equal(await detail('/directory'), `${JSON.stringify(process.cwd())} is not a file`)
    assert.equal(
      await detail('/relative'),
      `${JSON.stringify(resolve('none/a.txt'))} is not a file: write join(import.meta.dirname, "none/a.txt") if it is beside the program, and not in its working directory`,
    )
  })

  for (const debug of [true, false])
    test(`is named to clients ${debug ? 'with' : 'only with'} debug`, async (t) => {
      const running = server({ debug })
      await running.start()
      t.after(() => running.stop())
      const response = await fetch(`http://127.0.0.1:${running.port}/absolute`)
      assert.equal(response.status, 404)
      assert.equal(detailOf(await response.text()), debug ? `${JSON.stringify(resolve('/none/a.txt'))} is not a file` : undefined)
    })
})

test('a misspelt parameter of the path is a warning with the line of the program', () => {
  const warned: string[] = []
  const server = new HttpServer({ logger: { error: () => {}, warn: (says: string) => warned.push(says) } as never })
  server.mapGet('/users/:id', { idd: t.int }, handler)
  assert.equal(warned.length, 1)
  assert.match(
    warned[0]!,
    /^weir: "idd" of GET \/users\/:id \(inline\) at .*beginners\.test\.[jt]s:\d+:\d+ is read from the query: if ":id" of the path is meant, write "id"$/,
  )
})

test('a URL of a test begins with a slash', async () => {
  const server = quiet().mapGet('/users', handler)
  for (const [url, meant] of [
    ['users', '/users'],
    ['users/5?at=10:30', '/users/5?at=10:30'],
    ['', '/'],
    ['?a=1', '/?a=1'],
  ] as const) {
    const message = `an option or argument is invalid: a test cannot send url "${url}": write "${meant}"`
    for (const send of [() => server.inject(url), () => connect(server).get(url), () => server.explain(url)])
      await assert.rejects(async () => send(), { code: 'WEIR_OPTION_INVALID', message })
  }
  await assert.rejects(server.inject('/a b'), { message: /url "\/a b": write a path such as "\/users", encoded as by encodeURI\(\)$/ })
  assert.equal((await server.inject('http://localhost/users')).text(), 'x')
  assert.equal((await server.inject({ method: 'OPTIONS', url: '*' })).status, 204)
})

test('a method of the response that is assigned is a warning', () => {
  const warned: string[] = []
  const server = new HttpServer({ logger: { error: () => {}, warn: (says: string) => warned.push(says) } as never })
  const code = (text: string) => new Function(`return ${text}`)() as () => string
  server.get('/a', code('(_, { response }) => { response.status = 404; return response.headers = "x" }'))
  server.get('/b', code('(_, { response }) => response.status === 404 || response.json == 1'))
  assert.deepEqual(warned, ['weir: "status" of the response in GET /a (inline) is a method: write response.status(…)'])
})

for (const [code, hint] of [
  ['response.headers.set("a", "b")', 'response.header(name, value) was meant'],
  ['response.setHeader("a", "b")', 'response.header(name, value) was meant'],
] as const)
  test(`the log says how a field is set: ${code}`, async () => {
    const logged: string[] = []
    const server = new HttpServer({ logger: { error: (says: string) => logged.push(says) } as never })
    server.get('/', new Function(`return (_, { response }) => ${code}`)() as () => string)
    assert.equal((await server.inject('/')).status, 500)
    assert.equal(logged[0]!.includes(`; perhaps ${hint}`), hint !== null)
  })
