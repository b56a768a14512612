// Which files of a directory are served, how, and which never are.

import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'

import { HttpServer, type InjectRequest, type InjectResponse } from '../../src/index.ts'
import { type StaticOptions, staticFiles } from '../../src/modules/static/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { RawClient } from '../support/raw-client.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const CHANGED = new Date('1994-11-06T08:49:37Z')
const PAGE = '<!doctype html><title>page</title>'
const TEXT = '0123456789abcdefghij'
const LARGE = Buffer.alloc(300 * 1024, 'weir ')

interface Site {
  readonly root: string
  readonly server: HttpServer
  /** Writes a file with an old modification time. */
  write(name: string, content: string | Uint8Array): string
  get(url: string, headers?: Record<string, string>): Promise<InjectResponse>
}

/** A directory with a few files, and a server for it. */
function siteOf(t: TestContext, options: Partial<StaticOptions> = {}, before?: (server: HttpServer) => void): Site {
  const root = realpathSync(temporaryDirectory(t))
  const write = (name: string, content: string | Uint8Array): string => {
    const path = join(root, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    utimesSync(path, CHANGED, CHANGED)
    return path
  }
  write('index.html', PAGE)
  write('app.html', 'the application')
  write('text.txt', TEXT)
  write('dir/index.html', PAGE)
  write('dir/ä b%.css', 'a {}')
  write('large.bin', LARGE)
  const server = new HttpServer({ logger: null })
  before?.(server)
  server.use(staticFiles({ root, ...options }))
  const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
  return { root, server, write, get }
}

/** Sends the request twice: the first response comes from the disk, the second from memory. They must be equal. */
async function twice(site: Site, request: InjectRequest | string): Promise<InjectResponse> {
  const first = await site.server.inject(request)
  const second = await site.server.inject(request)
  const seen = ({ status, headers, body }: InjectResponse) => {
    const fields = [...headers].filter(([name]) => name !== 'date').sort()
    return { status, fields: fields.map(([name, value]) => `${name}: ${value.replace(/boundary=.*/, '')}`), length: body.length }
  }
  assert.deepEqual(seen(second), seen(first))
  return second
}

test('a file is sent with its type, validators and Cache-Control', async (t) => {
  const site = siteOf(t)
  const { status, headers, ...response } = await twice(site, '/text.txt')
  assert.deepEqual([status, response.text()], [200, TEXT])
  const { date, etag, ...fields } = Object.fromEntries(headers)
  assert.match(etag!, /^"[\w-]+"$/)
  assert.deepEqual(fields, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(TEXT.length),
    'last-modified': 'Sun, 06 Nov 1994 08:49:37 GMT',
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
  })
})

test('a file that is too large for memory is streamed from the disk', async (t) => {
  const response = await twice(siteOf(t), '/large.bin')
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/octet-stream'])
  assert.ok(LARGE.equals(response.body))
})

test('HEAD has the fields of GET', async (t) => {
  const site = siteOf(t)
  for (const url of ['/text.txt', '/large.bin']) {
    const { date: _a, ...get } = Object.fromEntries((await site.get(url)).headers)
    const head = await twice(site, { method: 'HEAD', url })
    const { date: _b, ...fields } = Object.fromEntries(head.headers)
    assert.deepEqual([fields, head.body.length], [get, 0])
  }
})

test('a path with a trailing slash gets the index; a directory without it is redirected there, and nowhere else', async (t) => {
  const site = siteOf(t)
  for (const url of ['/', '/dir/', '/index.html']) assert.equal((await twice(site, url)).text(), PAGE, url)
  mkdirSync(join(site.root, 'evil.example', 'ü'), { recursive: true })
  mkdirSync(join(site.root, 'empty'))
  site.write('evil.example/index.html', PAGE)
  site.write('evil.example/ü/index.html', PAGE)
  const places = { '/dir': './dir/', '/dir?a=/b': './dir/?a=/b', '/evil.example': './evil.example/', '/evil.example/%C3%BC': './%C3%BC/' }
  for (const [url, place] of Object.entries(places)) {
    const response = await twice(site, url)
    assert.deepEqual([response.status, response.headers.get('location')], [301, place])
  }
  for (const url of ['//evil.example', '//evil.example/', '/%2Fevil.example', '/empty', '/empty/', '/dir/index.html/', '/text.txt/']) {
    const response = await site.get(url)
    assert.deepEqual([response.status, response.headers.get('location')], [404, null], url)
  }
})

