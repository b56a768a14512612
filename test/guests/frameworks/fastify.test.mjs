// Fastify: `app.routing(request, response)`.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'

import Fastify from 'fastify'

import { inPieces } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

guest('fastify', {
  measured: '/stream',
  kind: 'framework',
  driven: 'schemas, hooks, streams, a limit, 404, errors, trailers, `reply.hijack()`, `onRequestAbort`',
  app: async () => {
    const app = Fastify({ bodyLimit: 100_000 })
    const aborted = []
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-hook', 'yes'))
    app.addHook('onRequestAbort', async ({ url }) => void aborted.push(url))
    const schema = {
      params: { type: 'object', properties: { id: { type: 'integer' } } },
      body: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      response: { 200: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' }, ip: { type: 'string' } } } },
    }
    app.post('/users/:id', { schema }, async ({ params, body, ip }) => ({ ...params, ...body, ip, secret: 1 }))
    app.get('/stream', (_request, reply) => reply.type('text/plain').send(Readable.from(['a', 'b', 'c'])))
    app.get('/trailer', (_request, reply) => reply.trailer('x-end', async () => 'over').send('body'))
    app.get('/raw', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(203, { 'x-raw': 'yes' })
      reply.raw.end('raw')
    })
    app.get('/fails', async () => {
      throw Object.assign(new Error('no'), { statusCode: 409 })
    })
    app.get('/wait', () => new Promise(() => {}))
    app.get('/aborted', async () => aborted)
    app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.post('/bytes', async ({ body }) => ({ length: body.length }))
    await app.ready()
    return { handler: app.routing, close: () => app.close() }
  },
  async drive({ get, post, send, open }) {
    assert.deepEqual((await post('/users/7', { name: 'Ada' })).json(), { id: 7, name: 'Ada', ip: '127.0.0.1' })
    assert.equal((await post('/users/7', {})).json().code, 'FST_ERR_VALIDATION')
    assert.equal((await get('/stream')).text, 'abc')
    assert.equal((await get('/raw')).text, 'raw')
    assert.equal((await get('/fails')).status, 409)
    assert.equal((await get('/none')).status, 404)
    assert.equal((await send('HEAD', '/stream')).status, 200)
    assert.deepEqual((await get('/trailer', { headers: { te: 'trailers' } })).trailers, { 'x-end': 'over' })
    const headers = { 'content-type': 'application/octet-stream' }
    assert.deepEqual((await post('/bytes', inPieces(Buffer.alloc(90_000)), { headers })).json(), { length: 90_000 })
    assert.equal((await post('/bytes', Buffer.alloc(200_000), { headers })).status, 413)
    assert.equal((await post('/bytes', 'x', { headers: { 'content-type': 'what/ever' } })).status, 415)
    const waiting = open('GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 50))
    waiting.leave()
    for (let i = 0; i < 100; i++) {
      const [url] = (await get('/aborted', { hidden: true })).json()
      if (url) return assert.equal(url, '/wait')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    assert.fail('onRequestAbort was not called')
  },
})
