// Pages of one template with a dictionary (RFC 9842), read by the program `zstd`, and by Chromium.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { HttpServer, type InjectResponse } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { takesDictionaries } from '../../src/modules/compression/codings.ts'
import { type CompressionOptions, compression } from '../../src/modules/compression/index.ts'
import { sharedOf } from '../../src/modules/compression/page-dictionaries.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { withNewerNode } from '../support/newer-node.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const hasDictionaries = takesDictionaries()
const noZstd = spawnSync('zstd', ['--version']).status === 0 ? false : 'zstd is not on the PATH'

const words = (seed: string, count: number): string =>
  Array.from({ length: count }, (_, i) => createHash('sha256').update(`${seed} ${i}`).digest('base64url').slice(0, 12)).join(' ')
const FRAME = words('frame', 400)
/** A page of a shop, as one user sees it. */
const page = (id: string, user = 'nobody'): string =>
  `<!doctype html><title>${id}</title><nav>${FRAME}</nav><p>Signed in as ${words(`user ${user}`, 3)}</p><main>${words(id, 12)}</main><footer>${FRAME.slice(0, 900)}</footer>`
const SAMPLES = [page('1', 'ann'), page('2', 'bob'), page('3')]

function serve(options: Partial<CompressionOptions> = {}) {
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(compression({ dictionaries: { '/products/*': SAMPLES }, ...options }))
  server.mapGet('/products/:id', ({ id }: { id: string }, { response }) => response.html(page(id)))
  server.mapGet('/products/:id/stream', ({ id }: { id: string }, { response }) =>
    response.stream(Readable.from([page(id).slice(0, 5_000), page(id).slice(5_000)]), 'text/html'),
  )
  server.mapGet('/cached/:id', { use: [cache({ maxAge: '1h' })] }, ({ id }: { id: string }, { response }) => response.html(page(id)))
  server.mapGet('/other', (_, { response }) => response.html(page('other')))
  return server
}

/** The dictionary that the link of a response leads to. */
async function fetched(server: HttpServer, from: InjectResponse): Promise<InjectResponse> {
  const [, url] = /^<([^>]+)>; rel="compression-dictionary"$/.exec(from.headers.get('link') ?? '') ?? assert.fail('there is no link')
  return server.inject(url!)
}

