// What a client could try with a cookie: each attempt is as no session at all, and nothing of it is logged.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { memorySessions, type SessionsOptions, sealed, sessions } from '../../../src/modules/sessions/index.ts'
import { connect, TestClock } from '../../../src/testing/index.ts'
import { cookieOf, HOUR, keyOf, PLACES, SECURE_PEER, sessionServer, setCookies, WatchedStore } from '../../support/user-sessions.ts'

interface Guarded {
  readonly server: HttpServer
  readonly logged: unknown[]
}

/** A server that says 401 to whoever has not signed in. */
function guarded(store: SessionsOptions['store'], options: Partial<SessionsOptions> = {}): Guarded {
  const logged: unknown[] = []
  const server = new HttpServer({
    logger: { error: (message, detail) => void logged.push(message, detail) },
    timeouts: { keepAliveTimeout: null },
  })
  const users = sessions({ store, ...options })
  server.use(users)
  server.mapPost('/login/:id', ({ id }, session) => users.signIn(session, { id, claims: { secret: 'hidden' } }))
  server.mapPost('/logout', (_, session) => users.signOut(session))
  server.mapGet('/me', (_, session) => users.of(session).principal?.id ?? session.response.unauthorized())
  return { server, logged }
}

async function whoIs({ server }: Guarded, cookie: string, clock?: TestClock): Promise<string> {
  const response = await connect(server, { peer: SECURE_PEER, ...(clock !== undefined && { clock }) }).get('/me', {
    headers: { Cookie: cookie },
  })
  assert.ok(response.status === 200 || response.status === 401, `${response.status}`)
  if (response.status === 401) assert.deepEqual(setCookies(response), [])
  return response.status === 200 ? response.text() : 'nobody'
}

const logIn = async ({ server }: Guarded, id: string, cookie?: string): Promise<string> =>
  cookieOf(await connect(server, { peer: SECURE_PEER }).post(`/login/${id}`, { headers: cookie === undefined ? {} : { Cookie: cookie } }))

