// Which handler answers, and with which arguments.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type AnySchema, Controller, Field, HttpServer, type HttpSession, Route, routes, type StandardSchema, t } from '../../src/index.ts'
import { inBothReadModes } from '../support/serving.ts'

@Route('/deco')
class Decorated extends Controller {
  @Route('GET', '/:id', { id: t.int, active: t.bool.default(false) })
  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }

  @Route('GET', '/one')
  @Route('POST', '/two')
  @Route('GET', '/three/:x')
  several() {
    return `${this.request.method} ${this.session.route}`
  }

  @Route('/any')
  any() {
    return this.request.method
  }

  @Route('GET', '/outside', { absolute: true })
  outside() {
    return 'outside'
  }

  @Route('GET', '/host', { host: 'api.example.com' })
  host() {
    return 'api'
  }

  @Route('GET', '')
  root() {
    return 'root'
  }

  @Route('GET', '/session', { metadata: { role: 'admin' } })
  meta(_: object, session: HttpSession) {
    return { same: session === this.session && session.response === this.response, metadata: session.metadata }
  }
}

class Tabled extends Controller {
  static routes = routes(this, {
    prefix: '/table',
    show: ['GET', '/:id', { id: t.int, active: t.bool.default(false) }],
    several: [
      ['GET', '/one'],
      ['POST', '/two'],
      ['GET', '/three/:x'],
    ],
    any: ['/any'],
    outside: ['GET', '/outside', { absolute: true }],
    host: ['GET', '/host', { host: 'api.example.com' }],
    root: ['GET', ''],
    meta: ['GET', '/session', { metadata: { role: 'admin' } }],
  })

  show({ id, active }: { id: number; active: boolean }) {
    return { id, active }
  }
  several() {
    return `${this.request.method} ${this.session.route}`
  }
  any() {
    return this.request.method
  }
  outside() {
    return 'outside'
  }
  host() {
    return 'api'
  }
  root() {
    return 'root'
  }
  meta(_: object, session: HttpSession) {
    return { same: session === this.session && session.response === this.response, metadata: session.metadata }
  }
}

@Route('/base')
class Base extends Controller {
  @Route('GET', '/kept')
  kept() {
    return `kept of ${this.constructor.name}`
  }

  @Route('GET', '/replaced')
  replaced() {
    return 'base'
  }

  @Route('GET', '/moved')
  moved() {
    return 'base'
  }
}

@Route('/derived')
class Derived extends Base {
  override replaced() {
    return `derived over ${super.replaced()}`
  }

  @Route('GET', '/elsewhere')
  override moved() {
    return 'moved'
  }

  @Route('GET', '/own')
  own() {
    return 'own'
  }
}

class Undecorated extends Base {}

class TabledBase extends Controller {
  static routes = routes(this, { prefix: '/tb', kept: ['GET', '/kept'], moved: ['GET', '/moved'] })
  kept() {
    return this.constructor.name
  }
  moved() {
    return 'base'
  }
}
class TabledDerived extends TabledBase {
  static override routes = routes(this, { prefix: '/td', moved: ['GET', '/elsewhere'] })
  override moved() {
    return 'moved'
  }
}

const quiet = { logger: null }

async function texts(server: HttpServer, ...requests: (string | { method: string; url: string })[]): Promise<string[]> {
  const answers: string[] = []
  for (const request of requests) {
    const answer = await server.inject(request)
    answers.push(answer.status === 200 ? answer.text() : String(answer.status))
  }
  return answers
}

// Where a controller stands.

