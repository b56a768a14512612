// Files in memory: they are served as files of a directory are, and start nothing.

import assert from 'node:assert/strict'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync } from 'node:zlib'

import { HttpServer, type InjectRequest } from '../../src/index.ts'
import { type Assets, type StaticOptions, staticFiles } from '../../src/modules/static/index.ts'
import { assetsOf } from '../../src/modules/static/sea-assets.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { isThinned } from '../support/thinned.ts'

const PAGE = '<!doctype html><title>page</title>'
const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'index.html': PAGE,
  'index.html.br': brotliCompressSync(PAGE),
  'about.html': 'about',
  'img/dot.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'img/index.html': 'images',
  'deep/er/data.bin': Uint8Array.of(0, 255, 128, 7),
  '.well-known/security.txt': 'Contact: nobody',
  '.env': 'SECRET=1',
}
const OPTIONS = {
  extensions: ['html'],
  precompressed: true,
  fallback: '/index.html',
  dotfiles: ['.well-known'],
  cacheControl: (path: string) => (path.endsWith('.html') ? 'no-cache' : 'max-age=60'),
  headers: { 'X-Files': 'yes' },
} satisfies Partial<StaticOptions>

function serving(options: StaticOptions & ({ root: string } | { assets: Assets })): HttpServer {
  const server = new HttpServer({ logger: null })
  server.use(staticFiles(options))
  server.mapPost('/about', () => 'posted')
  return server
}

test('whatever is asked, files in memory answer as those of a directory, except for the validators', async (t) => {
  const root = temporaryDirectory(t)
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
    utimesSync(join(root, name), 0, 0)
  }
  const disk = serving({ ...OPTIONS, root })
  const memories = [serving({ ...OPTIONS, assets: FILES }), serving({ ...OPTIONS, assets: new Map(Object.entries(FILES)) })]
  const urls = [
    '/',
    '/index.html',
    '/about',
    '/img',
    '/img/',
    '/img/dot.svg',
    '/deep',
    '/deep/',
    '/deep/er/data.bin',
    '/.env',
    '/missing',
    '/missing.png',
  ]
  urls.push(
    '/.well-known/security.txt',
    '/img%2fdot.svg',
    '/img//dot.svg',
    '/index.html/',
    '/img/dot.svg/x',
    '/__proto__',
    '/constructor',
    '/deep/er/',
  )
  const headers: Record<string, string>[] = [
    {},
    { 'Accept-Encoding': 'br' },
    { Range: 'bytes=1-2' },
    { Range: 'bytes=0-0,2-' },
    { Range: 'bytes=999-' },
    { 'If-None-Match': '*' },
    { 'If-Match': '"other"' },
    { 'Sec-Fetch-Mode': 'navigate', Accept: 'text/html' },
  ]
  const told = async (server: HttpServer, request: InjectRequest) => {
    const response = await server.inject(request)
    const fields = [...response.headers].filter(([name]) => !['etag', 'last-modified', 'date'].includes(name))
    const body = response.text().replaceAll(/--[\w-]+/g, '--boundary')
    return { status: response.status, fields: fields.map(([name, value]) => [name, value.replace(/boundary=.*/, 'boundary')]).sort(), body }
  }
  let tried = 0
  for (const url of urls)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE'])
      for (const one of headers)
        for (const memory of memories) {
          if (isThinned && tried++ % 5 > 0) continue
          const request = { url, method, headers: one }
          assert.deepEqual(await told(memory, request), await told(disk, request), JSON.stringify(request))
        }
})

test('the ETag is that of the content, for each coding, in every process', async () => {
  const [one, two] = [serving({ assets: FILES, precompressed: true }), serving({ assets: { ...FILES }, precompressed: ['br'] })]
  const tagOf = async (server: HttpServer, headers = {}) => (await server.inject({ url: '/', headers })).headers.get('etag')
  assert.match((await tagOf(one))!, /^"[\w-]{22}"$/)
  assert.equal(await tagOf(one), await tagOf(two))
  const coded = { 'Accept-Encoding': 'br' }
  assert.notEqual(await tagOf(one, coded), await tagOf(one))
  assert.equal(await tagOf(one, coded), await tagOf(two, coded))
  const again = await one.inject({ url: '/', headers: { 'If-None-Match': (await tagOf(one))! } })
  assert.equal(again.status, 304)
  assert.equal(again.headers.get('last-modified'), null)
})

test('mistakes are errors when the module is made', () => {
  const cases: [object, RegExp][] = [
    [{}, /either root or assets is needed/],
    [{ root: '.', assets: {} }, /root and assets cannot both be given/],
    [{ assets: 'site' }, /assets is the string "site"|assets is a string/],
    [{ assets: { '/index.html': '' } }, /"\/index\.html" is not a path such as/],
    [{ assets: { 'a/../b': '' } }, /"a\/\.\.\/b" is not a path/],
    [{ assets: { a: 5 } }, /a is .*5.*, not bytes or text|a is a number, not bytes or text/],
    [{ assets: {}, fallback: 'index.html' }, /fallback index\.html is not a file/],
    [{ assets: {}, checkInterval: 0 }, /checkInterval needs root$/],
    [{ assets: {}, followSymlinks: false }, /followSymlinks needs root$/],
  ]
  for (const [options, message] of cases)
    assert.throws(() => staticFiles(options as { root: string }), { code: 'WEIR_OPTION_INVALID', message })
})

test('the assets of a single executable are listed by their prefix, without a copy', () => {
  const raw = new TextEncoder().encode('page').buffer
  const sea = { isSea: () => true, getAssetKeys: () => ['site/index.html', 'other'], getRawAsset: () => raw }
  const assets = assetsOf(sea, 'site/')!
  assert.deepEqual([...assets.keys()], ['index.html'])
  assert.equal(assets.get('index.html')!.buffer, raw)
  assert.deepEqual([...assetsOf(sea, '')!.keys()], ['site/index.html', 'other'])
  assert.equal(assetsOf(undefined, ''), null)
  assert.equal(assetsOf({ ...sea, isSea: () => false }, ''), null)
  assert.throws(() => assetsOf({ isSea: () => true }, ''), { code: 'WEIR_SERVER_STATE', message: /Node 22\.20, 24\.8 or later/ })
})

test('several ranges of a large file are sent from the memory that it has', async (t) => {
  const clients = 20
  const size = 8 * 1024 * 1024
  const file = Buffer.alloc(size, 'weir')
  const server = new HttpServer({ hosts: 'any', port: 0, logger: null }).use(staticFiles({ assets: { 'a.bin': file } }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const headers = { Range: `bytes=0-${size / 2 - 100},${size / 2}-` }
  const { status, body } = await server.inject({ url: '/a.bin', headers })
  assert.equal(status, 206)
  assert.ok(body.length > size - 100) // and not one range of both
  const before = process.memoryUsage().arrayBuffers
  let begun = 0
  server.beforeSend(() => void begun++)
  const readers = await Promise.all(Array.from({ length: clients }, () => RawClient.connect(server.port)))
  for (const reader of readers) reader.pause().send(`GET /a.bin HTTP/1.1\r\nHost: a\r\nRange: ${headers.Range}\r\n\r\n`)
  await eventually(() => begun === clients, 'all responses')
  const growth = process.memoryUsage().arrayBuffers - before
  assert.ok(growth < (clients * size) / 4, `${growth} bytes`)
  for (const reader of readers) reader.destroy()
})