test('without an index a directory is a 404', async (t) => {
  const site = siteOf(t, { index: false })
  for (const url of ['/', '/dir', '/dir/']) assert.equal((await site.get(url)).status, 404)
  assert.equal((await site.get('/dir/index.html')).status, 200)
})

test('with a prefix, only paths below it are served', async (t) => {
  const site = siteOf(t, { prefix: '/assets' })
  assert.equal((await twice(site, '/assets/dir/%C3%A4%20b%25.css')).text(), 'a {}')
  assert.equal((await twice(site, '/assets/')).text(), PAGE)
  assert.equal((await site.get('/assets')).headers.get('location'), './assets/')
  for (const url of ['/text.txt', '/assetstext.txt', '/', '/assetsx']) assert.equal((await site.get(url)).status, 404, url)
})

test('a route takes precedence over a file in any order; without a file the request continues to the next directory, then to the 404', async (t) => {
  const other = siteOf(t)
  other.write('other.txt', 'other')
  const site = siteOf(t, {}, (server) => server.mapGet('/dir/index.html', () => 'route'))
  site.server.use(staticFiles({ root: other.root }))
  site.server.mapGet('/text.txt', () => 'route too')
  assert.equal((await site.get('/dir/index.html')).text(), 'route')
  assert.equal((await site.get('/text.txt')).text(), 'route too')
  assert.equal((await site.get('/other.txt')).text(), 'other')
  const missing = await site.get('/missing.txt')
  assert.deepEqual([missing.status, missing.headers.get('content-type')], [404, 'application/problem+json'])
})

test('other methods than GET and HEAD get an Allow field, which includes the methods of a route', async (t) => {
  const site = siteOf(t, {}, (server) => server.mapPost('/text.txt', () => 'posted'))
  const responses: readonly [string, string, number, string | null][] = [
    ['POST', '/index.html', 405, 'GET, HEAD, OPTIONS'],
    ['OPTIONS', '/index.html', 204, 'GET, HEAD, OPTIONS'],
    ['DELETE', '/text.txt', 405, 'GET, HEAD, OPTIONS, POST'],
    ['OPTIONS', '/text.txt', 204, 'GET, HEAD, OPTIONS, POST'],
    ['POST', '/text.txt', 200, null],
    ['POST', '/missing.txt', 404, null],
    ['POST', '/dir', 404, null],
  ]
  for (const [method, url, status, allow] of responses) {
    const response = await site.server.inject({ method, url })
    assert.deepEqual([response.status, response.headers.get('allow')], [status, allow], `${method} ${url}`)
  }
})

test('onError is called once for a method that a file does not support, with the error that is sent', async (t) => {
  const asked: unknown[] = []
  const { root } = siteOf(t)
  const server = new HttpServer({ logger: null, onError: (error) => void asked.push((error as { code: string }).code) })
  server.use(staticFiles({ root }))
  server.use(staticFiles({ root: siteOf(t).root }))
  const cases: readonly [string, string, number, string[]][] = [
    ['OPTIONS', '/text.txt', 204, []],
    ['POST', '/text.txt', 405, ['WEIR_METHOD_NOT_ALLOWED']],
    ['POST', '/missing.txt', 404, ['WEIR_ROUTE_NOT_FOUND']],
  ]
  for (const [method, url, status, codes] of cases) {
    assert.equal((await server.inject({ method, url })).status, status)
    assert.deepEqual(asked.splice(0), codes, `${method} ${url}`)
  }
})

