// client.as: requests of a principal, without credentials.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { apiKey, auth, basic } from '../../src/modules/auth/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { connect } from '../../src/testing/index.ts'

function server(): HttpServer {
  const never = () => assert.fail('a scheme was asked')
  const users = auth({ schemes: [basic({ users: never }), apiKey({ keys: never })], roles: ['admin'] })
  const one = new HttpServer({ logger: null }).use(users)
  one.mapGet('/me', (_, session) => users.principal.required(session))
  one.mapGet('/open', { use: [users.open] }, (_, session) => users.principal(session)?.id ?? 'nobody')
  one.mapGet('/admin', { use: [users.roles('admin')] }, () => 'welcome')
  one.mapGet('/orders', { use: [users.scopes('orders:read')] }, () => [])
  one.mapGet('/own/:id', { use: [users.policy(({ id }, { request }) => request.path === `/own/${id}`)] }, () => 'yours')
  one.mapGet('/key', { use: [users.required('apiKey')] }, (_, session) => users.principal.required(session).scheme)
  one.use(websocket('/chat', { open: (socket) => void socket.send((socket.session.principal as { id: string }).id) }))
  return one
}

describe('client.as', () => {
  test('requests are those of the principal, and what it does not have is empty', async () => {
    await using client = connect(server())
    const ann = client.as({ id: 'ann' })
    assert.deepEqual((await ann.get('/me')).json(), { id: 'ann', name: 'ann', roles: [], scopes: [], claims: {}, scheme: 'basic' })
    const given = { id: '7', name: 'Bea', roles: ['admin'], scopes: ['a'], claims: { team: 'x' }, scheme: 'apiKey' }
    assert.deepEqual((await client.as(given).get('/me')).json(), given)
    assert.equal((await ann.get('/open')).text(), 'ann')
  })

  test('gates decide by its roles, scopes and whatever else, as for anybody', async () => {
    await using client = connect(server())
    const [ann, bea] = [client.as({ id: 'ann' }), client.as({ id: 'bea', roles: ['admin'], scopes: ['orders:read'] })]
    const statuses = async (one: typeof ann): Promise<number[]> =>
      Promise.all(['/admin', '/orders', '/own/ann', '/own/bea', '/nowhere'].map(async (url) => (await one.get(url)).status))
    assert.deepEqual(await statuses(ann), [403, 403, 200, 403, 404])
    assert.deepEqual(await statuses(bea), [200, 200, 403, 200, 404])
    assert.equal((await ann.get('/key')).text(), 'apiKey', 'the first scheme that the route accepts')
    assert.equal((await client.as({ id: 'ann', scheme: 'basic' }).get('/key')).status, 401)
    assert.equal((await client.as({ id: 'ann', scheme: 'other' }).get('/me')).status, 401)
  })

  test('the client itself stays a stranger, and nothing that a client sends makes it somebody', async () => {
    await using client = connect(server())
    client.as({ id: 'ann' })
    const headers = { 'X-Principal': '{"id":"ann"}', testPrincipal: '{"id":"ann"}' }
    assert.equal((await client.get('/me', { headers })).status, 401)
    assert.equal((await server().inject({ url: '/me', headers })).status, 401)
  })

  test('it has cookies of its own, and its WebSockets are those of the principal', async () => {
    await using client = connect(
      server().mapGet('/set', { use: [auth.open] }, (_, { request, response }) =>
        response.cookie('a', '1').text(request.cookie('a') ?? 'none'),
      ),
      { cookies: true },
    )
    assert.equal((await client.get('/set')).text(), 'none')
    const ann = client.as({ id: 'ann' })
    assert.equal((await ann.get('/set')).text(), 'none')
    assert.equal((await ann.get('/set')).text(), '1')
    await using socket = await ann.webSocket('/chat')
    assert.equal((await socket.next()) as unknown, 'ann')
  })

  test('without weirjs/auth, it is the principal that the session begins with', async () => {
    const one = new HttpServer({ logger: null }).mapGet('/', (_, { principal }) => principal)
    await using client = connect(one)
    assert.deepEqual((await client.as({ id: 'ann', roles: ['x'] }).get('/')).json(), { id: 'ann', roles: ['x'] })
    assert.equal((await client.get('/')).text(), 'null')
  })

  test('a principal without an id is an error', () => {
    const client = connect(server())
    for (const wrong of [{}, null, 'ann', { id: '' }, { id: 7 }])
      assert.throws(() => client.as(wrong as never), {
        code: 'WEIR_OPTION_INVALID',
        message: /as\(\): the principal is .*not an object with an id/,
      })
  })
})
