// What the cache leaves in a shared store, and for how long: clients choose the paths that they change, and handlers how long they take.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession } from '../../../src/index.ts'
import { type Cache, type CacheOptions, type CacheStore, cache } from '../../../src/modules/cache/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { eventually, gate } from '../../support/serving.ts'

const MINUTE = 60_000

/** A store for the caches of several processes, in this one. */
class SharedStore implements CacheStore {
  readonly isDegraded = false
  readonly #clock: TestClock
  readonly #kept = new Map<string, { readonly text: string; readonly ends: number }>()

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  /** For how long each of what is there is still kept. */
  get rests(): number[] {
    return [...this.#kept.keys()].filter((id) => this.#get(id) !== null).map((id) => this.#kept.get(id)!.ends - this.#clock.now())
  }

  #get(id: string): string | null {
    const one = this.#kept.get(id)
    return one === undefined || one.ends <= this.#clock.now() ? null : one.text
  }

  #set(id: string, text: string, ttlMs: number): void {
    this.#kept.set(id, { text, ends: this.#clock.now() + ttlMs })
  }

  async read(key: string): Promise<string | null> {
    return this.#get(`r ${key}`)
  }

  async write(key: string, text: string, ttlMs: number): Promise<void> {
    this.#set(`r ${key}`, text, ttlMs)
  }

  async claim(key: string, token: string, leaseMs: number): Promise<number | null> {
    const holder = this.#get(`l ${key}`)
    if (holder !== null && holder !== token) return null
    this.#set(`l ${key}`, token, leaseMs)
    return this.#clock.now()
  }

  async isClaimed(key: string): Promise<boolean> {
    return this.#get(`l ${key}`) !== null
  }

  async release(key: string, token: string): Promise<void> {
    if (this.#get(`l ${key}`) === token) this.#kept.delete(`l ${key}`)
  }

  async mark(tag: string, ttlMs: number): Promise<void> {
    this.#set(`t ${tag}`, String(this.#clock.now()), ttlMs)
  }

  async markedAt(tag: string): Promise<number | null> {
    const time = this.#get(`t ${tag}`)
    return time === null ? null : Number(time)
  }
}

interface Process {
  readonly server: HttpServer
  readonly cached: Cache
  readonly errors: unknown[]
  get(url: string): Promise<string>
}

function processOf(store: CacheStore, clock: TestClock, handler: (session: HttpSession) => unknown, options: CacheOptions = {}): Process {
  const errors: unknown[] = []
  const server = new HttpServer({ logger: null })
  const cached = cache({ maxAge: '1m', clock, store, recheckAfter: 1, onError: (error) => errors.push(error), ...options })
  server.use(cached)
  server.map('GET', '/*rest', (_, session) => handler(session))
  server.map('POST', '/*rest', () => 'changed')
  return { server, cached, errors, get: async (url) => (await server.inject(url)).text() }
}

test('what clients change that nobody has kept is remembered for minutes, not days', async () => {
  const clock = new TestClock()
  const store = new SharedStore(clock)
  const { server } = processOf(store, clock, () => 'page')
  for (let i = 0; i < 100; i++) await server.inject({ method: 'POST', url: `/votes/${i}` })
  assert.equal(store.rests.length, 100)
  assert.ok(Math.max(...store.rests) <= 10 * MINUTE)
  await clock.advance(10 * MINUTE)
  assert.deepEqual(store.rests, [])
})

test('of a response that depends on fields, nothing is kept for much longer than the response', async () => {
  const clock = new TestClock()
  const store = new SharedStore(clock)
  const { get } = processOf(store, clock, ({ response }) => response.vary('Accept-Language').text('page'))
  for (let i = 0; i < 10; i++) await get(`/page?${i}`)
  await eventually(() => store.rests.length >= 20, 'the entries and what they depend on')
  await clock.advance(10 * MINUTE)
  assert.deepEqual(store.rests, [])
})

