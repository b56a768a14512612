// Commands to a Redis that replies, fails or stays silent, by a clock that stands still.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { WeirError } from '../../../weirjs/src/index.ts'
import { TestClock } from '../../../weirjs/src/testing/index.ts'
import { Turns } from '../../../weirjs/test/support/turns.ts'
import { RedisAccess } from '../../src/client/redis-access.ts'
import type { RedisClient } from '../../src/client/redis-client.ts'
import { RedisScript } from '../../src/client/redis-script.ts'

const SCRIPT = new RedisScript('return ARGV[1]')

/** A client whose replies the test decides on. */
class FakeClient {
  readonly sent: string[][] = []
  reply: (args: string[]) => Promise<unknown> = () => Promise.resolve('OK')

  sendCommand(args: string[]): Promise<unknown> {
    this.sent.push(args)
    return this.reply(args)
  }
}

const silent = (): Promise<unknown> => new Promise(() => {})
const isUnavailable =
  (why: RegExp) =>
  (error: unknown): boolean =>
    error instanceof WeirError && error.code === 'WEIR_STORE_UNAVAILABLE' && why.test(error.message)

function accessTo(client: RedisClient): { access: RedisAccess; clock: TestClock } {
  const clock = new TestClock()
  return { access: new RedisAccess('test', client, { clock }), clock }
}

/** The message of each error, as the commands fail. */
function failureOf(command: Promise<unknown>): Promise<unknown> {
  return command.then(
    () => assert.fail('the command succeeded'),
    (error: unknown) => error,
  )
}

async function fail(access: RedisAccess, client: FakeClient, times: number): Promise<void> {
  client.reply = () => Promise.reject(new Error('ECONNREFUSED'))
  for (let i = 0; i < times; i++) await failureOf(access.run('GET', 'a'))
}

test('a command has 100 ms, and leaves no timer', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  assert.equal(await access.run('GET', 'a'), 'OK')
  assert.equal(clock.running, 0)

  client.reply = silent
  let failure: unknown = null
  const command = failureOf(access.run('GET', 'a')).then((error) => (failure = error))
  await clock.advance(99)
  assert.equal(failure, null)
  await clock.advance(1)
  await command
  assert.ok(isUnavailable(/no reply within 100 ms/)(failure), String(failure))
  assert.equal(clock.running, 0)
})

test('a reply that was received while the process was busy counts', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  let reply!: (value: unknown) => void
  client.reply = () => new Promise((resolve) => (reply = resolve))
  const command = access.run('GET', 'a')
  const busy = clock.advance(500) // the timers are due before the socket is read
  reply('here')
  assert.equal(await command, 'here')
  await busy
})

test('commands that end at the same time end in several turns of the event loop', async (t) => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  const turns = new Turns(t)
  let answer!: (reply: string) => void
  const replied = new Promise((resolve) => (answer = resolve))
  const all = (): Promise<unknown> =>
    Promise.allSettled(Array.from({ length: 1_000 }, () => access.run('GET', 'a').finally(() => turns.count())))

  client.reply = () => replied
  const answered = all()
  answer('OK')
  await answered
  assert.equal(turns.all, 1_000)
  assert.ok(turns.most <= 129, `${turns.most} replies`)

  client.reply = silent
  const failed = all()
  await clock.advance(100)
  await failed
  assert.equal(turns.all, 2_000)
  assert.ok(turns.most <= 129, `${turns.most} failures`)
  assert.equal(clock.running, 0)
})

/** A clock of a process that is busy: its timers come late. */
class BusyClock extends TestClock {
  #late = 0

  override now(): number {
    return super.now() + this.#late
  }

  /** The next timer that is due after `ms` comes `late` milliseconds later. */
  async pass(ms: number, late: number): Promise<void> {
    this.#late += late
    await this.advance(ms)
  }
}

test('a timer that comes late says nothing about Redis, however many commands are in flight', async () => {
  const client = new FakeClient()
  const clock = new BusyClock()
  const access = new RedisAccess('test', client, { clock })
  client.reply = silent
  const failures: unknown[] = []
  const commands = Array.from({ length: 20 }, () => failureOf(access.run('GET', 'a')).then((error) => failures.push(error)))
  await clock.pass(100, 26)
  assert.equal(failures.length, 0)
  assert.equal(access.isDegraded, false)
  await clock.pass(100, 25) // on time, as far as anybody is
  await Promise.all(commands)
  assert.equal(failures.length, 20)
  assert.equal(access.isDegraded, true)
  assert.equal(clock.running, 0)
})

test('a process that is always busy waits for the fourth timer', async () => {
  const client = new FakeClient()
  const clock = new BusyClock()
  const access = new RedisAccess('test', client, { clock })
  client.reply = silent
  let failure: unknown = null
  const command = failureOf(access.run('GET', 'a')).then((error) => (failure = error))
  for (let i = 0; i < 3; i++) await clock.pass(100, 500)
  assert.equal(failure, null)
  await clock.pass(100, 500)
  await command
  assert.ok(isUnavailable(/no reply within 100 ms/)(failure), String(failure))
})

test('after five failures in a row, Redis gets no commands for five seconds', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  await fail(access, client, 4)
  client.reply = () => Promise.resolve('OK')
  await access.run('GET', 'a') // not in a row
  await fail(access, client, 4)
  assert.equal(access.isDegraded, false)
  await fail(access, client, 1)
  assert.equal(access.isDegraded, true)
  assert.equal(isUnavailable(/ECONNREFUSED/)(access.lastError), true)

  const before = client.sent.length
  await clock.advance(4_999)
  for (let i = 0; i < 100; i++) assert.ok(isUnavailable(/no commands for 5000 ms/)(await failureOf(access.run('GET', 'a'))))
  assert.equal(client.sent.length, before)
})

