// Code that compiles and runs, but does not do what it seems to: it is refused where it is declared, or logs a warning.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Controller,
  type HttpResponse,
  HttpServer,
  type HttpSession,
  type Middleware,
  Route,
  routes,
  type ServerOptions,
  t,
} from '../../src/index.ts'
import type { RouteEntry } from '../../src/modules/contract/index.ts'

type Decorate = (path: string, declaration?: object) => (target: unknown, context: unknown) => void
/** `@Route` for callers that no compiler has checked. */
const decorate = Route as unknown as Decorate
const onMethod = { kind: 'method', name: 'list', static: false, private: false }
const onClass = { kind: 'class', name: 'Admin' }

for (const method of ['GET', 'POST', 'QUERY', 'PURGE', 'get', 'Delete']) {
  test(`@Route('${method}') is a method without a path: refused where it is declared`, () => {
    const message = new RegExp(`@Route\\("${method}"\\) has a method and no path`)
    assert.throws(() => decorate(method), { code: 'WEIR_ROUTE_DECLARATION', message })
    assert.throws(() => decorate(method, {}), { code: 'WEIR_ROUTE_DECLARATION', message })
  })
}

test('a table refuses a method without a path as well', () => {
  class Tabled extends Controller {
    list() {}
  }
  const declare = () => routes(Tabled, { list: ['GET'] as const as RouteEntry } as never)
  assert.throws(declare, { code: 'WEIR_ROUTE_DECLARATION', message: /\["GET"\] has a method and no path/ })
})

test('a path that looks like a method is a path if it begins with a slash', async () => {
  class Tabled extends Controller {
    static routes = routes(this, { list: ['/GET'], lower: ['list'] })
    list() {
      return 'capitals'
    }
    lower() {
      return 'lower'
    }
  }
  const server = new HttpServer({ logger: null }).mapController(Tabled)
  assert.equal((await server.inject('/GET')).text(), 'capitals')
  assert.equal((await server.inject('/list')).text(), 'lower')
})

for (const [what, apply, message] of [
  [
    'parameters on a class',
    () => decorate('/admin', { id: t.int })(Controller, onClass),
    /"id" of class Admin is not an option of a class: parameters and body belong to the routes of its methods$/,
  ],
  [
    'a method on a class',
    () => (Route('GET', '/admin') as unknown as ReturnType<Decorate>)(Controller, onClass),
    /"GET"\) with a method is on class Admin: a class accepts a path, which is the prefix of its routes, and options$/,
  ],
  ['a static method', () => decorate('/x')(() => {}, { ...onMethod, static: true }), /is on static method list/],
  ['a private method', () => decorate('/x')(() => {}, { ...onMethod, private: true, name: '#list' }), /is on private method #list/],
  ['a field', () => decorate('/x')(undefined, { kind: 'field', name: 'list' }), /is on field list/],
] as const) {
  test(`@Route on ${what} states why it is refused`, () => {
    assert.throws(apply, { code: 'WEIR_ROUTE_DECLARATION', message })
  })
}

// Parameters in other notations.

function warnings(map: (server: HttpServer) => void, options: ServerOptions = {}): string[] {
  const warned: string[] = []
  map(new HttpServer({ logger: { error: () => {}, warn: (message) => warned.push(message) }, ...options }))
  return warned
}

test('a parameter in the notation of another framework logs a warning when it is mapped', () => {
  class Users extends Controller {
    static routes = routes(this, { prefix: '/users', show: ['GET', '/{id}'] })
    show() {}
  }
  assert.deepEqual(
    warnings((server) => server.mapGet('/u/{id}', () => 1)),
    ['weir: "{id}" in GET /u/{id} (inline) is literal text: write ":id" for a parameter, or "%7Bid%7D" for the text'],
  )
  assert.deepEqual(
    warnings((server) => server.map(null, '/a/<name>/{page}', () => 1)),
    [
      'weir: "<name>" in ANY /a/<name>/{page} (inline) is literal text: write ":name" for a parameter, or "%3Cname%3E" for the text',
      'weir: "{page}" in ANY /a/<name>/{page} (inline) is literal text: write ":page" for a parameter, or "%7Bpage%7D" for the text',
    ],
  )
  assert.match(warnings((server) => server.mapController(Users, '/api'))[0]!, /"\{id\}" in GET \/api\/users\/\{id\} \(Users\.show\)/)
  assert.match(warnings((server) => server.mapControllers([Users], '/{tenant}'))[0]!, /"\{tenant\}"/)
})

