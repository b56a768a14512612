// Hono: its `fetch`.
import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'

import { Hono } from 'hono'
import { basicAuth } from 'hono/basic-auth'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { cors } from 'hono/cors'
import { etag } from 'hono/etag'
import { HTTPException } from 'hono/http-exception'
import { requestId } from 'hono/request-id'
import { secureHeaders } from 'hono/secure-headers'
import { stream, streamSSE, streamText } from 'hono/streaming'

import { inPieces, multipart } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

async function pieces(out, ...texts) {
  for (const text of texts) {
    await out.write(text)
    await out.sleep(5)
  }
}

guest('Hono', {
  kind: 'framework',
  packages: ['hono'],
  driven:
    'routes, JSON, forms with files, cookies, limits, ETag, gzip, CORS, streams, server-sent events that the client leaves, `app.mount`, errors',
  app: () => {
    let left = 0
    const app = new Hono()
    app.use(cors({ origin: 'http://a.example' }), secureHeaders(), requestId({ generator: () => 'id' }))
    app.get('/users/:id', (c) => {
      const seen = getCookie(c, 'seen') ?? null
      setCookie(c, 'seen', c.req.param('id'), { httpOnly: true })
      setCookie(c, 'other', 'b')
      return c.json({ id: c.req.param('id'), query: c.req.query(), seen, agent: c.req.header('user-agent') ?? null, url: c.req.url })
    })
    app.get('/forget', (c) => {
      deleteCookie(c, 'seen')
      return c.body(null, 204)
    })
    app.post('/echo', bodyLimit({ maxSize: 50_000 }), async (c) => c.json(await c.req.json(), 201))
    app.post('/form', async (c) => {
      const { title, photo } = await c.req.parseBody()
      return c.json({ title, name: photo.name, type: photo.type, size: photo.size })
    })
    app.post('/pipe', (c) => c.body(c.req.raw.body))
    app.get('/tagged', etag(), (c) => c.text('tagged'))
    app.get('/zipped', compress(), (c) => c.text('zipped '.repeat(2000)))
    app.get('/stream', (c) => stream(c, (out) => pieces(out, 'a', 'b')))
    app.get('/text', (c) => streamText(c, (out) => pieces(out, 'one\n', 'two\n')))
    app.get('/events', (c) =>
      streamSSE(c, async (out) => {
        out.onAbort(() => left++)
        for (let i = 0; c.req.query('end') === undefined || i < 3; i++) {
          await out.writeSSE({ data: `${i}`, event: 'tick', id: `${i}` })
          await out.sleep(5)
          if (out.aborted) return
        }
      }),
    )
    app.get('/left', (c) => c.json(left))
    app.get('/private', basicAuth({ username: 'ada', password: 'right' }), (c) => c.text('private'))
    app.get('/refused', () => {
      throw new HTTPException(409, { message: 'taken' })
    })
    app.get('/throws', () => {
      throw new Error('secret')
    })
    app.get('/back', (c) => c.redirect('/users/1', 303))
    app.mount('/mounted', (request) => new Response(new URL(request.url).pathname))
    app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text('an error', 500)))
    return { fetch: (request) => app.fetch(request) }
  },
  async drive({ get, post, send, open }) {
    const first = (await get('/users/7?a=1&a=2', { cookies: true, headers: { 'user-agent': 'guest' } })).json()
    assert.deepEqual([first.id, first.query, first.seen, first.agent], ['7', { a: '1' }, null, 'guest'])
    assert.equal((await get('/users/8', { cookies: true })).json().seen, '7')
    assert.equal((await get('/forget', { cookies: true })).status, 204)
    assert.deepEqual((await post('/echo', { a: 'ü' })).json(), { a: 'ü' })
    assert.equal((await post('/echo', { a: 'x'.repeat(60_000) })).status, 413)
    assert.equal(
      (
        await post('/echo', inPieces(Buffer.from(JSON.stringify({ a: 'x'.repeat(60_000) }))), {
          headers: { 'content-type': 'application/json' },
        })
      ).status,
      413,
    )
    const { body, headers } = multipart([
      ['title', 'ü'],
      ['photo', Buffer.alloc(100_000, 'x'), 'a.png', 'image/png'],
    ])
    assert.deepEqual((await post('/form', body, { headers })).json(), { title: 'ü', name: 'a.png', type: 'image/png', size: 100_000 })
    const piped = await post('/pipe', inPieces(Buffer.alloc(1_000_000, 'p'), 50_000))
    assert.equal(piped.bytes.length, 1_000_000)
    const tag = (await get('/tagged')).header('etag')
    assert.equal((await get('/tagged', { headers: { 'if-none-match': tag } })).status, 304)
    assert.equal(gunzipSync((await get('/zipped', { headers: { 'accept-encoding': 'gzip' } })).bytes).length, 14_000)
    assert.equal((await get('/stream')).text, 'ab')
    assert.equal((await get('/text')).text, 'one\ntwo\n')
    assert.match((await get('/events?end')).text, /event: tick\ndata: 2\nid: 2\n\n$/)
    const stream = open('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await stream.read('data: 3')
    stream.leave()
    let left = 0
    for (let i = 0; i < 100 && left === 0; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      left = (await get('/left', { hidden: true })).json()
    }
    assert.equal(left, 1)
    assert.equal((await get('/private')).status, 401)
    assert.equal((await get('/private', { headers: { authorization: `Basic ${btoa('ada:right')}` } })).text, 'private')
    assert.deepEqual(await get('/refused').then(({ status, text }) => [status, text]), [409, 'taken'])
    assert.equal((await get('/throws')).text, 'an error')
    assert.equal((await get('/back')).header('location'), '/users/1')
    assert.equal((await get('/mounted/deep')).text, '/deep')
    assert.equal((await send('HEAD', '/tagged')).text, '')
    assert.equal(
      (await send('OPTIONS', '/', { headers: { origin: 'http://a.example', 'access-control-request-method': 'PUT' } })).status,
      204,
    )
    assert.equal((await get('/none')).status, 404)
  },
})