for (const [spelling, Class, prefix] of [
  ['decorators', Decorated, '/deco'],
  ['static table', Tabled, '/table'],
] as const) {
  test(`${spelling}: full path is mapping prefix, controller prefix, handler path`, async () => {
    const server = new HttpServer(quiet).mapController(Class, '/api')
    const got = await texts(server, `/api${prefix}/5`, `/api${prefix}/5?active=true`, `${prefix}/5`, '/5', '/api/5')
    assert.deepEqual(got, ['{"id":5,"active":false}', '{"id":5,"active":true}', '404', '404', '404'])
  })

  test(`${spelling}: an empty handler path is the prefix itself`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class), prefix, `${prefix}/`), ['root', '404'])
  })

  test(`${spelling}: several routes stand on one method`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const got = await texts(server, `${prefix}/one`, { method: 'POST', url: `${prefix}/two` }, `${prefix}/three/x`, {
      method: 'POST',
      url: `${prefix}/one`,
    })
    assert.deepEqual(got, [`GET GET ${prefix}/one`, `POST POST ${prefix}/two`, `GET GET ${prefix}/three/:x`, '405'])
  })

  test(`${spelling}: a route without a method answers any`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const methods = ['GET', 'POST', 'DELETE', 'PURGE', 'OPTIONS']
    assert.deepEqual(await texts(server, ...methods.map((method) => ({ method, url: `${prefix}/any` }))), methods)
  })

  test(`${spelling}: absolute leaves the controller's prefix out, not the mapping's`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class, '/api'), '/api/outside', `/api${prefix}/outside`), [
      'outside',
      '400',
    ])
  })

  test(`${spelling}: a host route answers only its host`, async () => {
    const server = new HttpServer(quiet).mapController(Class)
    const ask = async (Host: string): Promise<number> => (await server.inject({ url: `${prefix}/host`, headers: { Host } })).status
    assert.deepEqual(
      [await ask('api.example.com'), await ask('API.example.com:8080'), await ask('example.com'), await ask('x.api.example.com')],
      [200, 200, 400, 400],
    )
  })

  test(`${spelling}: session, response and metadata are those of the request`, async () => {
    assert.deepEqual(await texts(new HttpServer(quiet).mapController(Class), `${prefix}/session`), [
      '{"same":true,"metadata":{"role":"admin"}}',
    ])
  })

  test(`${spelling}: both spellings list the same routes`, () => {
    const listed = new HttpServer(quiet)
      .mapController(Class)
      .routes.map(({ method, path, host }) => `${method} ${host ?? ''}${path.replace(prefix, '')}`)
    assert.deepEqual(
      listed.sort(),
      [
        'GET /:id',
        'GET /one',
        'GET /outside',
        'GET /session',
        'GET /three/:x',
        'GET ',
        'GET api.example.com/host',
        'POST /two',
        'null /any',
      ].sort(),
    )
  })
}

test('inheritance: inherited routes stand under the prefix of the class that is mapped, overridden methods keep theirs unless they declare others', async () => {
  const server = new HttpServer(quiet).mapControllers([Base, Derived])
  assert.deepEqual(await texts(server, '/base/kept', '/base/replaced', '/base/moved', '/base/own'), ['kept of Base', 'base', 'base', '404'])
  const got = await texts(server, '/derived/kept', '/derived/replaced', '/derived/moved', '/derived/elsewhere', '/derived/own')
  assert.deepEqual(got, ['kept of Derived', 'derived over base', '404', 'moved', 'own'])
})

test('inheritance: a class without decorators of its own has the routes and the prefix of its base', async () => {
  assert.deepEqual(await texts(new HttpServer(quiet).mapController(Undecorated), '/base/kept'), ['kept of Undecorated'])
})

test('inheritance: a table adds to the table of the base', async () => {
  const server = new HttpServer(quiet).mapController(TabledDerived)
  assert.deepEqual(await texts(server, '/td/kept', '/td/elsewhere', '/td/moved'), ['TabledDerived', 'moved', '404'])
})

test('mapControllers(Controller) takes every routed subclass, exclude leaves some out', async () => {
  const server = new HttpServer(quiet).mapControllers(Controller, '/all', { exclude: [Decorated, TabledBase] })
  const got = await texts(server, '/all/table/5', '/all/base/kept', '/all/derived/kept', '/all/td/kept', '/all/tb/kept', '/all/deco/5')
  assert.deepEqual(got, ['{"id":5,"active":false}', 'kept of Base', 'kept of Derived', 'TabledDerived', '404', '404'])
})

test('mapControllers(Base) takes Base and what derives from it', async () => {
  assert.deepEqual(await texts(new HttpServer(quiet).mapControllers(Base), '/base/kept', '/derived/kept', '/table/5'), [
    'kept of Base',
    'kept of Derived',
    '404',
  ])
})

