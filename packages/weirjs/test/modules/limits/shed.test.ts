// Which requests `shed` refuses, by sensors and a clock that the test sets.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'

import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { HttpServer } from '../../../src/index.ts'
import { health } from '../../../src/modules/health/index.ts'
import { type LoadSensors, type Priority, priority, type ShedOptions, shed } from '../../../src/modules/limits/index.ts'
import { RawClient } from '../../support/raw-client.ts'
import { eventually, gate } from '../../support/serving.ts'

/** A clock that a handler can move, with one timer that the test runs. */
class HandClock implements Clock {
  time = 0
  tick: (() => void) | null = null
  readonly wallTime = systemClock.wallTime
  readonly now = (): number => this.time

  every(_periodMs: number, tick: () => void): () => void {
    this.tick = tick
    return () => {
      this.tick = null
    }
  }

  /** The timer runs `ms` late. */
  sample(lateMs = 0): void {
    this.time += 100 + lateMs
    this.tick!()
  }
}

interface Shedding {
  readonly server: HttpServer
  readonly clock: HandClock
  readonly sensors: LoadSensors & { busy: number; bytes: number }
  status(path: string): Promise<number>
}

async function shedding(options: ShedOptions = {}): Promise<Shedding> {
  const clock = new HandClock()
  const sensors = { busy: 0, bytes: 1_000, utilization: () => sensors.busy, rss: () => sensors.bytes }
  const server = new HttpServer({ logger: null })
  server.use(shed({ clock, sensors, ...options }))
  for (const one of ['low', 'normal', 'high', 'critical'] as const) server.mapGet(`/${one}`, { metadata: priority(one) }, () => one)
  server.mapGet('/', () => 'done')
  server.mapGet('/compute/:ms', ({ ms }) => {
    clock.time += Number(ms)
    return 'done'
  })
  const status = async (path: string): Promise<number> => (await server.inject(path)).status
  assert.equal(await status('/'), 200) // starts the timer
  return { server, clock, sensors, status }
}

const statusOf = async (status: Shedding['status'], ...paths: readonly string[]): Promise<number[]> => {
  const all: number[] = []
  for (const path of paths) all.push(await status(path))
  return all
}

/** Requests that arrive together, so that one turn of the event loop reads them all. */
async function together(t: TestContext, server: HttpServer, paths: readonly string[]): Promise<number[]> {
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  t.after(() => client.destroy())
  client.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
  const statuses: number[] = []
  for (const _ of paths) statuses.push((await client.message()).status)
  return statuses
}

test('without overload, nothing is refused', async () => {
  const { status, clock, sensors } = await shedding()
  sensors.busy = 0.94
  clock.sample(20)
  assert.deepEqual(await statusOf(status, '/low', '/normal', '/high', '/critical', '/nowhere'), [200, 200, 200, 200, 404])
})

