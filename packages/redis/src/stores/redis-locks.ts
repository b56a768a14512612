// Locks that several machines share, in Redis: a lease that its holder prolongs, and a flag by which others ask for it.

import { randomUUID } from 'node:crypto'
import type { Duration } from 'weirjs'
import { type Clock, option, rules, systemClock } from 'weirjs/kit'

import { openRedis, redisRules } from '../client/open-redis.ts'
import type { RedisAccess } from '../client/redis-access.ts'
import type { RedisClient } from '../client/redis-client.ts'
import { RedisScript } from '../client/redis-script.ts'

const { duration } = option

/** The right to work on an upload: `UploadLock` of `@weirjs/uploads`. */
export interface RedisLock {
  /** Whether its last holder has never released it: it may still be working without knowing that it has lost the lock. */
  readonly hasTakenOver: boolean
  /** Whether it is still held for certain. */
  isHeld(): boolean
  /** Never rejects. */
  release(): Promise<void>
}

/** The locks of uploads, for all processes: the option `locks` of `uploads()`. */
export interface RedisLocks {
  /** @param waitMs 0: the holder is not asked @returns null if the holder does not release it in time, or `signal` aborts before */
  acquire(id: string, onWanted: () => void, waitMs: number, clock: Clock, signal?: AbortSignal): Promise<RedisLock | null>
}

export interface RedisLocksOptions {
  /** The beginning of all keys in Redis. Default `weir:uploads:`. */
  readonly prefix?: string
  /** How long each command may take. Default 500 ms. When exceeded: 503. */
  readonly timeout?: Duration
  /**
   * How long after its last sign of life a process counts as dead, so that another may continue its uploads. Default 10 seconds, at least 2. A
   * process that has given no sign for that long stops working on them.
   */
  readonly lease?: Duration
}

const OWNER = 'redisLocks()'
const { prefix, timeout } = redisRules('weir:uploads:', '500ms')
/** @internal */
export const REDIS_LOCKS_RULES = rules<RedisLocksOptions>(OWNER)({ prefix, timeout, lease: duration({ least: 2_000 }).or('10s') })
/** How often a holder prolongs its lease, and learns whether others want it. */
const SIGN_MS = 500
/** How often a request asks whether it has the lock now. */
const RETRY_MS = 200
/** How long a lock that was never released is remembered, because its holder may still be writing. */
const MEMORY_MS = 24 * 60 * 60 * 1000

// A hash: t is the token of the holder, u until when it holds, and w whether others want it.
// ARGV: token, lease, 1 if the holder is asked, memory. Returns whether it has the lock now, and whether the holder before never released it.
const ACQUIRE = new RedisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local t = redis.call('HGET', KEYS[1], 't')
if t and t ~= ARGV[1] and now < tonumber(redis.call('HGET', KEYS[1], 'u')) then
  if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'w', '1') end
  return { 0, 0 }
end
redis.call('HSET', KEYS[1], 't', ARGV[1], 'u', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('HDEL', KEYS[1], 'w')
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { 1, (t and t ~= ARGV[1]) and 1 or 0 }
`)

// Returns 0 if it is lost, 2 if others want it.
const EXTEND = new RedisScript(`
if redis.call('HGET', KEYS[1], 't') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'u', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('HGET', KEYS[1], 'w') then return 2 end
return 1
`)

const RELEASE = new RedisScript(`
if redis.call('HGET', KEYS[1], 't') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`)

/**
 * Locks in Redis 6.2 or later, or Valkey, through your program's own client, for processes that share a storage. Redis must not drop keys when
 * its memory is full (`maxmemory-policy noeviction`, its default). While it does not reply, uploads are refused with 503.
 *
 * @param client of the package `redis` or `ioredis`. It is never connected or closed here
 * @throws WEIR_OPTION_INVALID
 */
export function redisLocks(client: RedisClient, options: RedisLocksOptions = {}): RedisLocks {
  const { lease: leaseMs, ...settings } = REDIS_LOCKS_RULES.read(options)
  const { access, prefix } = openRedis(OWNER, client, { ...settings, onChange: undefined })
  return {
    async acquire(id, onWanted, waitMs, clock, signal) {
      const token = randomUUID()
      const deadline = systemClock.now() + waitMs
      for (;;) {
        const askedAt = systemClock.now()
        const wants = waitMs > 0 ? '1' : '0'
        const reply = await access.runScript(ACQUIRE, prefix + id, token, String(leaseMs), wants, String(MEMORY_MS))
        const [has, hasTakenOver] = (reply as readonly unknown[]).map(Number)
        if (has === 1) return new HeldLock(access, prefix + id, token, leaseMs, askedAt, hasTakenOver === 1, onWanted)
        if (systemClock.now() >= deadline || signal?.aborted === true) return null
        await pause(clock)
      }
    },
  }
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(RETRY_MS, () => {
      stop()
      resolve()
    })
  })
}

class HeldLock implements RedisLock {
  readonly hasTakenOver: boolean
  readonly #access: RedisAccess
  readonly #key: string
  readonly #token: string
  readonly #leaseMs: number
  readonly #stopSigns: () => void
  #onWanted: (() => void) | null
  /** When the last sign of life that has reached Redis was sent, by the monotonic clock of this process. */
  #signedAt: number
  #isReleased = false

  constructor(
    access: RedisAccess,
    key: string,
    token: string,
    leaseMs: number,
    signedAt: number,
    hasTakenOver: boolean,
    onWanted: () => void,
  ) {
    this.#access = access
    this.#key = key
    this.#token = token
    this.#leaseMs = leaseMs
    this.#signedAt = signedAt
    this.hasTakenOver = hasTakenOver
    this.#onWanted = onWanted
    this.#stopSigns = systemClock.every(SIGN_MS, () => this.#sign())
  }

  /** A quarter of the lease is reserved for the work after this check. */
  isHeld(): boolean {
    return !this.#isReleased && systemClock.now() - this.#signedAt < this.#leaseMs * 0.75
  }

  async release(): Promise<void> {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#stopSigns()
    // Without a reply, the next one waits until the lease is over.
    await this.#access.runScript(RELEASE, this.#key, this.#token).catch(() => {})
  }

  #sign(): void {
    const askedAt = systemClock.now()
    if (!this.isHeld()) this.#tell()
    this.#access.runScript(EXTEND, this.#key, this.#token, String(this.#leaseMs), String(MEMORY_MS)).then(
      (reply) => {
        if (Number(reply) === 0) {
          this.#signedAt = Number.NEGATIVE_INFINITY
          this.#stopSigns()
        } else this.#signedAt = Math.max(this.#signedAt, askedAt)
        if (Number(reply) !== 1) this.#tell()
      },
      () => {}, // the next sign may reach it
    )
  }

  #tell(): void {
    const onWanted = this.#onWanted
    this.#onWanted = null
    if (!this.#isReleased) onWanted?.()
  }
}
