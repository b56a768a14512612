import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  Controller,
  HttpServer,
  type HttpSession,
  type Middleware,
  metadataKey,
  type Policy,
  principalKey,
  Route,
  routes,
  t,
} from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'

const quiet = (): HttpServer => new HttpServer({ logger: null })

/** Records its name when its gate, middleware and hook run. */
function traced(name: string, as: string = name): Policy {
  const note = (what: string) => (session: HttpSession) => void session.response.appendHeader('Trace', `${what} ${as}`)
  return {
    name,
    gate: note('gate'),
    middleware: (session, next) => {
      note('run')(session)
      return next()
    },
    beforeSend: note('send'),
  }
}

function plain(name: string): Middleware {
  return (session, next) => {
    session.response.appendHeader('Trace', name)
    return next()
  }
}

async function trace(server: HttpServer, url: string, method = 'GET'): Promise<string> {
  const response = await server.inject({ method, url })
  return `${response.status}: ${response.headers.get('trace') ?? ''}`
}

test('a group gives its routes a prefix and its parameters', async () => {
  const server = quiet()
  const api = server.group('/api/:org', { org: t.int, verbose: t.bool.default(false) })
  api.mapGet('/orders/:id', { id: t.int }, (args) => args)
  api.mapGet('plain', (args) => args)
  const inner = api.group('teams/:team', { verbose: t.bool.default(true) })
  inner.mapGet('/', (args) => args)
  inner.mapGet('/own', { org: t.string }, (args) => args)
  assert.deepEqual((await server.inject('/api/7/orders/8?verbose=1')).json(), { org: 7, id: 8, verbose: true })
  assert.deepEqual((await server.inject('/api/7/plain')).json(), { org: 7, verbose: false })
  assert.deepEqual((await server.inject('/api/7/teams/a')).json(), { org: 7, team: 'a', verbose: true })
  assert.deepEqual((await server.inject('/api/7/teams/a/own')).json(), { org: '7', team: 'a', verbose: true })
  assert.equal((await server.inject('/api/x/plain')).status, 400)
  assert.deepEqual([server.prefix, api.prefix, inner.prefix], ['', '/api/:org', '/api/:org/teams/:team'])
})

test('a parameter of a group whose name is in the path of a route is read from there', async () => {
  const server = quiet()
  server.group('/a', { id: t.int }).mapGet('/:id', ({ id }) => id + 1)
  assert.equal((await server.inject('/a/7')).text(), '8')
})

test('policies run from the outermost to the innermost, whatever kind of hook they have', async () => {
  const server = quiet()
  server.use(traced('a'))
  const group = server.group('/g', { use: [traced('b'), traced('c')] })
  group.group('/h', { use: [traced('d')] }).mapGet('/', { use: [traced('e')] }, () => 'x')
  server.use(traced('f'))
  const all = ['a', 'f', 'b', 'c', 'd', 'e']
  const expected = ['gate', 'run', 'send'].flatMap((what) => all.map((name) => `${what} ${name}`)).join(', ')
  assert.equal(await trace(server, '/g/h'), `200: ${expected}`)
})

test('an inner policy replaces an outer one with the same name, and a policy without hooks removes it', async () => {
  const server = quiet()
  server.use(traced('auth', 'auth of the server')).use(plain('between'))
  const group = server.group('/g', { use: [traced('limit'), traced('auth', 'auth of the group')] })
  group.mapGet('/', () => 'x')
  group.mapGet('/own', { use: [plain('own'), traced('limit', 'limit of the route')] }, () => 'x')
  group.mapGet('/open', { use: [{ name: 'auth' }] }, () => 'x')
  server.mapGet('/', () => 'x')
  const run = async (url: string): Promise<string> => (await trace(server, url)).replace(/(?:gate|send) [^,]*,? ?/g, '')
  assert.equal(await run('/'), '200: run auth of the server, between, ')
  assert.equal(await run('/g'), '200: run auth of the group, between, run limit, ')
  assert.equal(await run('/g/own'), '200: run auth of the group, between, run limit of the route, own, ')
  assert.equal(await run('/g/open'), '200: between, run limit, ')
})

