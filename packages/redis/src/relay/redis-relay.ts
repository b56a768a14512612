// A relay in Redis that keeps nothing: PUBLISH, and a number for each message, so that subscribers notice what they have missed.

import { randomBytes } from 'node:crypto'
import type { Duration } from 'weirjs'
import { option, rules } from 'weirjs/kit'
import type { Relay, RelayMessage, RelaySubscribeOptions } from 'weirjs/relay'

import type { RedisAccess } from '../client/redis-access.ts'
import { RedisScript } from '../client/redis-script.ts'
import type { RedisSubscribingClient } from '../client/redis-subscriber.ts'

import { MESSENGER_RULES, RedisMessenger, type RedisMessengerOptions } from './redis-messenger.ts'
import { type LiveMessage, RedisSubscription, type SubscriptionEvents } from './redis-subscription.ts'

const { duration } = option

export interface RedisRelayOptions extends RedisMessengerOptions {
  /** How long `publish` waits for Redis. Default 500 ms. */
  readonly timeout?: Duration
}

const OWNER = 'redisRelay()'
/** @internal */
export const REDIS_RELAY_RULES = rules<RedisRelayOptions>(OWNER)({ ...MESSENGER_RULES, timeout: duration().or('500ms') })
/** How long Redis keeps the number of a channel that is not used. */
const KEEP_MS = String(24 * 3_600_000)
const PUBLISHER_MS = String(60_000)

/**
 * Counts from the time, so that numbers that were lost with their key do not come again. The second key has the number and the ids of the last
 * batch of this publisher: a client that sends a command again after its connection was lost does not publish twice.
 *
 * ARGV: the command that publishes, the channel, the number of the batch, how long the keys live, and the messages.
 */
const PUBLISH = new RedisScript(`
local known = redis.call('GET', KEYS[2])
if known and tonumber(known) >= tonumber(ARGV[3]) then return 0 end
local time = redis.call('TIME')
redis.call('SET', KEYS[1], time[1] .. string.format('%06d', time[2]), 'NX', 'PX', ARGV[4])
for i = 6, #ARGV do
  local number = redis.call('INCR', KEYS[1])
  redis.call(ARGV[1], ARGV[2], string.format('%.0f', number) .. ' ' .. ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[5])
return 1
`)

/** The number of the last message. It does not expire while a process asks for it. */
const READ = new RedisScript(`
local time = redis.call('TIME')
redis.call('SET', KEYS[1], time[1] .. string.format('%06d', time[2]), 'NX', 'PX', ARGV[1])
if redis.call('PTTL', KEYS[1]) * 2 < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return redis.call('GET', KEYS[1])
`)

/**
 * Carries messages with PUBLISH of Redis 6.2 or later, or Valkey; with SPUBLISH in a cluster, which needs Redis 7. Nothing is kept: what is
 * published while a subscriber has no connection to Redis does not reach it. It is told about the gap when it is connected again, but only if
 * something was missed.
 *
 * @param client of the package `redis` or `ioredis`. It is never connected or closed here. Subscriptions have a connection of their own, a
 * duplicate of it, which `close` closes
 * @throws WEIR_OPTION_INVALID
 */
export function redisRelay(client: RedisSubscribingClient, options: RedisRelayOptions = {}): Relay {
  const { timeout: timeoutMs, ...settings } = REDIS_RELAY_RULES.read(options)
  return new RedisMessenger(OWNER, client, settings, randomBytes(16).toString('base64url'), {
    suffix: 'n',
    timeoutMs,
    retries: false,
    keeps: false,
    parse,
    async send(access, { state, name }, { command, publisherKey, number }, batch) {
      await access.runScriptWith(PUBLISH, [state, publisherKey], command, name, String(number), KEEP_MS, PUBLISHER_MS, ...batch)
      return []
    },
    open(access, { state }) {
      const counter = new Counter(access, state)
      return (listener, subscribing, events) => new NumberedSubscription(counter, listener, subscribing, events)
    },
  })
}

/** The number before the data. */
const HEAD = /^([1-9]\d{0,15}) /

function parse(text: string): LiveMessage | null {
  const head = HEAD.exec(text)
  if (head === null) return null
  const id = head[1]!
  return { previous: String(Number(id) - 1), id, message: { id: null, data: text.slice(head[0].length) } }
}

class Counter {
  readonly #access: RedisAccess
  readonly #key: string
  /** All subscribers of the channel ask together. */
  #reading: Promise<string> | null = null

  constructor(access: RedisAccess, key: string) {
    this.#access = access
    this.#key = key
  }

  read(): Promise<string> {
    this.#reading ??= this.#access
      .runScript(READ, this.#key, KEEP_MS)
      .then(String)
      .finally(() => {
        this.#reading = null
      })
    return this.#reading
  }
}

class NumberedSubscription extends RedisSubscription {
  readonly #counter: Counter
  /** The number of the last message; null before the first one, and until Redis has returned it. */
  #last: string | null = null
  /** A number that Redis has assigned and that has not arrived. It may be on its way. */
  #expected: string | null = null

  constructor(counter: Counter, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions, events: SubscriptionEvents) {
    super(listener, options, events)
    this.#counter = counter
    if (options.after !== undefined) queueMicrotask(() => this.gap()) // it keeps nothing, so it knows no id
  }

  onLive({ previous, id, message }: LiveMessage): void {
    if (this.#last !== null && previous !== this.#last) this.gap()
    this.#last = id
    this.deliver(message)
  }

  async catchUp(): Promise<boolean> {
    const before = this.#expected
    const newest = await this.#counter.read()
    const last = this.#last
    this.#last ??= newest
    this.becomeReady()
    this.#expected = null
    if (last === null || Number(newest) <= Number(last)) return false
    if (before !== null && Number(last) < Number(before)) {
      // The message had the time between two checks to arrive.
      this.gap()
      this.#last = newest
    } else this.#expected = newest
    return true
  }
}