test('when five have failed, those in flight fail too', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  client.reply = silent
  const old = [1, 2, 3, 4, 5].map(() => failureOf(access.run('GET', 'a')))
  await clock.advance(60)
  const young = failureOf(access.run('GET', 'a'))
  await clock.advance(40)
  await Promise.all(old)
  assert.ok(isUnavailable(/no commands/)(await young))
  assert.equal(clock.running, 0)
})

test('one command probes Redis in the background, and no other command waits for it', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  await fail(access, client, 5)
  client.reply = silent
  await clock.advance(5_000)
  const before = client.sent.length
  for (let i = 0; i < 10; i++) assert.ok(isUnavailable(/no commands/)(await failureOf(access.run('GET', 'a'))))
  assert.deepEqual(client.sent.slice(before), [['EXISTS', 'a']])

  await clock.advance(100) // the probe fails: another five seconds
  await clock.advance(4_999)
  assert.equal(access.isDegraded, true)
  assert.equal(client.sent.length, before + 1)

  await clock.advance(1)
  client.reply = () => Promise.resolve(0)
  assert.equal(access.isDegraded, true) // asking probes, so that a server without requests recovers
  await clock.advance(0)
  assert.equal(access.isDegraded, false)
  assert.equal(access.lastError, null)
  assert.equal(await access.run('GET', 'a'), 0)
})

test('a user without the right to run EXISTS recovers', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  await fail(access, client, 5)
  client.reply = () => Promise.reject(new Error("NOPERM User app has no permissions to run the 'exists' command"))
  await clock.advance(5_000)
  assert.equal(access.isDegraded, true)
  await clock.advance(0)
  assert.equal(access.isDegraded, false)
})

test('a script is sent by its SHA-1, and as a whole if Redis does not know it', async () => {
  const client = new FakeClient()
  const { access } = accessTo(client)
  client.reply = ([name]) =>
    name === 'EVAL' ? Promise.resolve(7) : Promise.reject(new Error('NOSCRIPT No matching script. Please use EVAL.'))
  assert.equal(await access.runScript(SCRIPT, 'k', '1', '2'), 7)
  assert.deepEqual(client.sent, [
    ['EVALSHA', SCRIPT.sha1, '1', 'k', '1', '2'],
    ['EVAL', SCRIPT.source, '1', 'k', '1', '2'],
  ])
  client.reply = () => Promise.reject(new Error('READONLY You cannot write against a read only replica.'))
  assert.ok(isUnavailable(/READONLY/)(await failureOf(access.runScript(SCRIPT, 'k'))))
})

test('a silent Redis has at most 1,000 scripts that undo in the queue of the client, whatever their timeouts', async () => {
  const client = new FakeClient()
  const { access, clock } = accessTo(client)
  const replies: (() => void)[] = []
  client.reply = () => new Promise((resolve) => replies.push(() => resolve(1)))
  const undo = (): Promise<unknown> => failureOf(access.undoWith(SCRIPT, 'k'))
  const first = Array.from({ length: 1_000 }, undo)
  await clock.advance(100)
  for (const error of await Promise.all(first)) assert.ok(isUnavailable(/no reply within/)(error))
  assert.ok(isUnavailable(/has not replied to 1000/)(await undo()))
  assert.equal(client.sent.length, 1_000)
  assert.equal(clock.running, 0)

  replies.pop()!()
  await clock.advance(0)
  const next = undo()
  assert.ok(isUnavailable(/has not replied to 1000/)(await undo()))
  assert.equal(client.sent.length, 1_001)
  await clock.advance(100)
  assert.ok(isUnavailable(/no reply within/)(await next))
})

test('a client that throws, and one that rejects with anything, fail in the same way', async () => {
  for (const thrown of [new Error('The client is closed'), 'closed', null]) {
    const { access } = accessTo({
      sendCommand() {
        throw thrown
      },
    })
    const error = (await failureOf(access.run('GET', 'a'))) as WeirError
    assert.equal(error.code, 'WEIR_STORE_UNAVAILABLE')
    assert.equal(error.status, 503)
  }
})

test('a client of `redis` that is not connected leads to an error that names connect', async () => {
  class ClientClosedError extends Error {}
  const { access } = accessTo({ sendCommand: () => Promise.reject(new ClientClosedError('The client is closed')) })
  const error = (await failureOf(access.run('GET', 'a'))) as WeirError
  assert.match(error.message, /Redis: The client is closed \(connect\(\) opens it\)$/)
})

test('what is not a client is refused by name', () => {
  const wrong: readonly [unknown, RegExp][] = [
    [undefined, /redisStore\(\): client is undefined, not a client of redis or ioredis/],
    ['redis://localhost', /client is a string/],
    [{}, /neither sendCommand nor call: pass what createClient\(\)/],
    [Promise.resolve({}), /client is a promise: await it/],
    [{ sendCommand() {}, getSentinelNode() {} }, /sentinel/],
  ]
  for (const [client, message] of wrong)
    assert.throws(
      () => new RedisAccess('redisStore()', client as RedisClient),
      (error: WeirError) => error.code === 'WEIR_OPTION_INVALID' && message.test(error.message),
    )
})
