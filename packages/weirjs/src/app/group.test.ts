import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, SERVER } from '../../test/support/asked.ts'
import { t } from '../schema/t.ts'
import { Controller } from './controllers/controller.ts'
import { declareTable } from './controllers/routed.ts'
import { RouteGroup } from './group.ts'
import type { ModuleHost } from './module-host.ts'
import { RouteTable } from './routes/route-table.ts'

/** A server without a network, and what it has logged. */
function serverOf(host?: object) {
  const logged: string[] = []
  const table = new RouteTable()
  table.composeWith(() => () => assert.fail())
  const home = {
    table,
    logger: { error: (message: string) => void logged.push(message) },
    limits: { maxRequestBodySize: 1, requestTimeout: 1, writeTimeout: 1 },
    invalidBodyStatus: 400,
  } as const
  class Server extends RouteGroup<''> {
    constructor() {
      super(home, table.root)
    }
    protected override server(): ModuleHost {
      return (host ?? this) as ModuleHost
    }
  }
  const answering = (line: string): string | null => table.find(askedHead(line), null).route?.label ?? null
  return { server: new Server(), logged, answering, table }
}

test('paths of groups are joined, and theirs are only their own routes', () => {
  const { server, answering } = serverOf()
  const group = server.group('/api').group('/v1/')
  group.mapGet('/a', () => {})
  group.mapPost('b', () => {})
  server.mapGet('/c', () => {})
  assert.deepEqual(
    group.routes.map(({ path }) => path),
    ['/api/v1/a', '/api/v1/b'],
  )
  assert.equal(server.routes.length, 3)
  assert.equal(answering('GET /api/v1/a'), 'GET /api/v1/a')
})

test('the list of routes is the same until one is added', () => {
  const { server } = serverOf()
  const before = server.routes
  assert.equal(server.routes, before)
  server.mapGet('/', () => {})
  assert.notEqual(server.routes, before)
})

test('each verb maps its method', () => {
  const { server } = serverOf()
  const handler = (): void => {}
  server
    .mapGet('/', handler)
    .mapPost('/', handler)
    .mapPut('/', handler)
    .mapPatch('/', handler)
    .mapDelete('/', handler)
    .mapQuery('/', handler)
  server.map('PURGE', '/', handler)
  server.map(null, '/any', {}, handler)
  assert.deepEqual(
    server.routes.map(({ method }) => method),
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'PURGE', null],
  )
})

test('mounted code gets the path, the path with a slash, and all below it', () => {
  const { server, answering } = serverOf()
  server.group('/app').mapBelow('/', 'rest', {}, () => {})
  assert.deepEqual(
    ['/app', '/app/', '/app/a/b', '/app//a', '/apps'].map((path) => answering(`GET ${path}`) !== null),
    [true, true, true, true, false],
  )
})

test('a fallback answers below its prefix', () => {
  const { server, answering } = serverOf()
  server.mapGet('/pages/a', () => {})
  server.group('/pages').fallback(() => {})
  assert.deepEqual(
    ['GET /pages', 'GET /pages/', 'GET /pages/x/y', 'POST /pages/a', 'GET /page'].map((line) => answering(line) !== null),
    [true, true, true, false, false],
  )
})

test('refuses groups that cannot continue, and files below parameters', () => {
  const { server } = serverOf()
  assert.throws(() => server.group('/*rest'), { code: 'WEIR_ROUTE_TEMPLATE', message: /but a group continues/ })
  assert.throws(() => server.group('/:id').ownUnrouted(), { code: 'WEIR_ROUTE_TEMPLATE', message: /a group without parameters/ })
  assert.doesNotThrow(() => server.group('/files').ownUnrouted())
})

test('warns of parameters in the notation of other frameworks', () => {
  const { server, logged } = serverOf()
  server.mapGet('/users/{id}/<name>', () => {})
  server.mapGet('/users/:id', { id: t.int }, () => {})
  assert.deepEqual(
    logged.map((line) => line.slice(0, 13)),
    ['weir: "{id}" ', 'weir: "<name>'],
  )
  assert.match(logged[0]!, /write ":id" for a parameter, or "%7Bid%7D" for the text/)
})