describe('an event loop without idle time', () => {
  test('serves the first requests of each turn: normal ones for a millisecond, high ones for four', async (t) => {
    const { server, clock, sensors } = await shedding()
    sensors.busy = 1
    clock.sample()
    const paths = ['/normal', '/normal', '/compute/2', '/normal', '/high', '/compute/5', '/critical', '/nowhere']
    assert.deepEqual(await together(t, server, [...paths, '/high']), [200, 200, 200, 503, 200, 503, 200, 503, 200])
  })

  test('serves again in the next turn', async () => {
    const { status, clock, sensors } = await shedding()
    sensors.busy = 1
    clock.sample()
    for (const path of ['/compute/9', '/compute/9', '/normal']) {
      assert.equal(await status(path), 200, path)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(await status('/low'), 503)
    sensors.busy = 0.5
    clock.sample()
    assert.equal(await status('/low'), 200)
  })
})

test('a late event loop: low ones are refused first, high ones last, critical ones never', async () => {
  const { status, clock } = await shedding({ maxEventLoopDelay: 100 })
  const seen: number[][] = []
  for (const late of [200, 200, 100, 1_000]) {
    clock.sample(late)
    seen.push(await statusOf(status, '/low', '/normal', '/high', '/critical'))
  }
  assert.deepEqual(seen, [
    [200, 200, 200, 200], // 60 ms on average
    [503, 503, 200, 200], // 102
    [503, 503, 200, 200], // 101
    [503, 503, 503, 200], // 371
  ])
})

test('a process that is too large', async () => {
  const { status, clock, sensors } = await shedding({ maxRss: 1_000 })
  for (let i = 0; i < 10; i++) clock.sample()
  assert.equal(await status('/'), 200)
  sensors.bytes = 1_001
  clock.sample()
  assert.deepEqual(await statusOf(status, '/', '/critical'), [503, 200])
})

test('a refusal states why, when to come back, and is not logged', async () => {
  const logged: unknown[] = []
  const clock = new HandClock()
  const server = new HttpServer({ logger: { error: (message) => logged.push(message) } })
  server.use(shed({ clock, maxEventLoopDelay: 10, retryAfter: '3s' }))
  server.mapGet('/', () => 'done')
  await server.inject('/')
  clock.sample(1_000)
  const refused = await server.inject('/')
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '3')
  assert.deepEqual(refused.json(), {
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    status: 503,
    detail: 'the server has no capacity for this request now: the event loop is late',
    code: 'WEIR_OVERLOADED',
    'violated-policies': ['shed'],
  })
  assert.deepEqual(logged, [])
})

describe('requests in progress', () => {
  async function filling(options: ShedOptions = {}) {
    const made = await shedding(options)
    const release = gate()
    const { clock, sensors } = made
    const policy = shed({ clock, sensors, ...options })
    made.server.mapGet('/wait', { use: [policy] }, () => release.promise.then(() => 'done'))
    made.server.mapGet('/wait/critical', { use: [policy], metadata: priority('critical') }, () => release.promise.then(() => 'done'))
    made.server.mapPost('/upload', { use: [policy] }, () => 'received')
    return { ...made, release, policy }
  }

  test('are limited, and released with their responses', async () => {
    const { server, release, policy } = await filling()
    const all = Array.from({ length: 40 }, () => server.inject('/wait'))
    await eventually(() => policy.load.inFlight === 32, 'the limit')
    assert.equal(policy.load.inFlightLimit, 32)
    const critical = server.inject('/wait/critical')
    await new Promise((resolve) => setTimeout(resolve, 20))
    release.open()
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 32)
    assert.equal(statuses.filter((status) => status === 503).length, 8)
    assert.equal((await critical).status, 200)
    assert.equal(policy.load.inFlight, 0)
  })

  test('what they refuse does not count as work for the event loop', async () => {
    const { server, release, policy, clock, sensors, status } = await filling()
    server.mapGet('/quick', { use: [policy], metadata: priority('low') }, () => 'quick')
    const all = Array.from({ length: 80 }, () => server.inject('/wait'))
    await eventually(() => policy.counts.refused === 48, 'the refusals')
    sensors.busy = 0.5
    clock.sample()
    release.open()
    await Promise.all(all)
    assert.equal(await status('/quick'), 200)
  })

  test('are not limited if adaptive is false', async () => {
    const { server, release, policy } = await filling({ adaptive: false })
    const all = Array.from({ length: 40 }, () => server.inject('/wait'))
    release.open()
    assert.ok((await Promise.all(all)).every(({ status }) => status === 200))
    assert.equal(policy.load.inFlightLimit, Number.POSITIVE_INFINITY)
  })

  test('are released when clients leave', async () => {
    const { server, policy } = await filling()
    const leaving = new AbortController()
    const all = Array.from({ length: 10 }, () => server.inject({ url: '/wait', signal: leaving.signal }).catch(() => null))
    await eventually(() => policy.load.inFlight === 10, 'the requests')
    leaving.abort()
    await Promise.all(all)
    await eventually(() => policy.load.inFlight === 0, 'the release')
  })

  test('clients that send their bodies slowly do not count', async (t) => {
    const { server, policy } = await filling()
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const clients = await Promise.all(Array.from({ length: 40 }, () => RawClient.connect(server.port)))
    t.after(() => {
      for (const client of clients) client.destroy()
    })
    for (const client of clients) client.send('POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\na')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(policy.load.inFlight, 0)
    for (const client of clients) client.send('b')
    for (const client of clients) assert.equal((await client.message()).status, 200)
  })
})