test('conditional requests get the same response from memory as from the disk', async (t) => {
  const site = siteOf(t)
  for (const url of ['/text.txt', '/large.bin']) {
    const { headers } = await site.get(url)
    const etag = headers.get('etag')!
    const modified = headers.get('last-modified')!
    const cases: readonly [Record<string, string>, number][] = [
      [{ 'If-None-Match': etag }, 304],
      [{ 'If-None-Match': `"x", W/${etag}` }, 304],
      [{ 'If-None-Match': '"x"' }, 200],
      [{ 'If-Modified-Since': modified }, 304],
      [{ 'If-Match': '"x"' }, 412],
      [{ 'If-Unmodified-Since': 'Sun, 06 Nov 1994 08:49:36 GMT' }, 412],
      [{ Range: 'bytes=0-1', 'If-Range': etag }, 206],
      [{ Range: 'bytes=0-1', 'If-Range': '"x"' }, 200],
      [{ Range: 'bytes=999999-' }, 416],
    ]
    for (const [asked, status] of cases) {
      const response = await twice(site, { url, headers: asked })
      assert.equal(response.status, status, `${url} ${JSON.stringify(asked)}`)
      if (status === 304) assert.deepEqual([response.headers.get('etag'), response.headers.get('cache-control')], [etag, 'no-cache'])
    }
  }
})

test('one range and several ranges are sent the same from memory as from the disk', async (t) => {
  const site = siteOf(t)
  const part = await twice(site, { url: '/text.txt', headers: { Range: 'bytes=-5' } })
  assert.deepEqual([part.status, part.headers.get('content-range'), part.text()], [206, 'bytes 15-19/20', 'fghij'])
  const several = await twice(site, { url: '/text.txt', headers: { Range: 'bytes=0-1, 18-' } })
  const [, boundary] = /^multipart\/byteranges; boundary=(.*)$/.exec(several.headers.get('content-type')!)!
  const parts = [
    ['0-1', '01'],
    ['18-19', 'ij'],
  ].map(
    ([range, text]) => `--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ${range}/20\r\n\r\n${text}\r\n`,
  )
  assert.equal(several.text(), `${parts.join('')}--${boundary}--\r\n`)
})

test('changed, removed and new files are noticed', async (t) => {
  const site = siteOf(t, { checkInterval: 0 })
  const before = await twice(site, '/text.txt')
  site.write('text.txt', 'abcdefghij0123456789') // same length, same time
  const after = await twice(site, '/text.txt')
  assert.equal(after.text(), 'abcdefghij0123456789')
  site.write('other.txt', 'moved here')
  renameSync(join(site.root, 'other.txt'), join(site.root, 'text.txt'))
  assert.equal((await twice(site, '/text.txt')).text(), 'moved here')
  assert.notEqual((await twice(site, '/text.txt')).headers.get('etag'), before.headers.get('etag'))
  rmSync(join(site.root, 'text.txt'))
  assert.equal((await twice(site, '/text.txt')).status, 404)
  site.write('text.txt', 'back')
  assert.equal((await twice(site, '/text.txt')).text(), 'back')
})

test('within checkInterval a file is sent from memory unchecked', async (t) => {
  const site = siteOf(t, { checkInterval: 1e9 })
  assert.equal((await site.get('/text.txt')).text(), TEXT)
  site.write('text.txt', 'changed')
  assert.equal((await site.get('/text.txt')).text(), TEXT)
})

