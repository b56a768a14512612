// Who may pass: what routes, classes, groups and servers require, and how their requirements work together.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Controller, HttpError, HttpServer, type Policy, Route, type ServerOptions, WeirError } from '../../../src/index.ts'
import { type AuthOptions, auth, CredentialsError, type Scheme } from '../../../src/modules/auth/index.ts'
import { staticFiles } from '../../../src/modules/static/index.ts'
import { statusFor, testScheme } from './support.ts'

const ROLES = ['admin', 'editor'] as const

function closedServer(options: Partial<AuthOptions> = {}, serverOptions: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...serverOptions })
  server.use(auth({ schemes: [testScheme()], roles: ROLES, ...options }))
  return server
}

const noAuth = { code: 'WEIR_AUTH_SETUP' }

/** The people who get 200, in the order anonymous, bob (nothing), eve (editor, read), ann (admin, read and write). */
async function whoPasses(server: HttpServer, url: string): Promise<string> {
  const passing: string[] = []
  for (const person of [null, 'bob', 'eve', 'ann']) {
    const status = await statusFor(server, url, person)
    if (status === 200) passing.push(person ?? 'anonymous')
    else assert.equal(status, person === null ? 401 : 403, `${url} for ${person}`)
  }
  return passing.join(' ')
}

describe('each requirement', () => {
  const cases: readonly (readonly [string, readonly Policy[], string])[] = [
    ['none', [], 'bob eve ann'],
    ['open', [auth.open], 'anonymous bob eve ann'],
    ['required', [auth.required()], 'bob eve ann'],
    ['a scheme', [auth.required('test')], 'bob eve ann'],
    ['a role', [auth.roles('admin')], 'ann'],
    ['any of two roles', [auth.roles('admin', 'editor')], 'eve ann'],
    ['a scope', [auth.scopes('read')], 'eve ann'],
    ['all of two scopes', [auth.scopes('read', 'write')], 'ann'],
    ['a policy', [auth.policy(({ id }) => id === 'bob')], 'bob'],
    ['a late policy', [auth.policy(async ({ id }) => id === 'bob')], 'bob'],
    ['a role and a scope', [auth.roles('admin', 'editor'), auth.scopes('write')], 'ann'],
    ['two lists of roles', [auth.roles('admin', 'editor'), auth.roles('editor')], 'eve'],
    ['two policies, one late', [auth.policy(async ({ id }) => id !== 'bob'), auth.policy(({ id }) => id !== 'ann')], 'eve'],
  ]
  for (const isLate of [false, true])
    for (const [title, use, passing] of cases)
      test(`${title}${isLate ? ', by a scheme that answers late' : ''}`, async () => {
        const server = closedServer({ schemes: [testScheme('test', isLate)] })
        server.mapGet('/', { use }, () => 'done')
        assert.equal(await whoPasses(server, '/'), passing)
      })
})