describe('the timer', () => {
  test('stops with the server, and starts again with it', async () => {
    const { server, clock } = await shedding()
    for (let i = 0; i < 2; i++) {
      await server.start()
      assert.equal((await server.inject('/')).status, 200)
      assert.notEqual(clock.tick, null)
      await server.stop()
      assert.equal(clock.tick, null)
    }
  })

  test('stops without requests, and forgets the overload', async () => {
    const { status, clock, sensors } = await shedding({ maxEventLoopDelay: 10 })
    sensors.busy = 1
    clock.sample(1_000)
    assert.equal(await status('/'), 503)
    while (clock.tick !== null) clock.sample(1_000)
    assert.equal(await status('/'), 200)
  })
})

test('a priority that does not exist is a mistake of the program', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (_message, error) => logged.push(error) } })
  server.use(shed())
  server.mapGet('/', { metadata: priority('critcal' as Priority) }, () => 'done')
  assert.equal((await server.inject('/')).status, 500)
  assert.match(String(logged[0]), /the priority of GET \/ is the string "critcal"/)
})

test('wrong options are refused by name', () => {
  for (const [options, message] of [
    [{ maxUtilization: 0 }, /maxUtilization is 0/],
    [{ maxUtilization: 1.1 }, /maxUtilization is 1.1/],
    [{ maxUtilization: '1' }, /maxUtilization is the string "1"/],
    [{ maxEventLoopDelay: 0 }, /maxEventLoopDelay is 0/],
    [{ maxRss: 0 }, /maxRss is 0/],
    [{ adaptive: 'no' }, /adaptive is the string "no"/],
    [{ retryAfter: -1 }, /retryAfter is -1/],
    [{ max: 1 }, /there is no option "max"/],
  ] as const)
    assert.throws(() => shed(options as unknown as ShedOptions), { code: 'WEIR_OPTION_INVALID', message })
})

test('the routes of weirjs/health are never refused', async () => {
  const clock = new HandClock()
  const server = new HttpServer({ logger: null })
  server.use(shed({ clock, maxEventLoopDelay: 10 })).use(health())
  server.mapGet('/', () => 'done')
  await server.inject('/')
  clock.sample(1_000)
  assert.equal((await server.inject('/')).status, 503)
  for (const path of ['/livez', '/readyz', '/startupz']) assert.equal((await server.inject(path)).status, 200)
})

test('no timer keeps the process alive', async () => {
  const program = `
    import { HttpServer } from '${new URL('../../../src/index.js', import.meta.url)}'
    import { concurrencyLimit, rateLimit, shed } from '${new URL('../../../src/modules/limits/index.js', import.meta.url)}'
    import { redisStore } from '${new URL('../../../../redis/src/index.js', import.meta.url)}'
    const store = redisStore({ sendCommand: () => new Promise(() => {}) }, { timeout: '1h' })
    const server = new HttpServer({ logger: null })
    server.use(shed()).use(concurrencyLimit({ max: 1, maxQueue: 1, queueTimeout: '1h' }))
    server.mapGet('/', () => new Promise(() => {}))
    server.mapGet('/redis', { use: [rateLimit({ quota: 1, window: '1h', store })] }, () => 'never')
    server.inject('/')
    server.inject('/')
    server.inject('/redis')
  `
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { timeout: 30_000 })
  assert.equal(stderr, '')
})