for (const [lifetime, hours] of [
  ['30s', 0],
  ['10m', 0.16],
  ['11m', 0.18],
  ['1h', 1],
  ['5h', 5],
  ['2d', 48],
  ['6d', 144],
  ['7d', 168],
  ['30d', 168],
] as const)
  test(`an invalidation holds for as long as an entry of ${lifetime} is kept`, async () => {
    const clock = new TestClock()
    const store = new SharedStore(clock)
    await processOf(store, clock, () => 'old', { maxAge: lifetime }).get('/a')
    await processOf(store, clock, () => 'other').server.inject({ method: 'POST', url: '/a' })
    for (const part of [0, 0.4, 0.55]) {
      await clock.advance(Math.floor(part * hours * 60) * MINUTE)
      // A process that was started since has the store alone. What it makes is not kept, so that the entry stays there.
      const process = processOf(store, clock, ({ response }) => response.header('Cache-Control', 'no-store').text('new'))
      assert.equal(await process.get('/a'), 'new')
    }
    await clock.advance(8 * 24 * 60 * MINUTE)
    assert.deepEqual(store.rests, [])
  })

test('a response that was invalidated by another process while it was made is not written', async () => {
  const clock = new TestClock()
  const store = new SharedStore(clock)
  const hold = gate()
  let hasBegun = false
  const slow = processOf(
    store,
    clock,
    async () => {
      hasBegun = true
      await hold.promise
      return 'version 1'
    },
    { maxAge: '1d' },
  )
  const other = processOf(store, clock, () => 'version 2', { maxAge: '1d' })
  const first = slow.get('/a')
  await eventually(() => hasBegun, 'the handler')
  await other.server.inject({ method: 'POST', url: '/a' })
  await clock.advance(1)
  hold.open()
  assert.equal(await first, 'version 1')
  assert.equal(await other.get('/a'), 'version 2')
  await clock.advance(20 * MINUTE)
  assert.equal(await processOf(store, clock, () => 'version 3').get('/a'), 'version 2')
})

test('a handler that hangs in the background ends, gives back its place and its right, and nothing that it returns later is kept', async () => {
  const clock = new TestClock()
  const store = new SharedStore(clock)
  const holds: { open(value: string): void }[] = []
  const signals: AbortSignal[] = []
  const hangs = processOf(
    store,
    clock,
    ({ signal }) => {
      if (holds.length === 0) {
        holds.push({ open: () => {} })
        return 'version 1'
      }
      const hold = gate<string>()
      holds.push(hold)
      signals.push(signal)
      return hold.promise
    },
    { staleWhileRevalidate: '1d' },
  )
  assert.equal(await hangs.get('/a'), 'version 1')
  for (let round = 0; round < 3; round++) {
    await clock.advance(2 * MINUTE)
    assert.equal(await hangs.get('/a'), 'version 1')
    await eventually(() => signals.length === round + 1, 'the run in the background')
    for (let i = 0; i < 4; i++) {
      assert.equal(signals[round]!.aborted, false)
      await clock.advance(MINUTE)
    }
    await clock.advance(2 * MINUTE)
    await eventually(() => hangs.errors.length === round + 1, 'the end of the run')
    assert.equal(signals[round]!.aborted, true)
    assert.equal((hangs.errors[round] as { readonly code?: string }).code, 'WEIR_REQUEST_TIMEOUT')
    holds.at(-1)!.open('too late')
    await new Promise(setImmediate)
  }
  assert.equal(hangs.cached.counts.stored, 1)
  assert.equal(clock.running, 0)
})

test('a call of a store that never settles counts as failed, and holds no later request', async (t) => {
  const alive = setInterval(() => {}, 1_000) // the timers of weir keep no process alive
  t.after(() => clearInterval(alive))
  const hangs = async (method: 'read' | 'claim' | 'write' | 'release'): Promise<void> => {
    const clock = new TestClock()
    const store = new SharedStore(clock)
    let calls = 0
    const own = store[method].bind(store) as (...args: unknown[]) => Promise<never>
    Object.assign(store, { [method]: (...args: unknown[]) => (++calls === 1 ? new Promise<never>(() => {}) : own(...args)) })
    const { errors, get } = processOf(store, clock, () => 'page')
    assert.equal(await get('/a'), 'page', method)
    await eventually(() => errors.length === 1, `the failure of ${method}`)
    assert.equal((errors[0] as { readonly code?: string }).code, 'WEIR_STORE_UNAVAILABLE')
    assert.equal(await get('/a'), 'page', method)
    assert.equal(clock.running, 0, method)
  }
  await Promise.all([hangs('read'), hangs('claim'), hangs('write'), hangs('release')])
})