describe('requirements of several levels add up, and only auth.open removes those around it', () => {
  const admins = auth.roles('admin')
  const editors = auth.roles('editor')
  const cases: readonly (readonly [string, readonly (readonly Policy[])[], string])[] = [
    ['roles inside required', [[auth.required()], [admins]], 'ann'],
    ['required inside roles', [[admins], [auth.required()]], 'ann'],
    ['roles inside scopes', [[auth.scopes('read')], [editors]], 'eve'],
    ['scopes inside roles', [[editors], [auth.scopes('write')]], ''],
    ['other roles inside roles do not open', [[admins], [editors]], ''],
    ['more roles inside roles do not open', [[admins], [auth.roles('admin', 'editor')]], 'ann'],
    ['open inside roles', [[admins], [auth.open]], 'anonymous bob eve ann'],
    ['open around roles', [[auth.open], [admins]], 'ann'],
    ['roles inside open inside other roles', [[admins], [auth.open], [editors]], 'eve'],
    ['a policy of the program called auth', [[{ name: 'auth', gate: () => undefined }]], 'bob eve ann'],
    ['levels without requirements', [[], [], [admins], []], 'ann'],
  ]
  for (const [title, levels, passing] of cases)
    test(title, async () => {
      const server = closedServer()
      const group = levels
        .slice(0, -1)
        .reduce<{ group: HttpServer['group'] } & Pick<HttpServer, 'mapGet'>>(
          (outer, use, i) => outer.group(`/${i}`, { use }) as unknown as HttpServer,
          server,
        )
      group.mapGet('/end', { use: levels.at(-1)! }, () => 'done')
      const path = `/${levels
        .slice(0, -1)
        .map((_, i) => `${i}/`)
        .join('')}end`
      assert.equal(await whoPasses(server, path), passing)
      await server.start()
      await server.stop()
    })

  test('a removal of a policy called auth opens nothing, and the server does not start with it', async () => {
    for (const name of ['auth', 'auth.roles']) {
      const server = closedServer()
      server.group('/a', { use: [{ name }] }).mapGet('/', { use: [admins] }, () => 'done')
      assert.equal(await whoPasses(server, '/a'), 'ann')
      await assert.rejects(server.start(), {
        code: 'WEIR_ROUTE_DECLARATION',
        message: new RegExp(`GET /a .*\\{ name: "${name}" \\} would remove an outer one .* none.*auth\\.open`),
      })
    }
  })

  test('a controller class is a level, and its methods are levels inside', async () => {
    @Route('/things', { use: [admins] })
    class Things extends Controller {
      @Route('GET', '/closed')
      closed(): string {
        return 'done'
      }
      @Route('GET', '/narrow', { use: [auth.policy(({ name }) => name === 'ANN')] })
      narrow(): string {
        return 'done'
      }
      @Route('GET', '/open', { use: [auth.open] })
      open(): string {
        return 'done'
      }
    }
    const server = closedServer().mapController(Things)
    assert.equal(await whoPasses(server, '/things/closed'), 'ann')
    assert.equal(await whoPasses(server, '/things/narrow'), 'ann')
    assert.equal(await whoPasses(server, '/things/open'), 'anonymous bob eve ann')
  })

  test('on the server itself, a requirement holds for every route, and for requests without one', async () => {
    const server = closedServer()
    server.use(admins)
    server.mapGet('/', () => 'done')
    assert.equal(await whoPasses(server, '/'), 'ann')
    assert.equal(await statusFor(server, '/none', 'eve'), 403)
    assert.equal(await statusFor(server, '/none', 'ann'), 404)
  })

  test('auth that is added after the routes closes them', async () => {
    const server = new HttpServer({ logger: null })
    server.mapGet('/', () => 'done')
    assert.equal(await statusFor(server, '/'), 200)
    server.use(auth({ schemes: [testScheme()] }))
    assert.equal(await statusFor(server, '/'), 401)
  })

  test('an inner auth takes the place of the outer one', async () => {
    const server = closedServer()
    const machines = auth({ schemes: [testScheme('machine')], roles: ['robot'] })
    const group = server.group('/machines', { use: [machines] })
    group.mapGet('/', () => 'done')
    group.mapGet('/robots', { use: [machines.roles('robot')] }, () => 'done')
    const as = (authorization: string, url = '/machines') => server.inject({ url, headers: { Authorization: authorization } })
    assert.equal((await as('test ann')).status, 401)
    assert.equal((await as('test ann')).headers.get('www-authenticate'), 'machine realm="machine"')
    assert.equal((await as('machine ann')).status, 200)
    assert.equal((await as('machine ann', '/machines/robots')).status, 403)
    await server.start()
    await server.stop()
  })

  test('the decision is made where the outermost auth stands', async () => {
    const order: string[] = []
    const server = new HttpServer({ logger: null })
    const note = (text: string): Policy => ({ gate: () => void order.push(text) })
    const scheme = (name: string): Scheme => ({
      ...testScheme(name),
      authenticate() {
        order.push(name)
        return null
      },
    })
    server.use(auth({ schemes: [scheme('outer')] })).use(note('limit'))
    server.group('/in', { use: [auth({ schemes: [scheme('inner')] })] }).mapGet('/', { use: [auth.open] }, () => 'done')
    assert.equal(await statusFor(server, '/in'), 200)
    assert.deepEqual(order, ['inner', 'limit'])
  })
})

