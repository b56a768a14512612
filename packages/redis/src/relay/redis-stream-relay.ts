// A relay in Redis that keeps messages: streams, with PUBLISH to tell of new entries.

import { randomBytes } from 'node:crypto'
import type { Duration } from 'weirjs'
import { option, rules } from 'weirjs/kit'
import { onceName, type Relay } from 'weirjs/relay'

import type { RedisAccess } from '../client/redis-access.ts'
import { RedisScript } from '../client/redis-script.ts'
import type { RedisSubscribingClient } from '../client/redis-subscriber.ts'

import { MESSENGER_RULES, RedisMessenger, type RedisMessengerOptions } from './redis-messenger.ts'
import { type StreamPage, type StreamSource, StreamSubscription } from './redis-stream-subscription.ts'
import type { LiveMessage } from './redis-subscription.ts'

/** How long a message that is published once is recognized at least, if the stream is kept for so long. */
const ONCE_MS = 2 * 60_000

const { count, duration } = option

export interface RedisStreamRelayOptions extends RedisMessengerOptions {
  /**
   * How many messages each channel keeps at least. Redis keeps up to about 100 more, because it drops them in blocks. A subscriber that was
   * away for more messages than that is told about a gap.
   */
  readonly maxLength: number
  /** How long a channel keeps its messages after it was last published to or subscribed to. Default `'1d'`. */
  readonly keepFor?: Duration
  /** How long `publish` waits for Redis, and tries again. Default `'10s'`. */
  readonly timeout?: Duration
}

const OWNER = 'redisStreamRelay()'
/** @internal */
export const REDIS_STREAM_RELAY_RULES = rules<RedisStreamRelayOptions>(OWNER)({
  ...MESSENGER_RULES,
  maxLength: count({ least: 1 }),
  keepFor: duration({ leastNumber: 1_000 }).or('1d'),
  timeout: duration().or('10s'),
})

/**
 * Appends a batch and announces it. Each entry has the id of the entry before it: what is missing in this chain has been dropped or lost. The second
 * key has the number and the ids of the last batch of this publisher. A batch that comes again, because its reply was lost, is not appended
 * again, nor is one that comes later than its successor. Redis undoes nothing: an entry that may not be told about is deleted.
 *
 * The other keys have the ids of messages with a name of the program: such a message is not appended again either.
 *
 * ARGV: the command that publishes, the channel, the number of the batch, the most entries, how long the stream, the second key and the others
 * live, and for each message its data and the number of its key, or 0.
 */
const PUBLISH = new RedisScript(`
local known = redis.call('GET', KEYS[2])
if known then
  local number, ids = string.match(known, '^(%d+) (.*)$')
  if tonumber(number) >= tonumber(ARGV[3]) then return number == ARGV[3] and ids or '' end
end
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local previous = newest and newest[1] or '0-0'
local ids = {}
for i = 8, #ARGV, 2 do
  local once = tonumber(ARGV[i + 1])
  local id = once > 0 and redis.call('GET', KEYS[once])
  if not id then
    id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'p', previous, 'd', ARGV[i])
    local told = redis.pcall(ARGV[1], ARGV[2], previous .. ' ' .. id .. ' ' .. ARGV[i])
    if type(told) == 'table' and told.err then
      redis.call('XDEL', KEYS[1], id)
      redis.call('PEXPIRE', KEYS[1], ARGV[5])
      return told
    end
    if once > 0 then redis.call('SET', KEYS[once], id, 'PX', ARGV[7]) end
    previous = id
  end
  ids[#ids + 1] = id
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
ids = table.concat(ids, ' ')
redis.call('SET', KEYS[2], ARGV[3] .. ' ' .. ids, 'PX', ARGV[6])
return ids
`)

/**
 * The newest id and, after the given id, at most 200 entries or about half a megabyte. A stream that is read does not expire. What is not an
 * entry of a relay has no predecessor and no data: an error here would end all reading.
 *
 * ARGV: the id, or nothing for the newest id only, and how long the stream lives.
 */
