// Which requests `rateLimit` refuses, and what clients are told, by a clock that stands still.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpError, HttpServer, type HttpSession, RetryLaterError } from '../../../src/index.ts'
import { memoryStore, type RateLimit, type RateLimitOptions, rateLimit } from '../../../src/modules/limits/index.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { gate } from '../../support/serving.ts'
import { TRANSPORTS } from '../../support/transports.ts'

const peer = (address: string): { peer: { address: string } } => ({ peer: { address } })

interface Limited {
  readonly server: HttpServer
  readonly clock: TestClock
  readonly limit: RateLimit
  get(path?: string, address?: string): Promise<Awaited<ReturnType<HttpServer['inject']>>>
  statuses(count: number, address?: string): Promise<number[]>
}

function serverWith(options: Partial<RateLimitOptions> = {}): Limited {
  const clock = new TestClock()
  const server = new HttpServer({ logger: null })
  const limit = rateLimit({ quota: 3, window: '1m', clock, ...options })
  server.use(limit)
  server.mapGet('/', () => 'done')
  const get = (path = '/', address = '192.0.2.1') => server.inject({ url: path, ...peer(address) })
  return {
    server,
    clock,
    limit,
    get,
    async statuses(count, address) {
      const all: number[] = []
      for (let i = 0; i < count; i++) all.push((await get('/', address)).status)
      return all
    },
  }
}

test('a client gets its quota, and then one request in each part of the window', async () => {
  const { clock, statuses } = serverWith()
  assert.deepEqual(await statuses(4), [200, 200, 200, 429])
  await clock.advance(19_999)
  assert.deepEqual(await statuses(1), [429])
  await clock.advance(1)
  assert.deepEqual(await statuses(2), [200, 429])
  await clock.advance(60_000)
  assert.deepEqual(await statuses(4), [200, 200, 200, 429])
})

test('burst is how many come at once', async () => {
  const { clock, statuses } = serverWith({ quota: 60, window: '1m', burst: 2 })
  assert.deepEqual(await statuses(3), [200, 200, 429])
  await clock.advance(1_000)
  assert.deepEqual(await statuses(2), [200, 429])
})

test('a refusal is a problem document with Retry-After and the RateLimit fields of the draft', async () => {
  const { clock, get } = serverWith({ name: 'api' })
  const first = await get()
  assert.equal(first.headers.get('ratelimit-policy'), '"api";q=3;w=60')
  assert.equal(first.headers.get('ratelimit'), '"api";r=2;t=20')
  assert.equal(first.headers.get('retry-after'), null)
  await get()
  await get()
  await clock.advance(1_500)
  const refused = await get()
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('content-type'), 'application/problem+json')
  assert.equal(refused.headers.get('ratelimit-policy'), '"api";q=3;w=60')
  assert.equal(refused.headers.get('ratelimit'), '"api";r=0;t=59')
  assert.equal(refused.headers.get('retry-after'), '19')
  assert.deepEqual(refused.json(), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: 'the quota is used up: "api" allows 3 in 60000 ms',
    code: 'WEIR_QUOTA_EXCEEDED',
    'violated-policies': ['api'],
  })
})

test('a window that is not whole seconds has no w', async () => {
  const { get } = serverWith({ quota: 5, window: '250ms' })
  assert.equal((await get()).headers.get('ratelimit-policy'), '"default";q=5')
})

test('fields are on every response: errors, responses of a handler, and those without a route', async () => {
  const { server, get } = serverWith({ quota: 100, window: '1m' })
  server.mapGet('/fails', () => {
    throw new HttpError(418, 'short and stout')
  })
  server.mapGet('/own', (_, { response }) => response.status(201).text('made'))
  for (const [path, status] of [
    ['/fails', 418],
    ['/own', 201],
    ['/nowhere', 404],
  ] as const) {
    const response = await get(path)
    assert.equal(response.status, status)
    assert.match(String(response.headers.get('ratelimit')), /^"default";r=\d+;t=\d+$/, path)
  }
})

for (const transport of TRANSPORTS)
  test(`a refusal does not wait for the body (${transport.title})`, async (t) => {
    const server = new HttpServer({ logger: null, ...transport.options })
    server.use(rateLimit({ quota: 1, window: '1h' }))
    server.mapPost('/upload', { body: 'stream' }, () => 'received')
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const line = await transport.connect(server.port)
    t.after(() => line.leave())
    assert.equal((await line.ask({ method: 'POST', path: '/upload' })).status, 200)
    const refused = await line.ask({ method: 'POST', path: '/upload', body: Buffer.alloc(1000) })
    assert.equal(refused.status, 429)
    assert.equal(refused.fields['ratelimit'], '"default";r=0;t=3600')
    if (line.raw === null) return
    line.raw.send('POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n')
    assert.equal((await line.raw.message()).status, 429) // and not 100, and none of the body was sent
  })