test('what is added to a server or a group later applies to the existing routes', async () => {
  const server = quiet()
  const group = server.group('/g')
  group.mapGet('/', { use: [plain('route')] }, () => 'x')
  group.fallback(() => 'fallback')
  assert.equal(await trace(server, '/g'), '200: route')
  group.use(plain('group'))
  server.use(plain('server'))
  group.beforeSend((_, response) => void response.appendHeader('Trace', 'sent'))
  server.gate((session) => void session.response.appendHeader('Trace', 'gate'))
  assert.equal(await trace(server, '/g'), '200: gate, server, group, route, sent')
  assert.equal(await trace(server, '/g/none'), '200: gate, server, group, sent')
  assert.equal(await trace(server, '/none'), '404: gate, server')
})

test('hooks of beforeSend run after those of policies, and for refusals of the route as well', async () => {
  const server = quiet()
  server.beforeSend((_, response) => void response.appendHeader('Trace', 'server'))
  const group = server.group('/g', { use: [traced('policy')], maxRequestBodySize: 1 })
  group.beforeSend((_, response) => void response.appendHeader('Trace', 'group'))
  group.mapPost('/', () => 'x')
  const refused = await server.inject({ method: 'POST', url: '/g', body: 'large' })
  assert.deepEqual([refused.status, refused.headers.get('trace')], [413, 'gate policy, send policy, server, group'])
})

test('a fallback handles what no route below the prefix matches, and 405 stays 405', async () => {
  const server = quiet()
  const api = server.group('/api/:org', { org: t.int, use: [plain('api')] })
  api.mapGet('/orders', () => 'orders')
  api.fallback(({ org }, { request }) => `${request.method} ${org}`)
  api.group('/inner', { use: [plain('inner')] }).fallback(({ org }) => `inner ${org}`)
  const see = async (method: string, url: string): Promise<string> => {
    const response = await server.inject({ method, url })
    return `${response.status} ${response.status < 300 ? response.text() : ''} ${response.headers.get('trace')} ${response.headers.get('allow')}`
  }
  assert.equal(await see('GET', '/api/1/orders'), '200 orders api null')
  assert.equal(await see('GET', '/api/1'), '200 GET 1 api null')
  assert.equal(await see('GET', '/api/1/'), '200 GET 1 api null')
  assert.equal(await see('DELETE', '/api/1/a/b%2Fc'), '200 DELETE 1 api null')
  assert.equal(await see('OPTIONS', '/api/1/none'), '200 OPTIONS 1 api null')
  assert.equal(await see('GET', '/api/1/inner/x'), '200 inner 1 api, inner null')
  assert.equal(await see('POST', '/api/1/orders'), '405  api GET, HEAD, OPTIONS')
  assert.equal(await see('OPTIONS', '/api/1/orders'), '204  api GET, HEAD, OPTIONS')
  assert.equal(await see('GET', '/apix/1'), '404  null null')
  assert.equal(await see('GET', '/api'), '404  null null')
  assert.equal(await see('GET', '/api/x/none'), '400  api null')
  assert.throws(() => api.fallback(() => ''), { code: 'WEIR_ROUTE_CLASH' })
  assert.equal(server.routes.length, 1)
})

test('a fallback of a group that is bound to a host handles only that host', async () => {
  const server = quiet()
  server.group('/', { host: 'a.example' }).fallback(() => 'a')
  const see = async (host: string): Promise<number> => (await server.inject({ url: '/x', headers: { Host: host } })).status
  assert.deepEqual([await see('a.example'), await see('b.example')], [200, 404])
})

test('405 and OPTIONS run the policies that all routes of the path have in common', async () => {
  const server = quiet()
  server.use(plain('server'))
  const group = server.group('/g', { use: [plain('group')] })
  group.mapGet('/one', { use: [plain('route')] }, () => 'x')
  group.group('/a', { use: [plain('a')] }).mapGet('/two', () => 'x')
  group.group('/a', { use: [plain('b')] }).mapPut('/two', () => 'x')
  server.mapGet('/g/three', () => 'x')
  group.mapPut('/three', () => 'x')
  assert.equal(await trace(server, '/g/one', 'PUT'), '405: server, group')
  assert.equal(await trace(server, '/g/a/two', 'OPTIONS'), '204: server, group')
  assert.equal(await trace(server, '/g/three', 'POST'), '405: server')
  assert.equal(await trace(server, '/g/none'), '404: server')
  assert.equal(await trace(server, '*', 'OPTIONS'), '204: server')
})