const READ = new RedisScript(`
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not newest then return { '0-0' } end
if redis.call('PTTL', KEYS[1]) * 2 < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
local reply = { newest[1] }
local last = ARGV[1]
if last == '' or last == newest[1] then return reply end
local bytes = 0
repeat
  local entries = redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 20)
  for _, entry in ipairs(entries) do
    last = entry[1]
    local fields = entry[2]
    local isOwn = fields[1] == 'p' and fields[3] == 'd'
    local data = isOwn and fields[4] or ''
    reply[#reply + 1] = isOwn and fields[2] or ''
    reply[#reply + 1] = last
    reply[#reply + 1] = data
    bytes = bytes + #data
  end
until #entries < 20 or #reply > 600 or bytes > 524288
return reply
`)

/**
 * Carries messages through streams of Redis 6.2 or later, or Valkey; a cluster needs Redis 7. Each channel keeps its newest messages, so a
 * subscriber that was away gets what it has missed: `after` takes the id of the last message that it has. While Redis is away, messages wait, and
 * no subscriber gets one twice. Messages that Redis itself loses, because its disk or a replica is behind, are reported as a gap.
 *
 * @param client of the package `redis` or `ioredis`. It is never connected or closed here. Subscriptions have a connection of their own, a
 *   duplicate of it, which `close` closes
 * @throws WEIR_OPTION_INVALID
 */
export function redisStreamRelay(client: RedisSubscribingClient, options: RedisStreamRelayOptions): Relay {
  const { maxLength: most, keepFor, timeout: timeoutMs, ...settings } = REDIS_STREAM_RELAY_RULES.read(options)
  const maxLength = String(most)
  const keepMs = String(keepFor)
  /** A batch is not sent again after its timeout, except by a client that kept it while it was disconnected. */
  const publisherMs = String(2 * timeoutMs + 60_000)
  // Not longer than the stream: it must be possible to publish a message again that the stream no longer has.
  const onceMs = String(Math.min(keepFor, Math.max(ONCE_MS, 2 * timeoutMs)))
  return new RedisMessenger(OWNER, client, settings, randomBytes(16).toString('base64url'), {
    suffix: 's',
    timeoutMs,
    retries: true,
    keeps: true,
    parse,
    async send(access, { state, name }, { command, publisherKey, number }, batch, once) {
      const numbers = [String(number), maxLength, keepMs, publisherMs, onceMs]
      const keys: [string, ...string[]] = [state, publisherKey]
      const messages = batch.flatMap((data, i) => {
        const own = once[i]
        return [data, own === null || own === undefined ? '0' : String(keys.push(`${state}:once:${onceName(name, own)}`))]
      })
      const ids = await access.runScriptWith(PUBLISH, keys, command, name, ...numbers, ...messages)
      return String(ids).split(' ')
    },
    open(access, { state }) {
      const reader = new StreamReader(access, state, keepMs)
      return (listener, subscribing, events) => new StreamSubscription(reader, listener, subscribing, events)
    },
  })
}

class StreamReader implements StreamSource {
  readonly #access: RedisAccess
  readonly #key: string
  readonly #keepMs: string
  /** Subscribers in the same place read together. */
  readonly #reading = new Map<string, Promise<StreamPage>>()

  constructor(access: RedisAccess, key: string, keepMs: string) {
    this.#access = access
    this.#key = key
    this.#keepMs = keepMs
  }

  async readNewest(): Promise<string> {
    return (await this.#run('')).newest
  }

  read(after: string): Promise<StreamPage> {
    const joined = this.#reading.get(after)
    if (joined !== undefined) return joined
    const page = this.#run(after).finally(() => this.#reading.delete(after))
    this.#reading.set(after, page)
    return page
  }

  async #run(after: string): Promise<StreamPage> {
    const [newest, ...rest] = ((await this.#access.runScript(READ, this.#key, after, this.#keepMs)) as readonly unknown[]).map(String)
    const messages: LiveMessage[] = []
    for (let i = 0; i < rest.length; i += 3) messages.push(liveOf(rest[i]!, rest[i + 1]!, rest[i + 2]!))
    return { newest: newest!, messages }
  }
}

/** The ids before the data. */
const HEAD = /^(\d{1,15}-\d{1,15}) ([1-9]\d{0,14}-\d{1,15}) /

function parse(text: string): LiveMessage | null {
  const head = HEAD.exec(text)
  return head && liveOf(head[1]!, head[2]!, text.slice(head[0].length))
}

function liveOf(previous: string, id: string, data: string): LiveMessage {
  return { previous, id, message: { id, data } }
}
