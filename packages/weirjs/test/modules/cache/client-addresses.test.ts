// What a handler makes of the address of one client is not sent to another.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession, type Middleware } from '../../../src/index.ts'
import { type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'
import { mountNode } from '../../../src/node/index.ts'

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

/** Where mounted code finds a socket, and what it may read of it, also members that do not exist yet. */
const SOCKETS = ['req.socket', 'req.connection', 'res.socket', 'res.connection'] as const

test('nor does mounted code that states how long its response is fresh lead to the address of another client', async () => {
  const server = new HttpServer({ logger: null })
  const group = server.group('/', { use: [cache({ maxAge: '1m' })] })
  const members = new Set<string>()
  mountNode(group, '/', (req, res) => {
    const [, place = '', member = ''] = req.url!.split('/')
    const socket = Object(place.startsWith('req') ? req : res)[place.slice(4)] as Record<string, unknown>
    for (let one = Object(socket); one !== null && one !== Object.prototype; one = Object.getPrototypeOf(one))
      for (const name of Object.getOwnPropertyNames(one)) members.add(name)
    res.setHeader('Cache-Control', 'public, max-age=60')
    const value = member === '' ? 'no member' : socket[member]
    res.end(typeof value === 'string' || typeof value === 'number' ? String(value) : 'another kind')
  })
  const ask = async (path: string, address: string): Promise<string> => {
    const response = await server.fetch(new Request(`http://localhost${path}`), { peer: { address } })
    return response.text()
  }
  for (const place of SOCKETS) await ask(`/${place}/`, '192.0.2.1')
  let found = 0
  for (const place of SOCKETS)
    for (const member of members) {
      const own = await ask(`/${place}/${member}`, '192.0.2.1')
      if (!own.includes('192.0.2.1')) continue
      found++
      assert.equal(await ask(`/${place}/${member}`, '198.51.100.2'), '198.51.100.2', `${place}.${member}`)
    }
  assert.ok(found >= SOCKETS.length, `${found}`)
})

test('nor does mounted code that asks which proxy has stated the client, and then reads its fields', async () => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'] } })
  const group = server.group('/', { use: [cache({ maxAge: '1m' })] })
  const fields = ['x-forwarded-for', 'x-forwarded-host', 'forwarded']
  mountNode(group, '/', (req, res) => {
    const [, place = '', member = ''] = req.url!.split('/')
    const socket = Object(place.startsWith('req') ? req : res)[place.slice(4)] as Record<string, unknown>
    const isTrusted = socket[member] !== undefined
    res.setHeader('Cache-Control', 'public, max-age=60')
    res.end(isTrusted ? fields.map((name) => req.headers[name]).join() : 'nothing')
  })
  const ask = async (path: string, client: string): Promise<string> => {
    const headers = Object.fromEntries(fields.map((name) => [name, client]))
    const response = await server.fetch(new Request(`http://localhost${path}`, { headers }), { peer: { address: '10.0.0.1', port: 7 } })
    return response.text()
  }
  for (const place of SOCKETS)
    for (const member of ['remoteAddress', 'remotePort', 'remoteFamily'])
      for (const client of ['a.example', 'b.example'])
        assert.equal(await ask(`/${place}/${member}`, client), fields.map(() => client).join(), `${place}.${member}`)
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