test('create makes the instance, so that a constructor gets what it wants', async () => {
  class Greeter extends Controller {
    static routes = routes(this, { prefix: '/greet', greet: ['GET', '/:name'] })
    readonly #greeting: string
    readonly seen = this.request.path
    constructor(greeting: string) {
      super()
      this.#greeting = greeting
    }
    greet({ name }: { name: string }) {
      return `${this.#greeting} ${name} at ${this.seen}`
    }
  }
  const server = new HttpServer(quiet).mapController(Greeter, '', {
    create: (Class, session) => new Class(session.request.header('x') ?? 'Hello'),
  })
  assert.equal((await server.inject('/greet/Ann')).text(), 'Hello Ann at /greet/Ann')
  assert.equal((await server.inject({ url: '/greet/Ann', headers: { X: 'Moin' } })).text(), 'Moin Ann at /greet/Ann')
})

test('each request has an instance of its own, and one instance for two requests is an error', async () => {
  class Counting extends Controller {
    static routes = routes(this, { count: ['GET', '/count'] })
    #calls = 0
    count() {
      return ++this.#calls
    }
  }
  const server = new HttpServer(quiet).mapController(Counting)
  assert.deepEqual(await texts(server, '/count', '/count'), ['1', '1'])
  let shared: Counting | undefined
  const wrong = new HttpServer(quiet).mapController(Counting, '', { create: (Class) => (shared ??= new Class()) })
  assert.deepEqual(await texts(wrong, '/count', '/count'), ['1', '500'])
})

test('a controller made outside a request has no session', () => {
  assert.throws(() => new Decorated().request, { code: 'WEIR_SERVER_STATE' })
})

// Bindings.

const asked: string[] = []
const upper: StandardSchema<unknown, string> = {
  '~standard': {
    version: 1,
    vendor: 'hand-made',
    validate: (value) => {
      asked.push(JSON.stringify(value) ?? 'undefined')
      return typeof value === 'string' && /^[a-z]+$/.test(value)
        ? { value: value.toUpperCase() }
        : { issues: [{ message: 'lower-case letters' }] }
    },
  },
}
const later: StandardSchema<unknown, string> = {
  '~standard': {
    version: 1,
    vendor: 'hand-made',
    validate: async (value) => {
      await new Promise((resolve) => setImmediate(resolve))
      return upper['~standard'].validate(value)
    },
  },
}

