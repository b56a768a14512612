// The state of limits in Redis or Valkey, shared by all processes that use it. One script and one key for each decision, so it works in a
// cluster; the time comes from Redis, so the clocks of the machines may differ.

import type { Duration } from 'weirjs'
import { type Clock, option, rules } from 'weirjs/kit'
import type { LimitStore, Taken } from 'weirjs/limits'
import { type LimitTable, type RateRule, takenAt } from 'weirjs/limits'
import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisAccess } from '../client/redis-access.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

const { forTests } = option

export interface RedisStoreOptions {
  /** The beginning of all keys in Redis. Default `weir:limit:`. */
  readonly prefix?: string
  /** How long a request waits for Redis at most. Default 95 ms, so that it is less than 100 ms with everything else. The time of a busy process does not count. */
  readonly timeout?: Duration
  /**
   * Called when Redis gets no more commands because five in a row have failed, and when it gets them again.
   * @param error why the last command failed; null when it gets commands again
   */
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
  /** For tests: the clock of the timeout and of the pause. Default: the system's clock. */
  readonly clock?: Clock
}

const OWNER = 'redisStore()'
/** @internal */
export const REDIS_STORE_RULES = rules<RedisStoreOptions>(OWNER)({ ...redisRules('weir:limit:', '95ms'), clock: forTests() })

/**
 * A key holds the level of its bucket and when that was computed, and expires when the bucket has drained. If the clock of Redis goes back,
 * as it may when another node takes over, nothing drains until it has caught up or the key has expired.
 *
 * ARGV: levels to add, the capacity, and how much drains in a millisecond. To give back, the levels are negative.
 */
const SCRIPT = new RedisScript(`
local add, capacity, drain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local level = 0
local value = redis.call('GET', KEYS[1])
if value then
  local old, at = string.match(value, '^(%d+) (%d+)$')
  at = tonumber(at)
  level = math.max(0, tonumber(old) - math.max(0, now - at) * drain)
  now = math.max(now, at)
end
local filled = math.max(0, level + add)
if filled > capacity then return { 0, level } end
if filled == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', filled, now), 'PX', string.format('%.0f', math.ceil(filled / drain)))
end
return { 1, filled }
`)

/**
 * Keeps the state of limits in Redis or Valkey, through your program's own client. Redis 6.2 or later. Create one store, and use it for all
 * limits: it notices when Redis does not reply.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): LimitStore {
  const { access, prefix } = openRedis(OWNER, client, REDIS_STORE_RULES.read(options))
  return {
    get isDegraded() {
      return access.isDegraded
    },
    open: (name, rule) => new RedisTable(access, rule, `${prefix}${name}:${rule.quota}/${rule.windowMs}/${rule.burst}:`),
  }
}

class RedisTable implements LimitTable {
  readonly #access: RedisAccess
  readonly #rule: RateRule
  readonly #prefix: string
  readonly #capacity: string
  readonly #drain: string

  /** @param prefix contains the numbers of the rule, because old levels have no meaning after a change of the rule */
  constructor(access: RedisAccess, rule: RateRule, prefix: string) {
    this.#access = access
    this.#rule = rule
    this.#prefix = prefix
    this.#capacity = String(rule.capacity)
    this.#drain = String(rule.drainPerMs)
  }

  async take(key: string, cost: number): Promise<Taken> {
    const [isAllowed, level] = await this.#run(key, cost)
    return takenAt(this.#rule, level, cost, isAllowed)
  }

  async refund(key: string, cost: number): Promise<void> {
    await this.#run(key, -cost)
  }

  async #run(key: string, cost: number): Promise<readonly [isAllowed: boolean, level: number]> {
    const reply = await this.#access.runScript(
      SCRIPT,
      this.#prefix + key,
      String(Math.round(cost * this.#rule.unit)),
      this.#capacity,
      this.#drain,
    )
    const [isAllowed, level] = reply as readonly [unknown, unknown]
    return [Number(isAllowed) === 1, Number(level)] // a client may be set to return numbers as strings
  }
}
