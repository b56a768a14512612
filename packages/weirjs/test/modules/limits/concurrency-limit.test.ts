// How long a request holds its slot of `concurrencyLimit`: until its response has gone, whatever becomes of it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'

import { WebSocket } from 'undici'

import { HttpServer, type ServerOptions } from '../../../src/index.ts'
import { type ConcurrencyLimit, type ConcurrencyLimitOptions, concurrencyLimit } from '../../../src/modules/limits/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { connect, TestClock } from '../../../src/testing/index.ts'
import { eventually, gate } from '../../support/serving.ts'
import { TRANSPORTS } from '../../support/transports.ts'
import { Turns } from '../../support/turns.ts'

async function serving(
  t: TestContext,
  limit: ConcurrencyLimit,
  options: ServerOptions,
  map: (server: HttpServer) => void,
): Promise<HttpServer> {
  const server = new HttpServer({ logger: null, ...options })
  server.use(limit)
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

const isFree = (limit: ConcurrencyLimit): Promise<void> => eventually(() => limit.inProgress === 0, 'the release of the slot')

for (const observed of [false, true])
  for (const transport of TRANSPORTS)
    describe(`${transport.title}, ${observed ? 'with' : 'without'} observers`, () => {
      const start = async (t: TestContext, limit: ConcurrencyLimit, map: (server: HttpServer) => void, options: ServerOptions = {}) => {
        const server = await serving(t, limit, { ...transport.options, ...options }, (made) => {
          if (observed) made.observe({ end: () => {} })
          map(made)
        })
        const line = async () => {
          const one = await transport.connect(server.port)
          t.after(() => one.leave())
          return one
        }
        return { server, line }
      }

      test('a response that was sent, an error, and a refusal release it', async (t) => {
        const limit = concurrencyLimit({ max: 1 })
        const { line } = await start(t, limit, (server) => {
          server.mapGet('/', () => 'done')
          server.mapGet('/later', async () => 'later')
          server.mapGet('/large', () => Buffer.alloc(3_000_000))
          server.mapGet('/fails', () => {
            throw new Error('no')
          })
          server.mapGet('/refused', { use: [{ gate: (_session) => ({ refused: true }) }] }, () => assert.fail('the handler runs'))
        })
        const client = await line()
        for (const [path, status] of [
          ['/', 200],
          ['/later', 200],
          ['/large', 200],
          ['/fails', 500],
          ['/refused', 200],
          ['/nowhere', 404],
          ['/', 200],
        ] as const) {
          assert.equal((await client.ask({ path })).status, status, path)
          await isFree(limit)
        }
      })

      test('a streamed response holds it until its end, and others are refused', async (t) => {
        const limit = concurrencyLimit({ max: 1 })
        const source = new Readable({ read() {} })
        const { line } = await start(t, limit, (server) => server.mapGet('/', (_, { response }) => response.stream(source, 'text/plain')))
        const first = await line()
        source.push('begin')
        await first.until({ path: '/' }, 'begin')
        const refused = await (await line()).ask({ path: '/' })
        assert.equal(refused.status, 503)
        assert.equal(refused.fields['retry-after'], '1')
        assert.equal(limit.inProgress, 1)
        source.push(null)
        await isFree(limit)
      })

      test('a client that leaves in the middle of a stream releases it', async (t) => {
        const limit = concurrencyLimit({ max: 1 })
        const { line } = await start(
          t,
          limit,
          (server) =>
            server.mapGet('/', (_, { response }) => {
              const source = new Readable({ read() {} })
              source.push('begin')
              return response.stream(source, 'text/plain')
            }),
          { timeouts: { lingerTimeout: 40 } },
        )
        const client = await line()
        await client.until({ path: '/' }, 'begin')
        assert.equal(limit.inProgress, 1)
        client.leave()
        await isFree(limit)
      })

      test('a client that leaves while the handler runs releases it', async (t) => {
        const limit = concurrencyLimit({ max: 1 })
        const running = gate()
        const { line } = await start(t, limit, (server) =>
          server.mapGet('/', (_, { signal }) => {
            running.open()
            return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
          }),
        )
        const client = await line()
        client.until({ path: '/' }, 'nothing').catch(() => {})
        await running.promise
        assert.equal(limit.inProgress, 1)
        client.leave()
        await isFree(limit)
      })

      test('a request that timed out releases it', async (t) => {
        const limit = concurrencyLimit({ max: 1 })
        const { line } = await start(t, limit, (server) => server.mapGet('/', () => new Promise(() => {})), {
          timeouts: { requestTimeout: 40 },
        })
        assert.equal((await (await line()).ask({ path: '/' })).status, 503)
        await isFree(limit)
      })
    })

test('a WebSocket holds it until it is closed', async (t) => {
  const limit = concurrencyLimit({ max: 1 })
  const server = await serving(t, limit, {}, (made) => made.use(websocket('/', {})))
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/`)
  await once(socket, 'open')
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(limit.inProgress, 1)
  assert.equal((await server.inject('/')).status, 503)
  socket.close()
  await isFree(limit)
})

test('server.fetch holds it until its response has been read, or cancelled', async () => {
  const limit = concurrencyLimit({ max: 1 })
  const server = new HttpServer({ logger: null })
  server.use(limit)
  server.mapGet('/', () => 'done')
  server.mapGet('/stream', (_, { response }) => response.stream(Readable.from(['a', 'b'], { highWaterMark: 1 }), 'text/plain'))
  assert.equal((await server.fetch(new Request('http://a/'))).status, 200)
  await isFree(limit)
  const streamed = await server.fetch(new Request('http://a/stream'))
  assert.equal(limit.inProgress, 1)
  assert.equal(await streamed.text(), 'ab')
  await isFree(limit)
  const cancelled = await server.fetch(new Request('http://a/stream'))
  await cancelled.body!.cancel()
  await isFree(limit)
})

describe('refusals', () => {
  const status = async (
    options: Partial<ConcurrencyLimitOptions>,
    addresses: readonly string[],
  ): Promise<[number[], Record<string, unknown>]> => {
    const server = new HttpServer({ logger: null })
    server.use(concurrencyLimit({ name: 'busy', max: 1, ...options }))
    const release = gate()
    server.mapGet('/', () => release.promise.then(() => 'done'))
    const all = addresses.map((address) => server.inject({ url: '/', peer: { address } }))
    await new Promise((resolve) => setImmediate(resolve))
    release.open()
    const responses = await Promise.all(all)
    return [
      responses.map((one) => one.status),
      responses.at(-1)!.status === 200 ? {} : (responses.at(-1)!.json() as Record<string, unknown>),
    ]
  }

  test('of a limit for all are 503, of one for each client 429', async () => {
    const [statuses, problem] = await status({}, ['192.0.2.1', '192.0.2.2'])
    assert.deepEqual(statuses, [200, 503])
    assert.equal(problem['type'], 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity')
    assert.deepEqual(problem['violated-policies'], ['busy'])
    const [byClient, exceeded] = await status({ key: 'address' }, ['192.0.2.1', '192.0.2.2', '192.0.2.1'])
    assert.deepEqual(byClient, [200, 200, 429])
    assert.equal(exceeded['type'], 'https://iana.org/assignments/http-problem-types#quota-exceeded')
    assert.equal(exceeded['detail'], 'the quota is used up: "busy" allows 1 at once')
  })
})

describe('the queue', () => {
  function queueing(options: Partial<ConcurrencyLimitOptions> = {}) {
    const clock = new TestClock()
    const limit = concurrencyLimit({ max: 1, maxQueue: 2, clock, ...options })
    const server = new HttpServer({ logger: null })
    server.use(limit)
    const order: string[] = []
    const releases = new Map<string, () => void>()
    server.mapGet('/:name', ({ name }) => {
      order.push(name)
      return new Promise((resolve) => releases.set(name, () => resolve(name)))
    })
    return { clock, limit, server, order, finish: (name: string) => releases.get(name)!() }
  }

  test('lets requests wait in order of arrival, up to its bound', async () => {
    const { server, limit, order, finish } = queueing()
    const [a, b, c] = ['a', 'b', 'c'].map((name) => server.inject(`/${name}`))
    assert.equal((await server.inject('/d')).status, 503)
    assert.deepEqual([limit.inProgress, limit.waiting, order.join()], [1, 2, 'a'])
    finish('a')
    assert.equal((await a!).status, 200)
    await eventually(() => order.length === 2, 'the next one')
    finish('b')
    await b
    await eventually(() => order.length === 3, 'the last one')
    finish('c')
    await c
    assert.equal(order.join(), 'a,b,c')
    await isFree(limit)
    assert.equal(limit.waiting, 0)
  })

  test('refuses after queueTimeout, by the clock', async () => {
    const { server, limit, clock, order, finish } = queueing({ queueTimeout: '2s' })
    const first = server.inject('/a')
    const second = server.inject('/b')
    await eventually(() => limit.waiting === 1, 'the queue')
    await clock.advance(1_999)
    assert.equal(limit.waiting, 1)
    await clock.advance(1)
    assert.equal((await second).status, 503)
    assert.equal(limit.waiting, 0)
    finish('a')
    await first
    assert.equal(order.join(), 'a')
    assert.equal(clock.running, 0)
    await isFree(limit)
  })

  test('refuses those that have come together in several turns of the event loop', async (t) => {
    const ticks = new Set<() => void>()
    const every = (_: number, tick: () => void): (() => void) => {
      ticks.add(tick)
      return () => void ticks.delete(tick)
    }
    const { server, limit, finish } = queueing({ maxQueue: 1_000, clock: { now: () => 0, wallTime: () => 0, every } })
    const first = server.inject('/a')
    const turns = new Turns(t)
    server.observe({ end: () => turns.count() })
    const others = Promise.all(Array.from({ length: 1_000 }, () => server.inject('/b')))
    await eventually(() => limit.waiting === 1_000, 'the queue')
    for (const tick of ticks) tick()
    for (const { status } of await others) assert.equal(status, 503)
    assert.equal(turns.all, 1_000)
    assert.ok(turns.most <= 257, `${turns.most} in one turn`)
    finish('a')
    await first
    await isFree(limit)
  })

  test('a client that leaves makes room for the next, and holds no slot', async () => {
    const { server, limit, order, finish, clock } = queueing({ maxQueue: 1 })
    const first = server.inject('/a')
    const leaving = new AbortController()
    const second = server.inject({ url: '/b', signal: leaving.signal })
    await eventually(() => limit.waiting === 1, 'the queue')
    leaving.abort()
    await assert.rejects(second)
    await eventually(() => limit.waiting === 0, 'the room')
    const third = server.inject('/c')
    finish('a')
    await first
    await eventually(() => order.length === 2, 'the next one')
    finish('c')
    assert.equal((await third).status, 200)
    assert.equal(order.join(), 'a,c')
    await isFree(limit)
    assert.equal(clock.running, 0)
  })

  test('a request whose time is over leaves the queue', async (t) => {
    const alive = setInterval(() => {}, 1_000) // timers of the server keep no process alive
    t.after(() => clearInterval(alive))
    const limit = concurrencyLimit({ max: 1, maxQueue: 1, queueTimeout: '1h' })
    const server = new HttpServer({ logger: null })
    server.use(limit)
    const release = gate()
    server.mapGet('/', { requestTimeout: 30 }, () => assert.fail('the handler runs'))
    server.mapGet('/slow', () => release.promise.then(() => 'done'))
    const slow = server.inject('/slow')
    assert.equal((await server.inject('/')).status, 503)
    assert.equal(limit.waiting, 0)
    release.open()
    assert.equal((await slow).status, 200)
    await isFree(limit)
  })

  test('the body of a request that waits is not read', async (t) => {
    const limit = concurrencyLimit({ max: 1, maxQueue: 1 })
    const release = gate()
    const server = await serving(t, limit, {}, (made) => made.mapPost('/', { body: 'stream' }, () => release.promise.then(() => 'done')))
    const send = () => connect(server)
    const first = (await send()).post('/', { body: 'a' })
    await eventually(() => limit.inProgress === 1, 'the first')
    const second = (await send()).post('/', { body: 'b', headers: { Expect: '100-continue' } })
    await eventually(() => limit.waiting === 1, 'the second')
    release.open()
    assert.deepEqual([(await first).status, (await second).status], [200, 200])
  })
})

test('wrong options are refused by name', () => {
  for (const [options, message] of [
    [{}, /max is/],
    [{ max: 0 }, /max is 0/],
    [{ max: 1, maxQueue: -1 }, /maxQueue is -1/],
    [{ max: 1, queueTimeout: '0s' }, /queueTimeout is the string "0s"/],
    [{ max: 1, key: 'ip' }, /key is the string "ip"/],
    [{ max: 1, name: '"' }, /name is/],
    [{ max: 1, limit: 1 }, /there is no option "limit"/],
  ] as const)
    assert.throws(() => concurrencyLimit(options as unknown as ConcurrencyLimitOptions), { code: 'WEIR_OPTION_INVALID', message })
})