const bindings: [promise: string, schema: AnySchema, query: string, args: unknown][] = [
  ['string', t.string, 'v=a+b', 'a b'],
  ['int', t.int, 'v=-12', -12],
  ['number', t.number, 'v=1.5e3', 1500],
  ['bool', t.bool, 'v=true', true],
  ['"false" is false', t.bool, 'v=false', false],
  ['date', t.date, 'v=2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['dateTime without zone is UTC', t.dateTime, 'v=2024-02-29T10:00:00', '2024-02-29T10:00:00.000Z'],
  ['uuid', t.uuid, 'v=7f2c1b1e-5a3c-4b6f-9d0e-1a2b3c4d5e6f', '7f2c1b1e-5a3c-4b6f-9d0e-1a2b3c4d5e6f'],
  ['enum', t.enum('up', 'down'), 'v=up', 'up'],
  ['array takes repeated values', t.array(t.int), 'v=1&v=2&w=3', [1, 2]],
  ['array takes a single value', t.array(t.int), 'v=1', [1]],
  ['default when missing', t.int.default(7), '', 7],
  ['the value when there is a default', t.int.default(7), 'v=8', 8],
  ['an optional value that is missing is undefined, so that the default of JavaScript applies', t.int.optional(), '', 'javascript'],
  ['an optional value that is there', t.int.optional(), 'v=1', 1],
  ['a Standard Schema', upper, 'v=abc', 'ABC'],
  ['a Standard Schema that answers later', later, 'v=abc', 'ABC'],
]
for (const [promise, schema, query, args] of bindings) {
  test(`query value: ${promise}`, async () => {
    const server = new HttpServer(quiet).mapGet('/', { v: schema } as Record<string, AnySchema>, (args) => {
      const { v = 'javascript' } = args as { v?: unknown }
      return { v }
    })
    const answer = await server.inject(`/?${query}`)
    assert.deepEqual([answer.status, answer.json()], [200, { v: args }])
  })
}

const misfits: [promise: string, schema: AnySchema, query: string, actual: string | undefined][] = [
  ['missing', t.int, '', undefined],
  ['no number', t.int, 'v=abc', 'abc'],
  ['a number with a rest', t.int, 'v=1x', '1x'],
  ['empty', t.int, 'v=', ''],
  ['beyond exact numbers', t.int, 'v=9007199254740993', '9007199254740993'],
  ['beyond its bounds', t.int.min(1), 'v=0', '0'],
  ['NaN', t.number, 'v=NaN', 'NaN'],
  ['a bool that is a word', t.bool, 'v=yes', 'yes'],
  ['31 February', t.date, 'v=2024-02-31', '2024-02-31'],
  ['none of the choices', t.enum('up', 'down'), 'v=left', 'left'],
  ['repeated where one value is wanted', t.int, 'v=1&v=2', undefined],
  ['refused by a Standard Schema', upper, 'v=ABC', 'ABC'],
  ['refused later by a Standard Schema', later, 'v=ABC', 'ABC'],
]
for (const [promise, schema, query, actual] of misfits) {
  test(`query value that is ${promise}: 400, and the handler does not run`, async () => {
    let ran = false
    const server = new HttpServer(quiet).mapGet('/', { v: schema } as Record<string, AnySchema>, () => void (ran = true))
    const answer = await server.inject(`/?${query}`)
    const problem = answer.json() as {
      code: string
      status: number
      errors: { name: string; in: string; expected: string; actual?: string }[]
    }
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type'), problem.code, problem.status],
      [400, 'application/problem+json', 'WEIR_PARAMETER_INVALID', 400],
    )
    assert.equal(problem.errors.length, 1)
    const [failure] = problem.errors
    assert.deepEqual([failure!.name, failure!.in, failure!.expected.length > 0], ['v', 'query', true])
    if (promise !== 'repeated where one value is wanted') assert.equal(failure!.actual, actual)
    assert.equal(ran, false)
  })
}

test('one problem document lists every failure, those of the route and of a schema that answers later included', async () => {
  const server = new HttpServer(quiet).mapGet(
    '/:id/:name',
    { id: t.int, page: t.int, sort: t.enum('up', 'down'), late: later, fine: t.bool.default(true) },
    () => '',
  )
  const answer = await server.inject('/x/y?sort=left&late=NO')
  const { errors } = answer.json() as { errors: { name: string; in: string; actual?: string }[] }
  const seen = errors.map(({ name, in: place, actual }) => [name, place, actual])
  assert.deepEqual(seen.sort(), [
    ['id', 'route', 'x'],
    ['late', 'query', 'NO'],
    ['page', 'query', undefined],
    ['sort', 'query', 'left'],
  ])
})

test('a route value wins over a query value of its name', async () => {
  const server = new HttpServer(quiet).mapGet('/:id', { id: t.int }, ({ id }) => ({ id }))
  assert.deepEqual((await server.inject('/1?id=2')).json(), { id: 1 })
})

test('a Standard Schema gets undefined for nothing and a list for repeated values', async () => {
  asked.length = 0
  const server = new HttpServer(quiet).mapGet('/', { v: upper }, () => '')
  await texts(server, '/', '/?v=a&v=b')
  assert.deepEqual(asked, ['undefined', '["a","b"]'])
})

test('a schema that throws or rejects is a 500, and the handler does not run', async () => {
  const make = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
    '~standard': { version: 1, vendor: 'x', validate },
  })
  const server = new HttpServer(quiet)
  server.mapGet(
    '/throws',
    {
      v: make(() => {
        throw new Error('x')
      }),
    },
    () => 'ran',
  )
  server.mapGet('/rejects', { v: make(() => Promise.reject(new Error('x'))), w: make(() => Promise.reject(new Error('y'))) }, () => 'ran')
  assert.deepEqual(await texts(server, '/throws?v=1', '/rejects?v=1'), ['500', '500'])
})

