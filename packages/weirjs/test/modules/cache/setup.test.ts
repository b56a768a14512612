// What a cache refuses when the server starts, what it keeps away from others in the company of other modules, and its metrics.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession, t } from '../../../src/index.ts'
import { apiKey, auth } from '../../../src/modules/auth/index.ts'
import { cache, cacheMetrics } from '../../../src/modules/cache/index.ts'
import { nonceOf, securityHeaders } from '../../../src/modules/headers/index.ts'
import { rateLimit } from '../../../src/modules/limits/index.ts'
import { metrics } from '../../../src/modules/metrics/index.ts'
import { memorySessions, sessions } from '../../../src/modules/sessions/index.ts'

test('options are checked', () => {
  for (const options of [
    { maxAge: 0 },
    { maxAges: '1m' },
    { key: 'everybody' },
    { tags: [''] },
    { tags: new Array(33).fill('a').map((one, i) => `${one}${i}`) },
    { vary: ['a b'] },
    { store: {} },
    { cacheStatus: 'a b' },
    { maxSize: 10, maxEntrySize: 11 },
    { clientDirectives: 'yes' },
  ])
    assert.throws(() => cache(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
})

test('a route that requires a principal must state for whom its responses are', async () => {
  const users = auth({ schemes: [apiKey({ keys: {}, allowInsecure: true })] })
  const start = async (declaration: object): Promise<void> => {
    const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null })
    server.use(users)
    server.mapGet('/', declaration, () => 'home')
    server.mapPost('/', declaration, () => 'changed')
    try {
      await server.start()
    } finally {
      await server.stop()
    }
  }
  await assert.rejects(start({ use: [cache()] }), /GET \/ \(inline\) at \S+ requires a principal/)
  await start({ use: [cache({ key: 'principal' })] })
  await start({ use: [cache({ key: 'all' })] })
  await start({ use: [users.open, cache()] })
})

test('what has read a session or a nonce reaches nobody else', async () => {
  const server = new HttpServer({ logger: null })
  const visitors = sessions({ store: memorySessions(), csrf: false })
  server.use(visitors)
  server.use(securityHeaders('page'))
  server.use(cache({ maxAge: '1h' }))
  let runs = 0
  server.mapGet('/session', (_, session) => `${visitors.of(session).principal === null} ${++runs}`)
  server.mapGet('/nonce', (_, session) => `${nonceOf(session)} ${++runs}`)
  server.mapGet('/plain', () => `${++runs}`)
  for (const [url, isKept] of [
    ['/session', false],
    ['/nonce', false],
    ['/plain', true],
  ] as const) {
    const first = (await server.inject(url)).text()
    assert.equal((await server.inject(url)).text() === first, isKept, url)
  }
})

test('a nonce is used once, also in responses for one principal that depend on a session', async () => {
  const server = new HttpServer({ logger: null })
  const visitors = sessions({ store: memorySessions(), csrf: false })
  server.use(visitors)
  server.use(securityHeaders('page'))
  server.use({ name: 'who', gate: (session) => void (session.principal = { id: 'ann' }) })
  server.use(cache({ maxAge: '1h', key: 'principal' }))
  let runs = 0
  const runOf = (session: HttpSession): string => `${visitors.of(session).principal === null} ${++runs}`
  server.mapGet('/session', (_, session) => runOf(session))
  server.mapGet('/both', (_, session) => `${runOf(session)} ${nonceOf(session)}`)
  for (const [url, isKept] of [
    ['/session', true],
    ['/both', false],
  ] as const) {
    const first = (await server.inject(url)).text()
    assert.equal((await server.inject(url)).text() === first, isKept, url)
  }
})

test('gates and limits apply to responses from the cache, with their own fields', async () => {
  const server = new HttpServer({ logger: null })
  server.use(rateLimit({ quota: 3, window: '1h' }))
  server.use(cache({ maxAge: '1h' }))
  let runs = 0
  server.mapGet('/', { answers: { 200: t.object({ run: t.int }) } }, () => ({ run: ++runs, secret: 1 }))
  const rests: (string | null)[] = []
  for (let i = 0; i < 3; i++) {
    const response = await server.inject('/')
    assert.equal(response.text(), '{"run":1}')
    rests.push(/r=(\d)/.exec(response.headers.get('ratelimit') ?? '')?.[1] ?? null)
  }
  assert.deepEqual(rests, ['2', '1', '0'])
  assert.equal((await server.inject('/')).status, 429)
})

test('a policy with its name removes the cache from a route', async () => {
  const server = new HttpServer({ logger: null })
  let runs = 0
  const group = server.group('/g', { use: [cache({ maxAge: '1h' })] })
  group.mapGet('/live', { use: [{ name: 'cache' }] }, () => ++runs)
  await server.inject('/g/live')
  assert.equal((await server.inject('/g/live')).text(), '2')
})

test('its numbers are metrics', async () => {
  const pages = cache({ maxAge: '1h' })
  const server = new HttpServer({ logger: null })
  const module = metrics({ sources: [cacheMetrics({ pages })] })
  server.use(module)
  server.mapGet('/', { use: [pages] }, () => 'home')
  await server.inject('/')
  await server.inject('/')
  const text = await module.text()
  for (const line of [
    'weir_cache_requests_total{cache="pages",result="hit"} 1',
    'weir_cache_stored_total{cache="pages"} 1',
    'weir_cache_entries{cache="pages"} 1',
  ])
    assert.ok(text.includes(`\n${line}\n`), line)
})

test('no more than maxSize is kept, and those that were used last stay', async () => {
  const cached = cache({ maxAge: '1h', maxSize: 100_000, maxEntrySize: 50_000 })
  const server = new HttpServer({ logger: null })
  server.use(cached)
  server.mapGet('/:name', () => 'x'.repeat(10_000))
  for (let i = 0; i < 50; i++) {
    await server.inject(`/${i}`)
    await server.inject('/0')
    assert.ok(cached.counts.bytes <= 100_000)
  }
  assert.ok(cached.counts.evicted > 30)
  assert.match((await server.inject('/0')).headers.get('cache-status')!, /hit/)
})