describe('keys', () => {
  test('addresses have separate quotas; those of one IPv6 network share one, and an IPv4-mapped one is IPv4', async () => {
    const { get, statuses } = serverWith({ quota: 2, window: '1h' })
    assert.deepEqual(await statuses(3, '192.0.2.1'), [200, 200, 429])
    assert.deepEqual(await statuses(1, '::ffff:192.0.2.1'), [429])
    assert.deepEqual(await statuses(1, '192.0.2.2'), [200])
    for (const [address, status] of [
      ['2001:db8:1:2::1', 200],
      ['2001:db8:1:2:ffff::', 200],
      ['2001:db8:1:2:1234:5678:9abc:def0', 429],
      ['2001:db8:1:3::1', 200],
    ] as const)
      assert.equal((await get('/', address)).status, status, address)
  })

  test('behind a trusted proxy, the key is the address that it states, and no client can choose another one', async () => {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'] } })
    server.use(rateLimit({ quota: 1, window: '1h', clock }))
    server.mapGet('/', () => 'done')
    const from = async (address: string, forwarded: string): Promise<number> =>
      (await server.inject({ url: '/', headers: { 'X-Forwarded-For': forwarded }, peer: { address } })).status
    assert.equal(await from('10.0.0.1', '192.0.2.1'), 200)
    assert.equal(await from('10.0.0.2', '192.0.2.1'), 429)
    assert.equal(await from('10.0.0.1', '192.0.2.2'), 200)
    assert.equal(await from('192.0.2.9', '192.0.2.3'), 200) // not trusted: the field is not read
    assert.equal(await from('192.0.2.9', '192.0.2.4'), 429)
  })

  test('a principal is known by its id, and others by their address', async () => {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null })
    server.gate((session) => {
      const user = session.request.header('x-user')
      if (user !== null) session.principal = user === 'number' ? { id: 7 } : { id: user }
    })
    server.use(rateLimit({ quota: 1, window: '1h', key: 'principal', clock }))
    server.mapGet('/', () => 'done')
    const as = async (user: string | null, address: string): Promise<number> =>
      (await server.inject({ url: '/', headers: user === null ? {} : { 'X-User': user }, ...peer(address) })).status
    assert.equal(await as('ann', '192.0.2.1'), 200)
    assert.equal(await as('ann', '192.0.2.2'), 429)
    assert.equal(await as('bob', '192.0.2.1'), 200)
    assert.equal(await as(null, '192.0.2.1'), 200)
    assert.equal(await as(null, '192.0.2.1'), 429)
    assert.equal(await as('192.0.2.1', '192.0.2.1'), 200) // a name cannot be mistaken for an address
    assert.equal(await as('number', '192.0.2.1'), 200)
    assert.equal(await as('number', '192.0.2.1'), 429)
  })

  test('the same id of two schemes is two principals', async () => {
    const server = new HttpServer({ logger: null })
    server.gate((session) => {
      session.principal = JSON.parse(session.request.header('x-user')!) as object
    })
    server.use(rateLimit({ quota: 1, window: '1h', key: 'principal', clock: new TestClock() }))
    server.mapGet('/', () => 'done')
    const as = async (scheme: string, id: string | number): Promise<number> =>
      (await server.inject({ url: '/', headers: { 'X-User': JSON.stringify({ scheme, id }) } })).status
    assert.deepEqual([await as('staff', '7'), await as('staff', '7')], [200, 429])
    assert.deepEqual([await as('customers', '7'), await as('customers', '7')], [200, 429])
    assert.deepEqual([await as('a', 'b c'), await as('a b', 'c')], [200, 200])
    assert.deepEqual([await as('a', 1), await as('a', '1')], [200, 200])
  })

  test('a function decides, and null means no limit', async () => {
    const { server } = serverWith({ quota: 1, window: '1h', key: ({ request }) => request.header('x-tenant') })
    const as = async (tenant: string | null): Promise<number> =>
      (await server.inject({ url: '/', headers: tenant === null ? {} : { 'X-Tenant': tenant } })).status
    assert.deepEqual([await as('a'), await as('a'), await as('b')], [200, 429, 200])
    assert.deepEqual([await as(null), await as(null)], [200, 200])
    const long = 'x'.repeat(20_000)
    assert.deepEqual([await as(long), await as(long), await as(`${long}y`)], [200, 429, 200])
  })

  test('a key that is not a string is a mistake of the program, and limits nobody in silence', async () => {
    const logged: unknown[] = []
    const server = new HttpServer({ logger: { error: (_message, error) => logged.push(error) } })
    server.use(rateLimit({ quota: 1, window: '1h', key: (() => undefined) as unknown as () => string }))
    server.mapGet('/', () => 'done')
    assert.equal((await server.inject('/')).status, 500)
    assert.match(String(logged[0]), /rateLimit: a key is undefined, not a string: return null for no limit/)
  })
})