for (const [place, storeOf] of Object.entries(PLACES))
  describe(`a session ${place}`, () => {
    test('fixation: the cookie from before a sign-in is not the one after it', async () => {
      const { server } = sessionServer(storeOf())
      const planted = cookieOf(await connect(server, { peer: SECURE_PEER }).get('/count'))
      const victim = connect(server, { peer: SECURE_PEER })
      const own = cookieOf(await victim.post('/login/ann', { headers: { Cookie: planted } }))
      assert.notEqual(own, planted)
      const seen = await victim.get('/see', { headers: { Cookie: planted } })
      assert.equal((seen.json() as { principal: unknown }).principal, null)
    })

    test('an id or a value that the client has invented is never adopted', async () => {
      const guard = guarded(storeOf())
      const invented = `__Host-session=${'A'.repeat(43)}`
      assert.notEqual(await logIn(guard, 'ann', invented), invented)
      assert.equal(await whoIs(guard, invented), 'nobody')
    })

    test('a truncated, extended or changed cookie, at each of its characters', async () => {
      const guard = guarded(storeOf())
      const cookie = await logIn(guard, 'ann')
      assert.equal(await whoIs(guard, cookie), 'ann')
      const start = cookie.indexOf('=') + 1
      for (let i = start; i < cookie.length; i++) {
        assert.equal(await whoIs(guard, cookie.slice(0, i)), 'nobody', `cut at ${i - start}`)
        const other = cookie[i] === 'A' ? 'B' : 'A'
        const changed = cookie.slice(0, i) + other + cookie.slice(i + 1)
        assert.equal(await whoIs(guard, changed), 'nobody', `changed at ${i - start}`)
      }
      for (const more of ['A', 'AAAA', '.', '=', '%00', '.AAAA']) assert.equal(await whoIs(guard, cookie + more), 'nobody', more)
      assert.deepEqual(guard.logged, [])
    })

    test('the cookie of one name under another, and of one server at another', async () => {
      const store = storeOf()
      const users = guarded(store)
      const admins = guarded(store, { name: 'admin' })
      const open = guarded(store, { allowInsecure: true })
      const cookie = await logIn(users, 'ann')
      const value = cookie.slice(cookie.indexOf('=') + 1)
      assert.equal(await whoIs(admins, `__Host-admin=${value}`), 'nobody')
      const plain = await connect(open.server, { peer: { address: '203.0.113.7' } }).get('/me', { headers: { Cookie: `session=${value}` } })
      assert.equal(plain.status, 401)
      const elsewhere = guarded(place === 'sealed' ? sealed({ keys: [keyOf('another')] }) : memorySessions())
      assert.equal(await whoIs(elsewhere, cookie), 'nobody')
    })

    test('parts of the cookies of two users', async () => {
      const guard = guarded(storeOf())
      const [ann, bob] = [await logIn(guard, 'ann'), await logIn(guard, 'bob')]
      for (const at of [40, 50, ann.length - 10, ann.length - 3])
        assert.equal(await whoIs(guard, ann.slice(0, at) + bob.slice(at)), 'nobody')
    })

    test('two cookies of that name are as none: one of them is from somebody else', async () => {
      const guard = guarded(storeOf())
      const [ann, bob] = [await logIn(guard, 'ann'), await logIn(guard, 'bob')]
      for (const both of [`${ann}; ${bob}`, `${bob}; other=1; ${ann}`, `${ann}; ${ann}`, `${ann}; __Host-session=`])
        assert.equal(await whoIs(guard, both), 'nobody')
      assert.equal(await whoIs(guard, `other=1; ${ann}; x__Host-session=1`), 'ann')
    })

    test('cookie bombs cost a comparison, and are logged by nobody', async () => {
      const guard = guarded(storeOf())
      const ann = await logIn(guard, 'ann')
      for (const bomb of [
        `__Host-session=${'A'.repeat(50_000)}`,
        Array.from({ length: 3_000 }, (_, i) => `__Host-session=${i}`).join('; '),
        `__Host-session=1.AAAAAAAA.${'A'.repeat(40_000)}`,
        `__Host-session=${'%41'.repeat(10_000)}`,
      ])
        assert.equal(await whoIs(guard, bomb), 'nobody')
      assert.equal(await whoIs(guard, `${Array.from({ length: 3_000 }, (_, i) => `c${i}=${i}`).join('; ')}; ${ann}`), 'ann')
      assert.deepEqual(guard.logged, [])
    })

    test('over plain HTTP, the cookie of TLS is not accepted', async () => {
      const guard = guarded(storeOf())
      const ann = await logIn(guard, 'ann')
      for (const peer of [{ address: '203.0.113.7' }, { address: '127.0.0.1' }]) {
        const response = await connect(guard.server, { peer }).get('/me', { headers: { Cookie: ann, Host: 'app.example.com' } })
        assert.equal(response.status, 401)
      }
    })
  })

test('a cookie that is replayed after signing out is as none, in a store', async () => {
  const guard = guarded(new WatchedStore())
  const ann = await logIn(guard, 'ann')
  await connect(guard.server, { peer: SECURE_PEER }).post('/logout', { headers: { Cookie: ann } })
  assert.equal(await whoIs(guard, ann), 'nobody')
})

test('a sealed cookie that is replayed after signing out works until it expires, or notBefore ends it', async () => {
  const ended: { at: Date | null } = { at: null }
  const guard = guarded(PLACES.sealed(), { notBefore: () => ended.at })
  const clock = new TestClock()
  const client = connect(guard.server, { clock, peer: SECURE_PEER })
  const ann = cookieOf(await client.post('/login/ann'))
  await client.post('/logout', { headers: { Cookie: ann } })
  assert.equal(await whoIs(guard, ann, clock), 'ann')
  ended.at = new Date(clock.wallTime() + 1)
  assert.equal(await whoIs(guard, ann, clock), 'nobody')
  ended.at = null
  await clock.advance(HOUR / 2)
  assert.equal(await whoIs(guard, ann, clock), 'nobody')
})

test('an older sealed cookie of the same session cannot be renewed past the absolute time', async () => {
  const guard = guarded(PLACES.sealed())
  const clock = new TestClock()
  const client = connect(guard.server, { clock, peer: SECURE_PEER })
  let cookie = cookieOf(await client.post('/login/ann'))
  for (let i = 0; i < 12 * 3; i++) {
    await clock.advance(HOUR / 3)
    const response = await client.get('/me', { headers: { Cookie: cookie } })
    if (response.status === 401) return assert.equal(i, 12 * 3 - 1)
    cookie = cookieOf(response)
  }
  assert.fail('it never ended')
})
