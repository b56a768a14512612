// The outcomes of requests in Redis or Valkey, shared by all processes that use it. One key for each request, which Redis deletes when its
// time is over. The time comes from Redis, so the clocks of the machines may differ.

import { type Duration, WeirError } from 'weirjs'
import type { Begun, IdempotencyStore } from 'weirjs/idempotency'
import { rules } from 'weirjs/kit'
import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

export interface RedisIdempotencyOptions {
  /** The beginning of all keys in Redis. Default `weir:idempotency:`. */
  readonly prefix?: string
  /** How long a request waits for each command. Default 500 ms. When exceeded: 503. */
  readonly timeout?: Duration
  /**
   * Called when Redis gets no more commands because five in a row have failed, and when it gets them again.
   * @param error why the last command failed; null when it gets commands again
   */
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
}

const OWNER = 'redisIdempotency()'
/** @internal */
export const REDIS_IDEMPOTENCY_RULES = rules<RedisIdempotencyOptions>(OWNER)({ ...redisRules('weir:idempotency:', '500ms') })

// A hash: f is the fingerprint, t the token of the attempt and u until when it holds, o the outcome. x is the token of an attempt that was
// forgotten before it arrived.
// ARGV: fingerprint, token, lease, time to live, and 1 if an attempt whose outcome is unknown is made again.
const BEGIN = new RedisScript(`
if redis.call('HGET', KEYS[1], 'x') == ARGV[2] then return { 'forgotten', '', '' } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease = string.format('%.0f', now + tonumber(ARGV[3]))
local f = redis.call('HGET', KEYS[1], 'f')
if not f then
  redis.call('HSET', KEYS[1], 'f', ARGV[1], 't', ARGV[2], 'u', lease)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return { 'begun', '', '' }
end
local o = redis.call('HGET', KEYS[1], 'o')
if o then return { 'done', f, o } end
if now < tonumber(redis.call('HGET', KEYS[1], 'u')) then
  if redis.call('HGET', KEYS[1], 't') == ARGV[2] then return { 'begun', '', '' } end
  return { 'running', f, '' }
end
if ARGV[5] ~= '1' or f ~= ARGV[1] then return { 'unknown', f, '' } end
redis.call('HSET', KEYS[1], 't', ARGV[2], 'u', lease)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 'begun', '', '' }
`)

const EXTEND = new RedisScript(`
if redis.call('HGET', KEYS[1], 't') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'u', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])))
return 1
`)

const FINISH = new RedisScript(`
if redis.call('HGET', KEYS[1], 't') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'o', ARGV[2])
redis.call('HDEL', KEYS[1], 't', 'u')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`)

// A client that loads a script first sends the command of an attempt later than this one.
const FORGET = new RedisScript(`
if redis.call('HGET', KEYS[1], 't') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
if redis.call('HEXISTS', KEYS[1], 'f') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'x', ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return 0
`)

/**
 * Keeps outcomes in Redis 6.2 or later, or Valkey, through your program's own client. Redis must not drop keys when its memory is full
 * (`maxmemory-policy noeviction`, its default). After 5 failures in a row, it gets no commands for 5 seconds, and requests are refused.
 *
 * @param client of the package `redis` or `ioredis`. It is never connected or closed here
 * @throws WEIR_OPTION_INVALID
 */
export function redisIdempotency(client: RedisClient, options: RedisIdempotencyOptions = {}): IdempotencyStore {
  const { access, prefix } = openRedis(OWNER, client, REDIS_IDEMPOTENCY_RULES.read(options))
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async begin(key, { fingerprint, token, leaseMs, ttlMs, retriesUnknown }) {
      // Redis was not asked, so there is nothing to undo: a client keeps each command until Redis replies.
      if (access.isDegraded) return { state: 'unavailable', cause: access.lastError }
      const again = retriesUnknown ? '1' : '0'
      const reply = await access.runScript(BEGIN, prefix + key, fingerprint, token, String(leaseMs), String(ttlMs), again)
      const [state, known, outcome] = (reply as readonly unknown[]).map(String) as [
        Exclude<Begun['state'], 'unavailable'> | 'forgotten',
        string,
        string,
      ]
      if (state === 'forgotten') throw new WeirError('WEIR_STORE_UNAVAILABLE', 'Redis: the attempt was given up')
      if (state === 'begun') return { state }
      return state === 'done' ? { state, fingerprint: known, outcome } : { state, fingerprint: known }
    },
    async extend(key, token, leaseMs) {
      await access.runScript(EXTEND, prefix + key, token, String(leaseMs))
    },
    async finish(key, token, outcome, ttlMs) {
      await access.runScript(FINISH, prefix + key, token, outcome, String(ttlMs))
    },
    async abandon(key, token, as) {
      if (as === 'forget') await access.undoWith(FORGET, prefix + key, token)
      else await access.runScript(EXTEND, prefix + key, token, '0')
    },
  }
}
