// Orders and renewals against a CA of the test, on a clock that the test moves.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'

import { HttpServer } from 'weirjs'
import { health } from 'weirjs/health'
import type { Clock } from 'weirjs/kit'
import { TestClock } from 'weirjs/testing'

import { type Acme, type AcmeOptions, acme } from '../src/index.ts'
import { MemoryStore } from './memory-store.ts'
import { type Step, StubCa } from './stub-ca.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const DOMAINS = ['example.org', 'www.example.org']
/** More turns of the event loop than an order has steps. */
const TURNS = 150

interface World {
  readonly clock: TestClock
  readonly ca: StubCa
  readonly store: MemoryStore
}

interface Process {
  readonly certificates: Acme
  readonly server: HttpServer
  readonly logged: string[]
}

function newWorld(): World {
  const clock = new TestClock()
  return { clock, ca: new StubCa(clock), store: new MemoryStore() }
}

/** A process of its own: with another clock, it is one that stands still. */
async function start(t: TestContext, { ca, store, clock }: World, options: Partial<AcmeOptions> = {}): Promise<Process> {
  const logged: string[] = []
  const note = (message: string): void => void logged.push(message)
  const certificates = await acme({
    domains: DOMAINS,
    store: store.for(clock),
    directory: ca.directory,
    fetch: ca.fetch,
    clock,
    ...options,
  })
  const server = new HttpServer({
    logger: { error: note, warn: note, info: note },
    hosts: 'any',
    listen: [{ port: 0 }, { port: 0, tls: certificates.tls }],
  })
  server.use(certificates)
  server.mapGet('/', () => 'home')
  ca.visit = async (host, path) => {
    const response = await server.inject({ url: path, headers: { host } })
    return response.status === 200 ? response.text() : null
  }
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  await turns()
  return { certificates, server, logged }
}

async function turns(count = TURNS): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** Moves the clock in steps, and lets everything happen that is due. */
async function pass(clock: TestClock, ms: number, step: number, look: () => void = () => {}, count = 20): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await clock.advance(step)
    await turns(count)
    look()
  }
}

test('a certificate is obtained, and renewed at two thirds of its life, for three years', async (t) => {
  const world = newWorld()
  const { certificates } = await start(t, world)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  assert.equal(world.ca.issued.length, 1)
  await pass(world.clock, 3 * 365 * DAY_MS, 6 * HOUR_MS, () => assert.ok(certificates.status()[0]!.daysLeft! > 29))
  assert.equal(world.ca.issued.length, 1 + Math.floor((3 * 365) / 60))
  assert.equal(certificates.status()[0]!.failures, 0)
  assert.equal(world.ca.count('newAccount'), 1)
})

test('certificates of six days and of one hour are renewed in time, too', async (t) => {
  for (const lifeMs of [6 * DAY_MS, HOUR_MS]) {
    const world = newWorld()
    world.ca.lifeMs = lifeMs
    const { certificates } = await start(t, world)
    await pass(world.clock, MINUTE_MS, SECOND_MS)
    await pass(world.clock, 4 * lifeMs, lifeMs / 100, () => assert.ok(certificates.status()[0]!.daysLeft! * DAY_MS > lifeMs / 4))
    assert.ok(world.ca.issued.length >= 6, `${world.ca.issued.length}`)
  }
})

test('the moment of a renewal is in the window that the CA suggests, the same for all processes', async (t) => {
  const world = newWorld()
  world.ca.window = (notBefore) => [notBefore + 20 * DAY_MS, notBefore + 30 * DAY_MS]
  const first = await start(t, world)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  const second = await start(t, world)
  const { renewal } = first.certificates.status()[0]!
  assert.deepEqual(second.certificates.status()[0]!.renewal, renewal)
  const begin = Date.parse(new X509Certificate(world.ca.issued[0]!).validFrom)
  assert.ok(renewal!.getTime() > begin + 20 * DAY_MS && renewal!.getTime() < begin + 30 * DAY_MS)
  await pass(world.clock, 31 * DAY_MS, HOUR_MS)
  assert.equal(world.ca.issued.length, 2, 'one order for both')
  assert.deepEqual(first.certificates.status()[0]!.notAfter, second.certificates.status()[0]!.notAfter)
  assert.match(String(world.ca.calls.filter(({ step }) => step === 'newOrder')[1]!.payload!['replaces']), /^[\w-]+\.AI[\w-]+$/)
})

