// Older versions of static files as dictionaries of newer ones, read by the program `zstd` and by Node.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer, type InjectResponse } from '../../src/index.ts'
import { deltaCoding } from '../../src/modules/static/delta-coding.ts'
import { DeltaWork, Dictionaries } from '../../src/modules/static/dictionaries.ts'
import { DiskShelf } from '../../src/modules/static/disk-shelf.ts'
import { type StaticOptions, staticFiles } from '../../src/modules/static/index.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { withNewerNode } from '../support/newer-node.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const compress = deltaCoding()
const noZstd = spawnSync('zstd', ['--version']).status === 0 ? false : 'zstd is not on the PATH'

/** A bundle whose parts do not repeat. */
const bundle = (changed: number): Buffer =>
  Buffer.from(
    Array.from({ length: 2_000 }, (_, i) =>
      createHash('sha256')
        .update(`${i}${i === changed ? 'new' : ''}`)
        .digest('hex'),
    ).join('\n'),
  )
const [OLD, NEW] = [bundle(-1), bundle(1_000)]
const hashOf = (bytes: Uint8Array): string => `:${createHash('sha256').update(bytes).digest('base64')}:`
const ASKS = { 'Accept-Encoding': 'gzip, br, zstd, dcz', 'Available-Dictionary': hashOf(OLD), 'Sec-Fetch-Site': 'same-origin' }

function serve(t: TestContext, options: Partial<StaticOptions> = {}) {
  const root = temporaryDirectory(t)
  const write = (name: string, content: string | Uint8Array): void => {
    writeFileSync(join(root, name), content)
    utimesSync(join(root, name), 0, 0)
  }
  write('app-1a2b3c4d.js', OLD)
  write('app-5E6F7A8B.js', NEW)
  write('other-5E6F7A8B.js', NEW)
  write('page.html', 'page')
  const server = new HttpServer({ logger: null }).use(
    staticFiles({ root, prefix: '/assets', dictionaries: true, cacheControl: 'max-age=31536000', ...options }),
  )
  const get = (headers: Record<string, string> = ASKS, name = 'app-5E6F7A8B.js'): Promise<InjectResponse> =>
    server.inject({ url: `/assets/${name}`, headers })
  return { root, write, get }
}

