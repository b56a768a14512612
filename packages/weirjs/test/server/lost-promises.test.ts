// What has no JSON form inside a value, such as a promise that the program has not awaited: with `debug` and in tests an error, because `{}` would
// be sent; otherwise a warning.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type HttpSession, type JsonEngine, type ServerOptions, t } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'

const later = (): Promise<object> => Promise.resolve({ name: 'Ada' })

interface Sent {
  readonly status: number
  readonly text: string
  readonly logged: string
}

async function send(make: (session: HttpSession) => unknown, options: ServerOptions = {}, inTest = true): Promise<Sent> {
  const logged: string[] = []
  const server = new HttpServer({ logger: { error: (_, error) => void logged.push(String((error as Error).message)) }, ...options })
  server.mapGet('/', (_, session) => make(session))
  if (inTest) {
    const response = await server.inject('/')
    return { status: response.status, text: response.text(), logged: logged.join() }
  }
  const response = await server.fetch(new Request('http://localhost/'))
  return { status: response.status, text: await response.text(), logged: logged.join() }
}

describe('a promise inside a value', () => {
  const rows: [what: string, make: (session: HttpSession) => unknown, where: string][] = [
    ['a property', () => ({ user: later() }), '/user'],
    ['deeper', () => ({ a: [1, { 'b/c': later() }] }), '/a/1/b~1c'],
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    ['something else that can be awaited', () => ({ user: { then: () => {} } }), '/user'],
    ['by response.json', ({ response }) => response.json({ user: later() }), '/user'],
    ['one that rejects', () => ({ user: Promise.reject(new Error('unhandled')) }), '/user'],
    [
      'of an instance',
      () =>
        new (class Row {
          readonly user = later()
        })(),
      '/user',
    ],
  ]
  for (const [what, make, where] of rows)
    test(`is a 500 that names it: ${what}`, async () => {
      const { status, logged } = await send(make)
      assert.deepEqual([status, logged], [500, `this value cannot be sent: ${where} is a promise: await it`])
    })

  test('for clients of weirjs/testing and with debug too', async () => {
    const server = new HttpServer({ logger: null })
    server.mapGet('/', () => ({ user: later() }))
    assert.equal((await connect(server).get('/')).status, 500)
    assert.match((await send(() => ({ user: later() }), { debug: true }, false)).text, /\/user is a promise: await it/)
  })

  test('with a JSON engine of the program', async () => {
    const jsonEngine: JsonEngine = { serialize: () => '"engine"', deserialize: JSON.parse, populate: () => {} }
    assert.equal((await send(() => ({ user: later() }), { jsonEngine })).status, 500)
    assert.equal((await send(() => ({ user: 1 }), { jsonEngine })).text, '"engine"')
  })

  test('is sent in production, where a warning names it once for each route', async () => {
    const warnings: string[] = []
    const server = new HttpServer({ logger: { warn: (text) => void warnings.push(text), error: () => {} } })
    server.mapGet('/a', async () => ({ user: later(), tags: new Set(['x']) }))
    server.mapGet('/b', () => [{}, { tags: new Set(['x']) }])
    server.mapGet('/c', () => ({ empty: {}, list: [{}] }))
    for (const path of ['/a', '/b', '/c', '/a', '/b'])
      assert.match(await (await server.fetch(new Request(`http://localhost${path}`))).text(), /\{\}/)
    assert.deepEqual(warnings, [
      'weir: {} was sent in the JSON of GET /a: /user is a promise: await it',
      'weir: {} was sent in the JSON of GET /b: /1/tags is a Set: send [...set]',
    ])
  })

  test('and what is not one is sent', async () => {
    const shared = { n: 1 }
    const value = { a: shared, b: [shared, null, 'x'], date: new Date(0), own: { toJSON: () => 1, user: later() } }
    assert.equal((await send(() => value)).text, '{"a":{"n":1},"b":[{"n":1},null,"x"],"date":"1970-01-01T00:00:00.000Z","own":1}')
    const circular: Record<string, unknown> = {}
    circular['self'] = circular
    assert.match((await send(() => circular)).logged, /circular/)
  })
})

describe('what JSON would lose inside a value', () => {
  const rows: [value: unknown, says: string][] = [
    [new Map([['a', 1]]), '/a/0 is a Map: send Object.fromEntries(map)'],
    [new Set(['a']), '/a/0 is a Set: send [...set]'],
    [new Error('secret'), '/a/0 is an Error, which has no JSON form: send a string or an object made from it'],
    [new URLSearchParams('a=1'), '/a/0 is a URLSearchParams, which has no JSON form: send a string or an object made from it'],
    [/a/, '/a/0 is a RegExp, which has no JSON form: send a string or an object made from it'],
  ]
  for (const [value, says] of rows)
    test(`is a 500 that says what to send: ${says}`, async () => {
      const { status, logged } = await send(() => ({ a: [value] }))
      assert.deepEqual([status, logged], [500, `this value cannot be sent: ${says}`])
    })

  test('is left to a JSON engine of the program', async () => {
    const jsonEngine: JsonEngine = { serialize: () => '"engine"', deserialize: JSON.parse, populate: () => {} }
    assert.equal((await send(() => ({ a: new Map() }), { jsonEngine })).text, '"engine"')
  })
})

