// The first response that a client without credentials gets is that which `explain` shows, where gates of weir give it.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'

import { HttpError, HttpServer, type HttpSession, type Policy, t } from '../../src/index.ts'
import { apiKey, auth, basic, type Scheme } from '../../src/modules/auth/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { sealed, sessions } from '../../src/modules/sessions/index.ts'

/** A function of the program's, which an explanation must not call. */
let calls = 0
const program = (): null => {
  calls++
  return null
}
const keys = [randomBytes(32)]
const Note = t.object({ title: t.string })

interface Case {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
}

function secured(): HttpServer {
  const login = sessions({ store: sealed({ keys }) })
  const server = new HttpServer({ logger: null, frontEnds: ['https://app.example'] })
  const schemes = [login.scheme({ login: '/login' }), basic({ users: program }), apiKey({ keys: program })]
  server
    .use(login)
    .use(cors())
    .use(auth({ schemes, roles: ['admin'] }))
  server.mapGet('/login', { use: [auth.open] }, () => 'please')
  server.mapGet('/notes/:id', { id: t.int }, () => 'note')
  server.mapPost('/notes', { body: Note }, () => 'kept')
  server.mapPost('/open', { body: Note, use: [auth.open] }, () => 'kept')
  server.mapDelete('/notes/:id', { use: [auth.roles('admin')] }, () => 'gone')
  return server
}

const foreign = { Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' }
const asking = { 'Access-Control-Request-Method': 'POST' }
const page = { Accept: 'text/html' }
const cases: Readonly<Record<string, Case>> = {
  'a route that is closed': { url: '/notes/7' },
  'a parameter that does not fit, of a closed route': { url: '/notes/x' },
  'a body that does not fit, of a closed route': { method: 'POST', url: '/notes', json: {} },
  'a body of another type, of a closed route': { method: 'POST', url: '/notes', headers: { 'Content-Type': 'text/plain' }, json: {} },
  'a route for a role': { method: 'DELETE', url: '/notes/7' },
  'no route, where nobody may know': { url: '/nothing' },
  'another method, where nobody may know': { method: 'PUT', url: '/notes/7' },
  'a page that needs a login': { url: '/notes/7', headers: page },
  'the page of the login': { url: '/login', headers: page },
  'an open route': { method: 'POST', url: '/open', json: { title: 'a' } },
  'a body that does not fit, of an open route': { method: 'POST', url: '/open', json: {} },
  'a page of another origin': { method: 'POST', url: '/open', json: { title: 'a' }, headers: foreign },
  'a page of a front end': { method: 'POST', url: '/open', json: { title: 'a' }, headers: { ...foreign, Origin: 'https://app.example' } },
  'a preflight of a front end': { method: 'OPTIONS', url: '/notes', headers: { Origin: 'https://app.example', ...asking } },
  'a preflight of another origin': { method: 'OPTIONS', url: '/notes', headers: { ...foreign, ...asking } },
  'OPTIONS that is no preflight': { method: 'OPTIONS', url: '/notes' },
}

describe('what explain shows is what a client without credentials gets', () => {
  const statuses = new Set<number>()
  for (const [what, request] of Object.entries(cases))
    test(what, async () => {
      const server = secured()
      const { response } = await server.explain(request)
      assert.equal(calls, 0)
      const real = await server.inject(request)
      statuses.add(real.status)
      assert.equal(response.status ?? 200, real.status, response.detail)
      const { code = null } = (real.headers.get('content-type') ?? '').includes('problem') ? (real.json() as { code?: string }) : {}
      assert.equal(response.code, code ?? null)
    })
  test('in many ways', () => assert.deepEqual([...statuses].sort(), [200, 204, 303, 400, 401, 403]))
})

describe('what gates cannot tell', () => {
  const scheme: Scheme = { name: 'own', description: { type: 'http', scheme: 'own' }, authenticate: program }
  const served = (map: (server: HttpServer) => void): HttpServer => {
    const server = new HttpServer({ logger: null })
    map(server)
    server.map(null, '/a', () => 'a')
    return server
  }
  const detail = async (server: HttpServer, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<string> => {
    calls = 0
    const { response } = await server.explain({ method, url: '/a', headers })
    assert.deepEqual([response.status, calls], [null, 0])
    return response.detail
  }
  const unless = (...gates: string[]): string => `the handler of ANY /a answers, unless a gate responds first: ${gates.join(', ')}`

  test('is named: a gate of the program, and a rate limit, which would count', async () => {
    const server = served((it) =>
      it
        .use({ name: 'mine', gate: program as never })
        .use(rateLimit({ quota: 1, window: '1m' }))
        .gate(function ours() {
          calls++
        }),
    )
    assert.equal(await detail(server), unless('mine', 'rateLimit:default', 'ours'))
  })
  test('credentials that would have to be checked', async () => {
    const server = served((it) => it.use(auth({ schemes: [basic({ users: program })] })))
    assert.equal(await detail(server, { Authorization: 'Basic YTpi' }), unless('auth'))
    const keyed = served((it) => it.use(auth({ schemes: [apiKey({ keys: program })] })))
    assert.equal(await detail(keyed, { 'X-Api-Key': 'key' }), unless('auth'))
    assert.equal((await keyed.explain({ url: '/a', headers: { Authorization: 'Basic YTpi' } })).response.status, 401)
  })
  test('a login that is awaited', async () => {
    const later: Scheme = { ...scheme, login: async ({ response }) => response.redirect('/login') }
    assert.equal(await detail(served((it) => it.use(auth({ schemes: [later] })))), unless('auth'))
  })
  test('origins by a predicate, and refusals that the program is told of', async () => {
    const predicate = (_: string, __: HttpSession): boolean => program() === null
    const preflight = { Origin: 'https://a.example', ...asking }
    const open = served((it) => it.use(cors({ origins: predicate })))
    assert.equal(await detail(open, preflight, 'OPTIONS'), unless('cors'))
    assert.equal(await detail(open, {}, 'OPTIONS'), 'the handler of ANY /a answers')
    for (const options of [{ trusted: predicate }, { onRefused: program }])
      assert.equal(
        await detail(
          served((it) => it.use(csrf(options))),
          foreign,
          'POST',
        ),
        unless('csrf'),
      )
  })
})

describe('a policy of the program', () => {
  const explained = async (foresee: NonNullable<Policy['foresee']>) => {
    const server = new HttpServer({ logger: null }).use({ name: 'mine', gate: () => {}, foresee })
    const { response } = await server.mapGet('/a', () => 'a').explain('/a')
    return [response.status, response.code, response.detail]
  }
  test('tells what its gate would do', async () => {
    const refuse: Policy['foresee'] = ({ response }) => response.forbidden('not you')
    assert.deepEqual(await explained(refuse), [403, null, 'the gate of mine responds'])
    const fail: Policy['foresee'] = () => {
      throw new HttpError(402, 'pay first')
    }
    assert.deepEqual(await explained(fail), [402, 'HTTP_402', 'pay first'])
    assert.deepEqual(await explained(() => undefined), [null, null, 'the handler of GET /a answers'])
    assert.match(String((await explained(() => 'unknown'))[2]), /unless a gate responds first: mine$/)
  })
  test('needs a gate for it', () => {
    assert.throws(
      () => new HttpServer({ logger: null }).use({ foresee: () => undefined }),
      /foresee of a policy is for a policy with a gate/,
    )
  })
})