const hashOf = (bytes: Uint8Array): string => `:${createHash('sha256').update(bytes).digest('base64')}:`
const ASKS = { 'Accept-Encoding': 'gzip, br, zstd, dcz', 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' }
const VARY = 'Accept-Encoding, Available-Dictionary'

withNewerNode(import.meta.filename, hasDictionaries, () => {
  test('nobody waits until a large dictionary is loaded: it is on another thread, however small the page is', async (t) => {
    const zlib = process.getBuiltinModule('node:zlib') as unknown as Record<'zstdCompressSync', () => Uint8Array>
    const inTurn = t.mock.method(zlib, 'zstdCompressSync')
    syncBuiltinESMExports()
    t.after(() => {
      inTurn.mock.restore()
      syncBuiltinESMExports()
    })
    for (const [count, isLarge] of [
      [400, false],
      [4_000, true],
    ] as const) {
      const dictionary = Buffer.from(words('frame', count))
      const server = serve({ dictionaries: { '/products/*': dictionary } })
      inTurn.mock.resetCalls()
      const { headers } = await server.inject({ url: '/products/7', headers: { ...ASKS, 'Available-Dictionary': hashOf(dictionary) } })
      assert.equal(headers.get('content-encoding'), 'dcz')
      assert.equal(inTurn.mock.callCount(), isLarge ? 0 : 1, `${dictionary.length} bytes`)
    }
  })

  test('a page says where its dictionary is, and with it the next page is sent as the rest, which zstd reads', {
    skip: noZstd,
  }, async (t) => {
    const server = serve()
    const first = await server.inject({ url: '/products/7', headers: ASKS })
    assert.deepEqual([first.headers.get('content-encoding'), first.headers.get('vary')], ['zstd', VARY])
    const dictionary = await fetched(server, first)
    assert.equal(dictionary.headers.get('use-as-dictionary'), 'match="/products/*"')
    assert.equal(dictionary.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    const folder = temporaryDirectory(t)
    writeFileSync(join(folder, 'dictionary'), dictionary.body)
    for (const path of ['/products/8', '/products/8/stream']) {
      const next = await server.inject({ url: path, headers: { ...ASKS, 'Available-Dictionary': hashOf(dictionary.body) } })
      assert.deepEqual(
        [next.headers.get('content-encoding'), next.headers.get('vary'), next.headers.get('link')],
        ['dcz', VARY, null],
        path,
      )
      assert.equal(Buffer.from(next.body.subarray(0, 8)).toString('hex'), '5e2a4d1820000000')
      assert.deepEqual(Buffer.from(next.body.subarray(8, 40)), createHash('sha256').update(dictionary.body).digest())
      assert.ok(next.body.byteLength < first.body.byteLength / 10, `${next.body.byteLength} of ${first.body.byteLength}`)
      writeFileSync(join(folder, 'page'), next.body)
      const { stdout } = spawnSync('zstd', ['-d', '-c', '--memory=8MiB', '-D', join(folder, 'dictionary'), join(folder, 'page')])
      assert.equal(stdout.toString(), page('8'))
    }
  })

  test('everybody else gets the page without, and every page of the path varies', async () => {
    const server = serve()
    const available = hashOf((await fetched(server, await server.inject({ url: '/products/7', headers: ASKS }))).body)
    for (const [why, headers] of [
      ['another dictionary', { ...ASKS, 'Available-Dictionary': hashOf(Buffer.from('x')) }],
      ['no dcz', { ...ASKS, 'Accept-Encoding': 'gzip', 'Available-Dictionary': available }],
      ['dcz refused', { ...ASKS, 'Accept-Encoding': 'gzip, dcz;q=0', 'Available-Dictionary': available }],
      [
        'a page of another site',
        { ...ASKS, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Available-Dictionary': available },
      ],
      ['with cookies from another site', { ...ASKS, 'Sec-Fetch-Site': 'cross-site', Cookie: 'a=b', 'Available-Dictionary': available }],
      ['no coding', { 'Available-Dictionary': available }],
    ] as const) {
      const response = await server.inject({ url: '/products/7', headers })
      assert.notEqual(response.headers.get('content-encoding'), 'dcz', why)
      assert.equal(response.headers.get('vary'), VARY, why)
    }
    const other = await server.inject({ url: '/other', headers: { ...ASKS, 'Available-Dictionary': available } })
    assert.deepEqual(
      ['content-encoding', 'vary', 'link'].map((name) => other.headers.get(name)),
      ['zstd', 'Accept-Encoding', null],
    )
  })

  test('what is kept in a cache is sent to each client in its own form, and made once for each dictionary', async () => {
    const server = serve({ dictionaries: { '/cached/*': SAMPLES } })
    const first = await server.inject({ url: '/cached/7', headers: ASKS })
    const available = hashOf((await fetched(server, first)).body)
    const codings: (string | null)[] = []
    for (const headers of [
      { ...ASKS, 'Available-Dictionary': available },
      ASKS,
      { 'Accept-Encoding': 'gzip' },
      { ...ASKS, 'Available-Dictionary': available },
    ]) {
      const response = await server.inject({ url: '/cached/7', headers })
      assert.ok(response.headers.get('age') !== null, 'from the cache')
      assert.equal(response.headers.get('vary'), VARY)
      codings.push(response.headers.get('content-encoding'))
    }
    assert.deepEqual(codings, ['dcz', 'zstd', 'gzip', 'dcz'])
  })

  test('below a prefix, link and match have it', async () => {
    const server = new HttpServer({ basePath: '/shop', logger: null }).use(compression({ dictionaries: { '/products/*': SAMPLES } }))
    server.mapGet('/products/:id', ({ id }: { id: string }, { response }) => response.html(page(id)))
    const dictionary = await fetched(server, await server.inject({ url: '/shop/products/7', headers: ASKS }))
    assert.equal(dictionary.headers.get('use-as-dictionary'), 'match="/shop/products/*"')
    const available = hashOf(dictionary.body)
    const next = await server.inject({ url: '/shop/products/8', headers: { ...ASKS, 'Available-Dictionary': available } })
    assert.equal(next.headers.get('content-encoding'), 'dcz')
  })

  test('a dictionary has nothing that one sample alone has, whatever clients send', async () => {
    const server = serve()
    const dictionary = await fetched(server, await server.inject({ url: '/products/7', headers: ASKS }))
    const text = Buffer.from(dictionary.body).toString()
    assert.ok(text.includes(FRAME))
    for (const secret of [words('user ann', 3), words('user bob', 3), words('1', 12), words('7', 12)])
      for (let i = 0; i + 16 <= secret.length; i++) assert.ok(!text.includes(secret.slice(i, i + 16)))
    for (let i = 0; i < 20; i++) await server.inject({ url: `/products/${i}`, headers: { ...ASKS, Cookie: `user=${i}` } })
    const again = await fetched(server, await server.inject({ url: '/products/7', headers: ASKS }))
    assert.deepEqual(again.body, dictionary.body)
  })

  test('Chromium fetches the dictionary, and gets the next pages as the rest', { skip: noChromium }, async (t) => {
    const server = serve()
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    const browser = await launchChromium()
    t.after(() => browser.close())
    const tab = await browser.newPage()
    let coding: string | undefined
    // The browser stores a dictionary some time after the page: until then, it gets whole pages.
    for (let attempt = 0; attempt < 100 && coding !== 'dcz'; attempt++) {
      const response = await tab.goto(`http://localhost:${server.port}/products/${attempt}`)
      coding = (await response!.allHeaders())['content-encoding']
      assert.equal(await tab.textContent('main'), words(String(attempt), 12))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.equal(coding, 'dcz')
  })

  test('paths with * match as URL patterns do, in linear time', async () => {
    for (const [match, path, isFor] of [
      ['/a', '/a', true],
      ['/a', '/ab', false],
      ['/a/*', '/a/', true],
      ['/a/*', '/b/a/', false],
      ['/*/x/*.html', '/1/x/2.html', true],
      ['/*/x/*.html', '/1/y/2.html', false],
      ['/ab*ba', '/aba', false],
      [`/${'*a'.repeat(200)}b`, `/${'a'.repeat(5_000)}`, false],
    ] as const) {
      const server = new HttpServer({ logger: null }).use(compression({ dictionaries: { [match]: page('1') } }))
      server.group('').fallback((_, { response }) => response.html(page('x')))
      assert.equal((await server.inject({ url: path, headers: ASKS })).headers.get('link') !== null, isFor, `${match} ${path}`)
    }
  })
})

test('what samples share is found in their bytes, in the order of the first', () => {
  const shared = (...samples: string[]): string => Buffer.from(sharedOf(samples.map((sample) => Buffer.from(sample)))).toString()
  const [a, b] = ['a'.repeat(8) + 'b'.repeat(12), 'ü'.repeat(9)]
  assert.equal(shared(`${a}one${b}`, `two${b}${a}`), a + b)
  assert.equal(shared(a, a), a)
  assert.equal(shared(a, 'c'), '')
  assert.equal(shared(`${a}secret that ann has`, `${a}secret that bob has`, a), a)
})

test('mistakes name the option', { skip: !hasDictionaries && 'they are found when dictionaries are made' }, () => {
  for (const [dictionaries, message] of [
    [{ 'products/*': SAMPLES }, /"products\/\*", not a path such as/],
    [{ '/(.*)': SAMPLES }, /a path such as/],
    [{ '/a': ['one'] }, /dictionaries has one sample for "\/a": give two or more/],
    [{ '/a': [] }, /dictionaries has no sample for "\/a": give two or more/],
    [{ '/a': ['one', 'two'] }, /nothing for "\/a"/],
    [{ '/a': 7 as never }, /has a number for "\/a", not text or bytes$/],
    [{ '/a': 'x'.repeat(2 ** 20 + 1) }, /dictionaries has 1048577 bytes for "\/a", and the most are 1048576/],
  ] as const)
    assert.throws(() => compression({ dictionaries }), { code: 'WEIR_OPTION_INVALID', message })
  assert.throws(() => compression({ dictionaries: true as never }), /dictionaries is true, not an object from paths/) // as for static
  assert.throws(
    () => new HttpServer().group('/a').use(compression({ dictionaries: { '/a/*': SAMPLES } })),
    /use the module there, not on a group/,
  )
})

test('Node without dictionaries: pages are compressed without, and a warning says why', {
  skip: hasDictionaries && 'this Node.js has them',
}, async () => {
  const warned = once(process, 'warning')
  const server = serve()
  assert.match(String(await warned), /compression: dictionaries are not used, because Zstandard of Node\.js/)
  const response = await server.inject({ url: '/products/7', headers: ASKS })
  assert.deepEqual([response.headers.get('link'), response.headers.get('vary')], [null, 'Accept-Encoding'])
})