describe('which schemes a route accepts', () => {
  test('all of auth, or those that auth.required names at every level', async () => {
    const server = closedServer({ schemes: [testScheme('one'), testScheme('two'), testScheme('three')] })
    server.mapGet('/all', () => 'done')
    const group = server.group('/some', { use: [auth.required('three', 'two')] })
    group.mapGet('/', () => 'done')
    group.mapGet('/two', { use: [auth.required('two', 'one')] }, () => 'done')
    group.mapGet('/open', { use: [auth.open] }, () => 'done')
    const ask = async (url: string, scheme: string | null) => {
      const { status, headers } = await server.inject({ url, headers: scheme === null ? {} : { Authorization: `${scheme} ann` } })
      return `${status} ${headers.get('www-authenticate') ?? ''}`.trim()
    }
    assert.equal(await ask('/all', null), '401 one realm="one", two realm="two", three realm="three"')
    for (const scheme of ['one', 'two', 'three']) assert.equal(await ask('/all', scheme), '200')
    assert.equal(await ask('/some', null), '401 two realm="two", three realm="three"')
    assert.equal(await ask('/some', 'one'), '401 two realm="two", three realm="three"')
    assert.equal(await ask('/some', 'three'), '200')
    assert.equal(await ask('/some/two', 'three'), '401 two realm="two"')
    assert.equal(await ask('/some/two', 'two'), '200')
    assert.equal(await ask('/some/open', 'one'), '200')
  })

  test('credentials that one scheme refuses may be for the next', async () => {
    const picky = { ...testScheme('picky'), authenticate: () => Promise.reject(new CredentialsError('not mine')) }
    const server = closedServer({ schemes: [picky, testScheme()] })
    server.mapGet('/', () => 'done')
    assert.equal(await statusFor(server, '/', 'ann'), 200)
    const refused = await server.inject('/')
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('www-authenticate'), 'picky realm="picky", error="bad", test realm="test"')
  })

  test('a scheme that cannot tell is not the same as no credentials', async () => {
    for (const error of [new WeirError('WEIR_SERVER_STOPPED'), new HttpError(503, 'the database is away')]) {
      const away = { ...testScheme('away'), authenticate: () => Promise.reject(error) }
      const server = closedServer({ schemes: [away, testScheme()] })
      server.mapGet('/', () => 'done').mapGet('/open', { use: [auth.open] }, () => 'done')
      assert.equal(await statusFor(server, '/', 'ann'), 503)
      assert.equal(await statusFor(server, '/open'), 200)
      assert.equal(await statusFor(server, '/open', 'ann'), 200)
    }
  })
})

describe('open routes', () => {
  test('know who has sent the request, and ignore invalid credentials', async () => {
    const users = auth({ schemes: [testScheme()] })
    const server = new HttpServer({ logger: null }).use(users)
    server.mapGet('/', { use: [auth.open] }, (_, session) => users.principal(session)?.name ?? 'nobody')
    const as = async (authorization?: string) =>
      (await server.inject({ url: '/', headers: authorization === undefined ? {} : { Authorization: authorization } })).text()
    assert.equal(await as(), 'nobody')
    assert.equal(await as('test ann'), 'ANN')
    assert.equal(await as('test mallory'), 'nobody')
  })

  test("anonymous: 'allowed' opens routes that require nothing, and no others", async () => {
    const server = closedServer({ anonymous: 'allowed' })
    server.mapGet('/', () => 'done')
    server.mapGet('/in', { use: [auth.required()] }, () => 'done')
    server.group('/admin', { use: [auth.roles('admin')] }).mapGet('/', () => 'done')
    assert.equal(await whoPasses(server, '/'), 'anonymous bob eve ann')
    assert.equal(await whoPasses(server, '/in'), 'bob eve ann')
    assert.equal(await whoPasses(server, '/admin'), 'ann')
    assert.equal(await statusFor(server, '/none'), 404)
  })

  test("unrouted: 'allowed' opens files and 404, and no route", async () => {
    const server = closedServer({ unrouted: 'allowed' })
    server.use(staticFiles({ root: 'docs', prefix: '/docs' }))
    server.mapGet('/', () => 'done')
    server.group('/admin', { use: [auth.roles('admin')] }).mapGet('/', () => 'done')
    assert.equal(await statusFor(server, '/docs/limits.md'), 200)
    assert.equal(await statusFor(server, '/none'), 404)
    assert.equal(await statusFor(server, '/', null, 'DELETE'), 405)
    assert.equal(await whoPasses(server, '/'), 'bob eve ann')
    assert.equal(await statusFor(server, '/admin', null, 'DELETE'), 401)
  })

  test('session.principal of another gate does not count', async () => {
    const server = new HttpServer({ logger: null })
    server.gate((session) => void (session.principal = { id: 'root', scheme: 'test', roles: ['admin'], scopes: [] }))
    server.use(auth({ schemes: [testScheme()], roles: ROLES }))
    server.mapGet('/', () => 'done').mapGet('/open', { use: [auth.open] }, (_, { principal }) => String(principal))
    assert.equal(await statusFor(server, '/'), 401)
    assert.equal((await server.inject('/open')).text(), 'null')
  })
})

