// Hono inside weir, with the middleware that looks most closely at requests and responses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'

import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { etag } from 'hono/etag'
import { methodOverride } from 'hono/method-override'
import { stream, streamSSE, streamText } from 'hono/streaming'
import { validator } from 'hono/validator'

import { HttpServer } from '../../src/index.ts'
import { type FetchEnvironment, mountFetch } from '../../src/node/index.ts'

type App = Hono<{ Bindings: FetchEnvironment }>

function serverOf(map: (app: App) => void, path = '/'): HttpServer {
  const app: App = new Hono()
  map(app)
  const server = new HttpServer({ logger: null })
  mountFetch(server, path, app.fetch)
  return server
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

test('routes, parameters, bodies, cookies, errors and the session', async () => {
  const server = serverOf((app) => {
    app.use(async (context, next) => {
      await next()
      context.header('X-After', 'yes')
    })
    app.get('/users/:id', (context) => context.json([context.req.param('id'), context.req.queries('tag'), context.req.path]))
    app.post('/json', async (context) => context.json({ got: await context.req.json() }, 201))
    app.post('/form', async (context) => context.text(Object.keys(await context.req.parseBody()).join()))
    app.get('/cookies', (context) => {
      context.header('Set-Cookie', 'a=1', { append: true })
      context.header('Set-Cookie', 'b=2', { append: true })
      return context.text(context.req.header('Cookie') ?? '')
    })
    app.get('/who', (context) => context.text(context.env.session.route ?? ''))
    app.get('/fails', () => {
      throw new Error('broken')
    })
    app.get('/moved', (context) => context.redirect('/there'))
    app.post(
      '/checked',
      validator('json', (value: { a?: unknown }, context) => (value.a === 1 ? value : context.text('no', 422))),
      (context) => context.json(context.req.valid('json')),
    )
    app.onError((error, context) => context.text(error.message, 500))
  })
  const users = await server.inject('/users/a%20b?tag=1&tag=2')
  assert.deepEqual(
    [users.json(), users.headers.get('x-after'), users.headers.get('content-length')],
    [['a b', ['1', '2'], '/users/a b'], 'yes', '30'],
  )
  const posted = await server.inject({ method: 'POST', url: '/json', headers: JSON_TYPE, body: '{"a":1}' })
  assert.deepEqual([posted.status, posted.text()], [201, '{"got":{"a":1}}'])
  const form = { 'Content-Type': 'multipart/form-data; boundary=b' }
  const body = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n--b--\r\n'
  assert.equal((await server.inject({ method: 'POST', url: '/form', headers: form, body })).text(), 'x')
  const cookies = await server.inject({ url: '/cookies', headers: { Cookie: 'c=3' } })
  assert.deepEqual([cookies.text(), cookies.headers.getSetCookie()], ['c=3', ['a=1', 'b=2']])
  assert.equal((await server.inject('/who')).text(), 'ANY /**mountedPath')
  const failed = await server.inject('/fails')
  assert.deepEqual([failed.status, failed.text()], [500, 'broken'])
  assert.deepEqual([(await server.inject('/moved')).status, (await server.inject('/moved')).headers.get('location')], [302, '/there'])
  assert.equal((await server.inject('/nowhere')).text(), '404 Not Found')
  assert.equal((await server.inject({ method: 'POST', url: '/checked', headers: JSON_TYPE, body: '{"a":2}' })).status, 422)
  assert.equal((await server.inject({ method: 'POST', url: '/checked', headers: JSON_TYPE, body: '{"a":1}' })).text(), '{"a":1}')
  assert.deepEqual(
    [(await server.inject({ method: 'HEAD', url: '/who' })).status, (await server.inject({ method: 'HEAD', url: '/who' })).text()],
    [200, ''],
  )
})

test('middleware that makes another Request of it, or another Response', async () => {
  const server = serverOf((app) => {
    app.use('/limited', bodyLimit({ maxSize: 5, onError: (context) => context.text('too large', 413) }))
    app.post('/limited', async (context) => context.text(await context.req.text()))
    app.use('/override', methodOverride({ app }))
    app.delete('/override', async (context) => context.text(`deleted ${JSON.stringify(await context.req.parseBody())}`))
    app.use('/compressed', compress())
    app.get('/compressed', (context) => context.text('a'.repeat(5000)))
    app.use('/tagged', etag())
    app.get('/tagged', (context) => context.text('tagged'))
    app.use('/shared', cors({ origin: 'https://a.example' }))
    app.get('/shared', (context) => context.text('shared'))
    const inner = new Hono()
    inner.get('/path', (context) => context.text(context.req.path))
    app.route('/inner', inner)
    app.mount('/mounted', (request) => new Response(new URL(request.url).pathname))
  })
  const post = async (url: string, body: string, type = 'text/plain'): Promise<string> =>
    (await server.inject({ method: 'POST', url, headers: { 'Content-Type': type }, body })).text()
  assert.deepEqual([await post('/limited', '12345'), await post('/limited', '123456')], ['12345', 'too large'])
  assert.equal(await post('/override', '_method=DELETE&a=1', 'application/x-www-form-urlencoded'), 'deleted {"a":"1"}')
  const compressed = await server.inject({ url: '/compressed', headers: { 'Accept-Encoding': 'gzip' } })
  assert.equal(compressed.headers.get('content-encoding'), 'gzip')
  assert.equal(gunzipSync(compressed.body).toString(), 'a'.repeat(5000))
  const tagged = await server.inject('/tagged')
  const again = await server.inject({ url: '/tagged', headers: { 'If-None-Match': tagged.headers.get('etag')! } })
  assert.deepEqual([tagged.text(), again.status, again.text()], ['tagged', 304, ''])
  const preflight = await server.inject({
    method: 'OPTIONS',
    url: '/shared',
    headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
  })
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, 'https://a.example'])
  assert.equal((await server.inject('/inner/path')).text(), '/inner/path')
  assert.equal((await server.inject('/mounted/deep')).text(), '/deep')
})

test('streams', async () => {
  const server = serverOf((app) => {
    app.get('/text', (context) =>
      streamText(context, async (out) => {
        await out.write('one ')
        await out.sleep(1)
        await out.write('two')
      }),
    )
    app.get('/bytes', (context) => stream(context, (out) => out.pipe(new Blob(['bytes']).stream())))
    app.get('/events', (context) => streamSSE(context, (out) => out.writeSSE({ data: 'first', id: '1' })))
    app.post('/echo', (context) => new Response(context.req.raw.body))
  })
  assert.equal((await server.inject('/text')).text(), 'one two')
  assert.equal((await server.inject('/bytes')).text(), 'bytes')
  const events = await server.inject('/events')
  assert.deepEqual([events.headers.get('content-type'), events.text()], ['text/event-stream', 'data: first\nid: 1\n\n'])
  assert.equal((await server.inject({ method: 'POST', url: '/echo', body: 'x'.repeat(100_000) })).body.length, 100_000)
})

test('routes that move one at a time', async () => {
  const server = serverOf((app) => {
    app.get('/users/:id', (context) => context.text('Hono'))
    app.put('/users/:id', (context) => context.text('Hono'))
  })
  server.mapGet('/users/:id', () => 'weir')
  assert.equal((await server.inject('/users/7')).text(), 'weir')
  assert.equal((await server.inject({ method: 'PUT', url: '/users/7' })).text(), 'Hono')
})
