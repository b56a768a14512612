// Certificates with their keys in Redis or Valkey, and the lock for ordering them, through the program's own client.

import type { Duration } from 'weirjs'
import { rules } from 'weirjs/kit'
import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

interface RedisCertificatesOptions {
  /** The beginning of all keys. Default `weir:acme:`. */
  readonly prefix?: string
  /** How long each command may take. Default 2 seconds. When exceeded, an order fails and is tried again later. */
  readonly timeout?: Duration
}

const OWNER = 'redisCertificates()'
const { prefix, timeout } = redisRules('weir:acme:', '2s')
/** @internal */
export const REDIS_CERTIFICATES_RULES = rules<RedisCertificatesOptions>(OWNER)({ prefix, timeout })

const LOCK = new RedisScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`)

const UNLOCK = new RedisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`)

/**
 * A store for `acme` of `@weirjs/acme` in Redis 6.2 or later, or Valkey: its option `store`. Processes on any machine that use it share
 * certificates, and one at a time has an order. Anyone who can read this Redis has the keys of your certificates. It must not drop keys when its
 * memory is full (`maxmemory-policy noeviction`, its default).
 *
 * @param client of the package `redis` or `ioredis`, connected. It is never connected or closed here
 * @throws WEIR_OPTION_INVALID
 */
export function redisCertificates(
  client: RedisClient,
  options: RedisCertificatesOptions = {},
): {
  get(name: string): Promise<string | null>
  set(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
  lock(name: string, owner: string, ttlMs: number): Promise<boolean>
  unlock(name: string, owner: string): Promise<void>
} {
  const { access, prefix } = openRedis(OWNER, client, { ...REDIS_CERTIFICATES_RULES.read(options), onChange: undefined })
  /** No name has a colon. */
  const lockKey = (name: string): string => `${prefix}lock:${name}`
  return {
    async get(name) {
      const text = await access.run('GET', prefix + name)
      return text === null || text === undefined ? null : String(text)
    },
    async set(name, value) {
      await access.run('SET', prefix + name, value)
    },
    async delete(name) {
      await access.run('DEL', prefix + name)
    },
    async lock(name, owner, ttlMs) {
      return Number(await access.runScript(LOCK, lockKey(name), owner, String(ttlMs))) === 1
    },
    async unlock(name, owner) {
      await access.runScript(UNLOCK, lockKey(name), owner)
    },
  }
}