describe('a requirement that nobody can meet', () => {
  const cases: readonly (readonly [string, (server: HttpServer) => unknown, RegExp])[] = [
    ['without auth', (server) => server.mapGet('/', { use: [auth.required()] }, () => 'done'), /auth\.required\(\) is used without auth/],
    [
      'of a role without auth',
      (server) => server.mapGet('/', { use: [auth.roles('admin')] }, () => 'done'),
      /auth\.roles\(\) is used without auth/,
    ],
    [
      'of a policy on a group without auth',
      (server) => server.group('/', { use: [auth.policy(() => true)] }).mapGet('/', () => 'done'),
      /auth\.policy\(\)/,
    ],
    [
      'on the server without auth',
      (server) => server.use(auth.scopes('x')),
      /requests without a route: auth\.scopes\(\) is used without auth/,
    ],
    [
      'with auth beside it and not around it',
      (server) => {
        server.group('/a', { use: [auth({ schemes: [testScheme()] })] }).mapGet('/', () => 'done')
        server.group('/').mapGet('/', { use: [auth.required()] }, () => 'done')
      },
      /GET \/ \(inline\) at \S+: auth\.required\(\) is used without auth/,
    ],
    [
      'of a fallback',
      (server) => server.group('/x', { use: [auth.required()] }).fallback(() => 'done'),
      /fallback.*auth\.required\(\) is used without auth/,
    ],
    [
      'of an unknown role',
      (server) => server.use(auth({ schemes: [testScheme()], roles: ROLES })).mapGet('/', { use: [auth.roles('admni')] }, () => 'done'),
      /there is no role "admni"; roles of auth: admin, editor/,
    ],
    [
      'of a role where none is declared',
      (server) => server.use(auth({ schemes: [testScheme()] })).mapGet('/', { use: [auth.roles('admin')] }, () => 'done'),
      /there is no role "admin"; roles of auth: none/,
    ],
    [
      'of an unknown scheme',
      (server) => server.use(auth({ schemes: [testScheme()] })).mapGet('/', { use: [auth.required('jwt')] }, () => 'done'),
      /there is no scheme "jwt"; schemes of auth: test/,
    ],
    [
      'of different schemes at two levels',
      (server) =>
        server
          .use(auth({ schemes: [testScheme('a'), testScheme('b')] }))
          .group('', { use: [auth.required('a')] })
          .mapGet('/', { use: [auth.required('b')] }, () => 'done'),
      /no scheme is left/,
    ],
    [
      'and auth.open in one list',
      (server) =>
        server.use(auth({ schemes: [testScheme()], roles: ROLES })).mapGet('/', { use: [auth.roles('admin'), auth.open] }, () => 'done'),
      /auth\.open is used at the same level/,
    ],
    [
      'by auth and auth.open on one server',
      (server) => server.use(auth({ schemes: [testScheme()] })).use(auth.open),
      /auth\.open is used at the same level/,
    ],
    [
      'by two auths at one level',
      (server) => server.use(auth({ schemes: [testScheme()] })).use(auth({ schemes: [testScheme()] })),
      /two auths are used at one level/,
    ],
    [
      'by one auth twice at one level',
      (server) => {
        const one = auth({ schemes: [testScheme()] })
        server.use(one).use(one)
      },
      /two auths are used at one level/,
    ],
    [
      'by one auth at two levels',
      (server) => {
        const one = auth({ schemes: [testScheme()] })
        server
          .use(one)
          .group('/', { use: [one] })
          .mapGet('/', () => 'done')
      },
      /the same auth is used at two levels/,
    ],
  ]
  for (const [title, build, message] of cases)
    test(`${title}: start rejects, and requests are refused without it`, async () => {
      const server = new HttpServer({ logger: null })
      build(server)
      await assert.rejects(server.start(), { ...noAuth, message })
      assert.equal(server.isListening, false)
      for (const person of [null, 'ann']) assert.equal((await statusFor(server, '/x', person)) >= 400, true)
      if (server.routes.length > 0 && !title.includes('beside')) {
        for (const person of [null, 'ann']) assert.equal(await statusFor(server, server.routes.at(-1)!.path, person), 500)
      }
    })

  test('a route that is mapped after the start is checked then', async (context) => {
    const server = new HttpServer({ logger: null, address: '127.0.0.1', port: 0 })
    server.mapGet('/before', () => 'done')
    await server.start()
    context.after(() => server.stop())
    assert.throws(() => server.mapGet('/', { use: [auth.required()] }, () => 'done'), noAuth)
    server.use(auth.required())
    assert.throws(() => server.mapGet('/', () => 'done'), noAuth)
    assert.equal(await statusFor(server, '/before'), 500, 'it is still there, and closed')
  })

  test('auth.open needs no auth', async () => {
    const server = new HttpServer({ logger: null, port: 0 }).mapGet('/', { use: [auth.open] }, () => 'done')
    await server.start()
    await server.stop()
    assert.equal(await statusFor(server, '/'), 200)
  })
})