test('a window that moves into the past, as after a revocation, renews within a day', async (t) => {
  const world = newWorld()
  world.ca.window = (notBefore) => [notBefore + 60 * DAY_MS, notBefore + 61 * DAY_MS]
  await start(t, world)
  await pass(world.clock, DAY_MS, HOUR_MS)
  assert.equal(world.ca.issued.length, 1)
  const revoked = world.clock.wallTime() - HOUR_MS
  world.ca.window = (notBefore, notAfter) => (notBefore < revoked ? [0, 1] : [notAfter - 2, notAfter - 1])
  await pass(world.clock, DAY_MS, HOUR_MS)
  assert.equal(world.ca.issued.length, 2)
})

test('the page on which the CA explains a window is in the log, once', async (t) => {
  const world = newWorld()
  world.ca.window = (notBefore) => [notBefore + 60 * DAY_MS, notBefore + 61 * DAY_MS]
  const { logged } = await start(t, world)
  await pass(world.clock, DAY_MS, HOUR_MS)
  world.ca.explanation = 'https://ca.test/incident\n7'
  await pass(world.clock, 2 * DAY_MS, HOUR_MS)
  const lines = logged.filter((line) => line.includes('explains'))
  const line = 'weir: the CA explains when the certificate of example.org, www.example.org is to be renewed: https://ca.test/incident 7'
  assert.deepEqual(lines, [line])
})

test('a window that begins after the end of the certificate does not keep it from being renewed', async (t) => {
  for (const window of [
    [100, 200],
    [-10, 4_000],
  ] as const) {
    const world = newWorld()
    world.ca.window = (_, notAfter) => [notAfter + window[0] * DAY_MS, notAfter + window[1] * DAY_MS]
    const { certificates } = await start(t, world)
    await pass(world.clock, MINUTE_MS, SECOND_MS)
    const { renewal, notAfter } = certificates.status()[0]!
    assert.ok(renewal! < notAfter!, `${renewal}`)
  }
})

test('renewal information is not asked for before the Retry-After of a refusal', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  ca.window = (notBefore) => [notBefore + 60 * DAY_MS, notBefore + 61 * DAY_MS]
  let asked = 0
  ca.intercept = (step, answer) => {
    if (step !== 'renewalInfo') return answer()
    asked++
    return Promise.resolve(ca.refuse(429, 'rateLimited', { 'retry-after': '72000' }))
  }
  await start(t, world)
  await pass(clock, 19 * HOUR_MS, 10 * MINUTE_MS)
  assert.equal(asked, 1)
  await pass(clock, 2 * HOUR_MS, 10 * MINUTE_MS)
  assert.equal(asked, 2)
})

test('a CA that has lost its accounts, or that moves, is no reason to start again', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  await start(t, world)
  await pass(clock, DAY_MS, HOUR_MS)
  ca.forgetAccounts()
  const before = ca.count('directory')
  await pass(clock, 61 * DAY_MS, 6 * HOUR_MS)
  assert.deepEqual([ca.issued.length, ca.count('newAccount')], [2, 2])
  assert.ok(ca.count('directory') > before, 'the directory is read again')
})

test('a renewal that the CA does not take as the replacement of the old certificate is ordered as a new one', async (t) => {
  for (const [status, type] of [
    [409, 'alreadyReplaced'],
    [404, 'malformed'],
    [403, 'unauthorized'],
  ] as const) {
    const world = newWorld()
    const { ca, clock } = world
    ca.window = (notBefore) => [notBefore + 60 * DAY_MS, notBefore + 61 * DAY_MS]
    const { certificates } = await start(t, world)
    await pass(clock, MINUTE_MS, SECOND_MS)
    ca.refusesReplacements = [status, type]
    await pass(clock, 62 * DAY_MS, 6 * HOUR_MS)
    assert.deepEqual([ca.issued.length, certificates.status()[0]!.failures], [2, 0], type)
  }
})

test('a CA that was told to check by a process that was killed is not asked to check again', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  ca.intercept = async (step, answer) => {
    if (step !== 'challenge') return answer()
    await answer() // to that process
    return ca.refuse(400, 'malformed', {})
  }
  const { certificates } = await start(t, world)
  await pass(clock, MINUTE_MS, SECOND_MS)
  assert.deepEqual([certificates.status()[0]!.lastError, ca.count('newOrder'), ca.issued.length], [null, 1, 1])
})

test('a CA that refuses to check is not taken for one that has checked', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  ca.intercept = (step, answer) => (step === 'challenge' ? Promise.resolve(ca.refuse(400, 'malformed', {})) : answer())
  const { certificates } = await start(t, world)
  await pass(clock, MINUTE_MS, SECOND_MS)
  assert.match(certificates.status()[0]!.lastError!, /400 malformed/)
})

