// Middleware that sends files.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import history from 'connect-history-api-fallback'
import express from 'express'
import finalhandler from 'finalhandler'
import send from 'send'
import serveFavicon from 'serve-favicon'
import serveIndex from 'serve-index'
import serveStatic from 'serve-static'
import st from 'st'
import swagger from 'swagger-ui-express'

import { guest } from '../support/guest.mjs'

const folder = mkdtempSync(join(tmpdir(), 'weir-guests-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, 'sub'))
const BIG = Buffer.alloc(3_000_000, 'abcdefghij')
const FILES = {
  'index.html': '<h1>index</h1>',
  'big.bin': BIG,
  'a b ü.txt': 'spaces',
  'sub/page.html': '<p>sub',
  '.hidden': 'no',
  'favicon.ico': BIG.subarray(0, 1000),
}
for (const [name, content] of Object.entries(FILES)) {
  writeFileSync(join(folder, name), content)
  utimesSync(join(folder, name), new Date(1e12), new Date(1e12))
}
utimesSync(join(folder, 'sub'), new Date(1e12), new Date(1e12))

/** Ranges, conditions and HEAD of the big file at `path`. */
async function driveFile({ get, send, open }, path) {
  const whole = await get(path)
  assert.deepEqual(whole.bytes, BIG)
  const range = async (value, more) => {
    const { status, bytes, headers } = await get(path, { headers: { range: value, ...more } })
    return [status, bytes.length, headers['content-range']]
  }
  assert.deepEqual(await range('bytes=10-19'), [206, 10, 'bytes 10-19/3000000'])
  assert.deepEqual(await range('bytes=-5'), [206, 5, 'bytes 2999995-2999999/3000000'])
  assert.deepEqual(await range('bytes=2999990-'), [206, 10, 'bytes 2999990-2999999/3000000'])
  assert.equal((await range('bytes=3000000-'))[0], 416)
  assert.equal((await range('bytes=0-1', { 'if-range': '"other"' }))[0], 200)
  assert.equal((await get(path, { headers: { 'if-none-match': whole.header('etag') } })).status, 304)
  assert.equal((await get(path, { headers: { 'if-modified-since': whole.header('last-modified') } })).status, 304)
  assert.equal((await get(path, { headers: { 'if-match': '"other"' } })).status, 412)
  const head = await send('HEAD', path)
  assert.deepEqual([head.status, head.bytes.length, head.header('content-length')], [200, 0, '3000000'])
  const left = open(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await left.read('abcdefghij')
  left.leave()
  assert.equal((await get(path, { headers: { range: 'bytes=0-0' } })).status, 206)
}

/** weir refuses them with 400 before the guest sees them. */
const REFUSED = ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/%00']

guest('serve-static', {
  measured: '/',
  differs: 'Dot segments and NUL in a path get 400 from weir',
  driven: 'ranges, conditions, HEAD, a client that leaves, redirects, dotfiles, bad paths, fall-through',
  app: () => {
    const serve = serveStatic(folder, { maxAge: '1d', setHeaders: (response) => response.setHeader('x-set', 'yes') })
    return (request, response) => serve(request, response, finalhandler(request, response, { onerror: () => {} }))
  },
  async drive(client) {
    const { get, post } = client
    assert.equal((await get('/')).text, '<h1>index</h1>')
    await driveFile(client, '/big.bin')
    assert.equal((await get(`/${encodeURIComponent('a b ü.txt')}`)).text, 'spaces')
    assert.equal((await get('/sub')).header('location'), '/sub/')
    for (const path of ['/none', '/.hidden', '/sub/..%2f..%2fetc', ...REFUSED])
      assert.ok((await get(path, { hidden: REFUSED.includes(path) })).status >= 400, path)
    assert.equal((await post('/index.html', '')).status, 404)
  },
})

guest('send', {
  driven: 'ranges, conditions, HEAD, a client that leaves, its events',
  app: () => (request, response) =>
    send(request, decodeURI(request.url), { root: folder })
      .on('error', ({ status }) => {
        response.statusCode = status
        response.end(`error ${status}`)
      })
      .on('headers', (_response, path) => response.setHeader('x-file', path.slice(folder.length)))
      .pipe(response),
  async drive(client) {
    await driveFile(client, '/big.bin')
    assert.equal((await client.get('/none')).text, 'error 404')
  },
})

guest('express static and sendFile', {
  packages: ['express'],
  driven: '`express.static` below a prefix, `res.sendFile`, `res.download`, `res.format`, `res.jsonp`, `res.redirect`',
  app: () =>
    express()
      .use('/static', express.static(folder, { extensions: ['html'], index: false }))
      .get('/file', (_request, response) => response.sendFile('big.bin', { root: folder }))
      .get('/download', (_request, response) => response.download(join(folder, 'a b ü.txt')))
      .get('/format', (_request, response) => response.format({ json: () => response.json({ a: 1 }), text: () => response.send('a=1') }))
      .get('/jsonp', (_request, response) => response.jsonp({ a: 1 }))
      .get('/back', (_request, response) => response.redirect(303, '/static/sub/page')),
  async drive(client) {
    const { get } = client
    await driveFile(client, '/static/big.bin')
    await driveFile(client, '/file')
    assert.equal((await get('/static/sub/page')).text, '<p>sub')
    assert.match((await get('/download')).header('content-disposition'), /^attachment; filename="a b/)
    assert.equal((await get('/format', { headers: { accept: 'text/plain' } })).text, 'a=1')
    assert.equal((await get('/format', { headers: { accept: 'image/png' } })).status, 406)
    assert.match((await get('/jsonp?callback=f')).text, /typeof f === 'function' && f\(\{"a":1\}\)/)
    assert.equal((await get('/back')).header('location'), '/static/sub/page')
  },
})

guest('serve-index', {
  driven: 'a directory as HTML, JSON and text',
  app: () => express().use('/files', serveIndex(folder, { icons: true })),
  async drive({ get }) {
    assert.match((await get('/files/', { headers: { accept: 'text/html' } })).text, /big\.bin/)
    assert.ok((await get('/files/', { headers: { accept: 'application/json' } })).json().includes('sub'))
    assert.match((await get('/files/', { headers: { accept: 'text/plain' } })).text, /index\.html\n/)
    assert.equal((await get('/files/none')).status, 404)
  },
})

guest('serve-favicon', {
  driven: 'the icon, a condition, a wrong method',
  app: () => express().use(serveFavicon(join(folder, 'favicon.ico'))),
  async drive({ get, post, send }) {
    const icon = await get('/favicon.ico')
    assert.equal(icon.bytes.length, 1000)
    assert.equal((await get('/favicon.ico', { headers: { 'if-none-match': icon.header('etag') } })).status, 304)
    assert.equal((await post('/favicon.ico', '')).header('allow'), 'GET, HEAD, OPTIONS')
    assert.equal((await send('OPTIONS', '/favicon.ico')).status, 200)
  },
})

guest('st', {
  driven: 'files from its cache and compressed, an index, conditions',
  app: () => {
    const mount = st({ path: folder, url: '/st', index: 'index.html', cors: true })
    return (request, response) => {
      if (!mount(request, response)) response.end('not below /st')
    }
  },
  async drive({ get, send }) {
    assert.equal((await get('/st/')).text, '<h1>index</h1>')
    assert.deepEqual((await get('/st/big.bin')).bytes, BIG)
    assert.equal(gunzipSync((await get('/st/sub/page.html', { headers: { 'accept-encoding': 'gzip' } })).bytes).toString(), '<p>sub')
    const { headers } = await send('HEAD', '/st/index.html')
    assert.equal((await get('/st/index.html', { headers: { 'if-none-match': headers.etag } })).status, 304)
    assert.equal((await get('/other')).text, 'not below /st')
    assert.equal((await get('/st/none')).status, 404)
  },
})

guest('connect-history-api-fallback', {
  driven: 'paths of a single-page application, files, rewrites, an API',
  app: () => express().use(history({ rewrites: [{ from: /^\/sub/, to: '/sub/page.html' }] }), express.static(folder)),
  async drive({ get }) {
    const html = { headers: { accept: 'text/html' } }
    assert.equal((await get('/users/7', html)).text, '<h1>index</h1>')
    assert.equal((await get('/sub/anything', html)).text, '<p>sub')
    assert.equal((await get('/users/7', { headers: { accept: 'application/json' } })).status, 404)
    assert.deepEqual((await get('/big.bin', html)).bytes.length, BIG.length)
  },
})

guest('swagger-ui-express', {
  driven: 'the page, its script and its assets',
  app: () => express().use('/docs', swagger.serve, swagger.setup({ openapi: '3.1.0', info: { title: 'Guests', version: '1' }, paths: {} })),
  async drive({ get }) {
    assert.match((await get('/docs/')).text, /<title>Swagger UI<\/title>/)
    assert.match((await get('/docs/swagger-ui-init.js')).text, /"title": "Guests"/)
    assert.ok((await get('/docs/swagger-ui-bundle.js')).bytes.length > 1e6)
    assert.match((await get('/docs/swagger-ui.css')).header('content-type'), /^text\/css/)
  },
})