test('no other route logs a warning, and literal braces can be written', async () => {
  let server!: HttpServer
  const warned = warnings((one) => {
    server = one.mapGet('/u/:id', { id: t.int }, () => 1).mapGet('/%7Bid%7D', () => 'braces')
  })
  assert.deepEqual(warned, [])
  assert.equal((await server.inject('/%7Bid%7D')).text(), 'braces')
})

test('a logger without warn gets it through error, and null gets nothing', () => {
  const told: unknown[][] = []
  new HttpServer({ logger: { error: (...all: unknown[]) => told.push(all) } }).mapGet('/{id}', () => 1)
  assert.match(String(told[0]), /literal text/)
  new HttpServer({ logger: null }).mapGet('/{id}', () => 1)
  const failing = () => {
    throw new Error('no disk')
  }
  new HttpServer({ logger: { error: failing, warn: failing } }).mapGet('/{id}', () => 1)
})

// Groups of one path.

test('a group of a path that another group guards logs a warning when the server starts, with the line that maps its route', async () => {
  const warned: string[] = []
  const logger = { error: () => {}, warn: (message: string) => warned.push(message) }
  await using server = new HttpServer('127.0.0.1', 0, { logger })
  const login = ({ response }: HttpSession): HttpResponse => response.unauthorized()
  server.group('/admin', { use: [{ gate: login }] }).mapGet('/', () => 'closed')
  server.group('/admin').mapGet('/users', () => 'open')
  await server.start()
  assert.equal(warned.length, 1)
  assert.match(
    warned[0]!,
    /^weir: GET \/admin\/users \(inline\) at .*silent-traps\.test\.[jt]s:\d+:\d+ is without login of group\("\/admin"\):/,
  )
})

// Middleware that forgets `next`.

const forgets: Middleware = (session) => void session.request.path

/** What the server logs, and the status that a client gets which is no test. */
async function asked(server: HttpServer, path = '/'): Promise<number> {
  return (await server.fetch(new Request(`http://localhost${path}`))).status
}

test('a middleware that neither calls next nor answers logs one warning', async () => {
  let server!: HttpServer
  const warned = warnings((one) => {
    server = one.use(forgets).mapGet('/', () => 'never')
  })
  for (let i = 0; i < 3; i++) assert.equal(await asked(server), 204)
  assert.deepEqual(warned, ['weir: middleware "forgets" neither called next() nor answered, and the client gets 204'])
})

test('each such middleware logs a warning, including an asynchronous one', async () => {
  let server!: HttpServer
  const later = async (): Promise<void> => void (await null)
  const warned = warnings((one) => {
    server = one
    server.use((session, next) => (session.request.path === '/a' ? undefined : next())).use(later)
  })
  await asked(server, '/a')
  await asked(server, '/b')
  assert.deepEqual(
    warned.map((line) => line.split(' neither')[0]),
    [`weir: middleware "(session, next) => (session.request.path === '/a' ? undefined : next())"`, 'weir: middleware "later"'],
  )
})

for (const debug of [true, false])
  test(`in tests and with debug, it is a 500 that says what to write: ${debug ? 'with' : 'without'} debug`, async () => {
    const errors: unknown[] = []
    const server = new HttpServer({ logger: { error: (_, error) => errors.push(error) }, debug })
    server.use(forgets).mapGet('/', () => 'never')
    assert.equal(debug ? await asked(server) : (await server.inject('/')).status, 500)
    assert.match(String(errors), /WeirError: .*middleware "forgets" neither called next\(\) nor answered: return next\(\), or a response$/)
  })

for (const [what, middleware] of [
  ['passes on', (_, next) => next()],
  ['passes on and returns nothing', (_, next) => void next()],
  ['awaits what it passes on', async (_, next) => void (await next())],
  ['answers by what it returns', () => 'x'],
  ['answers by the response', ({ response }) => void response.noContent()],
] as const satisfies readonly (readonly [string, Middleware])[]) {
  test(`a middleware that ${what} logs no warning`, async () => {
    let server!: HttpServer
    const warned = warnings((one) => (server = one.use(middleware).mapGet('/', () => 'x')), { debug: true })
    await server.inject('/')
    assert.deepEqual(warned, [])
  })
}