describe('several limits', () => {
  test('add up on a route under different names; the inner one of two with one name counts', async () => {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null })
    server.use(rateLimit({ name: 'minute', quota: 10, window: '1m', clock }))
    server.use(rateLimit({ name: 'second', quota: 1, window: '1s', clock }))
    server.mapGet('/', () => 'done')
    server.mapGet('/more', { use: [rateLimit({ name: 'second', quota: 5, window: '1s', clock })] }, () => 'more')
    const first = await server.inject('/')
    assert.equal(first.headers.get('ratelimit'), '"minute";r=9;t=6, "second";r=0;t=1')
    assert.equal(first.headers.get('ratelimit-policy'), '"minute";q=10;w=60, "second";q=1;w=1')
    assert.equal((await server.inject('/')).status, 429)
    for (let i = 0; i < 5; i++) assert.equal((await server.inject('/more')).status, 200)
    const refused = await server.inject('/more')
    assert.deepEqual((refused.json() as Record<string, unknown>)['violated-policies'], ['second'])
  })

  test('a request that an inner limit refuses takes nothing from an outer one', async () => {
    const clock = new TestClock()
    const server = new HttpServer({ logger: null })
    server.use(rateLimit({ name: 'outer', quota: 5, window: '1h', clock }))
    server.mapGet('/', { use: [rateLimit({ name: 'inner', quota: 1, window: '1h', clock })] }, () => 'done')
    server.mapGet('/other', () => 'done')
    assert.equal((await server.inject('/')).status, 200)
    for (let i = 0; i < 20; i++) assert.equal((await server.inject('/')).status, 429)
    for (let i = 0; i < 4; i++) assert.equal((await server.inject('/other')).status, 200)
    assert.equal((await server.inject('/other')).status, 429)
  })

  test('one limit on several routes is one quota', async () => {
    const server = new HttpServer({ logger: null })
    const shared = rateLimit({ quota: 2, window: '1h', clock: new TestClock() })
    server.mapGet('/a', { use: [shared] }, () => 'a')
    server.mapGet('/b', { use: [shared] }, () => 'b')
    assert.deepEqual(
      [(await server.inject('/a')).status, (await server.inject('/b')).status, (await server.inject('/a')).status],
      [200, 200, 429],
    )
  })

  test('a policy with the name of a limit removes it', async () => {
    const { server } = serverWith({ quota: 1, window: '1h' })
    server.mapGet('/free', { use: [{ name: 'rateLimit:default' }] }, () => 'free')
    for (let i = 0; i < 3; i++) assert.equal((await server.inject('/free')).status, 200)
  })
})

describe('costs', () => {
  test('a request takes as many units as it costs, or none', async () => {
    const { server, limit } = serverWith({ quota: 10, window: '1h', cost: ({ request }) => Number(request.query.get('cost') ?? 1) })
    const taking = async (cost: number): Promise<number> => (await server.inject(`/?cost=${cost}`)).status
    assert.deepEqual([await taking(7), await taking(4), await taking(3), await taking(0), await taking(1)], [200, 429, 200, 200, 429])
    await limit.refund('', 0)
  })

  test('a cost above burst is refused without Retry-After: it would never be accepted', async () => {
    const { server } = serverWith({ quota: 10, window: '1h', cost: () => 11 })
    const refused = await server.inject('/')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), null)
  })

  test('a cost that is not a whole number is a mistake of the program', async () => {
    for (const cost of [-1, 0.5, Number.NaN]) {
      const { server } = serverWith({ cost: () => cost })
      assert.equal((await server.inject('/')).status, 500)
    }
  })
})