test('arguments have no prototype, and names like constructor are names like any other', async () => {
  const server = new HttpServer(quiet).mapGet('/:constructor', { toString: t.string.optional() } as Record<string, AnySchema>, (args) => {
    const all = args as Record<string, unknown>
    return [Object.getPrototypeOf(all.constructor) !== null, all.constructor, typeof all['toString'], typeof all['hasOwnProperty']]
  })
  assert.deepEqual((await server.inject('/x')).json(), [true, 'x', 'undefined', 'undefined'])
})

// Paths.

const paths: [promise: string, template: string, path: string, values: unknown][] = [
  ['a parameter is one segment, decoded', '/a/:x', '/a/b%20c', { x: 'b c' }],
  ['a parameter is not empty', '/a/:x', '/a/', 404],
  ['a parameter is not two segments', '/a/:x', '/a/b/c', 404],
  ['an encoded slash is part of a value', '/a/:x', '/a/b%2Fc', { x: 'b/c' }],
  ['an encoded slash in lower case too', '/a/:x/d', '/a/b%2fc/d', { x: 'b/c' }],
  ['a percent that was encoded is decoded once', '/a/:x', '/a/%252F', { x: '%2F' }],
  ['both at once', '/a/:x', '/a/%252F%2F', { x: '%2F/' }],
  ['a rest has slashes', '/a/*r', '/a/b/c', { r: 'b/c' }],
  ['a rest keeps an encoded slash, since it is a path', '/a/*r', '/a/b%2Fc/d', { r: 'b%2Fc/d' }],
  ['a rest is decoded', '/a/*r', '/a/%C3%BC/%20', { r: 'ü/ ' }],
  ['a rest is not empty', '/a/*r', '/a/', 404],
  ['a rest may end with a slash', '/a/*r', '/a/b/', { r: 'b/' }],
  ['a trailing slash is another path', '/a', '/a/', 404],
  ['text is compared decoded', '/gr%C3%BC%C3%9Fe', '/gr%c3%bc%c3%9fe', null],
  ['text is compared with its case', '/a', '/A', 404],
  ['dot segments are refused', '/*r', '/a/%2e%2e/b', 400],
  ['an encoded NUL is refused', '/*r', '/a%00b', 400],
  ['invalid UTF-8 is refused', '/*r', '/%ff', 400],
]
for (const [promise, template, path, values] of paths) {
  test(`path: ${promise}`, async () => {
    const server = new HttpServer(quiet).mapGet(template, (args, { request }) => ({ args, values: request.routeValues }))
    const answer = await server.inject(path)
    if (typeof values === 'number') assert.equal(answer.status, values)
    else assert.deepEqual(answer.json(), { args: values ?? {}, values })
  })
}

test('exact paths beat parameters, and parameters beat a rest, whatever the order of mapping', async () => {
  const server = new HttpServer(quiet)
  server
    .mapGet('/*r', () => 'rest')
    .mapGet('/:x', () => 'parameter')
    .mapGet('/exact', () => 'exact')
    .mapGet('/:x/y', () => 'deep')
  assert.deepEqual(await texts(server, '/exact', '/other', '/exact/y', '/exact/z'), ['exact', 'parameter', 'deep', 'rest'])
})

test('host routes: the exact host, then a wildcard, then none', async () => {
  const server = new HttpServer(quiet)
  server
    .mapGet('/', () => 'none')
    .mapGet('/', { host: '*.example.com' }, () => 'wild')
    .mapGet('/', { host: 'a.example.com' }, () => 'exact')
  const ask = async (Host: string): Promise<string> => (await server.inject({ url: '/', headers: { Host } })).text()
  const hosts = ['a.example.com', 'A.EXAMPLE.com:81', 'b.example.com', 'x.b.example.com', 'example.com', 'other', '[::1]:80']
  assert.deepEqual(await Promise.all(hosts.map(ask)), ['exact', 'exact', 'wild', 'wild', 'none', 'none', 'none'])
})