test('metadata, tags, host and limits are inherited, and the inner ones take precedence', async () => {
  const server = new HttpServer({ logger: null, limits: { maxRequestBodySize: 100 } })
  const group = server.group('/g', {
    metadata: { a: 1, b: 1 },
    tags: ['x', 'y'],
    host: 'A.example',
    maxRequestBodySize: 10,
    requestTimeout: 1_000,
    use: [{ name: 'auth', describe: () => ({ scheme: 'bearer' }) }],
  })
  group.mapPost('/', { metadata: { b: 2 }, tags: ['y', 'z'], maxRequestBodySize: null, use: [plain('own')] }, (_, { metadata }) => metadata)
  server.mapPost('/', () => '')
  const response = await server.inject({ method: 'POST', url: '/g', headers: { Host: 'a.example' }, body: 'x'.repeat(200) })
  assert.deepEqual(response.json(), { a: 1, b: 2 })
  const [listed, other] = server.routes
  assert.deepEqual(
    { ...listed, bindings: null },
    {
      method: 'POST',
      path: '/g',
      host: 'a.example',
      endpoint: null,
      bindings: null,
      body: null,
      answers: {},
      summary: null,
      description: null,
      operationId: null,
      deprecated: false,
      tool: null,
      etag: false,
      entry: null,
      metadata: { a: 1, b: 2 },
      tags: ['x', 'y', 'z'],
      policies: [
        { name: 'auth', level: 'group', description: { scheme: 'bearer' } },
        { name: '(anonymous)', level: 'route', description: null },
      ],
      invalidBodyStatus: 400,
      upgradesTo: null,
      messages: null,
      bodyMode: 'auto',
      limits: {
        maxRequestBodySize: { value: null, level: 'route' },
        requestTimeout: { value: 1_000, level: 'group' },
        writeTimeout: { value: 120_000, level: 'server' },
      },
      source: 'inline',
    },
  )
  assert.deepEqual(other!.limits.maxRequestBodySize, { value: 100, level: 'server' })
  assert.deepEqual(
    group.routes.map(({ path }) => path),
    ['/g'],
  )
})

test('a controller class has options and policies for all its routes, and for those of derived classes', async () => {
  @Route('/base', { use: [traced('auth', 'auth of base'), plain('base')], metadata: { a: 1, b: 1 }, maxRequestBodySize: 1 })
  class Base extends Controller {
    @Route('GET', '/inherited')
    inherited() {
      return this.session.metadata
    }
  }

  @Route('/derived', { use: [plain('derived')], metadata: { b: 2 } })
  class Derived extends Base {
    @Route('GET', '/own', { use: [{ name: 'auth' }] })
    own() {
      return this.session.metadata
    }
  }

  class Silent extends Derived {
    @Route('GET', '/silent')
    silent() {
      return ''
    }
  }

  const server = quiet()
  const group = server.group('/g', { use: [plain('group')] })
  group.mapController(Derived)
  server.mapController(Silent, '/s')
  const run = async (url: string): Promise<string> => (await trace(server, url)).replace(/(?:gate|send) [^,]*,? ?/g, '')
  assert.equal(await run('/g/derived/inherited'), '200: group, run auth of base, base, derived, ')
  assert.equal(await run('/g/derived/own'), '200: group, base, derived')
  assert.equal(await run('/s/derived/silent'), '200: run auth of base, base, derived, ')
  assert.deepEqual((await server.inject('/g/derived/own')).json(), { a: 1, b: 2 })
  assert.deepEqual(
    group.routes.map(({ limits }) => limits.maxRequestBodySize),
    Array(2).fill({ value: 1, level: 'class' }),
  )
})

