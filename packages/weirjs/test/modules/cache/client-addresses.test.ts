// What a handler makes of the address of one client is not sent to another.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession, type Middleware } from '../../../src/index.ts'
import { type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'

/** What two clients with different addresses get, in turn, of a route with a cache. */
async function responsesOf(
  handler: (session: HttpSession) => unknown,
  { options = {}, outside = [], inside = [] }: { options?: CacheOptions; outside?: Middleware[]; inside?: object[] } = {},
) {
  const server = new HttpServer({ logger: null })
  for (const one of outside) server.use(one)
  server.use(cache({ maxAge: '1m', ...options }))
  server.get('/', { use: inside as never }, (_, session) => handler(session) as string)
  const responses = []
  for (const address of ['192.0.2.1', '198.51.100.2'])
    responses.push(await server.fetch(new Request('http://localhost/'), { peer: { address } }))
  const texts = await Promise.all(responses.map((response) => response.text()))
  return { texts, status: responses.map((response) => response.headers.get('cache-status')) }
}

for (const [what, read] of Object.entries({
  clientAddress: ({ clientAddress }: HttpSession) => clientAddress,
  peer: ({ peer }: HttpSession) => peer.address,
  'a stream': async function* ({ clientAddress }: HttpSession) {
    yield clientAddress
  },
  'a stream that reads it late': async function* (session: HttpSession) {
    yield ''
    yield session.clientAddress
  },
}))
  test(`${what}: each client gets its own`, async () => {
    assert.deepEqual((await responsesOf(read)).texts, ['192.0.2.1', '198.51.100.2'])
  })

test('the port of the client counts as its address', async () => {
  const { status } = await responsesOf(({ clientPort }) => String(clientPort))
  assert.match(status[1]!, /detail=address/)
})

test('middleware inside the cache counts', async () => {
  const inside: Middleware = (session, next) => {
    session.response.header('X-Client', session.clientAddress)
    return next()
  }
  const { status } = await responsesOf(() => 'x', { inside: [inside] })
  assert.match(status[1]!, /detail=address/)
})

test('a key of the program states who shares responses', async () => {
  const { texts, status } = await responsesOf(({ clientAddress }) => clientAddress, {
    options: { key: (session) => session.clientAddress },
  })
  assert.deepEqual(texts, ['192.0.2.1', '198.51.100.2'])
  assert.match(status[0]!, /stored/)
})

test("a limit by address inside the cache, and middleware around it, leave the response everyone's", async () => {
  const seen: string[] = []
  const outside: Middleware = (session, next) => {
    seen.push(session.clientAddress)
    return next()
  }
  const { status } = await responsesOf(() => 'x', { outside: [outside], inside: [rateLimit({ quota: 9, window: '1m' })] })
  assert.match(status[1]!, /hit/)
  assert.equal(seen.length, 2)
})