describe('a GET whose handler returns nothing', () => {
  const HINT = 'return a value, or say so with response.noContent()'

  function serverOf(options: ServerOptions): { server: HttpServer; lines: string[] } {
    const lines: string[] = []
    const logger = { warn: (text: string) => void lines.push(text), error: (_: string, error: unknown) => void lines.push(String(error)) }
    const server = new HttpServer({ ...options, logger })
    server.mapGet('/now', () => {})
    server.mapGet('/later', async () => {})
    server.mapGet('/meant', (_, { response }) => void response.noContent())
    server.mapGet('/status', (_, { response }) => void response.status(204))
    server.mapGet('/declared', { answers: { 204: null } }, () => {})
    server.mapGet('/refused', { use: [{ gate: ({ response }) => void response.status(403).noContent() }] }, () => 'x')
    server.mapPost('/post', () => {})
    server.mapDelete('/now', async () => {})
    return { server, lines }
  }

  const clients = {
    inject: [false, async (server: HttpServer, url: string, method = 'GET') => (await server.inject({ method, url })).status],
    'a client of weirjs/testing': [
      false,
      async (server: HttpServer, url: string, method = 'GET') => (await connect(server).request({ method, url })).status,
    ],
    debug: [
      true,
      async (server: HttpServer, url: string, method = 'GET') =>
        (await server.fetch(new Request(`http://localhost${url}`, { method }))).status,
    ],
  } as const
  for (const [what, [debug, ask]] of Object.entries(clients))
    test(`is an error that names the route and its line: ${what}`, async () => {
      const { server, lines } = serverOf({ debug })
      assert.deepEqual([await ask(server, '/now'), await ask(server, '/later')], [500, 500])
      const [now, later] = lines
      assert.match(now!, /: the handler of GET \/now \(inline\) at .*lost-promises\.test\.[jt]s:\d+:\d+ returned nothing: return a value/)
      assert.ok(later!.includes('GET /later') && later!.endsWith(HINT), later)
      for (const url of ['/meant', '/status', '/declared']) assert.equal(await ask(server, url), 204)
      assert.equal(await ask(server, '/now', 'HEAD'), 204)
      assert.deepEqual([await ask(server, '/post', 'POST'), await ask(server, '/now', 'DELETE')], [204, 204])
      assert.equal(await ask(server, '/refused'), 204)
      assert.equal(lines.length, 2, lines.join('\n'))
    })

  test('gets 204 in production, where a warning names it once', async () => {
    const { server, lines } = serverOf({})
    for (const url of ['/now', '/later', '/meant', '/declared', '/now', '/later'])
      assert.equal((await server.fetch(new Request(`http://localhost${url}`))).status, 204)
    assert.equal((await server.fetch(new Request('http://localhost/post', { method: 'POST' }))).status, 204)
    const says = `returned nothing, and the client gets 204: ${HINT}`
    assert.deepEqual(lines, [`weir: the handler of GET /now ${says}`, `weir: the handler of GET /later ${says}`])
  })

  test('keeps its line while a server with debug runs', async () => {
    const { server, lines } = serverOf({ debug: true, port: 0 })
    await server.start()
    try {
      assert.equal((await server.inject('/now')).status, 500)
    } finally {
      await server.stop()
    }
    assert.match(lines.join('\n'), /GET \/now \(inline\) at .*lost-promises/)
  })
})

test('a promise in place of the value is an error everywhere', async () => {
  for (const inTest of [true, false]) {
    const { status, logged } = await send(({ response }) => response.json(later()), {}, inTest)
    assert.deepEqual([status, logged], [500, 'this value cannot be sent: the value is a promise: await it'])
  }
})

test('with declared answers, the compiler finds it', async () => {
  const server = new HttpServer({ logger: null })
  const answers = { 200: t.object({ user: t.object({ name: t.string }) }) }
  // @ts-expect-error a promise where an object is declared
  server.mapGet('/', { answers }, () => ({ user: later() }))
  assert.equal((await server.inject('/')).status, 500)
})

test('a gate that returns the principal does not send it', async () => {
  const user = { name: 'Ada', passwordHash: 'argon2id' }
  for (const gate of [
    (session: HttpSession) => (session.principal = user) as object,
    async (session: HttpSession) => (session.principal = user) as object,
  ]) {
    const server = new HttpServer({ logger: null }).gate(gate)
    server.mapGet('/', () => 'passed')
    const response = await server.inject('/')
    assert.equal(response.status, 500)
    assert.doesNotMatch(response.text(), /argon2id/)
  }
})