test('a table of routes has the same options, and a method with the name of an option is a method', async () => {
  class Tabled extends Controller {
    static routes = routes(this, {
      prefix: '/t',
      use: [plain('class')],
      metadata: { role: 'x' },
      tags: ['GET', '/no-route'],
      show: ['GET', '/show', { use: [plain('route')] }],
      host: ['GET', '/host'],
    })

    show() {
      return this.session.metadata
    }

    host() {
      return 'host'
    }
  }
  const server = quiet()
  server.mapController(Tabled)
  assert.equal(await trace(server, '/t/show'), '200: class, route')
  assert.equal((await server.inject('/t/host')).text(), 'host')
  assert.deepEqual(
    server.routes.map(({ path, tags, host }) => [path, tags, host]),
    [
      ['/t/show', ['GET', '/no-route'], null],
      ['/t/host', ['GET', '/no-route'], null],
    ],
  )
})

test('a policy may be an instance of a class, and later changes to it have no effect', async () => {
  class Counter implements Policy {
    readonly name = 'counter'
    #count = 0

    gate(session: HttpSession): void {
      session.response.header('Trace', String(++this.#count))
    }
  }
  const counter = new Counter()
  const server = quiet()
  server.group('/', { use: [counter] }).mapGet('/', () => 'x')
  counter.gate = () => {
    throw new Error('replaced')
  }
  assert.equal(await trace(server, '/'), '200: 1')
  assert.equal(await trace(server, '/'), '200: 2')
})

test('modules are installed on a group: their routes are below its prefix, their hooks apply only to its routes', async () => {
  const server = quiet()
  const open = server.group('/open')
  open.use(cors()).use(compression())
  open.use({ name: 'ping', install: (host) => void host.mapGet('/ping', () => 'x'.repeat(5_000)) })
  server.mapGet('/closed', () => 'closed')
  server.use(cors({ origins: ['https://a.example'] }))
  const headers = { Origin: 'https://b.example', 'Accept-Encoding': 'gzip', 'Access-Control-Request-Method': 'GET' }
  const ping = await server.inject({ url: '/open/ping', headers })
  assert.deepEqual([ping.headers.get('access-control-allow-origin'), ping.headers.get('content-encoding')], ['*', 'gzip'])
  const closed = await server.inject({ url: '/closed', headers })
  assert.deepEqual([closed.headers.get('access-control-allow-origin'), closed.headers.get('content-encoding')], [null, null])
  assert.equal((await server.inject({ method: 'OPTIONS', url: '/open/ping', headers })).status, 204)
  assert.equal((await server.inject({ method: 'OPTIONS', url: '/closed', headers })).status, 403)
  assert.throws(() => open.use(cors()), { code: 'WEIR_SERVER_STATE' })
  open.use(staticFiles({ root: '.' }))
  const file = await server.inject({ url: '/open/package.json', headers })
  assert.deepEqual([file.status, file.headers.get('access-control-allow-origin')], [200, '*'])
  assert.equal((await server.inject('/package.json')).status, 404)
  assert.deepEqual([open.port, open.address, open.isListening, open.endpoints], [0, '127.0.0.1', false, []])
})

test('a group maps like a server: all or nothing, and with the same checks', () => {
  const server = quiet()
  const group = server.group('/g')
  group.mapGet('/', () => '')
  assert.throws(() => server.mapGet('/g', () => ''), { code: 'WEIR_ROUTE_CLASH' })
  assert.throws(() => group.group('/*rest'), /"\*rest" matches all that is left, but a group continues/)
  assert.throws(() => group.group('/:a/:a'), { code: 'WEIR_ROUTE_TEMPLATE' })
  assert.throws(() => group.mapGet('/:a*', () => ''), { code: 'WEIR_ROUTE_TEMPLATE' })
  assert.equal(server.routes.length, 1)
})

const mistakes: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  'a policy twice at one level': [
    () => quiet().use({ name: 'a' }).use({ name: 'a' }),
    /use\(\): there already is a policy "a" at this level: leave one out, or give each a name of its own$/,
  ],
  'a policy twice in a declaration': [
    () => quiet().mapGet('/', { use: [{ name: 'a' }, { name: 'a' }] }, () => ''),
    /"use" of \/ has two policies "a"/,
  ],
  'a policy that the group already declares': [
    () =>
      quiet()
        .group('/', { use: [{ name: 'a' }] })
        .use({ name: 'a' }),
    /there already is a policy "a" at this level: leave one out, or give each a name of its own$/,
  ],
  'a misspelt hook': [
    () => quiet().use({ name: 'a', gates: () => {} } as never),
    /policy "a" has "gates": a policy has name, gate, foresee, middleware, beforeSend, describe, check, runsFirst$/,
  ],
  'a hook that is not a function': [() => quiet().use({ gate: 5 } as never), /gate of a policy is 5, not a function$/],
  'a policy without a name and hooks': [() => quiet().use({}), /a policy has a name or a hook/],
  'a name that is not a string': [() => quiet().use({ name: 5 } as never), /name of a policy is 5, not a string$/],
  'a policy that is a module too': [
    () => quiet().use({ name: 'a', gate: () => {}, install: () => {} }),
    /use\(\): "a" has install and gate: it is a module or a policy, not both$/,
  ],
  'a module without a name': [() => quiet().use({ install: () => {} } as never), /name of a module is undefined, not a string$/],
  'a module in a declaration': [
    () => quiet().group('/g', { use: [cors() as never] }),
    /use of group \/g: .* not a module: install it with server\.use\(\)$/,
  ],
  'a gate that is not a function': [() => quiet().gate({ gate: () => {} } as never), /gate\(\): a function is needed, not an object$/],
  'use that is not a list': [
    () => quiet().mapGet('/', { use: plain('a') as never }, () => ''),
    /"use" of \/ is .*, not a list of policies: write use: \[policy\]$/,
  ],
  'a policy that is a string': [
    () => quiet().group('/g', { use: ['auth' as never] }),
    /use of group \/g: a middleware function or a policy is needed/,
  ],
  'body of a group': [
    () => quiet().group('/g', { body: 'stream' } as never),
    /"body" of group \/g is not an option of a group: it belongs to each route$/,
  ],
  'an unknown option of a group': [
    () => quiet().group('/g', { hots: 'a' } as never),
    /"hots" of group \/g is neither a schema nor an option of a group, perhaps "host"; the options are use, host, /,
  ],
  'tags that are not strings': [() => quiet().group('/g', { tags: [5] as never }), /"tags" of group \/g: 5 is not a string$/],
  'a schema on a class': [
    () =>
      Route('/a', { id: t.int } as never)(
        class A extends Controller {} as never,
        { kind: 'class', name: 'A', addInitializer() {} } as never,
      ),
    /"id" of class A is not an option of a class: parameters and body belong to the routes of its methods$/,
  ],
}

for (const [title, [act, message]] of Object.entries(mistakes)) {
  test(`refused with the expectation: ${title}`, () => assert.throws(act, message))
}

test('keys carry the type of metadata and of the principal', async () => {
  const role = metadataKey<'admin' | 'reader'>('role')
  const audited = metadataKey<boolean>('audited')
  const principalOf = principalKey<{ readonly name: string }>()
  const other = principalKey<{ readonly name: string }>()
  const server = quiet()
  server.gate((session) => {
    if (role.of(session) === 'admin') principalOf.set(session, { name: 'Ada' })
  })
  const see = (_: unknown, session: HttpSession) => [
    role.of(session) ?? null,
    audited.of(session) ?? null,
    principalOf(session)?.name ?? null,
  ]
  const group = server.group('/g', { metadata: { ...role('reader'), ...audited(true) } })
  group.mapGet('/', see)
  group.mapGet('/admin', { metadata: role('admin') }, see)
  server.mapGet('/', see)
  server.mapGet('/other', { metadata: role('admin') }, (_, session) => {
    const foreign = other(session)
    session.principal = 'somebody else'
    return [foreign, principalOf(session)]
  })
  assert.deepEqual((await server.inject('/g')).json(), ['reader', true, null])
  assert.deepEqual((await server.inject('/g/admin')).json(), ['admin', true, 'Ada'])
  assert.deepEqual((await server.inject('/')).json(), [null, null, null])
  assert.deepEqual((await server.inject('/other')).json(), [null, null])
  assert.equal(role.of(server.routes[1]!), 'admin')
})
