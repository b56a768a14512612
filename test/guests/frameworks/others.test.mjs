// Further servers that can be called with a request of node:http, or with a Request.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import feathersExpress, { json, rest } from '@feathersjs/express'
import { feathers } from '@feathersjs/feathers'
import Hapi from '@hapi/hapi'
import { getRequestListener } from '@hono/node-server'
import { Elysia, t } from 'elysia'
import { createSchema, createYoga } from 'graphql-yoga'
import { Hono } from 'hono'
import httpProxy from 'http-proxy'
import polka from 'polka'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import sirv from 'sirv'
import { WebSocket, WebSocketServer } from 'ws'

import { inPieces } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'
import { NODE_HTTP, serveGuest } from '../support/serve-guest.mjs'

const schema = createSchema({
  typeDefs:
    'type Query { hello(name: String): String! } type Mutation { size(file: File!): Int! } type Subscription { count: Int! } scalar File',
  resolvers: {
    Query: { hello: (_, { name }) => `Hello ${name ?? 'you'}` },
    Mutation: { size: async (_, { file }) => (await file.arrayBuffer()).byteLength },
    Subscription: {
      count: {
        async *subscribe() {
          for (let count = 0; count < 3; count++) {
            yield { count }
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        },
      },
    },
  },
})

async function driveYoga({ post, get }) {
  assert.deepEqual((await post('/graphql', { query: '{ hello(name: "ü") }' })).json(), { data: { hello: 'Hello ü' } })
  const form = new FormData()
  form.set('operations', '{"query":"mutation ($file: File!) { size(file: $file) }","variables":{"file":null}}')
  form.set('map', '{"0":["variables.file"]}')
  form.set('0', new File([Buffer.alloc(60_000)], 'a.bin'))
  const request = new Request('http://a/', { method: 'POST', body: form })
  const headers = { 'content-type': request.headers.get('content-type'), 'x-graphql-yoga-csrf': 'yes' }
  assert.deepEqual((await post('/graphql', Buffer.from(await request.arrayBuffer()), { headers })).json(), { data: { size: 60_000 } })
  const events = await get('/graphql?query=subscription%7Bcount%7D', { headers: { accept: 'text/event-stream' } })
  assert.match(events.text, /data: \{"data":\{"count":2\}\}/)
  assert.match(events.text, /event: complete/)
  assert.equal((await get('/graphql', { headers: { accept: 'text/html' } })).status, 200)
  assert.equal((await post('/graphql', { query: '{ none }' })).json().errors.length, 1)
  assert.equal((await get('/none')).status, 404)
}

const driven = 'a query, an upload, a subscription by server-sent events, its page, errors'
const yoga = () => createYoga({ schema, logging: false })

guest('GraphQL Yoga', { kind: 'framework', packages: ['graphql-yoga'], driven, app: yoga, drive: driveYoga })

guest('GraphQL Yoga by Fetch', {
  kind: 'framework',
  packages: ['graphql-yoga'],
  driven,
  app: () => {
    const { fetch } = yoga()
    return { fetch: (request) => fetch(request) }
  },
  drive: driveYoga,
})

guest('hapi', {
  kind: 'framework',
  packages: ['@hapi/hapi'],
  driven: 'on an event emitter in place of its listener: routes, validation of a payload, cookies, a stream, a file, errors',
  measured: '/users/7',
  app: async () => {
    const listener = Object.assign(new EventEmitter(), { address: () => null })
    const server = Hapi.server({ listener, autoListen: false })
    server.state('seen', { isSecure: false, isSameSite: 'Lax' })
    server.route([
      {
        method: 'GET',
        path: '/users/{id}',
        handler: ({ params, query, state }, h) => h.response({ ...params, query, seen: state.seen ?? null }).state('seen', params.id),
      },
      {
        method: 'POST',
        path: '/echo',
        options: { payload: { maxBytes: 10_000 } },
        handler: ({ payload }, h) => h.response(payload).code(201),
      },
      {
        method: 'POST',
        path: '/stream',
        options: { payload: { output: 'stream', parse: false, maxBytes: 1e7 } },
        handler: ({ payload }) => payload,
      },
      { method: 'GET', path: '/fails', handler: () => Promise.reject(new Error('secret')) },
      { method: 'GET', path: '/abandon', handler: ({ raw }, h) => raw.res.end('raw') && h.abandon },
    ])
    await server.initialize()
    return { handler: (request, response) => listener.emit('request', request, response), close: () => server.stop() }
  },
  async drive({ get, post, send }) {
    assert.deepEqual((await get('/users/7?a=1', { cookies: true })).json(), { id: '7', query: { a: '1' }, seen: null })
    assert.equal((await get('/users/8', { cookies: true })).json().seen, '7')
    assert.deepEqual((await post('/echo', { a: 'ü' })).json(), { a: 'ü' })
    assert.equal((await post('/echo', { a: 'x'.repeat(20_000) })).status, 413)
    assert.equal((await post('/stream', inPieces(Buffer.alloc(500_000), 20_000))).bytes.length, 500_000)
    assert.deepEqual((await get('/fails')).json().statusCode, 500)
    assert.equal((await get('/abandon')).text, 'raw')
    assert.equal((await send('HEAD', '/users/7')).text, '')
    assert.equal((await get('/none')).status, 404)
  },
})

guest('polka', {
  kind: 'framework',
  packages: ['polka', 'sirv'],
  driven: '`app.handler`: routes, middleware, files by sirv with ranges and conditions, errors',
  measured: '/users/7',
  app: () => {
    const app = polka({
      onError: (error, _request, response) => response.writeHead(error.status ?? error.code ?? 500).end(String(error.message ?? error)),
    })
    app.use('/files', sirv(import.meta.dirname, { etag: true }))
    app.get('/users/:id', ({ params, query }, response) => response.end(JSON.stringify({ ...params, ...query })))
    app.use('/fails', (_request, _response, next) => next(Object.assign(new Error('failed'), { status: 409 })))
    return app.handler
  },
  async drive({ get }) {
    assert.deepEqual((await get('/users/7?a=1')).json(), { id: '7', a: '1' })
    const file = await get('/files/others.test.mjs')
    assert.match(file.text, /^\/\/ Further/)
    assert.equal((await get('/files/others.test.mjs', { headers: { range: 'bytes=0-9' } })).status, 206)
    assert.equal((await get('/files/others.test.mjs', { headers: { 'if-none-match': file.header('etag') } })).status, 304)
    assert.equal((await get('/fails')).text, 'failed')
    assert.equal((await get('/none')).status, 404)
  },
})

guest('Feathers', {
  kind: 'framework',
  packages: ['@feathersjs/feathers', '@feathersjs/express'],
  driven: 'a service by REST: find, get, create, patch, remove, errors',
  app: () => {
    const people = new Map()
    const app = feathersExpress(feathers())
    app.use(json()).configure(rest())
    app.use('people', {
      find: async ({ query }) => [...people.values()].filter(({ name }) => name.startsWith(query.prefix ?? '')),
      get: async (id) => people.get(id) ?? Promise.reject(Object.assign(new Error('none'), { code: 404 })),
      create: async (data) => people.set('1', { id: '1', ...data }).get('1'),
      patch: async (id, data) => people.set(id, { ...people.get(id), ...data }).get(id),
      remove: async (id) => ({ id, removed: people.delete(id) }),
    })
    app.use((error, _request, response, _next) => response.status(error.code ?? 500).json({ message: error.message }))
    return app
  },
  async drive({ get, post, send }) {
    assert.deepEqual((await post('/people', { name: 'Ada' })).json(), { id: '1', name: 'Ada' })
    assert.deepEqual((await send('PATCH', '/people/1', { body: { age: 36 } })).json(), { id: '1', name: 'Ada', age: 36 })
    assert.equal((await get('/people?prefix=A')).json().length, 1)
    assert.deepEqual((await send('DELETE', '/people/1')).json(), { id: '1', removed: true })
    assert.equal((await get('/people/1')).status, 404)
  },
})

guest('Hono on its own adapter', {
  kind: 'framework',
  packages: ['@hono/node-server', 'hono'],
  driven: '`getRequestListener`: JSON, a streamed body, a Response of another fetch',
  app: () => {
    const app = new Hono()
    app.get('/', (c) => c.json({ agent: c.req.header('x-agent') }))
    app.post('/pipe', (c) => c.body(c.req.raw.body))
    return getRequestListener(app.fetch)
  },
  async drive({ get, post }) {
    assert.deepEqual((await get('/', { headers: { 'x-agent': 'guest' } })).json(), { agent: 'guest' })
    assert.equal((await post('/pipe', inPieces(Buffer.alloc(500_000), 20_000))).bytes.length, 500_000)
    assert.equal((await get('/none')).status, 404)
  },
})

guest('Elysia', {
  kind: 'framework',
  packages: ['elysia'],
  driven: 'by `mountFetch`: schemas, cookies, a form with a file, a generator as a stream, errors',
  app: () => {
    const app = new Elysia({ aot: false })
      .get('/users/:id', ({ params, cookie: { seen } }) => {
        const before = seen.value ?? null
        seen.value = params.id
        return { id: params.id, before }
      })
      .post('/echo', ({ body, status }) => status(201, body), { body: t.Object({ name: t.String() }) })
      .post('/form', ({ body }) => ({ title: body.title, size: body.photo.size }), {
        body: t.Object({ title: t.String(), photo: t.File() }),
      })
      .get('/stream', async function* () {
        yield 'a'
        yield 'b'
      })
      .get('/fails', ({ status }) => status(409, 'taken'))
    return { fetch: (request) => app.fetch(request) }
  },
  async drive({ get, post }) {
    assert.deepEqual((await get('/users/7', { cookies: true })).json(), { id: '7', before: null })
    assert.equal((await get('/users/8', { cookies: true })).json().before, '7')
    assert.deepEqual((await post('/echo', { name: 'ü' })).json(), { name: 'ü' })
    assert.equal((await post('/echo', {})).status, 422)
    assert.match((await get('/stream')).text, /a.*b/s)
    assert.deepEqual(await get('/fails').then(({ status, text }) => [status, text]), [409, 'taken'])
    assert.equal((await get('/none')).status, 404)
  },
})

guest('http-proxy', {
  driven: 'requests and WebSockets to another server',
  app: async () => {
    const sockets = new WebSocketServer({ noServer: true })
    sockets.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })))
    const backend = await serveGuest(
      {
        handler: (request, response) => request.pipe(response.writeHead(200, { 'x-path': request.url })),
        upgrade: (request, socket, head) =>
          sockets.handleUpgrade(request, socket, head, (accepted) => sockets.emit('connection', accepted)),
      },
      NODE_HTTP,
    )
    const proxy = httpProxy.createProxyServer({ target: backend.origin, ws: true })
    proxy.on('error', () => {})
    return {
      handler: (request, response) => proxy.web(request, response),
      upgrade: (request, socket, head) => proxy.ws(request, socket, head),
      close: async () => {
        proxy.close()
        sockets.close()
        await backend.close()
      },
    }
  },
  async drive({ post }, { origin }) {
    const echoed = await post('/path?a', inPieces(Buffer.alloc(1_000_000), 40_000))
    assert.deepEqual([echoed.bytes.length, echoed.header('x-path')], [1_000_000, '/path?a'])
    const socket = new WebSocket(origin.replace('http', 'ws'))
    await once(socket, 'open')
    socket.send(Buffer.alloc(300_000, 'x'))
    const [data] = await once(socket, 'message')
    assert.equal(data.length, 300_000)
    socket.close(4001, 'done')
    const [code] = await once(socket, 'close')
    assert.equal(code, 4001)
  },
})

guest('rate-limiter-flexible', {
  driven: 'two points by the address of the client, the third request with 429',
  app: () => {
    const limiter = new RateLimiterMemory({ points: 2, duration: 60 })
    return async (request, response) => {
      try {
        const { remainingPoints } = await limiter.consume(request.socket.remoteAddress)
        response.end(`${remainingPoints}`)
      } catch {
        response.writeHead(429, { 'retry-after': '60' }).end()
      }
    }
  },
  async drive({ get }) {
    assert.equal((await get('/')).text, '1')
    assert.equal((await get('/')).text, '0')
    assert.equal((await get('/')).status, 429)
  },
})