describe('outside of requests', () => {
  test('take counts anything by any key', async () => {
    const { limit, clock } = serverWith()
    assert.deepEqual(await limit.take('socket 1'), { isAllowed: true, remaining: 2, retryAfterMs: 0, resetMs: 20_000 })
    assert.deepEqual(await limit.take('socket 1', 2), { isAllowed: true, remaining: 0, retryAfterMs: 0, resetMs: 60_000 })
    assert.deepEqual(await limit.take('socket 1'), { isAllowed: false, remaining: 0, retryAfterMs: 20_000, resetMs: 60_000 })
    assert.equal((await limit.take('socket 2')).isAllowed, true)
    await limit.refund('socket 1', 1)
    assert.equal((await limit.take('socket 1')).isAllowed, true)
    await limit.refund('socket 1', 1_000)
    await clock.advance(1)
    for (let i = 0; i < 3; i++) assert.equal((await limit.take('socket 1')).isAllowed, true)
    assert.equal((await limit.take('socket 1')).isAllowed, false) // never more than burst
  })

  test('an enforce that nothing waits for ends no process, and is named once', async () => {
    const limit = rateLimit({ name: 'login', quota: 1, window: '1h' })
    const warned: string[] = []
    const listen = ({ message }: Error): void => void warned.push(message)
    process.on('warning', listen)
    const turns = async (): Promise<void> => {
      for (let i = 0; i < 4; i++) await new Promise(setImmediate)
    }
    for (let i = 0; i < 3; i++) {
      await limit.enforce('known').catch(() => {}) // handled, so there is nothing to say
      await assert.rejects(Promise.all([rateLimit({ quota: 1, window: '1h', cost: 1 }).enforce('a', 2)]))
    }
    await turns()
    assert.deepEqual(warned, [])
    for (let i = 0; i < 3; i++) void limit.enforce('ann')
    await turns()
    process.off('warning', listen)
    assert.deepEqual(warned, [
      'weir: rateLimit:login: enforce() refused a key, and the handler went on, because nothing waited for it: write "await limit.enforce(key)"',
    ])
  })

  test('enforce rejects with the error that answers 429 and states Retry-After', async () => {
    const { server, limit } = serverWith({ quota: 1, window: '1h' })
    await limit.enforce('ann')
    await assert.rejects(limit.enforce('ann'), (error: RetryLaterError) => {
      assert.ok(error instanceof RetryLaterError)
      assert.equal(error.retryAfterMs, 3_600_000)
      return error.code === 'WEIR_QUOTA_EXCEEDED'
    })
    const free = new HttpServer({ logger: null })
    free.mapGet('/', () => limit.enforce('ann'))
    const refused = await free.inject('/')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '3600')
    assert.equal((await server.inject('/')).status, 200) // another key
  })

  test('a request can be given back once, and its fields say so', async () => {
    const { server, limit, clock } = serverWith({ quota: 2, window: '1h' })
    server.mapGet('/refunded', async (_, session: HttpSession) => {
      await limit.refund(session)
      await limit.refund(session)
      return 'back'
    })
    assert.equal((await server.inject('/')).status, 200)
    const refunded = await server.inject('/refunded')
    assert.match(String(refunded.headers.get('ratelimit')), /r=1;/)
    assert.equal((await server.inject('/')).status, 200)
    assert.equal((await server.inject('/')).status, 429)
    await clock.advance(1)
    await limit.refund({ bag: { get: () => undefined } } as unknown as HttpSession) // a session that took nothing
    assert.equal((await server.inject('/')).status, 429)
  })
})

describe('a request that is given back late', () => {
  const TIMES = [0, 1, 60_000, 900_000, 1_799_999, 1_800_000, 3_600_000, 7_200_000]
  const burstOf = { usual: 4, small: 2, large: 9 }
  for (const [kind, burst] of Object.entries(burstOf))
    for (const cost of [1, 2])
      for (const heldMs of TIMES)
        test(`gets its units once: burst ${kind}, cost ${cost}, after ${heldMs} ms`, async () => {
          const { server, limit, clock, statuses } = serverWith({
            quota: 4,
            window: '1h',
            burst,
            cost: ({ request }) => (request.path === '/' ? 1 : cost),
          })
          const held = gate()
          let isHeld = false
          server.mapGet('/held', async (_, session: HttpSession) => {
            isHeld = true
            await held.promise
            await limit.refund(session)
            return 'back'
          })
          const response = server.inject({ url: '/held', ...peer('192.0.2.1') })
          while (!isHeld) await new Promise(setImmediate)
          await clock.advance(heldMs)
          const allowed = async () => (await statuses(2 * burst + 2)).filter((status) => status === 200).length
          const before = await allowed()
          held.open()
          assert.equal((await response).status, 200)
          // As if it had never taken anything.
          assert.equal(before + (await allowed()), burst)
        })
})

