// Fastify with what its guide recommends for speed: a schema for every response, no logger. Its own plugins compress, send files and speak
// WebSocket. Each port is an instance, because an instance listens with one protocol.
import { setTimeout as pause } from 'node:timers/promises'

import { ADDRESS, firstItems, integerOf, inWorkers, MAX_BODY, MAX_DELAY_MS, openDatabase, PORTS, STATIC, TLS } from './program.mjs'

const { fastify } = await import('fastify')
const integer = { type: 'integer' }
const string = { type: 'string' }
const rating = { type: 'object', properties: { score: integer, count: integer } }
const item = {
  ...{ id: integer, name: string, category: string, price: integer, quantity: integer, active: { type: 'boolean' } },
  ...{ tags: { type: 'array', items: string }, rating },
}
const listOf = (properties) => ({
  200: { type: 'object', properties: { items: { type: 'array', items: { type: 'object', properties } }, count: integer } },
})
const sum = { querystring: { type: 'object', required: ['a', 'b'], properties: { a: integer, b: integer } } }

await inWorkers(async () => {
  const database = await openDatabase()
  const listen = async (port, options, isUpgradable = false) => {
    const app = fastify({ bodyLimit: MAX_BODY, ...options })
    await map(app, database, isUpgradable)
    await app.listen({ port, host: ADDRESS, backlog: 1024 })
  }
  await Promise.all([
    listen(PORTS.plain, {}, true),
    listen(PORTS.tls, { https: { ...TLS, ALPNProtocols: ['http/1.1'] } }),
    listen(PORTS.h2, { http2: true, https: TLS }),
    listen(PORTS.h2c, { http2: true }),
  ])
})

async function map(app, database, isUpgradable) {
  await app.register((await import('@fastify/compress')).default)
  await app.register((await import('@fastify/static')).default, { root: STATIC, prefix: '/static/', preCompressed: true })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const text = (reply, number) => reply.type('text/plain').send(String(number))

  for (const path of ['/baseline11', '/baseline2'])
    app.get(path, { schema: sum }, ({ query: { a, b } }, reply) => {
      text(reply, a + b)
    })
  app.post('/baseline11', { schema: sum }, ({ query: { a, b }, body }, reply) => {
    const c = integerOf(String(body).trim())
    if (c === null) reply.code(400).send({ error: 'bad request' })
    else text(reply, a + b + c)
  })
  app.get('/pipeline', (_request, reply) => {
    text(reply, 'ok')
  })
  const delay = { params: { type: 'object', properties: { ms: { type: 'integer', minimum: 0, maximum: MAX_DELAY_MS } } } }
  app.get('/delay/:ms', { schema: delay }, async ({ params: { ms } }, reply) => {
    await pause(ms)
    return text(reply, ms)
  })
  app.post('/echo', (request, reply) => {
    reply.type('application/octet-stream').send(request.body ?? '')
  })
  const items = {
    params: { type: 'object', properties: { count: { type: 'integer', minimum: 0 } } },
    querystring: { type: 'object', properties: { m: { type: 'integer', default: 1 } } },
    response: listOf({ ...item, total: integer }),
  }
  app.get('/json/:count', { schema: items }, (request, reply) => {
    reply.send(firstItems(request.params.count, request.query.m))
  })
  if (database !== null) {
    const range = { min: { ...integer, default: 10 }, max: { ...integer, default: 50 }, limit: { ...integer, default: 50 } }
    const schema = { querystring: { type: 'object', properties: range }, response: listOf(item) }
    app.get('/async-db', { schema }, ({ query: { min, max, limit } }) => database.range(min, max, limit))
    app.get('/fortunes', async (_request, reply) => reply.type('text/html; charset=utf-8').send(await database.fortunes()))
  }
  if (isUpgradable) {
    await app.register((await import('@fastify/websocket')).default, { options: { maxPayload: MAX_BODY } })
    app.get('/ws', { websocket: true }, (socket) => {
      socket.on('error', () => {})
      socket.on('message', (data, binary) => socket.send(data, { binary }))
    })
  }
}
