// What a cache keeps of code that reads cookies where the server does not see it.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { nonceOf } from '../../../src/modules/headers/index.ts'
import { mountFetch, mountNode } from '../../../src/modules/node/index.ts'
import { memorySessions, sessions } from '../../../src/modules/sessions/index.ts'

/** What two clients with different cookies get, in turn. */
async function twice(server: HttpServer, url: string): Promise<string[]> {
  const bodies: string[] = []
  for (const name of ['ann', 'bob']) bodies.push((await server.inject({ url, headers: { Cookie: `user=${name}` } })).text())
  return bodies
}

function serverWith(options: CacheOptions, field: string | null = null): HttpServer {
  const server = new HttpServer({ logger: null })
  const group = server.group('/', { use: [cache({ maxAge: '1m', ...options })] })
  const headers: Record<string, string> = field === null ? {} : { 'Cache-Control': field }
  mountNode(group, '/node', (req, res) => res.writeHead(200, headers).end(req.headers.cookie))
  mountFetch(group, '/fetch', (request) => new Response(request.headers.get('cookie'), { headers }))
  group.mapGet('/field', (_, { request }) => request.header('Cookie'))
  group.mapGet('/web', (_, { request }) => {
    const cookie = request.toWeb().headers.get('cookie')
    return new Response(cookie, { headers })
  })
  return server
}

for (const url of ['/node', '/fetch', '/field', '/web']) {
  test(`${url}: a response that may be made of cookies is not sent to others`, async () => {
    assert.deepEqual(await twice(serverWith({}), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ key: 'all' }), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ vary: ['Cookie'] }), url), ['user=ann', 'user=bob'])
    assert.deepEqual(await twice(serverWith({ key: () => 'everybody' }), url), ['user=ann', 'user=ann'])
  })
}

for (const url of ['/node', '/fetch', '/web']) {
  test(`${url}: code that states Cache-Control decides itself`, async () => {
    assert.deepEqual(await twice(serverWith({}, 'public'), url), ['user=ann', 'user=ann'])
    assert.deepEqual(await twice(serverWith({}, 'private'), url), ['user=ann', 'user=bob'])
  })
}

test('a nonce is not kept, also if a session was read before it', async () => {
  const server = new HttpServer({ logger: null })
  const users = sessions({ store: memorySessions() })
  server.useModule(users)
  server.mapGet('/', { use: [cache({ maxAge: '1m', key: () => 'everybody' })] }, (_, session) => {
    users.of(session)
    return nonceOf(session)
  })
  const first = await server.inject('/')
  assert.equal(first.status, 200)
  assert.notEqual((await server.inject('/')).text(), first.text())
})
