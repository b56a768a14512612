// A whole Express application inside weir, and beside routes of weir.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import express, { type NextFunction, type Request, type Response } from 'express'
import helmet from 'helmet'

import { HttpServer } from '../../src/index.ts'
import { decompression } from '../../src/modules/decompression/index.ts'
import { mountNode } from '../../src/node/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Http2Client } from '../support/http2-client.ts'
import { eventually } from '../support/serving.ts'

const app = express()
let sseClosed = 0
app.set('trust proxy', 'loopback')
app.use('/safe', helmet())
app.use(express.json(), express.urlencoded({ extended: true }))
app.use('/files', express.static('packages/weirjs/test/support', { extensions: ['ts'] }))
app.post('/json', (req, res) => void res.json(req.body))
app.get(
  '/users/:id',
  (req, res) => void res.json({ params: req.params, query: req.query, ip: req.ip, protocol: req.protocol, host: req.host }),
)
app.get('/safe', (_req, res) => void res.send('safe'))
app.get('/file', (_req, res) => res.sendFile('package.json', { root: '.' }))
app.get('/download', (_req, res) => res.download('package.json', 'p.json'))
app.get('/redirect', (_req, res) => res.redirect(303, '/users/1'))
app.get('/cookies', (_req, res) => void res.cookie('a', 'b', { httpOnly: true }).clearCookie('c').send('ok'))
app.get('/events', async (_req, res) => {
  res.set('Content-Type', 'text/event-stream').flushHeaders()
  res.on('close', () => sseClosed++)
  for (let i = 0; !res.destroyed; i++) {
    res.write(`data: ${i}\n\n`)
    await wait(2)
  }
})
app.get('/fails', async () => {
  throw Object.assign(new Error('no tea'), { status: 418 })
})
app.use('/own-errors', (_req, _res, next) => next(new Error('mine')))
app.use('/own-errors', (error: Error, _req: Request, res: Response, _next: NextFunction) => void res.status(500).send(error.message))
const sub = express()
sub.get('/deep', (req, res) => void res.send([req.baseUrl, req.url, req.originalUrl].join(' ')))
app.use('/sub', sub)

const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
let base = ''

before(async () => {
  server.mapGet('/moved', () => ({ from: 'weir' }))
  mountNode(server, '/', app)
  mountNode(server, '/prefixed', app)
  await server.start()
  base = `http://127.0.0.1:${server.port}`
})
after(() => server.stop({ graceMs: 0 }))

const get = (path: string, init: RequestInit = {}): Promise<globalThis.Response> => fetch(base + path, { redirect: 'manual', ...init })

test('bodies: json, urlencoded, malformed, too large', async () => {
  const json = { 'Content-Type': 'application/json' }
  assert.deepEqual(await (await get('/json', { method: 'POST', headers: json, body: '{"a":[1]}' })).json(), { a: [1] })
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  assert.deepEqual(await (await get('/json', { method: 'POST', headers: form, body: 'a[b]=1&c=2' })).json(), { a: { b: '1' }, c: '2' })
  const malformed = await get('/json', { method: 'POST', headers: json, body: '{"a":' })
  assert.deepEqual([malformed.status, malformed.headers.get('content-type')], [400, 'application/problem+json'])
  const large = await get('/json', { method: 'POST', headers: json, body: JSON.stringify('x'.repeat(200_000)) })
  assert.equal(large.status, 413)
})

test('bodies whose length no field states: decoded ones, and those of HTTP/2', async (t) => {
  const other = new HttpServer({ port: 0, hosts: 'any', logger: null, tls: { key, cert }, http2: true })
  other.use(decompression())
  mountNode(other, '/', app)
  await other.start()
  t.after(() => other.stop({ graceMs: 0 }))
  const client = await Http2Client.connect(t, other.port)
  const text = JSON.stringify({ pay: 100 })
  const json = { 'content-type': 'application/json' }
  const sent = [
    [text, { 'content-length': text.length }],
    [text, {}],
    [gzipSync(text), { 'content-encoding': 'gzip' }],
  ] as const
  for (const [body, fields] of sent) assert.deepEqual((await client.post('/json', body, { ...json, ...fields })).json(), { pay: 100 })
  const decoded = await other.inject({
    method: 'POST',
    url: '/json',
    body: gzipSync(text),
    headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
  })
  assert.deepEqual(decoded.json(), { pay: 100 })
})

test('parameters, and clients behind a trusted proxy', async () => {
  const seen = await get('/users/7?a=1&a=2', { headers: { 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' } })
  assert.equal(seen.headers.get('x-powered-by'), 'Express')
  assert.deepEqual(await seen.json(), {
    params: { id: '7' },
    query: { a: ['1', '2'] },
    ip: '203.0.113.9',
    protocol: 'https',
    host: `127.0.0.1:${server.port}`,
  })
})

test('files: whole, in ranges, unchanged, as downloads', async () => {
  const file = readFileSync('package.json', 'utf8')
  const whole = await get('/file')
  assert.deepEqual([whole.status, await whole.text()], [200, file])
  const range = await get('/file', { headers: { Range: 'bytes=2-9' } })
  assert.deepEqual(
    [range.status, range.headers.get('content-range'), await range.text()],
    [206, `bytes 2-9/${file.length}`, file.slice(2, 10)],
  )
  // fetch would add Cache-Control: no-cache, which asks for the whole file.
  const same = await server.inject({ url: '/file', headers: { 'If-None-Match': whole.headers.get('etag')! } })
  assert.deepEqual([same.status, same.text()], [304, ''])
  const head = await get('/file', { method: 'HEAD' })
  assert.deepEqual([head.headers.get('content-length'), await head.text()], [String(file.length), ''])
  assert.equal((await get('/download')).headers.get('content-disposition'), 'attachment; filename=p.json')
  assert.equal(await (await get('/files/mounted')).text(), readFileSync('packages/weirjs/test/support/mounted.ts', 'utf8'))
})

test('redirects, cookies, security fields', async () => {
  const redirect = await get('/redirect')
  assert.deepEqual([redirect.status, redirect.headers.get('location')], [303, '/users/1'])
  assert.equal((await get('/cookies')).headers.getSetCookie().length, 2)
  const safe = await get('/safe')
  assert.deepEqual([safe.headers.get('x-powered-by'), safe.headers.get('x-frame-options')], [null, 'SAMEORIGIN'])
})

test('events, until the client leaves', async () => {
  const abort = new AbortController()
  const events = await get('/events', { signal: abort.signal })
  const reader = events.body!.getReader()
  assert.match(new TextDecoder().decode((await reader.read()).value), /^data: 0/)
  abort.abort()
  await eventually(() => sseClosed === 1, 'the end')
})

test('errors: of its own handlers, and those that it leaves to weir', async () => {
  const own = await get('/own-errors')
  assert.deepEqual([own.status, await own.text()], [500, 'mine'])
  const left = await get('/fails')
  assert.deepEqual([left.status, ((await left.json()) as { detail: string }).detail], [418, 'no tea'])
  const unknown = await get('/unknown')
  assert.deepEqual([unknown.status, unknown.headers.get('content-type')], [404, 'application/problem+json'])
})

test('routes of weir come first; applications inside applications, and below a prefix', async () => {
  assert.deepEqual(await (await get('/moved')).json(), { from: 'weir' })
  assert.equal(await (await get('/sub/deep?a')).text(), '/sub /deep?a /sub/deep?a')
  assert.equal(await (await get('/prefixed/sub/deep')).text(), '/prefixed/sub /deep /prefixed/sub/deep')
})