describe('mistakes', () => {
  test('options and arguments are checked', () => {
    const wrong: readonly (() => unknown)[] = [
      () => auth({ schemes: [] }),
      () => auth({ schemes: [testScheme(), testScheme()] }),
      () => auth({ schemes: testScheme() as never }),
      () => auth({ schemes: [null as never] }),
      () => auth({ schemes: [{ name: 'x' } as never] }),
      () => auth({ schemes: [{ ...testScheme(), name: 'a b' } as never] }),
      () => auth({ schemes: [testScheme()], roles: [''] }),
      () => auth({ schemes: [testScheme()], roles: 'admin' as never }),
      () => auth({ schemes: [testScheme()], anonymous: 'open' as never }),
      () => auth({ schemes: [testScheme()], unrouted: true as never }),
      () => auth({ schemes: [testScheme()], role: [] } as never),
      () => auth.roles(...([] as unknown as ['x'])),
      () => auth.scopes(...([] as unknown as ['x'])),
      () => auth.roles(7 as never),
      () => auth.required(null as never),
      () => auth.policy(undefined as never),
      () => auth.policy(true as never),
    ]
    for (const one of wrong) assert.throws(one, { code: 'WEIR_OPTION_INVALID' }, String(one))
  })

  test('a call that is forgotten closes the route', async () => {
    for (const use of [[auth.required], [auth.roles], [auth.scopes], [auth.policy], [auth]]) {
      const server = new HttpServer({ logger: null }).mapGet('/', { use: use as never }, () => 'done')
      assert.equal(await statusFor(server, '/'), 500)
    }
  })

  test('a policy that forgets to return refuses, and so does one that returns something else', async () => {
    for (const verdict of [undefined, null, 1, 'yes', {}, Promise.resolve(undefined), Promise.resolve(1)]) {
      const server = closedServer().mapGet('/', { use: [auth.policy(() => verdict as never)] }, () => 'done')
      assert.equal(await statusFor(server, '/', 'ann'), 500)
    }
  })

  test('what a policy returns is awaited, whatever its then does', async () => {
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    const thenable = { then: (resolve: (value: boolean) => void) => void setImmediate(resolve, false) }
    const server = closedServer().mapGet('/', { use: [auth.policy(() => thenable as never)] }, () => 'done')
    assert.equal(await statusFor(server, '/', 'ann'), 403)
  })

  test('what a policy throws becomes the response', async () => {
    const server = closedServer()
    server.mapGet('/', { use: [auth.policy(() => Promise.reject(new HttpError(404, 'not for you')))] }, () => 'done')
    assert.equal(await statusFor(server, '/', 'ann'), 404)
  })

  test('a scheme that returns something else than a principal of its own or null', async () => {
    const principal = { id: 'x', name: null, roles: [], scopes: [], claims: {}, scheme: 'test' }
    const wrong = [
      undefined,
      true,
      'ann',
      {},
      { ...principal, scheme: 'other' },
      { ...principal, roles: 'administrator' },
      { ...principal, scopes: null },
    ]
    for (const result of wrong)
      for (const authenticate of [() => result as never, async () => result as never]) {
        const server = closedServer({ schemes: [{ ...testScheme(), authenticate }] })
        server.mapGet('/', () => 'done').mapGet('/open', { use: [auth.open] }, () => 'done')
        assert.equal(await statusFor(server, '/'), 500, JSON.stringify(result))
        assert.equal(await statusFor(server, '/open'), 500, JSON.stringify(result))
      }
  })
})

test('documents and explanations name auth and its requirements', async () => {
  const server = closedServer()
  server.group('/x', { use: [auth.roles('admin')] }).mapGet('/', { use: [auth.scopes('a', 'b'), auth.required('test')] }, () => 'done')
  const [closed] = server.routes
  assert.deepEqual(
    closed!.policies.map(({ name, level, description }) => [name, level, description]),
    [
      ['auth', 'server', { anonymous: 'refused', schemes: { test: { type: 'http', scheme: 'test' } }, roles: ['admin', 'editor'] }],
      ['auth.roles', 'group', { roles: ['admin'] }],
      ['auth.scopes', 'route', { scopes: ['a', 'b'] }],
      ['auth.required', 'route', { required: ['test'] }],
    ],
  )
  const { policies } = await server.explain('/x')
  assert.deepEqual(
    policies.map(({ name }) => name),
    ['auth', 'auth.roles', 'auth.scopes', 'auth.required'],
  )
})
