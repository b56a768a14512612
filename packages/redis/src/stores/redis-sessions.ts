// Sessions in Redis or Valkey, through the program's own client.

import type { Duration } from 'weirjs'
import { rules } from 'weirjs/kit'
import type { SessionStore } from 'weirjs/sessions'
import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

export interface RedisSessionsOptions {
  /** The beginning of all keys. Default `weir:session:`. */
  readonly prefix?: string
  /** How long a request waits for each command. Default 100 ms. When exceeded: 503. */
  readonly timeout?: Duration
  /**
   * Called when Redis gets no more commands because five in a row have failed, and when it gets them again.
   * @param error why the last command failed; null when it gets commands again
   */
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
}

/** A store in Redis, which can tell whether it works. */
export interface RedisSessions extends SessionStore {
  /** Whether Redis gets no commands, because the last ones have failed: for readiness checks. */
  readonly isDegraded: boolean
}

const OWNER = 'redisSessions()'
/** @internal */
export const REDIS_SESSIONS_RULES = rules<RedisSessionsOptions>(OWNER)({ ...redisRules('weir:session:', '100ms') })

/** Redis runs it in one step, so no other process can change the session in between. */
const REPLACE = new RedisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`)

/**
 * Keeps sessions in Redis 6.2 or later, or Valkey: each under one key, which Redis deletes when the session ends. Works in a cluster. After 5
 * failures in a row, Redis gets no commands for 5 seconds, and requests with a session are refused immediately.
 * @param client of your program, of the package `redis` or `ioredis`. It is never connected or closed here
 * @throws WEIR_OPTION_INVALID
 */
export function redisSessions(client: RedisClient, options: RedisSessionsOptions = {}): RedisSessions {
  const { access, prefix } = openRedis(OWNER, client, REDIS_SESSIONS_RULES.read(options))
  return {
    get isDegraded() {
      return access.isDegraded
    },
    async read(key) {
      const text = await access.run('GET', prefix + key)
      return text === null || text === undefined ? null : String(text)
    },
    async write(key, text, ttlMs) {
      await access.run('SET', prefix + key, text, 'PX', String(ttlMs))
    },
    async replace(key, expected, text, ttlMs) {
      return Number(await access.runScript(REPLACE, prefix + key, expected, text, String(ttlMs))) === 1
    },
    async delete(key) {
      await access.run('DEL', prefix + key)
    },
  }
}
