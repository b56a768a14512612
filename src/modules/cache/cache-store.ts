// Where processes share what they keep: an interface, and an implementation for Redis.

import { createHash } from 'node:crypto'

import type { Duration } from '../../base/duration.ts'
import { rules } from '../../base/option-rules.ts'
import { openRedis, redisRules } from '../redis/open-redis.ts'
import type { RedisClient } from '../redis/redis-client.ts'
import { RedisScript } from '../redis/redis-script.ts'

/** Shared by processes. All functions may reject: then the process works as without a store. */
export interface CacheStore {
  /** Whether the store does not reply. For readiness checks. */
  readonly isDegraded: boolean
  /** The text that was written last, unless its time is over. */
  read(key: string): Promise<string | null>
  write(key: string, text: string, ttlMs: number): Promise<void>
  /**
   * Reserves a key for `leaseMs`, unless it is reserved already. With the same token, it prolongs the reservation.
   * @returns the time of the store in milliseconds, or null if somebody else has it
   */
  claim(key: string, token: string, leaseMs: number): Promise<number | null>
  /** Whether somebody has reserved it. */
  isClaimed(key: string): Promise<boolean>
  /** Ends the reservation, if it has this token. */
  release(key: string, token: string): Promise<void>
  /** Notes the time of the store for a tag, and keeps it for `ttlMs`. */
  mark(tag: string, ttlMs: number): Promise<void>
  /** The time that was noted for a tag last; null if there is none. */
  markedAt(tag: string): Promise<number | null>
}

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