test('an order that the CA wants to be asked about in two days goes on then, and not before', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  ca.slowness = 1
  const polled: number[] = []
  ca.intercept = async (step, answer) => {
    const response = await answer()
    if (step !== 'order' || !/"processing"/.test(await response.clone().text())) return response
    polled.push(clock.wallTime())
    response.headers.set('retry-after', String(2 * 86_400))
    return response
  }
  const { certificates } = await start(t, world)
  await pass(clock, 5 * MINUTE_MS, SECOND_MS)
  await pass(clock, 47 * HOUR_MS, 10 * MINUTE_MS)
  assert.equal(polled.length, 1)
  assert.match(certificates.status()[0]!.lastError!, /^ca\.test is not done yet$/)
  await pass(clock, 2 * HOUR_MS, 10 * MINUTE_MS)
  assert.deepEqual([polled.length, ca.issued.length, ca.count('newOrder')], [1, 1, 1])
  assert.ok(certificates.status()[0]!.daysLeft! > 80)
})

test('whatever the store has in place of an order that was begun, another one is made', async (t) => {
  for (const text of ['', 'null', '{}', '{"order":"https://ca.test/order/1","wanted":7,"key":"none","begun":0}', '[', '"x"']) {
    const world = newWorld()
    const name = 'ca.test-example.org.pem.order'
    await world.store.for(world.clock).set(name, text)
    const { certificates } = await start(t, world)
    await pass(world.clock, MINUTE_MS, SECOND_MS)
    assert.deepEqual([world.ca.issued.length, certificates.status()[0]!.failures], [1, 0], text)
  }
})

