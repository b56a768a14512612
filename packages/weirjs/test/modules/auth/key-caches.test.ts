// Responses to requests with API keys, and shared caches between the server and its clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { apiKey, apiKeyDigest, auth } from '../../../src/modules/auth/index.ts'
import { memorySessions, sessions } from '../../../src/modules/sessions/index.ts'
import { connect } from '../../../src/testing/index.ts'
import { SECURE_PEER } from '../../support/user-sessions.ts'
import { testScheme } from './support.ts'

const KEY = 'shop_0123456789'
const scheme = apiKey({ keys: { [apiKeyDigest(KEY)]: { id: 'shop' } }, header: 'X-Shop-Key', allowInsecure: true })

function server(): HttpServer {
  const server = new HttpServer({ logger: null }).use(auth({ schemes: [scheme, testScheme()], anonymous: 'allowed' }))
  server.mapGet('/', (_, { principal }) => (principal as { id?: string } | null)?.id ?? 'nobody')
  server.mapGet('/cached', (_, { response }) => response.header('Cache-Control', 'max-age=60').vary('Accept').text('x'))
  server.mapGet('/fails', () => {
    throw new Error('mistake')
  })
  return server
}

async function hintsOf(url: string, headers: Record<string, string>): Promise<[string | null, string | null]> {
  const { headers: fields } = await server().inject({ url, headers })
  return [fields.get('cache-control'), fields.get('vary')]
}

test('a response to a key is private, unless the program has decided; caches have to tell keys apart', async () => {
  const key = { 'x-shop-key': KEY }
  assert.deepEqual(await hintsOf('/', key), ['private, no-cache', 'X-Shop-Key'])
  assert.deepEqual(await hintsOf('/fails', key), ['private, no-cache', 'X-Shop-Key'])
  assert.deepEqual(await hintsOf('/cached', key), ['max-age=60', 'Accept, X-Shop-Key'])
})

test('what anybody gets may be kept, but does not answer requests with a key', async () => {
  assert.deepEqual(await hintsOf('/', {}), [null, 'X-Shop-Key'])
  assert.deepEqual(await hintsOf('/cached', {}), ['max-age=60', 'Accept'])
})

test('caches know Authorization themselves', async () => {
  assert.deepEqual(await hintsOf('/', { authorization: 'Test ann' }), [null, null])
  assert.equal(auth({ schemes: [testScheme()] }).beforeSend, undefined, 'it costs nothing')
})

test('a response for a cookie is private, also on a route without the policy of its sessions', async () => {
  const users = sessions({ store: memorySessions(), name: 'staff' })
  const server = new HttpServer({ logger: null })
  server
    .group('/in')
    .use(users)
    .mapPost('', (_, session) => users.signIn(session, { id: 'ann' }))
  const closed = server.group('/desk').use(auth({ schemes: [users.scheme()] }))
  closed.mapGet('', (_, { principal }) => (principal as { id: string }).id)
  closed.mapGet('/open', { use: [auth.open] }, () => 'x')
  const client = connect(server, { cookies: true, peer: SECURE_PEER })
  await client.post('/in')
  const hints = async (from: typeof client, path: string): Promise<unknown[]> => {
    const { status, headers } = await from.get(path)
    return [status, headers.get('cache-control'), headers.get('vary')]
  }
  assert.deepEqual(await hints(client, '/desk'), [200, 'private, no-cache', 'Cookie'])
  assert.deepEqual(await hints(client, '/desk/open'), [200, 'private, no-cache', 'Cookie'])
  assert.deepEqual(await hints(connect(server, { peer: SECURE_PEER }), '/desk/open'), [200, null, 'Cookie'])
})
