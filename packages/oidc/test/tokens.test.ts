// Tokens of sessions: only on the server, and refreshed by one request at a time.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import type { Configuration } from 'oidc-provider'
import { createClient } from 'redis'
import { redisSessions } from '../../redis/src/index.ts'
import { HttpServer } from '../../weirjs/src/index.ts'
import { memorySessions, type SessionStore, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { CLIENT, type IdentityProvider, startProvider, Visitor } from '../../weirjs/test/support/identity-provider.ts'
import { noRedis, startRedis } from '../../weirjs/test/support/redis.ts'
import { gate } from '../../weirjs/test/support/serving.ts'
import { keyOf, WatchedStore } from '../../weirjs/test/support/user-sessions.ts'
import { type OidcOptions, oidc } from '../src/index.ts'

const OTHER_TTL = { IdToken: 3_600, Interaction: 600, Grant: 3_600, Session: 3_600, RefreshToken: 3_600, AuthorizationCode: 60 }
const LONG = { ...OTHER_TTL, AccessToken: 3_600 }

/** Access tokens that have to be refreshed immediately, and those that do not: in this order, the last one again and again. */
function lifetimes(...seconds: readonly number[]) {
  let issued = 0
  return { ...OTHER_TTL, AccessToken: () => seconds[Math.min(issued++, seconds.length - 1)]! }
}

async function startApps(
  t: TestContext,
  stores: readonly SessionStore[],
  ttl: NonNullable<Configuration['ttl']>,
  options: Partial<OidcOptions> = {},
): Promise<{ origins: string[]; idp: IdentityProvider; logged: unknown[] }> {
  const logged: unknown[] = []
  const servers = stores.map(
    () => new HttpServer('127.0.0.1', 0, { logger: { error: (message, detail) => void logged.push(message, detail) } }),
  )
  for (const server of servers) {
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
  }
  const origins = servers.map(({ port }) => `http://localhost:${port}`)
  const idp = await startProvider(t, origins, { ttl })
  servers.forEach((server, i) => {
    const users = sessions({ store: stores[i]! })
    const login = oidc({ sessions: users, issuer: idp.issuer, ...CLIENT, keys: [keyOf('one')], keepTokens: true, ...options })
    server.use(users)
    server.use(login)
    server.mapGet('/token', async (_, session) => (await login.tokens(session)) ?? { accessToken: null })
    server.mapGet('/', (_, session) => users.of(session).principal ?? { id: null })
  })
  return { origins, idp, logged }
}

const refreshes = ({ requests }: IdentityProvider): number => requests.filter((request) => request === 'POST /token').length - 1

test('tokens are kept with the session, and neither the client nor the log sees them', async (t) => {
  const store = new WatchedStore()
  const { origins, idp, logged } = await startApps(t, [store], LONG)
  const visitor = new Visitor()
  await visitor.logIn(origins[0]!, 'ann')
  const tokens = (await (await visitor.go(`${origins[0]}/token`)).json()) as {
    accessToken: string
    expiresAt: string
    scopes: string[]
    idToken: string
  }
  assert.match(tokens.accessToken, /^[\w-]{43}$/)
  assert.ok(Date.parse(tokens.expiresAt) > Date.now() + 3_000_000)
  assert.deepEqual(tokens.scopes, ['openid', 'profile', 'email'])
  assert.equal(refreshes(idp), 0)
  assert.ok(![...store.texts.keys()].join().includes(tokens.accessToken))
  const seen = JSON.stringify([visitor.received, logged, await (await visitor.go(origins[0]!)).text()])
  assert.ok(!seen.includes(tokens.accessToken) && !seen.includes(tokens.idToken))
  await visitor.go(`${origins[0]}/auth/logout`, {})
  assert.equal(store.texts.size, 0)
  assert.equal(((await (await visitor.go(`${origins[0]}/token`)).json()) as { accessToken: unknown }).accessToken, null)
})

test('the ID token is the hint of the logout at the provider', async (t) => {
  const { origins } = await startApps(t, [memorySessions()], LONG)
  const visitor = new Visitor()
  await visitor.logIn(origins[0]!, 'ann')
  const { idToken } = (await (await visitor.go(`${origins[0]}/token`)).json()) as { idToken: string }
  const out = await visitor.go(`${origins[0]}/auth/logout`, {})
  assert.equal(new URL(out.headers.get('location')!).searchParams.get('id_token_hint'), idToken)
})

test('tokens are those of one client of the provider', async (t) => {
  const users = sessions({ store: memorySessions() })
  const server = new HttpServer('127.0.0.1', 0, { logger: null })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const origin = `http://localhost:${server.port}`
  const { issuer } = await startProvider(t, [origin])
  const options = { sessions: users, issuer, keys: [keyOf('one')], keepTokens: true }
  const login = oidc({ ...options, ...CLIENT })
  const other = oidc({ ...options, clientId: 'other', clientSecret: null, path: '/other' })
  server.use(users).use(login).use(other)
  for (const [path, one] of [['/token', login] as const, ['/other-token', other] as const])
    server.mapGet(path, async (_, session) => String(await one.tokens(session)))
  const visitor = new Visitor()
  await visitor.logIn(origin, 'ann')
  const textOf = async (path: string): Promise<string> => (await visitor.go(`${origin}${path}`)).text()
  assert.deepEqual([await textOf('/token'), await textOf('/other-token')], ['[object Object]', 'null'])
  const out = await visitor.go(`${origin}/other/logout`, {})
  assert.equal(new URL(out.headers.get('location')!).searchParams.get('id_token_hint'), null)
})

const STORES: Readonly<Record<string, { skip: string | false; stores: (t: TestContext) => Promise<SessionStore[]> }>> = {
  'one process': { skip: false, stores: async () => [memorySessions()] },
  'two processes with Redis': {
    skip: noRedis,
    async stores(t) {
      const redis = await startRedis(t)
      const clientOf = async () => {
        const client = createClient({ url: `redis://127.0.0.1:${redis.port}` }).on('error', () => {})
        t.after(() => client.destroy())
        return redisSessions(await client.connect(), { timeout: 5_000 })
      }
      return [await clientOf(), await clientOf()]
    },
  },
}

for (const [title, { skip, stores }] of Object.entries(STORES))
  describe(title, { skip }, () => {
    test('refreshes a token once for many requests, which all get the new one', async (t) => {
      const { origins, idp } = await startApps(t, await stores(t), lifetimes(20, 3_600))
      const visitor = new Visitor()
      await visitor.logIn(origins[0]!, 'ann')
      for (const origin of origins) visitor.cookies.set(origin, visitor.cookies.get(origins[0]!)!)
      assert.equal(refreshes(idp), 0)
      const entered = gate()
      const released = gate()
      idp.before = () => {
        entered.open()
        return released.promise
      }
      const tokenOf = async (origin: string): Promise<string> =>
        ((await (await visitor.go(`${origin}/token`)).json()) as { accessToken: string }).accessToken
      const asked = Array.from({ length: 8 }, (_, i) => tokenOf(origins[i % origins.length]!))
      await entered.promise
      released.open()
      const tokens = new Set(await Promise.all(asked))
      assert.equal(tokens.size, 1)
      assert.match([...tokens][0]!, /^[\w-]{43}$/)
      assert.equal(refreshes(idp), 1)
      assert.equal(await tokenOf(origins.at(-1)!), [...tokens][0])
    })

    test('a refresh that fails because the provider is away is tried again five seconds later', async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
      const { origins, idp } = await startApps(t, await stores(t), lifetimes(1, 2, 3_600), { timeout: 10_000 })
      const visitor = new Visitor()
      await visitor.logIn(origins[0]!, 'ann')
      t.mock.timers.tick(1_100)
      idp.before = () => Promise.reject(new Error('away'))
      for (const passed of [0, 4_999]) {
        t.mock.timers.tick(passed)
        const away = await visitor.go(`${origins[0]}/token`)
        assert.equal(away.status, 503)
        assert.match(await away.text(), /WEIR_OIDC_UNAVAILABLE/)
        idp.before = null
      }
      t.mock.timers.tick(1)
      assert.equal((await visitor.go(`${origins[0]}/token`)).status, 200)
      assert.equal(((await (await visitor.go(origins[0]!)).json()) as { id: string }).id, 'ann')
    })
  })

test('after a refresh that the provider has refused, there are no tokens, and nobody asks again', async (t) => {
  const store = new WatchedStore()
  const { origins, idp } = await startApps(t, [store], lifetimes(1))
  const visitor = new Visitor()
  await visitor.logIn(origins[0]!, 'ann')
  const [[key, text]] = [...store.texts] as [[string, string]]
  await store.write(key, text.replace(/"refresh":"[^"]+"/, '"refresh":"unknown"'), 60_000)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(await (await visitor.go(`${origins[0]}/token`)).json(), { accessToken: null })
    assert.equal(refreshes(idp), 1)
  }
  assert.equal(((await (await visitor.go(origins[0]!)).json()) as { id: string }).id, 'ann', 'the session stays')
})