describe('failed logins', () => {
  interface Login {
    login(user: string, password: string, address: string): Promise<number>
    readonly clock: TestClock
  }

  /** Takes before the password is checked, so that logins at the same time cannot exceed the quota; gives back after a success. */
  function loginServer(): Login {
    const clock = new TestClock()
    const byAddress = rateLimit({ name: 'login-address', quota: 10, window: '15m', clock })
    const byAccount = rateLimit({ name: 'login-account', quota: 3, window: '15m', clock })
    const server = new HttpServer({ logger: null })
    server.mapPost('/login', { use: [byAddress] }, async (_, session) => {
      const { user, password } = session.request.bodyJson() as { user: string; password: string }
      await byAccount.enforce(user)
      await new Promise((resolve) => setImmediate(resolve)) // the check takes time
      if (password !== 'secret') throw new HttpError(401, 'wrong user or password')
      await Promise.all([byAddress.refund(session), byAccount.refund(user)])
      return 'welcome'
    })
    return {
      clock,
      login: async (user, password, address) => {
        const body = JSON.stringify({ user, password })
        const headers = { 'Content-Type': 'application/json' }
        return (await server.inject({ method: 'POST', url: '/login', headers, body, ...peer(address) })).status
      },
    }
  }

  test('only failed ones count, for the account and for the address', async () => {
    const { login, clock } = loginServer()
    for (let i = 0; i < 50; i++) assert.equal(await login('ann', 'secret', '192.0.2.1'), 200)
    for (let i = 0; i < 3; i++) assert.equal(await login('ann', 'guess', `198.51.100.${i}`), 401)
    assert.equal(await login('ann', 'guess', '198.51.100.9'), 429) // the account, from any address
    assert.equal(await login('bob', 'secret', '198.51.100.9'), 200)
    await clock.advance(300_000)
    assert.equal(await login('ann', 'secret', '192.0.2.1'), 200)

    for (let i = 0; i < 10; i++) assert.equal(await login(`user ${i}`, 'guess', '203.0.113.1'), 401)
    assert.equal(await login('user 99', 'guess', '203.0.113.1'), 429) // the address, with any account
  })

  test('guesses at the same time do not exceed the quota', async () => {
    const { login } = loginServer()
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, i) => login('ann', 'guess', `198.51.100.${i}`)))
    assert.equal(statuses.filter((status) => status === 401).length, 3)
    assert.equal(statuses.filter((status) => status === 429).length, 37)
  })
})

test('refusals are not logged, and observers are told that they were refused', async () => {
  const logged: unknown[] = []
  const records: string[] = []
  const server = new HttpServer({ logger: { error: (message) => logged.push(message) } })
  server.observe({ end: ({ status, outcome, code }) => records.push(`${status} ${outcome} ${code}`) })
  server.use(rateLimit({ quota: 1, window: '1h' }))
  server.mapGet('/', () => 'done')
  await server.inject('/')
  await server.inject('/')
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(records, ['200 completed null', '429 refused WEIR_QUOTA_EXCEEDED'])
  assert.deepEqual(logged, [])
})

test('wrong options are refused by name', () => {
  const wrong: readonly [Record<string, unknown>, RegExp][] = [
    [{ window: '1m' }, /quota is undefined|quota is an? /],
    [{ quota: 0, window: '1m' }, /quota is 0, not a whole number of at least 1/],
    [{ quota: 1.5, window: '1m' }, /quota is 1.5/],
    [{ quota: 1 }, /window is undefined/],
    [{ quota: 1, window: '1 minute' }, /window is the string "1 minute"/],
    [{ quota: 1, window: '1m', burst: 0 }, /burst is 0/],
    [{ quota: 1, window: '1m', cost: 2 }, /cost is 2 and burst 1: every request would be refused/],
    [{ quota: 1, window: '1m', cost: '1' }, /cost is the string "1", not a whole number of at least 0 or a function/],
    [{ quota: 1, window: '1m', key: 'ip' }, /key is the string "ip"/],
    [{ quota: 1, window: '1m', name: 'a b' }, /name is the string "a b"/],
    [{ quota: 1, window: '1m', name: '' }, /name is the string ""/],
    [{ quota: 1, window: '1m', whenStoreFails: 'open' }, /whenStoreFails is the string "open"/],
    [{ quota: 1, window: '1m', store: {} }, /store is an object/],
    [{ quota: 1, window: '1m', processes: 2 }, /processes needs store$/],
    [{ quota: 1, window: '1m', processes: 0, store: memoryStore() }, /processes is 0, not a whole number of at least 1/],
    [{ quota: 1, window: '1m', max: 1 }, /there is no option "max"/],
    [{ quota: 2 ** 52, window: '1m' }, /too large together/],
  ]
  for (const [options, message] of wrong)
    assert.throws(
      () => rateLimit(options as unknown as RateLimitOptions),
      { code: 'WEIR_OPTION_INVALID', message },
      JSON.stringify(options),
    )
})