for (const [what, of, twist] of [
  ['says a state that is none', 'order', (text: string) => text.replace('"ready"', '"done"')],
  ['does not say where the certificate is', 'order', (text: string) => text.replace(/,"certificate":"[^"]*"/, '')],
  ['does not have the certificate that it names', 'certificate', () => ''],
] as const)
  test(`a CA that ${what} gets another order, long before a certificate of six days is over`, async (t) => {
    const world = newWorld()
    const { ca, clock } = world
    ca.lifeMs = 6 * DAY_MS
    const { certificates } = await start(t, world)
    await pass(clock, MINUTE_MS, SECOND_MS)
    let orders = 0
    ca.intercept = async (step, answer) => {
      const response = await answer()
      if (step === 'newOrder') orders++
      if (orders > 1 || (step !== of && !(step === 'finalize' && of === 'order'))) return response
      const text = twist(await response.text())
      return text === '' ? ca.refuse(404, 'malformed', {}) : new Response(text, response)
    }
    await pass(clock, 6 * DAY_MS, 10 * MINUTE_MS, () => assert.ok(certificates.status()[0]!.daysLeft! > 0))
    assert.ok(orders > 1, `${orders}`)
    assert.ok(certificates.status()[0]!.failures > 0)
  })

test('what a CA says is one short line in logs and in the status, whatever it is', async (t) => {
  const long = JSON.stringify(`two\nlines \u001b[31m${'x'.repeat(5_000)}`).slice(1, -1)
  for (const [of, twist] of [
    ['newOrder', (text: string) => text.replace('"pending"', `"${long}"`)],
    ['newOrder', (text: string) => text.replace(/"finalize":"[^"]*"/, `"finalize":"http://${long}"`).replace('"pending"', '"ready"')],
    ['authorization', (text: string) => text.replace('"http-01"', `"${long}"`)],
    ['authorization', (text: string) => text.replace(/"status":"pending"/g, '"status":"invalid"').replace('example.org', long)],
    ['directory', (text: string) => text.replace('newNonce', 'oldNonce').replace('{}', `"${long}"`)],
  ] as const) {
    const world = newWorld()
    const { ca, clock } = world
    ca.intercept = async (step, answer) => {
      const response = await answer()
      return step === of ? new Response(twist(await response.text()), response) : response
    }
    const { certificates, logged } = await start(t, world)
    await pass(clock, 5 * SECOND_MS, SECOND_MS)
    const { lastError } = certificates.status()[0]!
    for (const text of [lastError!, ...logged]) {
      assert.doesNotMatch(text, /[\x00-\x1f]/, of)
      assert.ok(text.length < 1_500, `${of}: ${text.length}`)
    }
  }
})

test('bad nonces and slow validation only delay; the CA is asked as seldom as it wishes', async (t) => {
  const world = newWorld()
  Object.assign(world.ca, { badNonces: 5, slowness: 4, retryAfter: '7' })
  await start(t, world)
  await pass(world.clock, 5 * MINUTE_MS, SECOND_MS)
  assert.equal(world.ca.issued.length, 1)
  for (const step of ['authorization', 'order'] as const) {
    const polls = world.ca.calls.filter((call) => call.step === step).map(({ at }) => at)
    const gaps = polls.map((at, i) => at - (polls[i - 1] ?? 0)).filter((gap) => gap > 0)
    assert.ok(
      gaps.every((gap) => gap >= 7 * SECOND_MS),
      `${step}: ${gaps.join(' ')}`,
    )
  }
})

test('after a rate limit, no request before its Retry-After; after other failures, ever longer waits', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  let limit: string | null = '86400'
  ca.intercept = (step, answer) =>
    step === 'newOrder'
      ? Promise.resolve(ca.refuse(limit === null ? 500 : 429, 'rateLimited', limit === null ? {} : { 'retry-after': limit }))
      : answer()
  let tried = 0
  const original = ca.intercept
  ca.intercept = (step, answer) => {
    if (step === 'newOrder') tried++
    return original(step, answer)
  }
  const { certificates, logged } = await start(t, world)
  await pass(clock, 23 * HOUR_MS, 10 * MINUTE_MS)
  assert.equal(tried, 1)
  assert.match(
    logged.join('\n'),
    /could not be obtained, there is none yet; next attempt 2024-01-02T00:00:0\dZ: ca\.test responded with 429 rateLimited: it is rateLimited/,
  )
  assert.throws(() => certificates.check(new AbortController().signal), /no certificate for example\.org yet: ca\.test responded with 429/)
  limit = null
  await pass(clock, 10 * DAY_MS, 10 * MINUTE_MS)
  assert.ok(tried > 15 && tried < 45, `${tried} attempts in ten days`)
  ca.intercept = (_, answer) => answer()
  await pass(clock, DAY_MS, 10 * MINUTE_MS)
  assert.equal(ca.issued.length, 1)
  certificates.check(new AbortController().signal)
})

test('while the CA is away, the stored certificate serves, with a line in the log, metrics, and a check that fails near the end', async (t) => {
  const world = newWorld()
  const { ca, clock } = world
  const before = await start(t, world)
  await pass(clock, MINUTE_MS, SECOND_MS)
  await before.server.stop()
  ca.intercept = () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: new Error('connect ECONNREFUSED') }))
  const { certificates, logged } = await start(t, world)
  assert.match(logged[0]!, /is used from the store, valid until 2024-03-31T00:0\d:\d\dZ \(89 days\)$/)
  const check = (): void => void certificates.check(new AbortController().signal)
  const watched = new HttpServer({ logger: null })
  watched.use(health({ interval: 0, ready: { certificate: { check: certificates.check, required: false } } }))
  const ready = async (): Promise<string> => (await watched.inject('/readyz')).text()
  assert.equal(await ready(), 'ok\n')
  await pass(clock, 70 * DAY_MS, HOUR_MS, check)
  assert.match(
    logged.at(-1)!,
    /could not be renewed, valid until .* \(\d+ days\); next attempt .*: ca\.test cannot be reached: connect ECONNREFUSED/,
  )
  await pass(clock, 10 * DAY_MS, HOUR_MS)
  assert.throws(check, /is valid for 9 days and has not been renewed: ca\.test cannot be reached/)
  assert.equal(await ready(), 'degraded\n')
  const [days, failures] = [...certificates.metrics()]
  assert.deepEqual(days!.samples[0]!.labels, { domain: 'example.org' })
  assert.ok(days!.samples[0]!.value > 9 && days!.samples[0]!.value < 10)
  assert.ok(failures!.samples[0]!.value > 5)
  await pass(clock, 30 * DAY_MS, HOUR_MS)
  assert.throws(check, /has expired/)
  ca.intercept = (_, answer) => answer()
  await pass(clock, DAY_MS, HOUR_MS)
  check()
  assert.equal(await ready(), 'ok\n')
})

const STEPS: readonly Step[] = [
  'directory',
  'newNonce',
  'newAccount',
  'newOrder',
  'authorization',
  'challenge',
  'order',
  'finalize',
  'certificate',
]
for (const step of STEPS)
  for (const isDone of [false, true])
    test(`a process that is killed ${isDone ? 'after' : 'before'} "${step}" leaves an order that the next one completes`, async (t) => {
      const world = newWorld()
      const { ca } = world
      const killed: World = { ...world, clock: new TestClock() } // it never moves again, so its lock ends
      ca.slowness = 1
      ca.intercept = async (asked, answer) => {
        if (asked !== step) return answer()
        if (isDone) await answer()
        return new Promise<never>(() => {})
      }
      await start(t, killed)
      await pass(killed.clock, 30 * SECOND_MS, SECOND_MS)
      assert.equal(killed.store.texts.has('ca.test-example.org.pem'), false)
      ca.intercept = (_, answer) => answer()
      const { certificates } = await start(t, world)
      await pass(world.clock, 5 * MINUTE_MS, SECOND_MS)
      assert.equal(certificates.status()[0]!.lastError, null)
      assert.ok(certificates.status()[0]!.daysLeft! > 89)
      assert.equal(ca.issued.length, 1, 'no certificate is wasted')
      assert.deepEqual(
        [...world.store.texts.keys()].sort(),
        ['ca.test-example.org.pem', 'ca.test.account'].filter((one) => world.store.texts.has(one)).sort(),
      )
    })

