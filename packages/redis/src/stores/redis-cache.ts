// Responses of the cache in Redis: each command uses one key.

import { createHash } from 'node:crypto'
import type { Duration } from 'weirjs'
import type { CacheStore } from 'weirjs/cache'
import { rules } from 'weirjs/kit'

import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

export interface RedisCacheOptions {
  /** The beginning of all keys in Redis. Default `weir:cache:`. */
  readonly prefix?: string
  /** How long a request waits for each command. Default 100 ms. When exceeded: the process works as without a store. */
  readonly timeout?: Duration
  /**
   * Called when Redis gets no more commands because five in a row have failed, and when it gets them again.
   * @param error why the last command failed; null when it gets commands again
   */
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
}

const OWNER = 'redisCache()'
/** @internal */
export const REDIS_CACHE_RULES = rules<RedisCacheOptions>(OWNER)({ ...redisRules('weir:cache:', '100ms') })

const CLAIM = new RedisScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return -1 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
`)

const RELEASE = new RedisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`)

const MARK = new RedisScript(`
local time = redis.call('TIME')
redis.call('SET', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), 'PX', ARGV[1])
return 1
`)

/**
 * Shares responses in Redis 6.2 or later, or Valkey, through your program's own client. Each command uses one key, so it works in a cluster.
 * After 5 failures in a row, Redis gets no commands for 5 seconds.
 *
 * @param client of the package `redis` or `ioredis`. It is never connected or closed here
 * @throws WEIR_OPTION_INVALID
 */
export function redisCache(client: RedisClient, options: RedisCacheOptions = {}): CacheStore {
  const { access, prefix } = openRedis(OWNER, client, REDIS_CACHE_RULES.read(options))
  const named = (kind: string, key: string): string => `${prefix}${kind}:${createHash('sha256').update(key, 'utf16le').digest('base64url')}`
  const text = (reply: unknown): string | null => (reply === null || reply === undefined ? null : String(reply))
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async read(key) {
      return text(await access.run('GET', named('r', key)))
    },
    async write(key, value, ttlMs) {
      await access.run('SET', named('r', key), value, 'PX', String(ttlMs))
    },
    async claim(key, token, leaseMs) {
      const time = Number(await access.runScript(CLAIM, named('l', key), token, String(leaseMs)))
      return time < 0 ? null : time
    },
    async isClaimed(key) {
      return Number(await access.run('EXISTS', named('l', key))) === 1
    },
    async release(key, token) {
      await access.runScript(RELEASE, named('l', key), token)
    },
    async mark(tag, ttlMs) {
      await access.runScript(MARK, named('t', tag), String(ttlMs))
    },
    async markedAt(tag) {
      const time = text(await access.run('GET', named('t', tag)))
      return time === null ? null : Number(time)
    },
  }
}