test('a file that was changed a moment ago is read each time, because its time may not reveal the next change', async (t) => {
  const site = siteOf(t, { checkInterval: 1e9 })
  const path = join(site.root, 'fresh.txt')
  for (const text of ['one', 'two']) {
    writeFileSync(path, text)
    const response = await site.get('/fresh.txt')
    assert.equal(response.text(), text)
    assert.match(response.headers.get('etag')!, /^W\//)
  }
})

test('names that begin with a dot are not served unless they are listed', async (t) => {
  const site = siteOf(t, { dotfiles: ['.well-known'] })
  for (const name of ['.env', '.git/config', 'dir/.htpasswd', '.well-known/security.txt', '.well-known/.secret']) site.write(name, 'secret')
  for (const url of ['/.env', '/%2eenv', '/.git/config', '/dir/.htpasswd', '/.well-known/.secret']) {
    assert.equal((await site.get(url)).status, 404, url)
  }
  assert.equal((await twice(site, '/.well-known/security.txt')).text(), 'secret')
  const named = siteOf(t, { index: '.index.html', dotfiles: ['.index.html'] })
  named.write('.index.html', PAGE)
  for (const url of ['/', '/.index.html']) assert.equal((await twice(named, url)).text(), PAGE)
})

test('a link that leads out of the root is not served; one that stays inside is', async (t) => {
  const outside = temporaryDirectory(t)
  writeFileSync(join(outside, 'secret.txt'), 'secret')
  const link = (root: string): void => {
    symlinkSync(join(outside, 'secret.txt'), join(root, 'out.txt'))
    symlinkSync(outside, join(root, 'outside'))
    symlinkSync('text.txt', join(root, 'inside.txt'))
    symlinkSync('loop', join(root, 'loop'))
    // Another directory whose name begins like the root's.
    mkdirSync(`${root}-more`)
    t.after(() => rmSync(`${root}-more`, { recursive: true }))
    writeFileSync(`${root}-more/secret.txt`, 'secret')
    symlinkSync(`${root}-more`, join(root, 'more'))
  }
  const site = siteOf(t)
  link(site.root)
  for (const url of ['/out.txt', '/outside/secret.txt', '/outside', '/more/secret.txt', '/loop']) {
    assert.equal((await twice(site, url)).status, 404, url)
  }
  assert.equal((await twice(site, '/inside.txt')).text(), TEXT)

  const open = siteOf(t, { followSymlinks: true })
  link(open.root)
  for (const url of ['/out.txt', '/outside/secret.txt']) assert.equal((await twice(open, url)).text(), 'secret', url)
})

test('a root that is a link can be pointed to another directory', async (t) => {
  const folder = temporaryDirectory(t)
  for (const release of ['one', 'two']) {
    mkdirSync(join(folder, release))
    writeFileSync(join(folder, release, 'name.txt'), release)
    utimesSync(join(folder, release, 'name.txt'), CHANGED, CHANGED)
  }
  symlinkSync('one', join(folder, 'current'))
  const server = new HttpServer({ logger: null })
  server.use(staticFiles({ root: join(folder, 'current'), checkInterval: 0 }))
  assert.equal((await server.inject('/name.txt')).text(), 'one')
  symlinkSync('two', join(folder, 'next'))
  renameSync(join(folder, 'next'), join(folder, 'current'))
  assert.equal((await server.inject('/name.txt')).text(), 'two')
})

test('no form of target leaves the root', async (t) => {
  const site = siteOf(t, { prefix: '/dir' })
  await site.server.start()
  t.after(() => site.server.stop({ graceMs: 0 }))
  const escapes = [
    ...[
      '/dir/../text.txt',
      '/dir/%2e%2e/text.txt',
      '/dir/.%2e/text.txt',
      '/dir/..%2ftext.txt',
      '/dir/%2e%2e%2ftext.txt',
      '/dir/..%5ctext.txt',
    ],
    ...[
      '/dir/%5c..%5ctext.txt',
      '/dir/text.txt%00.html',
      '/dir/%00',
      '/dir/C:/Windows/win.ini',
      '/dir/C:text.txt',
      '/dir/%43%3A/x',
      '/dir//etc/passwd',
    ],
    ...[
      '/dir///etc/passwd',
      '/dir/%2fetc%2fpasswd',
      '/dir/%252e%252e/text.txt',
      '/dir/..;/text.txt',
      '/dir/....//text.txt',
      '/dir/%c0%ae%c0%ae/text.txt',
    ],
    ...['http://localhost/dir/../text.txt', '/dir/~root/', '/dir/text.txt::$DATA', '/dir/text.txt/..', '/dir/./text.txt'],
  ]
  for (const target of escapes) {
    const client = await RawClient.connect(site.server.port)
    t.after(() => client.destroy())
    client.send(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    assert.match(await client.rest(), /^HTTP\/1\.1 40[04] /, target)
  }
})

test('precompressed versions are sent to clients that accept them, each with its own validators and ranges', async (t) => {
  const site = siteOf(t, { precompressed: true })
  const text = 'a { color: red }\n'.repeat(100)
  site.write('both.css', text)
  const br = brotliCompressSync(text)
  site.write('both.css.br', br)
  site.write('both.css.gz', gzipSync(text))
  site.write('one.css', text)
  site.write('one.css.gz', gzipSync(text))
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync, none: (bytes: Uint8Array) => Buffer.from(bytes) }
  const cases: readonly [string, string, keyof typeof decoders][] = [
    ['/both.css', 'gzip, deflate, br, zstd', 'br'],
    ['/both.css', 'br;q=0.5, gzip', 'gzip'],
    ['/both.css', 'identity', 'none'],
    ['/one.css', 'gzip, deflate, br', 'gzip'],
    ['/one.css', 'br', 'none'],
  ]
  const tags = new Set<string>()
  for (const [url, accept, coding] of cases) {
    const response = await twice(site, { url, headers: { 'Accept-Encoding': accept } })
    assert.equal(decoders[coding](response.body).toString(), text, `${url} ${accept}`)
    const fields = ['content-encoding', 'content-type', 'vary'].map((name) => response.headers.get(name))
    assert.deepEqual(fields, [coding === 'none' ? null : coding, 'text/css; charset=utf-8', 'Accept-Encoding'])
    tags.add(`${url} ${response.headers.get('etag')}`)
  }
  assert.equal(tags.size, cases.length)
  const part = await twice(site, { url: '/both.css', headers: { 'Accept-Encoding': 'br', Range: 'bytes=0-9' } })
  assert.ok(br.subarray(0, 10).equals(part.body))
  assert.deepEqual([part.headers.get('content-encoding'), part.headers.get('vary')], ['br', 'Accept-Encoding'])
  const etag = part.headers.get('etag')!
  const unchanged = await twice(site, { url: '/both.css', headers: { 'Accept-Encoding': 'br', 'If-None-Match': etag } })
  const fields = ['etag', 'vary', 'content-encoding', 'content-type'].map((name) => unchanged.headers.get(name))
  assert.deepEqual([unchanged.status, ...fields], [304, etag, 'Accept-Encoding', null, null])
  assert.equal((await site.get('/text.txt', { 'Accept-Encoding': 'br' })).headers.get('vary'), null, 'there is only one version')
})

for (const [where, options] of [
  ['memory', {}],
  ['the disk', { maxCacheSize: 0 }],
] as const) {
  test(`versions with the same size and time have different ETags, from ${where}`, async (t) => {
    const site = siteOf(t, { precompressed: true, ...options })
    for (const name of ['same.txt', 'same.txt.br', 'same.txt.gz']) site.write(name, 'the same')
    const tags: string[] = []
    for (const coding of ['identity', 'br', 'gzip']) {
      const response = await twice(site, { url: '/same.txt', headers: { 'Accept-Encoding': coding } })
      assert.equal(response.headers.get('content-encoding') ?? 'identity', coding)
      tags.push(response.headers.get('etag')!)
    }
    assert.equal(new Set(tags).size, 3, tags.join())
    for (const [i, status] of [200, 304, 200].entries()) {
      const response = await twice(site, { url: '/same.txt', headers: { 'Accept-Encoding': 'br', 'If-None-Match': tags[i]! } })
      assert.deepEqual([response.status, response.headers.get('etag')], [status, tags[1]])
    }
  })
}

test('added and removed precompressed versions are noticed', async (t) => {
  const site = siteOf(t, { precompressed: ['gzip'], checkInterval: 0 })
  const coding = async () =>
    (await twice(site, { url: '/text.txt', headers: { 'Accept-Encoding': 'gzip, br' } })).headers.get('content-encoding')
  assert.equal(await coding(), null)
  const path = site.write('text.txt.gz', gzipSync(TEXT))
  site.write('text.txt.br', brotliCompressSync(TEXT))
  assert.equal(await coding(), 'gzip')
  rmSync(path)
  assert.equal(await coding(), null)
})

test('Cache-Control can be set for all files, for some, or for none', async (t) => {
  const said = async (cacheControl: StaticOptions['cacheControl']) =>
    (await twice(siteOf(t, cacheControl === undefined ? {} : { cacheControl }), '/dir/index.html')).headers.get('cache-control')
  assert.equal(await said('public, max-age=60'), 'public, max-age=60')
  assert.equal(await said((path) => (path === 'dir/index.html' ? 'max-age=1' : null)), 'max-age=1')
  assert.equal(await said(null), null)
})

test('with extensions, a name gets the first file that exists with one of them', async (t) => {
  const site = siteOf(t, { prefix: '/a', extensions: ['html', 'txt'], precompressed: true })
  site.write('about.html', PAGE)
  site.write('about.html.gz', gzipSync(PAGE))
  site.write('about/index.html', 'the directory')
  site.write('plain', 'without')
  site.write('plain.html', 'with')
  site.write('..html', 'hidden')
  site.write('.html', 'hidden')
  for (const _ of ['from the disk', 'from memory']) {
    assert.equal((await site.get('/a/about')).text(), PAGE)
    assert.equal((await site.get('/a/about')).headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal((await site.get('/a/about', { 'Accept-Encoding': 'gzip' })).headers.get('content-encoding'), 'gzip')
    assert.equal((await site.get('/a/about/')).text(), 'the directory')
    assert.equal((await site.get('/a/about.html')).text(), PAGE)
    assert.equal((await site.get('/a/text')).text(), TEXT)
    assert.equal((await site.get('/a/plain')).text(), 'without')
    assert.equal((await site.get('/a/dir')).status, 301)
    assert.equal((await site.get('/a')).status, 301)
    for (const missing of ['/a/nothing', '/a/text.', '/a/large', '/a/.', '/a/', '/a/text/']) {
      assert.equal((await site.get(missing)).text().includes('hidden'), false)
      if (missing !== '/a/') assert.notEqual((await site.get(missing)).status, 200, missing)
    }
  }
  assert.equal((await site.server.inject({ method: 'POST', url: '/a/about' })).status, 405)
  assert.equal((await siteOf(t).get('/text')).status, 404)
})

test('the fallback is sent for navigations to a missing page only', async (t) => {
  const site = siteOf(t, { fallback: '/app.html', headers: { 'X-Frame-Options': 'DENY' } }, (server) => {
    server.mapGet('/api/users', () => ({}))
    server.mapPost('/login', () => ({}))
  })
  site.write('bare/text.txt', TEXT)
  const browser = { 'Sec-Fetch-Mode': 'navigate', Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const url of ['/users', '/users/', '/users/7?tab=a', '/users/john.doe', '/v1.2/x', '/login', '/bare', '/api/none']) {
    for (const headers of [browser, { Accept: 'text/html' }] as Record<string, string>[]) {
      const page = await twice(site, { url, headers })
      assert.deepEqual([page.status, page.text()], [200, 'the application'], url)
      assert.equal(page.headers.get('vary'), 'Accept, Sec-Fetch-Mode')
      assert.equal(page.headers.get('cache-control'), 'no-cache')
      assert.equal(page.headers.get('x-frame-options'), 'DENY')
    }
    const tag = (await site.get(url, browser)).headers.get('etag')!
    assert.equal((await site.get(url, { ...browser, 'If-None-Match': tag })).status, 304)
    for (const headers of [{}, { Accept: '*/*' }, { ...browser, 'Sec-Fetch-Mode': 'cors' }] as Record<string, string>[]) {
      const missing = await site.get(url, headers)
      assert.ok(missing.status === 404 || missing.status === 405, url)
      assert.equal(missing.headers.get('vary'), 'Accept, Sec-Fetch-Mode', 'a cache must not use it for navigations')
    }
  }
  assert.equal((await site.server.inject({ method: 'HEAD', url: '/users', headers: browser })).status, 200)
  for (const missing of ['/app.3f2a.js', '/img/none.png', '/none.html', '/.env', '/a%2fb']) {
    const response = await site.get(missing, browser)
    assert.deepEqual([response.status, response.headers.get('vary')], [404, null], missing)
  }
  assert.equal((await site.server.inject({ method: 'POST', url: '/users', headers: browser })).status, 404)
  assert.equal((await site.server.inject({ method: 'DELETE', url: '/login', headers: browser })).status, 405)
  assert.equal((await site.get('/text.txt', browser)).text(), TEXT)
  assert.equal((await site.get('/api/users', browser)).text(), '{}')
  const emptied = siteOf(t, { fallback: 'app.html' })
  rmSync(join(emptied.root, 'app.html'))
  assert.equal((await emptied.get('/users', browser)).status, 404)
})

test('the headers option applies to every response that carries the file', async (t) => {
  const headers = (path: string): Record<string, string> =>
    path === 'text.txt' ? { 'content-type': 'text/x-own', 'X-Path': path } : { 'Content-Security-Policy': "default-src 'self'" }
  const site = siteOf(t, { headers }, (server) => {
    server.use((session, next) => {
      if (session.request.query.has('own')) session.response.header('X-Path', 'middleware')
      return next()
    })
  })
  for (const url of ['/', '/large.bin']) {
    const page = await twice(site, url)
    assert.equal(page.headers.get('content-security-policy'), "default-src 'self'", url)
    assert.equal(page.headers.get('x-path'), null)
  }
  const text = await twice(site, '/text.txt')
  assert.deepEqual([text.headers.get('content-type'), text.headers.get('x-path')], ['text/x-own', 'text.txt'])
  for (const asked of [{ Range: 'bytes=0-1' }, { 'If-None-Match': text.headers.get('etag')! }]) {
    assert.equal((await twice(site, { url: '/text.txt', headers: asked as Record<string, string> })).headers.get('x-path'), 'text.txt')
  }
  assert.equal((await twice(site, '/text.txt?own')).headers.get('x-path'), 'middleware')
  assert.equal((await site.get('/none')).headers.get('content-security-policy'), null)
  assert.equal((await siteOf(t, { headers: () => ({ 'X-A': '\n' }) }).get('/')).status, 500)
})

test('fields that middleware has set are kept, and conditions use them', async (t) => {
  const site = siteOf(t, {}, (server) =>
    server.use(({ response }, next) => {
      response.header('Cache-Control', 'private').header('ETag', '"own"').vary('Cookie')
      return next()
    }),
  )
  const { headers } = await twice(site, '/text.txt')
  assert.deepEqual(
    ['cache-control', 'etag', 'vary'].map((name) => headers.get(name)),
    ['private', '"own"', 'Cookie'],
  )
  assert.equal((await twice(site, { url: '/text.txt', headers: { 'If-None-Match': '"own"' } })).status, 304)
})

test('files are served with maxCacheSize 0', async (t) => {
  const site = siteOf(t, { maxCacheSize: 0 })
  assert.equal((await twice(site, '/text.txt')).text(), TEXT)
})

test('many simultaneous requests for one file all get it', async (t) => {
  const site = siteOf(t)
  const responses = await Promise.all(Array.from({ length: 50 }, () => site.get('/dir/')))
  assert.deepEqual([...new Set(responses.map((response) => response.text()))], [PAGE])
})

test('curl resumes an aborted download, and follows the redirect to a directory', { skip: noCurl }, async (t) => {
  const site = siteOf(t)
  await site.server.start()
  t.after(() => site.server.stop({ graceMs: 0 }))
  const origin = `http://127.0.0.1:${site.server.port}`
  const rest = await curl(['--range', '100000-', `${origin}/large.bin`])
  assert.deepEqual([rest.response.status, LARGE.subarray(100_000).equals(rest.response.body)], [206, true])
  const page = await curl(['--location', `${origin}/dir`])
  assert.deepEqual([page.response.status, page.response.text], [200, PAGE])
})

test('invalid options are refused', (t) => {
  const root = temporaryDirectory(t)
  mkdirSync(join(root, 'app'))
  mkdirSync(join(root, '.well-known'))
  for (const name of ['.app.html', '.well-known/.app.html']) writeFileSync(join(root, name), PAGE)
  const wrong: object[] = [
    { root: join(root, 'missing') },
    { fallback: 'missing.html' },
    { fallback: 'app' },
    { prefix: 'assets' },
    { prefix: '/a//b' },
    { prefix: '/%41' },
    { index: 'a/b' },
    { index: '' },
    { index: '.index.html' },
    { precompressed: ['zip'] },
    { maxCacheSize: -1 },
    { checkInterval: 0.5 },
    { cacheControl: 5 },
    { root: undefined },
    { prefix: 5 },
    { dotfiles: '.well-known' },
    { extensions: 'html' },
    { extensions: ['.html'] },
    { extensions: [''] },
    { fallback: 5 },
    { fallback: '' },
    { fallback: '../index.html' },
    { fallback: '/app/' },
    { fallback: '.app.html' },
    { fallback: '.well-known/.app.html', dotfiles: ['.well-known'] },
    { headers: 'X: 1' },
    { headers: { 'X-A': 'a\nb' } },
    { headers: { 'X A': 'a' } },
    { headers: { 'X-A': 5 } },
    { headers: { ETag: '"own"' } },
    { headers: { 'content-length': '5' } },
    { followSymlinks: 'no' },
    { cacheControls: 'no-cache' },
  ]
  for (const options of wrong) {
    assert.throws(() => staticFiles({ root, ...options } as { root: string }), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  }
})

test('a name that becomes a link to the outside is no longer served from memory', async (t) => {
  const site = siteOf(t, { checkInterval: 0 })
  const outside = join(realpathSync(temporaryDirectory(t)), 'secret')
  writeFileSync(outside, 'secret')
  utimesSync(outside, CHANGED, CHANGED)
  assert.equal((await twice(site, '/text.txt')).text(), TEXT)
  rmSync(join(site.root, 'text.txt'))
  symlinkSync(outside, join(site.root, 'text.txt'))
  assert.equal((await twice(site, '/text.txt')).status, 404)
})

test('a file that is not in memory must still be the one that was found: a link that took its name is not followed', async (t) => {
  const site = siteOf(t, { checkInterval: 60_000, precompressed: true })
  const outside = join(realpathSync(temporaryDirectory(t)), 'secret')
  writeFileSync(outside, 'secret')
  const path = join(site.root, 'large.bin')
  assert.equal((await twice(site, '/large.bin')).body.length, LARGE.length)
  rmSync(path)
  symlinkSync(outside, path)
  assert.equal((await twice(site, '/large.bin')).status, 404)
  rmSync(path)
  site.write('large.bin', LARGE)
  assert.equal((await twice(site, '/large.bin')).body.length, LARGE.length)
  for (const changed of [Buffer.alloc(LARGE.length, 'other'), Buffer.from('small')]) {
    site.write('new', changed)
    renameSync(join(site.root, 'new'), path)
    assert.deepEqual(Buffer.from((await twice(site, '/large.bin')).body), changed)
  }
})

test('a file outside the root is never sent while a name alternates between a file and a link to it', async (t) => {
  const site = siteOf(t, { checkInterval: 0 })
  const outside = join(realpathSync(temporaryDirectory(t)), 'secret')
  writeFileSync(outside, 'secret')
  utimesSync(outside, CHANGED, CHANGED)
  const [name, plain, link] = ['name', 'plain', 'link'].map((one) => join(site.root, one)) as [string, string, string]
  let turns = 0
  const turning = setInterval(() => {
    // Each of the two is created under another name and then renamed over this one.
    if (turns++ % 2 === 0) {
      symlinkSync(outside, link)
      renameSync(link, name)
    } else {
      site.write('plain', TEXT)
      renameSync(plain, name)
    }
  }, 0)
  const seen = new Set<string>()
  try {
    for (let i = 0; i < 300; i++) seen.add((await site.get('/name')).text())
  } finally {
    clearInterval(turning) // before the directory is removed
  }
  assert.ok(![...seen].some((text) => text.includes('secret')), [...seen].join())
})