withNewerNode(import.meta.filename, compress !== null, () => {
  test('a file with a hash in its name says what it is a dictionary for, and others do not', async (t) => {
    const { get, write } = serve(t)
    const file = await get({})
    assert.equal(file.headers.get('use-as-dictionary'), 'match="app-*.js"')
    assert.equal(file.headers.get('vary')?.toLowerCase(), 'accept-encoding, available-dictionary')
    assert.equal((await get({}, 'page.html')).headers.get('use-as-dictionary'), null)
    for (const [name, match] of [
      ['main.3f2a1b9c.css', 'main.*.css'],
      ['a-b-c.BdVqPTrx.js', 'a-b-c.*.js'],
      ['my-component.js', null],
      ['jquery-3.7.1.js', null],
      ['app-1a2b3c4d.js.map', null],
      ['evil"-1a2b3c4d.js', null],
    ] as const) {
      write(name, 'x')
      const value = (await get({}, encodeURIComponent(name))).headers.get('use-as-dictionary')
      assert.equal(value, match && `match="${match}"`, name)
    }
  })

  test('a client that has an older version gets the difference, which zstd reads', { skip: noZstd }, async (t) => {
    const { get, root } = serve(t)
    const delta = await get()
    assert.deepEqual([delta.status, delta.headers.get('content-encoding')], [200, 'dcz'])
    assert.equal(delta.headers.get('use-as-dictionary'), 'match="app-*.js"')
    assert.equal(delta.headers.get('vary')?.toLowerCase(), 'accept-encoding, available-dictionary')
    assert.equal(delta.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.ok(delta.body.byteLength < NEW.byteLength / 100, String(delta.body.byteLength))
    assert.equal(Buffer.from(delta.body.subarray(0, 8)).toString('hex'), '5e2a4d1820000000')
    assert.deepEqual(Buffer.from(delta.body.subarray(8, 40)), createHash('sha256').update(OLD).digest())
    writeFileSync(join(root, 'delta.zst'), delta.body)
    const { stdout, status } = spawnSync(
      'zstd',
      ['-d', '-c', '--memory=8MiB', '-D', join(root, 'app-1a2b3c4d.js'), join(root, 'delta.zst')],
      {
        maxBuffer: 2 ** 24,
      },
    )
    assert.equal(status, 0)
    assert.ok(stdout.equals(NEW))
    const plain = await get({})
    assert.notEqual(plain.headers.get('etag'), delta.headers.get('etag'))
    assert.equal((await get({ ...ASKS, 'If-None-Match': delta.headers.get('etag')! })).status, 304)
  })

  test('Brotli, which prepares a dictionary on the main thread, makes no difference', async (t) => {
    const { get } = serve(t)
    assert.equal((await get({ ...ASKS, 'Accept-Encoding': 'gzip, br, dcb' })).headers.get('content-encoding'), null)
    assert.equal((await get({ ...ASKS, 'Accept-Encoding': 'dcb, dcz' })).headers.get('content-encoding'), 'dcz')
  })

  test('one difference is made at a time in the process: other clients get whole files, also from other modules', async (t) => {
    const [one, other] = [serve(t), serve(t)]
    const codings = await Promise.all([one, other].map(async ({ get }) => (await get()).headers.get('content-encoding')))
    assert.deepEqual(codings, ['dcz', null])
    assert.equal((await other.get()).headers.get('content-encoding'), 'dcz')
  })

  test('a file of more than 4 MiB is no dictionary, and has no difference', async (t) => {
    const { get, write } = serve(t)
    for (const [name, bytes, match] of [
      ['app-8f8f8f8f.js', 2 ** 22, 'match="app-*.js"'],
      ['app-9f9f9f9f.js', 2 ** 22 + 1, null],
    ] as const) {
      write(name, Buffer.alloc(bytes))
      assert.equal((await get({}, name)).headers.get('use-as-dictionary'), match)
    }
  })

  test('a directory of many versions is looked at one by one, and once for all its versions', async (t) => {
    const { get, write } = serve(t)
    for (let i = 0; i < 100; i++) write(`app-${i + 100}ABCDE.js`, `${i}`)
    let [all, now, most] = [0, 0, 0]
    const { stat } = fs
    t.mock.method(fs, 'stat', async (path: string) => {
      most = Math.max(most, ++now)
      all++
      return stat(path).finally(() => now--)
    })
    syncBuiltinESMExports()
    t.after(() => {
      t.mock.restoreAll()
      syncBuiltinESMExports()
    })
    const unknown = { ...ASKS, 'Available-Dictionary': hashOf(Buffer.from('x')) }
    for (const name of ['app-5E6F7A8B.js', 'app-101ABCDE.js', 'app-102ABCDE.js']) await get(unknown, name)
    assert.deepEqual([all, most], [102, 1])
  })

  test('the difference is made once for all who ask at the same time', async (t) => {
    const { get, root } = serve(t)
    const responses = await Promise.all(Array.from({ length: 20 }, () => get()))
    for (const { body } of responses) assert.ok(Buffer.from(body).equals(Buffer.from(responses[0]!.body)))
    rmSync(join(root, 'app-1a2b3c4d.js'))
    assert.equal((await get()).headers.get('content-encoding'), 'dcz')
  })

  test('files of other directories that were the same are no obstacle', async (t) => {
    const { get, root, write } = serve(t)
    for (const directory of ['de', 'en']) {
      mkdirSync(join(root, directory))
      write(`${directory}/app-1a2b3c4d.js`, OLD)
      write(`${directory}/app-5E6F7A8B.js`, NEW)
    }
    for (const name of ['de/app-5E6F7A8B.js', 'en/app-5E6F7A8B.js', 'de/app-5E6F7A8B.js', 'app-5E6F7A8B.js']) {
      const { headers } = await get({ ...ASKS }, name)
      assert.equal(headers.get('content-encoding'), 'dcz', name)
    }
    // What was learned in one directory is not all that is known.
    write('de/app-9X9X9X9X.js', Buffer.concat([NEW, OLD]))
    assert.equal((await get(ASKS, 'de/app-9X9X9X9X.js')).headers.get('content-encoding'), 'dcz')
  })

  test('everybody else gets the file itself', async (t) => {
    const { get } = serve(t)
    for (const [why, headers] of [
      ['another dictionary', { ...ASKS, 'Available-Dictionary': hashOf(Buffer.from('x')) }],
      ['no hash', { ...ASKS, 'Available-Dictionary': 'app-1a2b3c4d.js' }],
      ['no dcz', { ...ASKS, 'Accept-Encoding': 'gzip, br, zstd' }],
      ['dcz refused', { ...ASKS, 'Accept-Encoding': 'br, dcz;q=0' }],
      ['another site', { ...ASKS, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }],
      ['a page of the same site', { ...ASKS, 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors' }],
    ] as const) {
      const file = await get(headers)
      assert.equal(file.headers.get('content-encoding'), null, why)
      assert.ok(Buffer.from(file.body).equals(NEW), why)
    }
    const other = await get(ASKS, 'other-5E6F7A8B.js')
    assert.equal(other.headers.get('content-encoding'), null, 'the dictionary of another file')
  })

  test('a difference that is too large to be kept is not sent, so that nobody can have it made again and again', async (t) => {
    const { get, write } = serve(t, { maxCacheSize: '256KiB' })
    assert.equal((await get()).headers.get('content-encoding'), 'dcz', 'a small one')
    const other = Buffer.from(Array.from({ length: 2_500 }, (_, i) => createHash('sha256').update(`other ${i}`).digest('hex')).join('\n'))
    write('app-7A7A7A7A.js', Buffer.concat([NEW, other]))
    for (let i = 0; i < 2; i++) {
      const file = await get(ASKS, 'app-7A7A7A7A.js')
      assert.deepEqual([file.headers.get('content-encoding'), file.body.byteLength], [null, NEW.byteLength + other.byteLength])
    }
  })

  test('clients that ask for ever other differences get whole files when the time for making them is used up', async (t) => {
    const root = temporaryDirectory(t)
    const versions = Array.from({ length: 6 }, (_, i) => bundle(i))
    for (const [i, bytes] of [...versions, NEW].entries()) {
      writeFileSync(join(root, `app-${i}A${i}B${i}C${i}D.js`), bytes)
      utimesSync(join(root, `app-${i}A${i}B${i}C${i}D.js`), 0, 0)
    }
    const shelf = new DiskShelf(
      { path: root, followSymlinks: false, maxFileSize: 2 ** 20, precompressed: [], headersOf: () => ({}), cacheControlOf: () => null },
      2 ** 24,
      0,
    )
    // Each look at the clock takes twelve seconds.
    let now = 0
    const clock = { now: () => (now += 12_000), wallTime: () => Date.now(), every: () => () => {} }
    const dictionaries = new Dictionaries(root, shelf, compress!, 2 ** 24, new DeltaWork(clock))
    const server = new HttpServer({ logger: null })
    server.mapGet('/', async (_, session) => {
      const file = await shelf.find('app-6A6B6C6D.js')
      assert.ok(file !== null && typeof file === 'object')
      return (await dictionaries.offer(session, file)) === null ? 'whole' : 'difference'
    })
    const ask = async (version: number): Promise<string> =>
      (await server.inject({ url: '/', headers: { ...ASKS, 'Available-Dictionary': hashOf(versions[version]!) } })).text()
    const got: string[] = []
    for (let i = 0; i < 4; i++) got.push(await ask(i))
    assert.deepEqual(got, ['difference', 'difference', 'whole', 'whole'])
    assert.equal(await ask(0), 'difference', 'one that is kept costs nothing')
    now += 600_000
    assert.equal(await ask(4), 'difference', 'time goes on')
  })

  test('a version that is not served, or has changed since, is no dictionary', async (t) => {
    const { get, write } = serve(t)
    assert.equal((await get()).headers.get('content-encoding'), 'dcz')
    write('app-1a2b3c4d.js', 'something else')
    write('app-9f9f9f9f.js', Buffer.concat([NEW, Buffer.from('and more')]))
    assert.equal((await get(ASKS, 'app-9f9f9f9f.js')).headers.get('content-encoding'), null)
  })

  test('Chromium asks for the difference with the version that it has, and runs what it makes of it', { skip: noChromium }, async (t) => {
    const root = temporaryDirectory(t)
    // Comments that do not repeat, and a program after them.
    const program = (bytes: Buffer, says: string): string => `/*${bytes.toString()}*/window.said = ${JSON.stringify(says)}`
    writeFileSync(join(root, 'app-1a2b3c4d.js'), program(OLD, 'old'))
    writeFileSync(join(root, 'app-5E6F7A8B.js'), program(NEW, 'new'))
    const sent = new Map<string, string | undefined>()
    const server = new HttpServer('127.0.0.1', 0, { logger: null })
    server.use(staticFiles({ root, dictionaries: true, cacheControl: 'max-age=31536000' }))
    server.mapGet('/', (_, { response }) => response.html('<!doctype html>'))
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    const browser = await launchChromium()
    t.after(() => browser.close())
    const page = await browser.newPage()
    page.on('response', (response) => sent.set(new URL(response.url()).pathname, response.headers()['content-encoding']))
    await page.goto(`http://localhost:${server.port}/`)
    const load = (name: string): Promise<unknown> =>
      page.evaluate(`new Promise((resolve, reject) => {
      const script = document.createElement('script')
      script.src = '/${name}'
      script.onload = () => resolve(window.said)
      script.onerror = reject
      document.head.append(script)
    })`)
    assert.equal(await load('app-1a2b3c4d.js'), 'old')
    // The browser stores a dictionary some time after the response: until then, it gets the whole file.
    for (let attempt = 0; attempt < 100 && sent.get('/app-5E6F7A8B.js') !== 'dcz'; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      assert.equal(await load(`app-5E6F7A8B.js?${attempt}`), 'new')
    }
    assert.equal(sent.get('/app-5E6F7A8B.js'), 'dcz')
  })
})

test('Node without dictionaries: the files are served without, and a warning says why', {
  skip: compress !== null && 'this Node.js has them',
}, async (t) => {
  const warned = once(process, 'warning')
  const { get } = serve(t)
  assert.match(String(await warned), /dictionaries are not used, because Zstandard of Node\.js/)
  const file = await get()
  assert.deepEqual([file.headers.get('use-as-dictionary'), file.headers.get('content-encoding')], [null, null])
})

test('dictionaries need a directory', () => {
  assert.throws(() => staticFiles({ assets: {}, dictionaries: true }), { code: 'WEIR_OPTION_INVALID' })
})
