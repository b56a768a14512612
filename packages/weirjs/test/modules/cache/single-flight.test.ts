// Requests for the same response at the same time: how often the handler runs, and what happens when the first one fails or leaves.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { HttpServer, type HttpSession, type InjectResponse } from '../../../src/index.ts'
import { type Cache, type CacheOptions, cache } from '../../../src/modules/cache/index.ts'
import { compression } from '../../../src/modules/compression/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually, gate } from '../../support/serving.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

interface Serving {
  readonly server: HttpServer
  readonly cached: Cache
  readonly clock: TestClock
  readonly runs: () => number
}

function serverWith(handler: (session: HttpSession, run: number) => unknown, options: CacheOptions = {}): Serving {
  const server = new HttpServer({ logger: null })
  const clock = new TestClock()
  const cached = cache({ maxAge: '1h', clock, ...options })
  let runs = 0
  server.use(cached)
  server.mapGet('/:name', (_, session) => handler(session, ++runs))
  return { server, cached, clock, runs: () => runs }
}

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

test('1,000 requests for a response that nobody has run the handler once', async () => {
  const { server, cached, runs } = serverWith(async (_, run) => {
    await turns(3)
    return `run ${run}`
  })
  const all = await Promise.all(Array.from({ length: 1_000 }, () => server.inject('/a')))
  assert.ok(all.every((response) => response.text() === 'run 1'))
  assert.equal(runs(), 1)
  const { miss, collapsed, hit } = cached.counts
  assert.deepEqual({ miss, all: collapsed + hit }, { miss: 1, all: 999 })
})

test('if the client of the first request leaves, one of those who wait runs the handler', async () => {
  const { server, runs } = serverWith(async ({ signal }, run) => {
    if (run === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return `run ${run}`
  })
  const leaving = new AbortController()
  const first = server.fetch(new Request('http://localhost/a', { signal: leaving.signal }))
  await eventually(() => runs() === 1, 'the first run')
  const others = Array.from({ length: 10 }, () => server.inject({ url: '/a', headers: { Host: 'localhost' } }))
  await turns(5)
  leaving.abort()
  await assert.rejects(first)
  for (const response of await Promise.all(others)) assert.equal(response.text(), 'run 2')
  assert.equal(runs(), 2)
})

test('a handler that goes on although its client has left works for those who wait', async () => {
  const goOn = gate()
  const { server, runs } = serverWith(async (_, run) => {
    await goOn.promise
    return `run ${run}`
  })
  const leaving = new AbortController()
  const first = server.fetch(new Request('http://localhost/a', { signal: leaving.signal }))
  await eventually(() => runs() === 1, 'the first run')
  const other = server.inject({ url: '/a', headers: { Host: 'localhost' } })
  leaving.abort()
  await assert.rejects(first)
  goOn.open()
  assert.equal((await other).text(), 'run 1')
})

test('if the handler fails or its response cannot be kept, everybody else runs it', async () => {
  for (const [fail, status] of [
    [() => Promise.reject(new Error('broken')), 500],
    [({ response }: HttpSession) => response.header('Cache-Control', 'no-store').text('own'), 200],
    [({ response }: HttpSession) => response.status(404).text('none'), 404],
  ] as const) {
    const goOn = gate()
    const { server, runs } = serverWith(async (session, run) => {
      if (run === 1) await goOn.promise
      return fail(session)
    })
    const all = Array.from({ length: 5 }, () => server.inject('/a'))
    await eventually(() => runs() === 1, 'the first run')
    await turns(5)
    assert.equal(runs(), 1)
    goOn.open()
    for (const response of await Promise.all(all)) assert.equal(response.status, status)
    assert.equal(runs(), 5)
  }
})

test('requests for a response that could not be kept do not wait for each other', async () => {
  const goOn = gate()
  const { server, runs } = serverWith(async ({ response }, run) => {
    if (run > 1) await goOn.promise
    return response.header('Cache-Control', 'no-store').text('own')
  })
  await server.inject('/a')
  const all = Array.from({ length: 5 }, () => server.inject('/a'))
  await eventually(() => runs() === 6, 'all runs')
  goOn.open()
  await Promise.all(all)
})

test('a request waits no longer than maxWait', async () => {
  const goOn = gate()
  const { server, clock, runs } = serverWith(
    async (_, run) => {
      if (run === 1) await goOn.promise
      return `run ${run}`
    },
    { maxWait: '2s' },
  )
  const first = server.inject('/a')
  await eventually(() => runs() === 1, 'the first run')
  const second = server.inject('/a')
  await turns(5)
  await clock.advance(2_000)
  assert.equal((await second).text(), 'run 2')
  goOn.open()
  assert.equal((await first).text(), 'run 1')
})

test('requests with other values for Vary get other responses', async () => {
  const goOn = gate()
  const { server, runs } = serverWith(async ({ request, response }, run) => {
    if (run === 1) await goOn.promise
    return response.vary('Accept-Language').text(`${request.header('accept-language')}`)
  })
  const all = ['de', 'fr', 'de', 'fr', 'it', 'it'].map((language) => server.inject({ url: '/a', headers: { 'Accept-Language': language } }))
  await eventually(() => runs() === 1, 'the first run')
  await turns(5)
  goOn.open()
  assert.deepEqual(
    (await Promise.all(all)).map((response) => response.text()),
    ['de', 'fr', 'de', 'fr', 'it', 'it'],
  )
  assert.equal(runs(), 3)
})

test('a response of the Fetch API, a file, and a stream whose pieces are there are kept', async (t) => {
  const path = join(temporaryDirectory(t), 'page.html')
  await writeFile(path, '<p>page</p>')
  const { server, runs } = serverWith(({ request, response }) => {
    if (request.path === '/web') return Response.json({ web: true })
    if (request.path === '/file') return response.file(path)
    return response.stream(
      (async function* () {
        yield 'a '
        yield Buffer.from('stream')
      })(),
      'text/plain',
    )
  })
  for (const [url, text, type] of [
    ['/web', '{"web":true}', 'application/json'],
    ['/file', '<p>page</p>', 'text/html; charset=utf-8'],
    ['/stream', 'a stream', 'text/plain'],
  ] as const) {
    const all: InjectResponse[] = await Promise.all([server.inject(url), server.inject(url)])
    all.push(await server.inject(url))
    for (const response of all) assert.deepEqual([response.text(), response.headers.get('content-type')], [text, type])
    assert.equal(all[2]!.headers.get('cache-status'), 'weir; hit; ttl=3600')
  }
  assert.equal(runs(), 3)
  const etag = (await server.inject('/file')).headers.get('etag')!
  const again = await server.inject({ url: '/file', headers: { 'If-None-Match': etag } })
  assert.deepEqual([again.status, again.headers.get('etag')], [304, etag])
})

test('a stream that takes its time reaches its client at once, and is kept at its end', async () => {
  const goOn = gate()
  const { server, runs } = serverWith(({ response }, run) =>
    response.stream(
      (async function* () {
        yield `first ${run}, `
        await goOn.promise
        yield 'last'
      })(),
      'text/plain',
    ),
  )
  const response = await server.fetch(new Request('http://localhost/a'))
  const reader = response.body!.getReader()
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'first 1, ')
  const other = await server.fetch(new Request('http://localhost/a'))
  goOn.open()
  assert.equal(await other.text(), 'first 2, last')
  assert.equal(Buffer.from((await reader.read()).value!).toString(), 'last')
  assert.equal((await reader.read()).done, true)
  assert.match(await (await server.fetch(new Request('http://localhost/a'))).text(), /^first [12], last$/)
  assert.equal(runs(), 2)
})