// Methods.

inBothReadModes('methods', (serve) => {
  test('404 has a problem document', async (t) => {
    const { connect } = await serve(t, (server) => server.mapGet('/a', () => 'a'))
    const answer = await (await connect()).get('/b').message()
    assert.deepEqual([answer.status, answer.header('content-type'), answer.header('allow')], [404, 'application/problem+json', null])
    assert.equal((answer.json() as { code: string }).code, 'WEIR_ROUTE_NOT_FOUND')
  })

  const table: [promise: string, method: string, url: string, status: number, allow: string | null][] = [
    ['405 lists the methods that the path has', 'DELETE', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['405 of a template', 'GET', '/t/1', 405, 'OPTIONS, PUT'],
    ['405 of a path that templates share', 'GET', '/t/x', 405, 'DELETE, OPTIONS, PUT'],
    ['HEAD of a path without GET is 405', 'HEAD', '/t/1', 405, 'OPTIONS, PUT'],
    ['an unknown method is 405 as well', 'BREW', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['the case of a method counts', 'get', '/a', 405, 'GET, HEAD, OPTIONS, POST'],
    ['OPTIONS lists the methods', 'OPTIONS', '/a', 204, 'GET, HEAD, OPTIONS, POST'],
    ['OPTIONS of nothing is 404', 'OPTIONS', '/nowhere', 404, null],
    ['OPTIONS * lists the methods of the server', 'OPTIONS', '*', 204, 'DELETE, GET, HEAD, OPTIONS, POST, PUT'],
    ['OPTIONS that is mapped is the handler’s', 'OPTIONS', '/own', 200, null],
    ['any method is any', 'BREW', '/any', 200, null],
    ['HEAD is answered by GET', 'HEAD', '/a', 200, null],
    ['HEAD that is mapped is its own', 'HEAD', '/head', 299, null],
  ]
  for (const [promise, method, url, status, allow] of table) {
    test(promise, async (t) => {
      const { connect } = await serve(t, (server) => {
        server
          .mapGet('/a', () => 'a')
          .mapPost('/a', () => 'a')
          .mapPut('/t/:x', () => 't')
          .mapDelete('/t/x', () => 'x')
          .map(null, '/any', () => 'any')
        server
          .map('OPTIONS', '/own', () => 'own')
          .mapGet('/head', () => 'get')
          .map('HEAD', '/head', (_, { response }) => response.status(299))
      })
      const client = await connect()
      const answer = await client.send(`${method} ${url} HTTP/1.1\r\nHost: h\r\n\r\n`).message(method === 'HEAD')
      assert.deepEqual([answer.status, answer.header('allow')], [status, allow])
      assert.equal((await client.get('/a').message()).text, 'a')
    })
  }
})

// Mistakes at mapping time.

const mistakes: [what: string, code: string, map: (server: HttpServer) => unknown][] = [
  ['the same path and method twice', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/a', () => 1).mapGet('/a', () => 2)],
  ['parameters that differ in name only', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/:a', () => 1).mapGet('/:b', () => 2)],
  ['the same text, encoded otherwise', 'WEIR_ROUTE_CLASH', (s) => s.mapGet('/gr%C3%BCn', () => 1).mapGet('/grün', () => 2)],
  ['any method twice', 'WEIR_ROUTE_CLASH', (s) => s.map(null, '/a', () => 1).map(null, '/a', () => 2)],
  [
    'hosts that differ in case only',
    'WEIR_ROUTE_CLASH',
    (s) => s.mapGet('/', { host: 'A.b' }, () => 1).mapGet('/', { host: 'a.B' }, () => 2),
  ],
  ['a controller mapped twice', 'WEIR_ROUTE_CLASH', (s) => s.mapController(Decorated).mapController(Decorated)],
  ['a path without a slash', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('a', () => 1)],
  ['an empty segment', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/a//b', () => 1)],
  ['two parameters of one name', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:a/:a', () => 1)],
  ['a rest that is not last', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/*a/b', () => 1)],
  ['a parameter without a name', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:', () => 1)],
  ['a parameter __proto__', 'WEIR_ROUTE_TEMPLATE', (s) => s.mapGet('/:__proto__', () => 1)],
  ['a method that is no token', 'WEIR_ROUTE_DECLARATION', (s) => s.map('GE T', '/', () => 1)],
  ['no handler', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', undefined as unknown as () => 1)],
  [
    'a declaration that is neither schema nor option',
    'WEIR_ROUTE_DECLARATION',
    (s) => s.mapGet('/', { boby: 'stream' } as object, () => 1),
  ],
  ['a host that is none', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { host: 'a b' }, () => 1)],
  ['a body mode that is none', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { body: 'x' as 'stream' }, () => 1)],
  ['a body size that is none', 'WEIR_ROUTE_DECLARATION', (s) => s.mapGet('/', { maxRequestBodySize: -1 }, () => 1)],
  ['a controller without routes', 'WEIR_ROUTE_DECLARATION', (s) => s.mapController(class extends Controller {})],
]
for (const [what, code, map] of mistakes) {
  test(`mapping ${what} throws ${code}`, () => {
    assert.throws(() => map(new HttpServer(quiet)), { code })
  })
}

test('a clash says which handlers the routes are of', () => {
  const server = new HttpServer(quiet).mapGet('/table/one', () => 'mine').mapPut('/table/one', () => 'mine')
  assert.throws(() => server.mapController(Tabled), { message: /\(inline\) and .* \(Tabled\.\w+\)$/ })
})

test('legacy decorators are told from those of the standard', () => {
  const [onMethod, onClass, onField] = [Route('GET', '/'), Route('/'), Field(t.int)] as unknown as ((...args: unknown[]) => void)[]
  const said = /experimentalDecorators/
  assert.throws(() => onMethod!(Decorated.prototype, 'show', {}), { code: 'WEIR_ROUTE_DECLARATION', message: said })
  assert.throws(() => onClass!(Decorated), { code: 'WEIR_ROUTE_DECLARATION', message: said })
  assert.throws(() => onField!({}, 'age'), { name: 'TypeError', message: said })
})

// Without it, a host program that catches the error serves half a controller.
test('a mapping that throws maps nothing of a controller', async () => {
  const server = new HttpServer(quiet).mapGet('/table/any', () => 'mine').map('PUT', '/table/one', () => 'mine')
  server.map(null, '/outside', () => 'mine').mapGet('/outside', () => 'clash')
  const before = server.routes.length
  assert.throws(() => server.mapController(Tabled), { code: 'WEIR_ROUTE_CLASH' })
  assert.equal(server.routes.length, before)
  assert.deepEqual(await texts(server, '/table/5'), ['404'])
})

const fine: [what: string, map: (server: HttpServer) => unknown][] = [
  ['one path with several methods', (s) => s.mapGet('/a', () => 1).mapPost('/a', () => 2)],
  ['any method beside a method', (s) => s.mapGet('/a', () => 1).map(null, '/a', () => 2)],
  [
    'one path for several hosts',
    (s) =>
      s
        .mapGet('/', { host: 'a.b' }, () => 1)
        .mapGet('/', { host: '*.b' }, () => 1)
        .mapGet('/', () => 1),
  ],
  [
    'a parameter beside text and a rest',
    (s) =>
      s
        .mapGet('/a', () => 1)
        .mapGet('/:a', () => 2)
        .mapGet('/*a', () => 3),
  ],
]
for (const [what, map] of fine) {
  test(`mapping ${what} is fine`, () => {
    map(new HttpServer(quiet))
  })
}

test('server.routes lists method, path, host, bindings and metadata in the order of mapping', () => {
  const server = new HttpServer(quiet)
    .mapGet('/a/:id', { id: t.int, host: 'h.example', metadata: { x: 1 } }, () => 1)
    .map(null, '/b', () => 2)
  const seen = server.routes.map(({ method, path, host, bindings, metadata }) => [
    method,
    path,
    host,
    Object.keys(bindings),
    { ...metadata },
  ])
  assert.deepEqual(seen, [
    ['GET', '/a/:id', 'h.example', ['id'], { x: 1 }],
    [null, '/b', null, [], {}],
  ])
})