test('when the server stops in the middle of an order, nothing goes on, and the next start completes it', async (t) => {
  const world = newWorld()
  world.ca.slowness = 5
  const { server, certificates } = await start(t, world)
  await pass(world.clock, 3 * SECOND_MS, SECOND_MS)
  await server.stop()
  await turns()
  const calls = world.ca.calls.length
  await pass(world.clock, DAY_MS, HOUR_MS)
  assert.equal(world.ca.calls.length, calls)
  assert.equal(certificates.status()[0]!.failures, 0, 'to stop is no failure')
  await server.start()
  await pass(world.clock, 5 * MINUTE_MS, SECOND_MS)
  assert.equal(world.ca.issued.length, 1)
})

test('a renewed certificate is for new connections, and an open one goes on', async (t) => {
  const world = newWorld()
  const { server } = await start(t, world)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  const port = server.endpoints[1]!.port!
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'example.org', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    return socket
  }
  const asked = async (socket: TLSSocket): Promise<string> => {
    socket.write('GET / HTTP/1.1\r\nHost: example.org\r\n\r\n')
    return String((await once(socket, 'data'))[0])
  }
  const kept = await open()
  assert.match(await asked(kept), /^HTTP\/1\.1 200/)
  await pass(world.clock, 61 * DAY_MS, DAY_MS)
  assert.equal(world.ca.issued.length, 2)
  const fresh = await open()
  assert.notEqual(fresh.getPeerCertificate().serialNumber, kept.getPeerCertificate().serialNumber)
  for (const socket of [kept, fresh]) assert.match(await asked(socket), /^HTTP\/1\.1 200/)
  kept.destroy()
  fresh.destroy()
})

test('no message, log, status or metric has a part of a key, whatever fails', async (t) => {
  // A nonce comes with every response, so that step does not fail.
  for (const failing of STEPS.filter((step) => step !== 'newNonce')) {
    const world = newWorld()
    const { ca, store, clock } = world
    ca.intercept = async (step, answer) => {
      if (step !== failing) return answer()
      return ca.refuse(400, 'malformed', {})
    }
    const { certificates, logged } = await start(t, world)
    await pass(clock, 10 * MINUTE_MS, 10 * SECOND_MS)
    assert.ok(certificates.status()[0]!.failures > 0, failing)
    const keys = [...store.texts.values()].flatMap((text) => text.match(/[\w+/=]{40,}/g) ?? [])
    for (const [name, text] of store.texts) store.texts.set(name, text.replace(/.{60}-----END/, '-----END')) // it cannot be read any more
    const again = await start(t, world)
    assert.throws(() => certificates.check(new AbortController().signal))
    const told = JSON.stringify([
      ...[logged, again.logged, certificates.status(), again.certificates.status()],
      ...[[...certificates.metrics()], String(again.certificates.status()[0]!.lastError)],
    ])
    for (const key of keys) assert.ok(!told.includes(key.slice(0, 20)), failing)
    assert.doesNotMatch(told, /PRIVATE KEY/)
    await again.server.stop({ grace: 0 })
  }
})

test('a certificate for other names, or for another key, is not used', async (t) => {
  const other = newWorld()
  await start(t, other, { domains: ['other.org'] })
  await pass(other.clock, MINUTE_MS, SECOND_MS)
  const own = newWorld()
  own.ca.intercept = async (step, answer) => (step === 'certificate' ? new Response(other.ca.issued[0]!, await answer()) : answer())
  const { certificates, server } = await start(t, own)
  await pass(own.clock, MINUTE_MS, SECOND_MS)
  assert.match(
    certificates.status()[0]!.lastError!,
    /the CA has sent a certificate that cannot be used: the certificate is for another key/,
  )
  assert.equal(certificates.status()[0]!.notAfter, null)
  assert.equal(own.store.texts.has('ca.test-example.org.pem'), false)
  await server.stop()
})