test('what is larger than maxEntrySize is passed on whole, and not kept', async () => {
  const piece = Buffer.alloc(1_000, 'x')
  let closed = 0
  const { server, runs, cached } = serverWith(
    ({ request, response }) => {
      if (request.path === '/bytes') return Buffer.alloc(10_000, 'y')
      return response.stream(
        (async function* () {
          try {
            for (let i = 0; i < 100; i++) yield piece
          } finally {
            closed++
          }
        })(),
        'text/plain',
      )
    },
    { maxEntrySize: 4_096 },
  )
  for (const [url, length] of [
    ['/stream', 100_000],
    ['/bytes', 10_000],
  ] as const) {
    for (let i = 0; i < 2; i++) {
      const reply = await server.inject(url)
      assert.equal(reply.body.length, length)
      assert.match(reply.headers.get('cache-status')!, /detail=too-large$/)
    }
  }
  assert.deepEqual([runs(), cached.counts.entries, closed], [4, 0, 2])
  const response = await server.fetch(new Request('http://localhost/stream'))
  await response.body!.cancel()
  await eventually(() => closed === 3, 'the end of a source that nobody reads')
})

test('a stream that breaks, or has another length than it states, is not kept', async () => {
  let isBroken = true
  const { server, cached } = serverWith(({ response }, run) => {
    const body = (async function* () {
      yield 'abc'
      if (isBroken) throw new Error('broken')
    })()
    return run % 2 === 0 ? response.header('Content-Length', 3).stream(body, 'text/plain') : response.stream(body, 'text/plain')
  })
  assert.equal((await server.inject('/a')).status, 500)
  assert.equal((await server.inject('/a')).status, 500)
  assert.equal(cached.counts.stored, 0)
  isBroken = false
  assert.equal((await server.inject('/a')).text(), 'abc')
})

