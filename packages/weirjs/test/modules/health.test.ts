// weirjs/health: what the three routes answer, how often checks run, and who sees their names.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type Policy } from '../../src/index.ts'
import { healthOn } from '../../src/modules/health/health.ts'
import { type HealthOptions, health } from '../../src/modules/health/index.ts'
import { settled, TestClock } from '../../src/testing/test-clock.ts'
import { curl, noCurl } from '../support/curl.ts'
import { gate } from '../support/serving.ts'

interface Run {
  readonly server: HttpServer
  readonly clock: TestClock
  readonly logged: string[]
  /** Status and text. */
  ask(path: string): Promise<[status: number, text: string]>
}

function create(options: HealthOptions = {}): Run {
  const clock = new TestClock()
  const logged: string[] = []
  const log = (message: string, detail?: unknown): void =>
    void logged.push(detail === undefined ? message : `${message}: ${String(detail)}`)
  const server = new HttpServer({ logger: { error: log, warn: log } }).use(healthOn(clock, options))
  const ask = async (path: string): Promise<[number, string]> => {
    const response = await server.inject(path)
    return [response.status, response.text()]
  }
  return { server, clock, logged, ask }
}

test('without checks, all three are fine', async () => {
  const { server } = create()
  for (const path of ['/livez', '/readyz', '/startupz']) {
    const response = await server.inject(path)
    assert.deepEqual([response.status, response.text(), response.headers.get('cache-control')], [200, 'ok\n', 'no-store'])
    const head = await server.inject({ method: 'HEAD', url: path })
    assert.deepEqual([head.status, head.text(), head.headers.get('content-length')], [200, '', '3'])
  }
})

test('a check that throws, rejects or returns false fails its route only, and the public sees no name', async () => {
  for (const check of [
    () => false,
    () => {
      throw new Error('no database at 10.0.0.1')
    },
    () => Promise.reject(new Error('no database at 10.0.0.1')),
    async () => false,
  ]) {
    const { ask } = create({ ready: { database: check, fine: () => true } })
    assert.deepEqual(await ask('/readyz'), [503, 'failed\n'])
    assert.deepEqual(await ask('/livez'), [200, 'ok\n'])
    assert.deepEqual(await ask('/startupz'), [200, 'ok\n'])
  }
})

test('checks run at most once a second and never twice at a time, however many ask', async () => {
  let runs = 0
  const pending = gate()
  const { ask, clock } = create({
    ready: {
      async database() {
        runs++
        await pending.promise
      },
    },
  })
  const first = Promise.all(Array.from({ length: 100 }, () => ask('/readyz')))
  await settled()
  pending.open()
  assert.ok((await first).every(([status]) => status === 200))
  assert.equal(runs, 1)
  await clock.advance(999)
  await ask('/readyz')
  assert.equal(runs, 1)
  await clock.advance(1)
  await Promise.all([ask('/readyz'), ask('/readyz')])
  assert.equal(runs, 2)
})

test('a check that takes too long has failed, its signal aborts, and it is not called again while it hangs', async () => {
  let runs = 0
  let reason: unknown
  const { ask, clock, server } = create({
    ready: {
      slow: {
        timeoutMs: 50,
        check(signal) {
          runs++
          signal.addEventListener('abort', () => {
            reason = signal.reason
          })
          return new Promise(() => {})
        },
      },
    },
    detail: () => true,
  })
  const asked = server.inject('/readyz')
  await settled()
  await clock.advance(50)
  const response = await asked
  assert.equal(response.status, 503)
  assert.deepEqual(response.json(), {
    state: 'failed',
    checks: [{ name: 'slow', state: 'failed', reason: 'no result within 50 ms', durationMs: 50 }],
  })
  assert.equal((reason as Error).name, 'TimeoutError')
  assert.equal(clock.running, 0)
  await clock.advance(500)
  assert.equal((await ask('/readyz'))[0], 503)
  assert.equal(runs, 1)
  await clock.advance(1000)
  const again = ask('/readyz')
  await settled()
  await clock.advance(50)
  assert.equal((await again)[0], 503)
  assert.equal(runs, 2, 'its promise may have been lost')
})

test('while only checks that are not required fail, the server is ready and says that it is degraded', async () => {
  let isConnected = false
  let hasDatabase = true
  const { ask, clock, logged, server } = create({
    ready: { relay: { check: () => isConnected, required: false }, database: { check: () => hasDatabase, required: true } },
    detail: ({ peer }) => peer.address === '10.0.0.7',
  })
  assert.deepEqual(await ask('/readyz'), [200, 'degraded\n'])
  assert.deepEqual(await ask('/livez'), [200, 'ok\n'])
  assert.deepEqual(logged, ['weir: health check "relay" failed: it returned false'])
  const { status, json } = await server.inject({ url: '/readyz', peer: { address: '10.0.0.7' } })
  const { state, checks } = json() as { state: string; checks: { name: string; state: string }[] }
  assert.deepEqual([status, state, checks.map(({ name, state }) => `${name} ${state}`)], [200, 'degraded', ['relay failed', 'database ok']])
  hasDatabase = false
  await clock.advance(1_000)
  assert.deepEqual(await ask('/readyz'), [503, 'failed\n'])
  isConnected = hasDatabase = true
  await clock.advance(1_000)
  assert.deepEqual(await ask('/readyz'), [200, 'ok\n'])
})

