// Middleware that replaces the response of the handler: nothing of the first one is sent, and its files are closed.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { HttpResponse, HttpServer } from '../../src/index.ts'
import { eventually } from '../support/serving.ts'

const quiet = { logger: null }

test('a Web Response replaces the whole response', async () => {
  const server = new HttpServer(quiet)
  server.use(async ({ request }, next) => {
    await next()
    if (request.path === '/redirect') return Response.redirect('http://h/login', 302)
    if (request.path === '/denied') return new Response(null, { status: 403 })
    return new Response('x', { headers: { 'Proxy-Connection': 'close', Upgrade: 'h2c', Trailer: 'a', TE: 'trailers', X: '1' } })
  })
  server.map(null, '/*p', (_, { response }) => response.header('ETag', '"secret"').text('SECRET'))
  const redirect = await server.inject('/redirect')
  assert.deepEqual([redirect.status, redirect.text(), redirect.headers.get('etag')], [302, '', null])
  const denied = await server.inject('/denied')
  assert.deepEqual([denied.status, denied.text(), denied.headers.get('content-type')], [403, '', null])
  const plain = await server.inject('/')
  assert.deepEqual([plain.status, plain.text(), plain.headers.get('x'), plain.headers.get('upgrade')], [200, 'x', '1', null])
})

test('a replaced response is closed, and does not describe the one that replaces it', {
  skip: process.platform !== 'linux' && 'counts descriptors',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'large.html')
  writeFileSync(file, Buffer.alloc(300_000, 'x'))
  const server = new HttpServer(quiet)
  server.use(async ({ request }, next) => {
    await next()
    switch (request.query.get('how')) {
      case 'other':
        return new HttpResponse().text('other')
      case 'text':
        return 'text'
      case 'web':
        return new Response('denied', { status: 403 })
      case 'generator':
        return (async function* () {
          yield 'piece'
        })()
    }
    return undefined
  })
  server.mapGet('/', (_, { response }) => response.file(file))
  const descriptors = (): number => readdirSync('/proc/self/fd').length
  await server.inject('/?how=text')
  const before = descriptors()
  for (const [how, text, type] of [
    ['other', 'other', 'text/plain; charset=utf-8'],
    ['text', 'text', 'text/plain; charset=utf-8'],
    ['web', 'denied', 'text/plain;charset=UTF-8'],
    ['generator', 'piece', 'application/octet-stream'],
  ]) {
    for (let i = 0; i < 5; i++) {
      const response = await server.inject({ url: `/?how=${how}`, headers: { Range: 'bytes=0-99999' } })
      const { headers } = response
      assert.deepEqual([response.text(), headers.get('content-type')], [text, type])
      for (const name of ['etag', 'last-modified', 'content-range', 'accept-ranges']) assert.equal(headers.get(name), null)
      assert.notEqual(response.status, 206)
    }
  }
  await eventually(() => descriptors() <= before, 'the files to be closed')
})

test('a promised length can be removed', async () => {
  const server = new HttpServer(quiet)
  server.use(async ({ response }, next) => {
    await next()
    assert.equal(response.getHeader('content-length'), '5')
    response.removeHeader('Content-Length').stream(Buffer.from('longer').length > 5 ? (async function* () { yield 'longer' })() : (null as never)) // biome-ignore format: one line
  })
  server.mapGet('/', (_, { response }) => response.header('Content-Length', 5).stream((async function* () { yield 'short' })())) // biome-ignore format: one line
  assert.equal((await server.inject('/')).text(), 'longer')
})
