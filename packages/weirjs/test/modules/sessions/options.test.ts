// What a program can set wrong is an error where it sets it, by name; and what sessions install and offer in addition to themselves.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redisSessions } from '../../../../redis/src/index.ts'
import { HttpServer, t as schema } from '../../../src/index.ts'
import { memorySessions, sealed, sessions } from '../../../src/modules/sessions/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { keyOf, PLACES, SECURE_PEER, sessionServer, WatchedStore } from '../../support/user-sessions.ts'

const store = sealed({ keys: [keyOf('one')] })

test('wrong options are refused', () => {
  const wrong: readonly [object, RegExp][] = [
    [{}, /store is undefined/],
    [{ store: 'redis' }, /store is a string/],
    [{ store: { sendCommand() {} } }, /store is an object, which has no function read\(\).*redisSessions\(client\)/],
    [{ store, idleTimeout: '30 min' }, /idleTimeout is the string "30 min"/],
    [{ store, idleTimeout: 0 }, /idleTimeout is 0/],
    [{ store, absoluteTimeout: Number.POSITIVE_INFINITY }, /absoluteTimeout/],
    [{ store, name: 'a b' }, /name is the string "a b"/],
    [{ store, name: '__Host-session' }, /the prefix __Host- is added/],
    [{ store, allowInsecure: 'yes' }, /allowInsecure/],
    [{ store, secure: true }, /no option "secure"/],
    [{ store, notBefore: 0 }, /notBefore is 0/],
    [{ store, notBefore: new Date(Number.NaN) }, /notBefore/],
    [{ store, data: {} }, /data is an object, not a schema/],
    [{ store, data: schema.object({ cart: schema.array(schema.string), theme: schema.string }) }, /"cart", "theme"/],
    [{ store, claims: schema.string }, /claims has to accept an object/],
    [{ store, csrf: { trusted: '*' } }, /csrf/],
  ]
  for (const [options, message] of wrong) assert.throws(() => sessions(options as { store: typeof store }), message)
  assert.throws(() => memorySessions({ maxSessions: 0 }), /maxSessions/)
  assert.throws(() => redisSessions({} as never), /redisSessions\(\)/)
  const client = { sendCommand: async (_args: string[]) => null }
  const wrongOfRedis: readonly [object, RegExp][] = [
    [{ prefix: 7 }, /redisSessions\(\).*prefix is 7/],
    [{ timeout: 0 }, /timeout is 0/],
    [{ timeoutMs: 100 }, /no option "timeoutMs"/],
    [{ onChange: true }, /onChange is true/],
  ]
  for (const [options, message] of wrongOfRedis) assert.throws(() => redisSessions(client, options), message)
  assert.throws(() => sealed({} as never), /keys/)
  assert.throws(() => new HttpServer().group('/', { use: [sessions({ store }) as never] }), /install it with server\.use\(\)/)
})

test('wrong principals are refused', async () => {
  const { server, users } = sessionServer(store)
  const wrong: readonly unknown[] = [
    null,
    'ann',
    {},
    { id: 7 },
    { id: '' },
    { id: 'a', role: 'admin' },
    { id: 'a', roles: 'admin' },
    { id: 'a', scopes: [1] },
    { id: 'a', claims: [] },
  ]
  const codes: unknown[] = []
  server.mapGet('/try', (_, session) => {
    for (const principal of wrong)
      try {
        users.signIn(session, principal as { id: string })
        codes.push('passed')
      } catch (error) {
        codes.push((error as { code: string }).code)
      }
    assert.equal(users.of(session).exists, false)
  })
  await connect(server, { peer: SECURE_PEER }).get('/try')
  assert.deepEqual(
    codes,
    wrong.map(() => 'WEIR_OPTION_INVALID'),
  )
})

test('a route without the policy is an error of the program, not a client that nobody knows', async () => {
  const { server, users, logged } = sessionServer(store)
  const outside = new HttpServer({ logger: { error: (_, detail) => void logged.push(detail) } })
  outside.mapGet('/', (_, session) => users.of(session).data)
  server.mapGet('/without', { use: [{ name: 'sessions' }] }, (_, session) => users.of(session).data)
  assert.equal((await connect(outside, { peer: SECURE_PEER }).get('/')).status, 500)
  assert.equal((await connect(server, { peer: SECURE_PEER }).get('/without')).status, 500)
  for (const error of logged.filter((one) => typeof one === 'object')) assert.equal((error as { code: string }).code, 'WEIR_SERVER_STATE')
})