test('modules are installed once, and not at all if they fail', () => {
  const { server } = serverOf()
  const module = { name: 'a', install: () => {} }
  server.use(module)
  assert.throws(() => server.use({ ...module }), { code: 'WEIR_SERVER_STATE' })
  const failing = { name: 'b', install: () => assert.fail('own') }
  assert.throws(() => server.use(failing), /own/)
  assert.throws(() => server.use(failing), /own/, 'it may be tried again')
  assert.throws(() => server.use({ name: 'c', install: (async () => {}) as () => void }), { message: /returned a promise/ })
})

test('use, gate and beforeSend take functions, and a name once', () => {
  const { server, table } = serverOf()
  assert.throws(() => server.gate({} as never), { message: /a function is needed/ })
  assert.throws(() => server.beforeSend({} as never), { message: /takes a function/ })
  server.use({ name: 'auth', gate: () => {} }).gate(() => {})
  assert.throws(() => server.use({ name: 'auth' }), { message: /there already is a policy "auth" at this level/ })
  assert.equal(table.root.chain.gates.length, 2)
})

test('a mapping that fails maps nothing', () => {
  const { server } = serverOf()
  server.mapGet('/api/b', () => {})
  const contract = { a: { method: 'GET', path: '/a', declaration: {} }, b: { method: 'GET', path: '/b', declaration: {} } }
  assert.throws(() => server.group('/api').mapContract(contract, { a: () => {}, b: () => {} } as never), { code: 'WEIR_ROUTE_CLASH' })
  assert.equal(server.routes.length, 1)
})

test('controllers are mapped below the prefix of the group', () => {
  const { server } = serverOf()
  class Shop extends Controller {
    show(): void {}
  }
  declareTable(Shop, { prefix: '/shop', declaration: {} }, new Map([['show', [{ method: 'GET', path: '/:id', declaration: {} }]]]))
  class Plain extends Shop {}
  server.group('/api').mapController(Shop, '/v1')
  server.mapControllers([Plain], '/plain')
  server.mapControllers(Shop, '/all', { exclude: [Plain] })
  assert.deepEqual(
    server.routes.map(({ path }) => path),
    ['/api/v1/shop/:id', '/plain/shop/:id', '/all/shop/:id'],
  )
  assert.throws(() => server.mapController(Shop, '', { make: () => {} } as never), {
    code: 'WEIR_OPTION_INVALID',
    message: /mapController\(\)/,
  })
  assert.throws(() => server.mapControllers([Shop], '', { exclude: Shop } as never), {
    code: 'WEIR_OPTION_INVALID',
    message: /mapControllers\(\)/,
  })
})

test('a group is what its server is, for the modules that are installed on it', async () => {
  const observers: unknown[] = []
  const stops: unknown[] = []
  const endpoints = [{ name: 'public' }]
  const host = {
    ...{ ...SERVER, address: '192.0.2.7', port: 7, connections: 3, frontEnds: ['https://app.example.com'], basePath: '/base', endpoints },
    observe: (observer: unknown) => void observers.push(observer),
    stop: async (options: unknown) => void stops.push(options),
  }
  const group = serverOf(host).server.group('/g')
  for (const name of [
    'address',
    'port',
    'connections',
    'frontEnds',
    'basePath',
    'isListening',
    'isReady',
    'stopping',
    'endpoints',
  ] as const)
    assert.equal(group[name], host[name], name)
  const observer = { end() {} }
  assert.equal(group.observe(observer), group)
  await group.stop({ grace: 5 })
  assert.deepEqual([observers, stops, group.prefix], [[observer], [{ grace: 5 }], '/g'])
})

test('what is no module, or one and a policy, is refused with what to write', () => {
  const { server } = serverOf()
  const refused: readonly (readonly [given: unknown, message: RegExp])[] = [
    [{ name: 'm', install() {}, gate() {} }, /"m" has install and gate: it is a module or a policy, not both$/],
    [{ name: '', install() {} }, /name of a module is the string "", not a string$/],
    [server.group('/a'), /a group or a server is no policy/],
  ]
  for (const [given, message] of refused) assert.throws(() => server.use(given as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => server.useModule((() => {}) as never), /useModule\(\): a module is an object with a name and install\(host\), not /)
  const installed: string[] = []
  server.useModule({ name: 'm', install: () => void installed.push('m') })
  assert.deepEqual(installed, ['m'])
})
