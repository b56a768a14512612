// Stores in a real SQLite, through the modules that use them, and by several processes.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

import fc from 'fast-check'

import { systemClock } from '../../../src/base/clock.ts'
import { HttpServer } from '../../../src/index.ts'
import { cache } from '../../../src/modules/cache/index.ts'
import { type Attempt, idempotency, memoryIdempotency } from '../../../src/modules/idempotency/index.ts'
import { memoryStore, rateLimit } from '../../../src/modules/limits/index.ts'
import { sqliteStores } from '../../../src/modules/sqlite/index.ts'
import { connect, TestClock } from '../../../src/testing/index.ts'
import { eventually } from '../../support/serving.ts'
import { openDatabase, temporaryDatabase, withSqlite } from '../../support/sqlite.ts'
import { cookieOf, SECURE_PEER, sessionServer } from '../../support/user-sessions.ts'

const PATIENT = { timeout: '30s' } as const
const DAY_MS = 86_400_000

withSqlite(import.meta.filename, () => {
  test('sessions begin, are changed by two servers at the same time, and are gone when they end', async (t) => {
    const { path, database } = temporaryDatabase(t)
    const other = openDatabase(path)
    t.after(() => other.close())
    const [one, two] = [database, other].map((each) => sessionServer(sqliteStores(each, PATIENT).sessions).server)
    const client = connect(one!, { cookies: true, peer: SECURE_PEER })
    const cookie = cookieOf(await client.get('/count'))
    assert.deepEqual((await client.get('/count')).json(), { count: 2 })
    assert.equal(rows(database, 'weir_sessions'), 1)
    const elsewhere = connect(two!, { peer: SECURE_PEER })
    assert.deepEqual((await elsewhere.get('/count', { headers: { Cookie: cookie } })).json(), { count: 3 })
    await client.post('/login/ann')
    await client.post('/logout')
    assert.equal(rows(database, 'weir_sessions'), 0)
  })

  test('texts come back as they were, whatever they and their keys contain', async (t) => {
    const { sessions, cache } = sqliteStores(temporaryDatabase(t).database, PATIENT)
    const texts = fc.string({ unit: fc.oneof(fc.constantFrom('\0', "'", '"', '%', '\n', 'ü', '😀'), fc.string({ maxLength: 3 })) })
    await fc.assert(
      fc.asyncProperty(texts, texts, texts, async (key, text, next) => {
        await sessions.write(key, text, DAY_MS)
        assert.equal(await sessions.read(key), text)
        assert.equal(await sessions.replace(key, `${text}x`, next, DAY_MS), false)
        assert.equal(await sessions.replace(key, text, next, DAY_MS), true)
        assert.equal(await sessions.read(key), next)
        await cache.write(key, text, DAY_MS)
        assert.equal(await cache.read(key), text)
        await sessions.delete(key)
        assert.equal(await sessions.read(key), null)
      }),
      { numRuns: 200 },
    )
    await sessions.write('\ud800', 'one', DAY_MS)
    await sessions.write('\ud801', 'two', DAY_MS)
    assert.equal(await sessions.read('\ud800'), 'one')
  })

  test('limits decide as in memory, whatever is taken and given back, and whenever', async (t) => {
    const { database } = temporaryDatabase(t)
    let run = 0
    const step = fc.record({
      key: fc.constantFrom('a', 'b'),
      cost: fc.integer({ min: 1, max: 5 }),
      waitMs: fc.constantFrom(0, 1, 999, 60_000),
      refunds: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = new TestClock()
        const rule = { name: `run${run++}`, quota: 4, window: '7m', burst: 5, clock } as const
        const here = rateLimit({ ...rule, store: sqliteStores(database, { ...PATIENT, clock }).rateLimit })
        const there = rateLimit({ ...rule, store: memoryStore() })
        for (const { key, cost, waitMs, refunds } of steps) {
          clock.advance(waitMs)
          if (refunds) await Promise.all([here.refund(key, cost), there.refund(key, cost)])
          else assert.deepEqual(await here.take(key, cost), await there.take(key, cost))
        }
      }),
      { numRuns: 100 },
    )
  })

  test('a wall clock that goes back drains nothing until it has caught up', async (t) => {
    let wall = 2_000_000
    const clock = { ...systemClock, wallTime: () => wall }
    const limit = rateLimit({ quota: 2, window: '1h', store: sqliteStores(temporaryDatabase(t).database, { ...PATIENT, clock }).rateLimit })
    assert.equal((await limit.take('a', 2)).isAllowed, true)
    wall -= 1_000_000
    assert.equal((await limit.take('a')).isAllowed, false)
    wall += 1_000_000
    assert.equal((await limit.take('a')).isAllowed, false)
    wall += 1_800_000
    assert.equal((await limit.take('a')).isAllowed, true)
  })

  test('a wall clock that was far ahead once closes no limit until then', async (t) => {
    let wall = Date.now() + 365 * DAY_MS
    const clock = { ...systemClock, wallTime: () => wall }
    const limit = rateLimit({ quota: 2, window: '1h', store: sqliteStores(temporaryDatabase(t).database, { ...PATIENT, clock }).rateLimit })
    assert.equal((await limit.take('a', 2)).isAllowed, true)
    wall -= 365 * DAY_MS
    assert.equal((await limit.take('a', 2)).isAllowed, true)
    assert.equal((await limit.take('a')).isAllowed, false)
    wall += 3_600_000
    assert.equal((await limit.take('a', 2)).isAllowed, true)
  })

  test('outcomes of requests are kept as in memory', async (t) => {
    const { database } = temporaryDatabase(t)
    const operation = fc.oneof(
      fc.record({
        do: fc.constant('begin'),
        token: fc.constantFrom('1', '2'),
        fingerprint: fc.constantFrom('f', 'g'),
        again: fc.boolean(),
      }),
      fc.record({ do: fc.constantFrom('finish', 'forget', 'unknown'), token: fc.constantFrom('1', '2') }),
      fc.record({ do: fc.constant('wait'), ms: fc.constantFrom(1, 5_000, 30_000) }),
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
        const clock = new TestClock()
        const key = `run ${run++}`
        // The memory's reservation lives as long as its process, so this one gets a lease that does not end.
        const shared = { owner: { kind: 'network', id: 'n' } as never, leaseMs: 10 * DAY_MS, ttlMs: 20_000 }
        const both = [sqliteStores(database, { ...PATIENT, clock }).idempotency, memoryIdempotency()]
        let running: string | null = null
        for (const one of operations) {
          if (one.do === 'wait') {
            if (running === null) clock.advance((one as { ms: number }).ms)
            continue
          }
          const { token } = one as { token: string }
          if (one.do === 'begin') {
            const { fingerprint, again } = one as { fingerprint: string; again: boolean }
            const attempt: Attempt = { ...shared, token, fingerprint, retriesUnknown: again }
            const [here, there] = await Promise.all(both.map((store) => store.begin(key, attempt, clock)))
            assert.deepEqual(here, there)
            if (here!.state === 'begun') running = token
          } else {
            await Promise.all(
              both.map((store) =>
                one.do === 'finish'
                  ? store.finish(key, token, `by ${token}`, shared.ttlMs, clock)
                  : store.abandon(key, token, one.do as 'forget' | 'unknown'),
              ),
            )
            if (running === token) running = null
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  test('a request whose process died is of unknown outcome when its lease is over', async (t) => {
    const clock = new TestClock()
    const { idempotency } = sqliteStores(temporaryDatabase(t).database, { ...PATIENT, clock })
    const attempt = { owner: {} as never, fingerprint: 'f', leaseMs: 1_000, ttlMs: DAY_MS, retriesUnknown: false }
    assert.deepEqual(await idempotency.begin('k', { ...attempt, token: '1' }, clock), { state: 'begun' })
    clock.advance(900)
    await idempotency.extend('k', '1', 1_000)
    clock.advance(900)
    assert.equal((await idempotency.begin('k', { ...attempt, token: '2' }, clock)).state, 'running')
    clock.advance(100)
    assert.equal((await idempotency.begin('k', { ...attempt, token: '2' }, clock)).state, 'unknown')
    assert.equal((await idempotency.begin('k', { ...attempt, token: '2', retriesUnknown: true }, clock)).state, 'begun')
    await idempotency.finish('k', '1', 'late', DAY_MS, clock)
    assert.equal((await idempotency.begin('k', { ...attempt, token: '3' }, clock)).state, 'running')
  })

  test('two servers share cached responses, tags and a repeated request', async (t) => {
    const { path, database } = temporaryDatabase(t)
    const other = openDatabase(path)
    t.after(() => other.close())
    let runs = 0
    const [one, two] = [database, other].map((each) => {
      const stores = sqliteStores(each, PATIENT)
      const cached = cache({ maxAge: '1h', store: stores.cache, tags: () => ['all'] })
      const server = new HttpServer({ logger: null })
      server.group('/cached', { use: [cached] }).mapGet('/page', () => `run ${++runs}`)
      server.mapPost('/orders', { use: [idempotency({ store: stores.idempotency })] }, () => `order ${++runs}`)
      return { server, cached }
    })
    const get = async (server: HttpServer): Promise<string> => (await server.inject({ url: '/cached/page' })).text()
    assert.equal(await get(one!.server), 'run 1')
    assert.equal(await get(two!.server), 'run 1')
    await two!.cached.invalidate({ tag: 'all' })
    await eventually(async () => (await get(one!.server)) === 'run 2', 'the tag reaches the other server')
    const order = { method: 'POST', url: '/orders', headers: { 'Idempotency-Key': '8e03978e-40d5-43dd' } }
    assert.equal((await one!.server.inject(order)).text(), 'order 3')
    assert.equal((await two!.server.inject(order)).text(), 'order 3')
  })

  test('waits for its turn without holding up the event loop, and says when it was too long', async (t) => {
    const { path, database } = temporaryDatabase(t)
    const writer = openDatabase(path)
    t.after(() => writer.close())
    const clock = new TestClock()
    const stores = sqliteStores(database, { timeout: '1s', clock })
    writer.exec('BEGIN IMMEDIATE')
    const order: string[] = []
    const first = stores.sessions.write('a', 'first', DAY_MS).then(() => order.push('first'))
    const second = stores.sessions.write('a', 'second', DAY_MS).then(() => order.push('second'))
    clock.advance(500) // nothing blocks: this runs
    writer.exec('COMMIT')
    clock.advance(5)
    await Promise.all([first, second])
    assert.deepEqual(order, ['first', 'second'])
    assert.equal(await stores.sessions.read('a'), 'second')

    writer.exec('BEGIN IMMEDIATE')
    assert.equal(await stores.sessions.read('a'), 'second') // readers do not wait
    for (let i = 0; i < 5; i++) {
      const refused = assert.rejects(stores.sessions.write('a', 'third', DAY_MS), (error: { code: string; message: string }) => {
        assert.equal(error.code, 'WEIR_STORE_UNAVAILABLE')
        assert.match(error.message, /others were writing for 1000 ms, which is the option "timeout"/)
        return true
      })
      clock.advance(1_005)
      await refused
    }
    assert.equal(stores.rateLimit.isDegraded, true)
    writer.exec('COMMIT')
    await stores.sessions.write('a', 'fourth', DAY_MS)
    assert.equal(stores.rateLimit.isDegraded, false)
  })

  test('nothing waits inside SQLite, whatever the driver has set before', async (t) => {
    const { path, database } = temporaryDatabase(t)
    const writer = openDatabase(path)
    t.after(() => writer.close())
    database.exec('PRAGMA busy_timeout = 60000')
    const clock = new TestClock()
    const { sessions } = sqliteStores(database, { timeout: '1s', clock })
    assert.deepEqual({ ...(database.prepare('PRAGMA busy_timeout').get() as object) }, { timeout: 0 })
    writer.exec('BEGIN IMMEDIATE')
    const written = sessions.write('a', 'text', DAY_MS) // would block the thread that has to commit
    writer.exec('COMMIT')
    clock.advance(5)
    await written
  })

  test('rows that are over leave while others are written', async (t) => {
    const { database } = temporaryDatabase(t)
    const clock = new TestClock()
    const stores = sqliteStores(database, { ...PATIENT, clock })
    const limit = rateLimit({ quota: 5, window: '1m', store: stores.rateLimit, clock })
    const fill = async (name: string, count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        await stores.sessions.write(`${name}${i}`, 'x', 60_000)
        await stores.cache.write(`${name}${i}`, 'x', 60_000)
        await stores.cache.mark(`${name}${i}`, 60_000)
        await stores.idempotency.begin(
          `${name}${i}`,
          { owner: {} as never, fingerprint: '', token: '', leaseMs: 1, ttlMs: 60_000, retriesUnknown: false },
          clock,
        )
        await limit.take(`${name}${i}`)
      }
    }
    await fill('a', 400)
    clock.advance(60_000)
    await fill('b', 200)
    for (const table of ['sessions', 'cache', 'cache_notes', 'idempotency', 'limits'])
      assert.equal(rows(database, `weir_${table}`), 200, table)
  })

  test('cached responses stay below cacheSize', async (t) => {
    const { database } = temporaryDatabase(t)
    const { cache } = sqliteStores(database, { ...PATIENT, cacheSize: '1MiB' })
    for (let i = 0; i < 300; i++) await cache.write(String(i), 'x'.repeat(10_000), DAY_MS + i)
    await cache.write('too large', 'x'.repeat(2 ** 20 + 1), DAY_MS)
    const { bytes } = database.prepare('SELECT sum(bytes) AS bytes FROM weir_cache').get() as { bytes: number }
    assert.ok(bytes <= 2 ** 20, String(bytes))
    assert.equal(await cache.read('too large'), null)
    assert.equal(await cache.read('0'), null)
    assert.notEqual(await cache.read('299'), null)
    for (let i = 0; i < 10_000; i++) await cache.write(`small ${i}`, 'x', 2 * DAY_MS)
    assert.ok(rows(database, 'weir_cache') < 6_000, 'what a row takes beside its text counts')
  })

  test('no write to the cache reads or drops more than a few hundred rows, however many there are', async (t) => {
    const { database } = temporaryDatabase(t)
    const clock = new TestClock()
    const { cache } = sqliteStores(database, { ...PATIENT, cacheSize: '2MiB', clock })
    const sizeOf = (sql: string): number => Number(Object.values(database.prepare(sql).get() as object)[0])
    let most = 0
    const write = async (key: string, text: string): Promise<void> => {
      const before = rows(database, 'weir_cache')
      await cache.write(key, text, DAY_MS)
      most = Math.max(most, before - rows(database, 'weir_cache'))
      assert.ok(sizeOf('SELECT sum(bytes) FROM weir_cache') <= 2 ** 21)
    }
    for (let i = 0; i < 9_000; i++) await cache.write(`tiny ${i}`, '', DAY_MS)
    for (let i = 0; i < 60; i++) await write(`large ${i}`, 'x'.repeat(400_000))
    assert.notEqual(await cache.read('large 59'), null, 'small responses make room for large ones in the end')
    assert.ok(most > 0 && most <= 256, `one write has dropped ${most} rows`)
    for (let i = 0; i < 40; i++) await write('the same', 'x'.repeat(i * 10_000))
    clock.advance(2 * DAY_MS)
    for (let i = 0; i < 64; i++) await write(`late ${i}`, 'x')
    assert.equal(sizeOf('SELECT bytes FROM weir_cache_size'), sizeOf('SELECT sum(bytes) FROM weir_cache'))
    const { detail } = database.prepare('EXPLAIN QUERY PLAN SELECT bytes FROM weir_cache_size').get() as { detail: string }
    assert.match(detail, /SCAN weir_cache_size/)
    assert.equal(rows(database, 'weir_cache_size'), 1)
    sqliteStores(database, PATIENT)
    assert.equal(rows(database, 'weir_cache_size'), 1)
  })

  test('no write reads or frees much more than it adds, however large the rows are that end or make room', async (t) => {
    const { database } = temporaryDatabase(t)
    const clock = new TestClock()
    const size = 100_000
    const { cache, idempotency } = sqliteStores(database, { ...PATIENT, cacheSize: '10MiB', clock })
    const dropped = async (table: string, write: () => Promise<unknown>): Promise<number> => {
      const before = rows(database, table)
      await write()
      return before + 1 - rows(database, table)
    }
    const put = (key: string): Promise<void> => cache.write(key, 'x'.repeat(size), DAY_MS)
    let most = 0
    for (let i = 0; i < 150; i++) most = Math.max(most, await dropped('weir_cache', () => put(String(i))))
    assert.equal(most, 1)
    const keep = async (key: string): Promise<void> => {
      const entry = { owner: {} as never, fingerprint: '', token: key, leaseMs: 1, ttlMs: DAY_MS, retriesUnknown: false }
      await idempotency.begin(key, entry, clock)
      await idempotency.finish(key, key, 'x'.repeat(size), DAY_MS, clock)
    }
    for (let i = 0; i < 50; i++) await keep(String(i))
    clock.advance(2 * DAY_MS)
    for (let i = 0; i < 40; i++) {
      most = Math.max(most, await dropped('weir_cache', () => put(`late ${i}`)))
      most = Math.max(most, await dropped('weir_idempotency', () => keep(`late ${i}`)))
    }
    assert.ok(most <= 5, `${most} rows in one write`)
    assert.equal(rows(database, 'weir_cache'), 40)
    assert.equal(rows(database, 'weir_idempotency'), 40)
  })

  test('processes killed at random lose nothing that was confirmed, and share one quota', async (t) => {
    const { path, database } = temporaryDatabase(t)
    const stores = sqliteStores(database, PATIENT)
    const confirmed: string[] = []
    for (let round = 0; round < 3; round++) {
      const processes = ['a', 'b', 'c'].map((name) => {
        const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/sqlite-process.js'), path, `${name}${round}`], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        let count = 0
        const enough = new Promise<void>((resolve) =>
          createInterface({ input: child.stdout! }).on('line', (line) => {
            confirmed.push(line)
            if (++count === 60 + 40 * round) resolve()
          }),
        )
        return { child, enough, gone: once(child, 'close') }
      })
      await Promise.race(processes.map(({ enough }) => enough))
      for (const { child } of processes) child.kill('SIGKILL')
      await Promise.all(processes.map(({ gone }) => gone))
    }
    assert.ok(confirmed.length > 200, String(confirmed.length))
    const attempt = { owner: {} as never, fingerprint: 'f', token: 't', leaseMs: 1, ttlMs: 1_000, retriesUnknown: false }
    let taken = 0
    for (const line of confirmed) {
      const [what, key] = line.split(' ')
      if (what === 'session') assert.equal(await stores.sessions.read(key!), line)
      else if (what === 'outcome')
        assert.deepEqual(await stores.idempotency.begin(key!, attempt, systemClock), { state: 'done', fingerprint: 'f', outcome: line })
      else taken++
    }
    // A process may die between taking a unit and saying so: nine at most.
    const { remaining } = await rateLimit({ quota: 500, window: '1d', store: stores.rateLimit }).take('everybody')
    assert.ok(taken <= 500 - remaining && taken >= 500 - remaining - 1 - 9 - 1, `${taken} and ${remaining}`)
    assert.deepEqual({ ...Object(database.prepare('PRAGMA integrity_check').get()) }, { integrity_check: 'ok' })
  })

  test('mistakes are errors at the start', (t) => {
    const { database, path } = temporaryDatabase(t)
    const closed = openDatabase(path)
    closed.close()
    const cases: [unknown, object, RegExp][] = [
      ['app.db', {}, /the database is a string: give new DatabaseSync\('app\.db'\) of node:sqlite/],
      [closed, {}, /the database cannot be written, or is closed/],
      [database, { prefix: 'a b' }, /prefix is the string "a b"/],
      [database, { cacheSize: 1 }, /cacheSize/],
      [database, { timeOut: 1 }, /it is called "timeout"/],
    ]
    for (const [given, options, message] of cases)
      assert.throws(() => sqliteStores(given as never, options), { code: 'WEIR_OPTION_INVALID', message })
  })

  test('two applications share a file with different prefixes', async (t) => {
    const { database } = temporaryDatabase(t)
    const one = sqliteStores(database, { prefix: 'one_' })
    const two = sqliteStores(database, { prefix: 'two_' })
    await one.sessions.write('k', 'one', DAY_MS)
    assert.equal(await two.sessions.read('k'), null)
  })
})

function rows(database: { prepare(sql: string): { get(): unknown } }, table: string): number {
  return (database.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number }).count
}