test('only the challenges of an order are answered: other requests for such paths are like any request', async (t) => {
  const world = newWorld()
  const { server } = await start(t, world)
  server.mapGet('/.well-known/acme-challenge/:token', () => 'of the program')
  const visit = async (token: string): Promise<string> =>
    (await server.inject({ url: `/.well-known/acme-challenge/${token}`, headers: { host: 'example.org' } })).text()
  world.store.texts.set('ca.test.challenges', JSON.stringify({ texts: { known: 'known.thumbprint' }, certificates: {} }))
  assert.equal(await visit('known'), 'known.thumbprint')
  for (const token of ['unknown', 'constructor', '__proto__', 'known%00', 'x'.repeat(200)])
    assert.doesNotMatch(await visit(token), /thumbprint|native code|\[object/, token)
  assert.equal(await visit('unknown'), 'of the program')
})

test('challenges are answered at the root, also where the application is below a path', async () => {
  const { clock, ca, store } = newWorld()
  const certificates = await acme({ domains: DOMAINS, store: store.for(clock), directory: ca.directory, fetch: ca.fetch, clock })
  const listen = [{ port: 0 }, { port: 0, tls: certificates.tls }]
  const server = new HttpServer({ logger: null, hosts: ['example.org'], basePath: '/app', listen }).use(certificates)
  store.texts.set('ca.test.challenges', JSON.stringify({ texts: { known: 'known.thumbprint' }, certificates: {} }))
  for (const host of ['example.org', 'new.example.org', '127.0.0.1']) {
    const visit = (token: string) => server.inject({ url: `/.well-known/acme-challenge/${token}`, headers: { host } })
    const response = await visit('known')
    assert.deepEqual([response.status, response.text()], [200, 'known.thumbprint'], host)
    assert.notEqual((await visit('unknown')).status, 200)
  }
})

test('however many ask for challenges, the store is read once at a time, and never for less than what was there when they came', async (t) => {
  const world = newWorld()
  const inner = world.store.for(world.clock)
  let running = 0
  let most = 0
  const { server } = await start(t, world, {
    store: {
      ...inner,
      async get(name) {
        if (!name.endsWith('.challenges')) return inner.get(name)
        most = Math.max(most, ++running)
        const text = await inner.get(name)
        await turns(5)
        running--
        return text
      },
    },
    challenges: ['http-01'],
  })
  const visit = async (token: string): Promise<string> =>
    (await server.inject({ url: `/.well-known/acme-challenge/${token}`, headers: { host: 'example.org' } })).text()
  const floods: Promise<string>[] = []
  for (let i = 0; i < 30; i++) {
    floods.push(visit(`unknown${i}`))
    world.store.texts.set('ca.test.challenges', JSON.stringify({ texts: { [`token${i}`]: `text ${i}` }, certificates: {} }))
    floods.push(...Array.from({ length: 10 }, (_, j) => visit(`unknown${j}`)))
    assert.equal(await visit(`token${i}`), `text ${i}`)
  }
  await Promise.all(floods)
  assert.equal(most, 1)
})

test('another list of names gets another certificate, and the stored one serves until then', async (t) => {
  const world = newWorld()
  const { server } = await start(t, world)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  await server.stop()
  const { certificates } = await start(t, world, { domains: ['example.org', 'new.example.org'] })
  assert.equal(world.ca.issued.length, 2)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  assert.match(String(certificates.tls.cert), /BEGIN/)
  assert.equal(new X509Certificate(String(certificates.tls.cert)).subjectAltName, 'DNS:example.org, DNS:new.example.org')
})

test('every endpoint with the certificates gets the new one, and keeps what else the program has set', async (t) => {
  const { clock, ca, store } = newWorld()
  const certificates = await acme({
    ...{ domains: [['example.org'], ['one.test', 'two.test']], store: store.for(clock) },
    ...{ directory: ca.directory, fetch: ca.fetch, clock },
  })
  const { tls } = certificates
  const listen = [{ port: 0 }, { port: 0, tls }, { port: 0, tls: { ...tls, maxVersion: 'TLSv1.2' as const } }]
  const server = new HttpServer({ logger: null, hosts: 'any', listen }).use(certificates)
  ca.visit = async (host, path) => (await server.inject({ url: path, headers: { host } })).text()
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  await turns()
  await pass(clock, 2 * MINUTE_MS, SECOND_MS)
  for (const [index, version] of [
    [1, 'TLSv1.3'],
    [2, 'TLSv1.2'],
  ] as const)
    for (const [servername, names] of [
      ['two.test', 'DNS:one.test, DNS:two.test'],
      ['example.org', 'DNS:example.org'],
      ['', 'DNS:example.org'],
    ] as const) {
      const socket = connect({ port: server.endpoints[index]!.port!, host: '127.0.0.1', servername, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      assert.deepEqual([socket.getPeerCertificate().subjectaltname, socket.getProtocol()], [names, version])
      socket.destroy()
    }
})

/** A clock that runs with another one, but shows another time. */
function wrongClock(clock: TestClock): Clock & { aheadMs: number } {
  const wrong = {
    aheadMs: 0,
    now: () => clock.now(),
    wallTime: () => clock.wallTime() + wrong.aheadMs,
    every: (ms: number, tick: () => void) => clock.every(ms, tick),
  }
  return wrong
}

test('an attempt that failed when the clock was years ahead is made again once the clock is right', async (t) => {
  const world = newWorld()
  const { ca, store } = world
  const clock = wrongClock(world.clock)
  clock.aheadMs = 9 * 365 * DAY_MS
  ca.intercept = () => Promise.reject(new Error('the certificate of the CA is not valid yet'))
  await start(t, world, { clock, store: store.for(clock) })
  await pass(world.clock, 5 * MINUTE_MS, 10 * SECOND_MS)
  clock.aheadMs = 0
  ca.intercept = (_, answer) => answer()
  await pass(world.clock, 30 * MINUTE_MS, 10 * SECOND_MS)
  assert.equal(ca.issued.length, 1)
})

test('a new certificate is not replaced in a loop: neither by a wrong clock, nor by a CA whose windows are over', async (t) => {
  for (const [aheadMs, window] of [
    [70 * DAY_MS, null],
    [400 * DAY_MS, null],
    [0, () => [0, 1] as const],
  ] as const) {
    const world = newWorld()
    world.ca.window = window
    const clock = wrongClock(world.clock)
    clock.aheadMs = aheadMs
    const { logged } = await start(t, world, { clock, store: world.store.for(clock) })
    await pass(world.clock, 3 * DAY_MS, 10 * MINUTE_MS)
    const { length } = world.ca.issued
    assert.ok(length >= 3 && length <= 4, `${length} certificates in three days`)
    assert.equal(
      logged.some((line) => line.includes('is not new by the clock of this machine')),
      aheadMs > 0,
    )
  }
})

test('two programs with one store and different names do not take turns all the time', async (t) => {
  const world = newWorld()
  await start(t, world, { domains: ['example.org'] })
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  await start(t, world, { domains: DOMAINS })
  await pass(world.clock, 3 * DAY_MS, 10 * MINUTE_MS)
  assert.ok(world.ca.issued.length <= 5, `${world.ca.issued.length} certificates in three days`)
})

test('a process that stood still gives its order up to the one that has taken it over', async (t) => {
  const world = newWorld()
  const { ca } = world
  const still: World = { ...world, clock: new TestClock() }
  ca.slowness = 45
  const first = await start(t, still)
  await pass(still.clock, 10 * SECOND_MS, SECOND_MS)
  await pass(world.clock, 3 * MINUTE_MS, SECOND_MS)
  const second = await start(t, world)
  await pass(world.clock, 10 * SECOND_MS, SECOND_MS)
  await pass(still.clock, MINUTE_MS, SECOND_MS)
  assert.match(first.certificates.status()[0]!.lastError!, /^another process has taken over the order/)
  assert.ok(world.store.texts.has('ca.test.challenges'), 'what the other one presents is still there')
  await pass(world.clock, 10 * MINUTE_MS, SECOND_MS)
  await pass(still.clock, 10 * MINUTE_MS, 10 * SECOND_MS)
  assert.equal(ca.issued.length, 1)
  assert.deepEqual(
    [first.certificates.status()[0]!.notAfter, first.certificates.status()[0]!.lastError],
    [second.certificates.status()[0]!.notAfter, null],
  )
})

test('while the store is away, nothing fails before a renewal is due', async (t) => {
  const world = newWorld()
  const inner = world.store.for(world.clock)
  let isAway = false
  const store = {
    ...inner,
    get: (name: string) => (isAway ? Promise.reject(new Error('Redis is away')) : inner.get(name)),
    lock: (...args: Parameters<typeof inner.lock>) => (isAway ? Promise.reject(new Error('Redis is away')) : inner.lock(...args)),
  }
  const { certificates, logged } = await start(t, world, { store })
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  isAway = true
  await pass(world.clock, 30 * DAY_MS, HOUR_MS)
  const told = (): string[] => logged.filter((line) => line.includes('Redis is away'))
  assert.deepEqual(told(), [
    'weir: the certificate of example.org, www.example.org is used as it is, because the store cannot be read: Redis is away',
  ])
  assert.equal(certificates.status()[0]!.failures, 0)
  await pass(world.clock, 31 * DAY_MS, HOUR_MS)
  assert.ok(certificates.status()[0]!.failures > 0)
  isAway = false
  await pass(world.clock, DAY_MS, HOUR_MS)
  assert.equal(world.ca.issued.length, 2)
})

test('while there is a certificate for other names alone, the check fails', async (t) => {
  const world = newWorld()
  const { server } = await start(t, world)
  await pass(world.clock, MINUTE_MS, SECOND_MS)
  await server.stop()
  world.ca.intercept = (step, answer) => (step === 'newOrder' ? Promise.resolve(world.ca.refuse(400, 'rejectedIdentifier', {})) : answer())
  const { certificates } = await start(t, world, { domains: ['example.org', 'new.example.org'] })
  assert.throws(
    () => certificates.check(new AbortController().signal),
    /no certificate of example\.org, new\.example\.org yet, but one for other names: ca\.test responded with 400 rejectedIdentifier/,
  )
})

test('a server that is started again waits until the order of before has been cleared away', async (t) => {
  const world = newWorld()
  world.ca.slowness = 20
  const inner = world.store.for(world.clock)
  const calls: string[] = []
  const store = {
    ...inner,
    async lock(...args: Parameters<typeof inner.lock>) {
      calls.push('lock')
      return inner.lock(...args)
    },
    async unlock(...args: Parameters<typeof inner.unlock>) {
      calls.push('unlock')
      await turns(500)
      await inner.unlock(...args)
      calls.push('unlocked')
    },
  }
  const { server } = await start(t, world, { store })
  await pass(world.clock, 3 * SECOND_MS, SECOND_MS)
  await server.stop()
  await server.start()
  await turns(2_000)
  await pass(world.clock, 5 * MINUTE_MS, SECOND_MS)
  assert.deepEqual(calls.slice(0, 4), ['lock', 'unlock', 'unlocked', 'lock'])
  assert.equal(world.ca.issued.length, 1)
})

test('a profile is asked for by name, and one that the CA does not have is named in the error', async (t) => {
  const world = newWorld()
  world.ca.profiles = { classic: 'as ever', shortlived: 'six days' }
  const { certificates } = await start(t, world, { profile: 'tlsserver' })
  assert.equal(certificates.status()[0]!.lastError, 'the CA has no profile "tlsserver": it has classic, shortlived')
  const other = newWorld()
  other.ca.profiles = { shortlived: 'six days' }
  await start(t, other, { profile: 'shortlived' })
  assert.equal(other.ca.calls.find(({ step }) => step === 'newOrder')!.payload!['profile'], 'shortlived')
})

test('httpsOnly sends plain HTTP to HTTPS, and browsers there from the beginning, for its domains alone', async (t) => {
  const world = newWorld()
  const { server } = await start(t, world, { httpsOnly: { maxAge: '30d', includeSubDomains: true } })
  const plain = await server.inject({ url: '/a?b=c', headers: { host: 'example.org' } })
  assert.deepEqual([plain.status, plain.headers.get('location')], [308, 'https://example.org/a?b=c'])
  const port = server.endpoints[1]!.port
  const named = await server.inject({ url: '/', headers: { host: 'www.example.org:8080' } })
  assert.equal(named.headers.get('location'), `https://www.example.org:${port}/`)
  assert.equal((await server.inject({ url: '/', headers: { host: 'internal' } })).text(), 'home')
  for (const isSecure of [false, true])
    for (const host of ['256.256.256.256', 'a%00b'])
      assert.equal((await server.inject({ url: '/', headers: { host }, peer: { isSecure } })).text(), 'home', `${host}: not in a URL`)
  const response = await server.fetch(new Request('https://example.org/'))
  assert.equal(response.headers.get('strict-transport-security'), 'max-age=2592000; includeSubDomains')
  assert.equal((await server.fetch(new Request('https://other.org/'))).headers.get('strict-transport-security'), null)
})

test('mistakes are errors of acme() and use(), and name the option', async () => {
  const world = newWorld()
  const given = { domains: ['example.org'], store: world.store.for(world.clock) }
  const wrong: readonly (readonly [Partial<AcmeOptions>, RegExp])[] = [
    [{ domains: [] }, /domains must be a list of names/],
    [{ domains: ['*.example.org'] }, /a CA gives such certificates only for a record in DNS/],
    [{ domains: ['https://example.org'] }, /domains has "https:\/\/example\.org": a name such as/],
    [{ domains: ['a.test', 'A.test'] }, /domains has a\.test twice/],
    [{ domains: [['a.test'], []] }, /an empty list/],
    [{ email: 'nobody' }, /email is the string "nobody", not an address/],
    [{ store: {} as never }, /it has no function get\(\)/],
    [{ eab: { kid: '', key: 'x' } }, /eab must be \{ kid, key \}/],
    [{ challenges: ['dns-01' as never] }, /challenges/],
    [{ httpsOnly: { maxAge: '1.5' as never } }, /httpsOnly\.maxAge/],
  ]
  for (const [options, message] of wrong) await assert.rejects(acme({ ...given, ...options }), message)
  const certificates = await acme(given)
  assert.throws(
    () => new HttpServer({ port: 0 }).use(certificates),
    /no endpoint of this server has the certificates: give it tls: certificates\.tls/,
  )
  const only = await acme({ ...given, challenges: ['http-01'] })
  assert.throws(() => new HttpServer({ tls: only.tls }).use(only), /needs an endpoint without tls, on port 80/)
})
