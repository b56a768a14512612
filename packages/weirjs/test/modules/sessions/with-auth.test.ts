// Sessions as a scheme of weirjs/auth: who gets in, by the principal of the session.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type HttpSession } from '../../../src/index.ts'
import { apiKey, apiKeyDigest, auth } from '../../../src/modules/auth/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'
import { memorySessions, type Sessions, sessions } from '../../../src/modules/sessions/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { PLACES, SECURE_PEER, setCookies, WatchedStore } from '../../support/user-sessions.ts'

const stores = { ...PLACES, 'in a store of the program': () => new WatchedStore() }

for (const [place, storeOf] of Object.entries(stores))
  for (const isFirst of [true, false])
    describe(`a session ${place}, ${isFirst ? 'before' : 'after'} auth`, () => {
      const visitor = () => {
        const users = sessions({ store: storeOf() })
        const guard = auth({
          schemes: [
            users.scheme({ login: '/login' }),
            apiKey({ keys: { [apiKeyDigest('a key of a program')]: { id: 'robot', roles: ['admin'] } } }),
          ],
          roles: ['admin'],
        })
        const server = new HttpServer({ logger: null })
        if (isFirst) server.use(users)
        server.use(guard)
        if (!isFirst) server.use(users)
        server.mapPost('/login/:role', { use: [guard.open] }, ({ role }, session) => users.signIn(session, { id: 'ann', roles: [role] }))
        server.mapPost('/logout', (_, session) => users.signOut(session))
        server.mapGet('/', (_, session) => guard.principal.required(session).id)
        server.mapGet('/open', { use: [guard.open] }, (_, session) => guard.principal(session)?.id ?? 'nobody')
        server.mapGet('/admin', { use: [guard.roles('admin')] }, () => 'inside')
        server.mapGet('/person', { use: [guard.required('session')] }, () => 'a person')
        return connect(server, { cookies: true, peer: SECURE_PEER })
      }

      test('opens what its principal may see, until it ends', async () => {
        const client = visitor()
        const statuses = async (): Promise<number[]> =>
          Promise.all(['/', '/admin', '/person', '/nowhere'].map(async (path) => (await client.get(path)).status))
        assert.deepEqual(await statuses(), [401, 401, 401, 401])
        await client.post('/login/reader')
        assert.deepEqual(await statuses(), [200, 403, 200, 404])
        await client.post('/login/admin')
        assert.deepEqual(await statuses(), [200, 200, 200, 404])
        assert.equal((await client.get('/open')).text(), 'ann')
        assert.equal((await client.post('/logout')).status, 204)
        assert.deepEqual(await statuses(), [401, 401, 401, 401])
        assert.equal((await client.get('/open')).text(), 'nobody')
      })

      test('redirects people to the login page, and refuses programs', async () => {
        const client = visitor()
        const page = await client.get('/admin', { headers: { Accept: 'text/html' } })
        assert.deepEqual([page.status, page.headers.get('location')], [303, '/login?return=%2Fadmin'])
        assert.equal((await client.get('/admin', { headers: { Accept: 'application/json' } })).status, 401)
      })

      test('is one scheme of several, and does not turn a key into a session', async () => {
        const client = visitor()
        const headers = { 'X-API-Key': 'a key of a program' }
        const response = await client.get('/admin', { headers })
        assert.equal(response.status, 200)
        assert.deepEqual(setCookies(response), [])
        assert.equal((await client.get('/person', { headers })).status, 401)
      })
    })

for (const [place, storeOf] of Object.entries(stores))
  test(`users of two sessions() with names of their own do not share what belongs to a principal: ${place}`, async () => {
    const server = new HttpServer({ logger: null })
    const limit = rateLimit({ quota: 2, window: '1h', key: 'principal' })
    const clients = ['session', 'staff', 'admins'].map((name) => {
      const users = sessions({ store: storeOf(), name })
      for (const path of [`/${name}`, `/more/${name}`]) {
        const group = server.group(path).use(users)
        group.mapPost('/in/:id', ({ id }, session) => users.signIn(session, { id: id! }))
        group.mapGet('/', { use: [limit] }, () => 'ok')
      }
      return { name, client: connect(server, { cookies: true, peer: SECURE_PEER }) }
    })
    for (const { name, client } of clients) {
      await client.post(`/${name}/in/1`)
      const statuses: number[] = []
      for (const path of [`/${name}`, `/more/${name}`, `/${name}`]) statuses.push((await client.get(path)).status)
      assert.deepEqual(statuses, [200, 200, 429], name)
    }
    const [{ client }] = clients as [(typeof clients)[0]]
    await client.post('/session/in/2')
    assert.equal((await client.get('/session')).status, 200)
  })

test('a principal of a sessions() is not one of another, whatever policy the route has', async () => {
  const server = new HttpServer({ logger: null })
  const limit = rateLimit({ quota: 2, window: '1h', key: 'principal' })
  const [customers, staff] = ['session', 'staff'].map((name) => sessions({ store: memorySessions(), name })) as [Sessions, Sessions]
  const forCustomers = auth({ schemes: [customers.scheme()] })
  const forStaff = auth({ schemes: [staff.scheme()] })
  const show = (_: unknown, session: HttpSession): unknown =>
    [forCustomers, forStaff].map(({ principal }) => principal(session)?.id ?? null)
  server.use(customers).mapPost('/in', (_, session) => customers.signIn(session, { id: '1' }))
  server
    .group('/enter')
    .use(staff)
    .mapPost('', (_, session) => staff.signIn(session, { id: '1' }))
  server
    .group('/shop')
    .use(forCustomers)
    .mapGet('', { use: [limit] }, show)
  server
    .group('/desk')
    .use(forStaff)
    .mapGet('', { use: [limit] }, show)
  const client = connect(server, { cookies: true, peer: SECURE_PEER })
  for (const path of ['/in', '/enter']) await client.post(path)
  const get = async (path: string): Promise<unknown> => {
    const response = await client.get(path)
    return response.status === 200 ? response.json() : response.status
  }
  for (const expected of [['1', null], ['1', null], 429]) assert.deepEqual(await get('/shop'), expected)
  for (const expected of [[null, '1'], [null, '1'], 429]) assert.deepEqual(await get('/desk'), expected)
})