test('startup checks must pass once; until then the server is not ready, but alive', async () => {
  let isMigrated = false
  let runs = 0
  const { ask, clock } = create({
    startup: {
      migrations() {
        runs++
        return isMigrated
      },
    },
  })
  assert.deepEqual(await ask('/startupz'), [503, 'starting\n'])
  assert.deepEqual(await ask('/readyz'), [503, 'starting\n'])
  assert.deepEqual(await ask('/livez'), [200, 'ok\n'])
  isMigrated = true
  assert.deepEqual(await ask('/startupz'), [503, 'starting\n'], 'a second has not passed')
  await clock.advance(1_000)
  assert.deepEqual(await ask('/readyz'), [200, 'ok\n'])
  isMigrated = false
  await clock.advance(5_000)
  assert.deepEqual(await ask('/startupz'), [200, 'ok\n'])
  assert.equal(runs, 2)
})

test('readiness ends when stop is called, while requests are still answered; liveness does not', async () => {
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(health())
  await server.start()
  const ask = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { connection: 'close' } })).text()
  assert.equal(await ask('/readyz'), 'ok\n')
  const stopped = server.stop({ readyDelayMs: 60_000 })
  assert.equal(await ask('/readyz'), 'stopping\n')
  assert.equal(await ask('/livez'), 'ok\n')
  void server.stop({ readyDelayMs: 0 })
  await stopped
})

test('names and reasons are for those that detail accepts', async () => {
  const { server } = create({
    ready: { database: () => Promise.reject(new Error('refused')), cache: () => true },
    detail: ({ peer }) => peer.address === '10.0.0.1',
  })
  const trusted = await server.inject({ url: '/readyz', peer: { address: '10.0.0.1' } })
  assert.deepEqual(trusted.json(), {
    state: 'failed',
    checks: [
      { name: 'database', state: 'failed', reason: 'refused', durationMs: 0 },
      { name: 'cache', state: 'ok', reason: null, durationMs: 0 },
    ],
  })
  const other = await server.inject({ url: '/readyz', peer: { address: '203.0.113.9' } })
  assert.equal(other.text(), 'failed\n')
})

test('a change is logged once, with its reason', async () => {
  let isFine = true
  const { ask, clock, logged } = create({
    ready: {
      database() {
        if (!isFine) throw new Error('refused')
      },
    },
  })
  for (const fine of [true, false, false, true, true]) {
    isFine = fine
    await ask('/readyz')
    await clock.advance(1_000)
  }
  assert.deepEqual(logged, ['weir: health check "database" failed: refused', 'weir: health check "database" is fine again'])
})

test('the routes can be at a named endpoint, at other paths, left out, and have policies', async (t) => {
  const open: Policy = { name: 'auth' }
  const server = new HttpServer({ listen: [{ port: 0 }, { port: 0, name: 'admin' }], logger: null })
  server.use({
    name: 'auth',
    gate() {
      throw new Error('nobody may pass')
    },
  })
  server.use(health({ endpoint: 'admin', paths: { live: '/alive', startup: null }, use: [open] }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const statusAt = async (i: number, path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${server.endpoints[i]!.port}${path}`, { headers: { connection: 'close' } })).status
  assert.deepEqual([await statusAt(1, '/alive'), await statusAt(1, '/readyz')], [200, 200])
  assert.deepEqual(
    [await statusAt(1, '/startupz'), await statusAt(0, '/readyz')],
    [500, 500],
    'no such route: the policy of the server applies',
  )
})

test('curl sees 200 and 503, and HEAD without a body', { skip: noCurl }, async (t) => {
  const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(health({ ready: { database: () => false } }))
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const url = `http://127.0.0.1:${server.port}`
  const { response: alive } = await curl([`${url}/livez`])
  const { response: ready, exitCode } = await curl(['--fail-with-body', `${url}/readyz`])
  const { response: head } = await curl(['--head', `${url}/readyz`])
  assert.deepEqual([alive.status, alive.text, ready.status, ready.text, exitCode], [200, 'ok\n', 503, 'failed\n', 22])
  assert.deepEqual([head.status, head.text, head.header('cache-control')], [503, '', 'no-store'])
})

test('wrong options are refused by name', () => {
  const wrong: [options: unknown, message: RegExp][] = [
    [{ ready: [] }, /ready is/],
    [{ ready: { db: 1 } }, /ready\.db is 1, not a function/],
    [{ live: { db: { check: 1 } } }, /live\.db\.check is 1/],
    [{ live: { db: { check() {}, timeoutMs: 0 } } }, /live\.db\.timeoutMs is 0/],
    [{ live: { db: { check() {}, timout: 1 } } }, /live\.db: there is no option "timout", perhaps "timeout"/],
    [{ ready: { db: { check() {}, required: 'no' } } }, /ready\.db\.required is the string "no", not true or false/],
    [{ live: { db: { check() {}, required: false } } }, /live\.db\.required is false: only a check of ready can be optional/],
    [{ startup: { db: { check() {}, required: false } } }, /startup\.db\.required is false/],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, /timeoutMs/],
    [{ paths: { alive: '/' } }, /paths: there is no option "alive"/],
    [{ checks: {} }, /no option "checks"/],
    [{ detail: true }, /detail is true, not a function/],
  ]
  for (const [options, message] of wrong) assert.throws(() => health(options as HealthOptions), { code: 'WEIR_OPTION_INVALID', message })
})