for (const order of ['before', 'after'] as const)
  test(`with compression added ${order} the cache, each content coding is made once`, async () => {
    const server = new HttpServer({ logger: null })
    const cached = cache({ maxAge: '1h' })
    if (order === 'before') server.use(compression())
    server.use(cached)
    if (order === 'after') server.use(compression())
    const large = JSON.stringify(Array.from({ length: 4_000 }, (_, i) => createHash('sha256').update(`${i}`).digest('hex')))
    server.mapGet('/small', () => 'small '.repeat(1_000))
    server.mapGet('/large', (_, { response }) => response.header('ETag', '"v1"').contentType('application/json').text(large))
    const ask = async (url: string, coding: string): Promise<[string | null, Buffer, string | null]> => {
      const { body, headers } = await server.inject({ url, headers: { 'Accept-Encoding': coding } })
      return [headers.get('content-encoding'), Buffer.from(body), headers.get('etag')]
    }
    const before = cached.counts.bytes
    for (const [url, text] of [
      ['/small', 'small '.repeat(1_000)],
      ['/large', large],
    ] as const) {
      const all = await Promise.all(Array.from({ length: 5 }, () => ask(url, 'gzip')))
      for (const [coding, body] of all) {
        assert.equal(coding, 'gzip')
        assert.deepEqual(body, all[0]![1])
      }
      assert.equal(gunzipSync(all[0]![1]).toString(), text)
      const [, br, etag] = await ask(url, 'br')
      assert.equal(brotliDecompressSync(br).toString(), text)
      assert.equal(etag, url === '/large' ? '"v1~br"' : null)
      assert.equal((await ask(url, 'identity'))[1].toString(), text)
    }
    const { bytes, miss } = cached.counts
    assert.equal(miss, 2)
    const sizes = await Promise.all(
      ['/small', '/large'].flatMap((url) => ['gzip', 'br', 'identity'].map(async (one) => (await ask(url, one))[1].length)),
    )
    const total = sizes.reduce((sum, one) => sum + one, 0)
    assert.ok(bytes - before > total && bytes - before < total + 4_000, `${bytes - before} counted, ${total} in bodies`)
  })

test('streams that take their time are collected only as far as there is room, and event streams never', async () => {
  const goOn = gate()
  const { server, cached } = serverWith(
    ({ request, response }) =>
      response.stream(
        (async function* () {
          yield 'first '
          await goOn.promise
          yield 'last'
        })(),
        request.path === '/events' ? 'text/event-stream' : 'text/plain',
      ),
    { maxSize: 20_000, maxEntrySize: 10_000 },
  )
  const all = await Promise.all(['/events', '/a', '/b', '/c', '/d'].map((path) => server.fetch(new Request(`http://localhost${path}`))))
  goOn.open()
  for (const response of all) assert.equal(await response.text(), 'first last')
  assert.equal(all[0]!.headers.get('cache-status'), 'weir; fwd=uri-miss; detail=event-stream')
  assert.equal(cached.counts.stored, 2)
})

test('however many stale responses one client finds, at most 64 handlers run in the background', async () => {
  const isOpen = gate()
  const { server, cached, clock, runs } = serverWith(
    async (_, run) => {
      if (run > 200) await isOpen.promise
      return `run ${run}`
    },
    { maxAge: '1s', staleWhileRevalidate: '1h' },
  )
  const names = Array.from({ length: 200 }, (_, i) => `/${i}`)
  const askAll = () => Promise.all(names.map((url) => server.inject(url)))
  await askAll()
  await clock.advance(2_000)
  const stale = await askAll()
  assert.deepEqual(new Set(stale.map(({ headers }) => headers.get('cache-status')?.includes('hit'))), new Set([true]))
  await eventually(() => runs() === 264, 'the runs in the background')
  await askAll()
  await turns(5)
  assert.equal(runs(), 264)
  isOpen.open()
  await eventually(() => cached.counts.stored === 264, 'the end of the runs')
  await askAll()
  await eventually(() => runs() === 328, 'further runs')
})

test('a run during which more was invalidated than is remembered is not kept', async () => {
  const isOpen = gate()
  const { server, cached, runs } = serverWith(async (_, run) => {
    if (run === 1) await isOpen.promise
    return `run ${run}`
  })
  const first = server.inject('/a')
  await eventually(() => runs() === 1, 'the first run')
  for (let i = 0; i <= 10_000; i++) await cached.invalidate({ path: `/other/${i}` })
  isOpen.open()
  assert.match(String((await first).headers.get('cache-status')), /detail=invalidated/)
  assert.equal((await server.inject('/a')).text(), 'run 2')
})