test('onError sees the session of a refused request, or nobody if it was refused before the gates', async () => {
  const seen: unknown[] = []
  const users = sessions({ store })
  const server = new HttpServer({
    onError: (_, session) => void seen.push(users.of(session).principal?.id),
    limits: { maxRequestBodySize: 10 },
  })
  server.use(users)
  server.mapPost('/login', (_, session) => users.signIn(session, { id: 'ann' }))
  const client = connect(server, { cookies: true, peer: SECURE_PEER })
  await client.post('/login')
  assert.equal((await client.get('/nowhere')).status, 404)
  assert.equal((await client.post('/login', { body: 'x'.repeat(100) })).status, 413)
  assert.deepEqual(seen[0], 'ann')
  assert.equal(seen.length, 2)
})

test('csrf is installed as well, unless told otherwise', async () => {
  const refused = async (options: object) => {
    const { server } = sessionServer(store, options)
    server.mapPost('/hook', { use: [{ name: 'csrf' }] }, () => 'hooked')
    const client = connect(server, { peer: SECURE_PEER })
    const headers = { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }
    return [(await client.post('/logout', { headers })).status, (await client.post('/hook', { headers })).status]
  }
  assert.deepEqual(await refused({}), [403, 200])
  assert.deepEqual(await refused({ csrf: { trusted: 'https://evil.example' } }), [200, 200])
  assert.deepEqual(await refused({ csrf: false }), [200, 200])
})

test('a request of another site is refused before the store is asked', async () => {
  const watched = new WatchedStore()
  const { server } = sessionServer(watched)
  const headers = { 'Sec-Fetch-Site': 'cross-site', Cookie: `__Host-session=${'A'.repeat(43)}` }
  assert.equal((await connect(server, { peer: SECURE_PEER }).post('/logout', { headers })).status, 403)
  assert.deepEqual(watched.calls, [])
})

test('the scheme knows the principal, whichever policy comes first, and sends people to the login page', async () => {
  for (const storeOf of Object.values(PLACES)) {
    const users = sessions({ store: storeOf() })
    const scheme = users.scheme({ login: '/login' })
    assert.equal(scheme.name, 'session')
    assert.deepEqual(scheme.description, { type: 'apiKey', in: 'cookie', name: '__Host-session' })
    const server = new HttpServer()
    server.use({
      name: 'auth',
      gate: async (session) => {
        if (session.route === 'POST /login') return undefined
        const principal = await scheme.authenticate(session)
        if (principal === null) return (scheme.login?.(session) ?? session.response.unauthorized()) as object
        session.response.header('X-Principal', principal.id)
        return undefined
      },
    })
    server.use(users)
    server.mapPost('/login', (_, session) => users.signIn(session, { id: 'ann' }))
    server.mapGet('/', (_, session) => users.of(session).principal?.id)
    const client = connect(server, { cookies: true, peer: SECURE_PEER })
    const page = await client.get('/?a=1&b=2', { headers: { Accept: 'text/html,*/*;q=0.8' } })
    assert.equal(page.status, 303)
    assert.equal(page.headers.get('location'), '/login?return=%2F%3Fa%3D1%26b%3D2')
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.equal((await client.get('/', { headers: { Accept: 'application/json' } })).status, 401)
    await client.post('/login')
    const known = await client.get('/')
    assert.equal(known.text(), 'ann')
    assert.equal(known.headers.get('x-principal'), 'ann')
  }
  assert.throws(() => sessions({ store }).scheme({ login: 'https://login.example' }), /login/)
})

test('a memory store keeps no more than its limit', async () => {
  const memory = memorySessions({ maxSessions: 2 })
  for (const key of ['a', 'b', 'c']) await memory.write(key, key, 60_000)
  assert.deepEqual([await memory.read('a'), await memory.read('b'), await memory.read('c')], [null, 'b', 'c'])
  assert.equal(await memory.replace('b', 'x', 'y', 60_000), false)
  assert.equal(await memory.replace('b', 'b', 'y', 60_000), true)
  await memory.write('d', 'd', 60_000)
  assert.deepEqual([await memory.read('b'), await memory.read('c')], ['y', null])
})
