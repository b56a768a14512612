// Rate limits against a reference that is too simple to be wrong, and the promise that their documentation makes.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { MemoryTable } from '../../src/modules/limits/memory-store.ts'
import { rateRule } from '../../src/modules/limits/rate-rule.ts'
import { TestClock } from '../../src/testing/index.ts'
import { thinned } from '../support/thinned.ts'

/** Exact fractions: a bucket with `burst` units that `quota` units refill in each window. */
class Reference {
  readonly #quota: bigint
  readonly #windowMs: bigint
  readonly #burst: bigint
  /** Units, times the window. */
  #content: bigint
  #at = 0n

  constructor(quota: number, windowMs: number, burst: number) {
    this.#quota = BigInt(quota)
    this.#windowMs = BigInt(windowMs)
    this.#burst = BigInt(burst)
    this.#content = this.#burst * this.#windowMs
  }

  #fill(now: number): void {
    const full = this.#burst * this.#windowMs
    this.#content += (BigInt(now) - this.#at) * this.#quota
    if (this.#content > full) this.#content = full
    this.#at = BigInt(now)
  }

  take(now: number, cost: number): boolean {
    this.#fill(now)
    const wanted = BigInt(cost) * this.#windowMs
    if (wanted > this.#content) return false
    this.#content -= wanted
    return true
  }

  refund(now: number, cost: number): void {
    this.#content += BigInt(cost) * this.#windowMs
    this.#fill(now)
  }

  get remaining(): number {
    return Number(this.#content / this.#windowMs)
  }
}

const rules = fc.record({
  quota: fc.integer({ min: 1, max: 5_000 }),
  windowMs: fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constantFrom(60_000, 3_600_000, 86_400_000)),
  burst: fc.integer({ min: 1, max: 60 }),
})
const steps = fc.array(
  fc.record({
    pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100_000 })),
    key: fc.constantFrom('a', 'b', 'c'),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 20 })),
    refunds: fc.oneof(fc.constant(false), fc.boolean()),
  }),
  { minLength: 1, maxLength: 200 },
)

/** A clock that a property moves without promises. */
class QuickClock extends TestClock {
  time = 0
  override now(): number {
    return this.time
  }
}

test('every decision is that of exact arithmetic, for each key by itself', () => {
  fc.assert(
    fc.property(rules, steps, ({ quota, windowMs, burst }, all) => {
      const clock = new QuickClock()
      const table = new MemoryTable(rateRule('test', quota, windowMs, burst), 10)
      const references = new Map(['a', 'b', 'c'].map((key) => [key, new Reference(quota, windowMs, burst)]))
      for (const { pauseMs, key, cost, refunds } of all) {
        clock.time += pauseMs
        const reference = references.get(key)!
        if (refunds) {
          table.refund(key, cost)
          reference.refund(clock.time, cost)
          continue
        }
        const taken = table.take(key, cost, clock)
        assert.equal(taken.isAllowed, reference.take(clock.time, cost))
        assert.equal(taken.remaining, reference.remaining)
      }
    }),
    { numRuns: thinned(500) },
  )
})

const crowds = fc.record({
  maxKeys: fc.integer({ min: 1, max: 6 }),
  sharedBuckets: fc.integer({ min: 1, max: 4 }),
  all: fc.array(
    fc.record({
      pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100_000 })),
      key: fc.integer({ min: 0, max: 20 }).map(String),
      times: fc.integer({ min: 1, max: 8 }),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 20 })),
      refunds: fc.boolean(),
    }),
    { minLength: 1, maxLength: 200 },
  ),
})

test('whatever keys others use and however few there is room for, no key takes what exact arithmetic would refuse', () => {
  fc.assert(
    fc.property(rules, crowds, ({ quota, windowMs, burst }, { maxKeys, sharedBuckets, all }) => {
      const clock = new QuickClock()
      const table = new MemoryTable(rateRule('test', quota, windowMs, burst), maxKeys, sharedBuckets)
      const references = new Map<string, Reference>()
      for (const { pauseMs, key, times, cost, refunds } of all) {
        clock.time += pauseMs
        const reference = references.get(key) ?? new Reference(quota, windowMs, burst)
        references.set(key, reference)
        for (let i = 0; i < times; i++) {
          const taken = table.take(key, cost, clock)
          if (!taken.isAllowed) continue
          assert.equal(reference.take(clock.time, cost), true, `key ${key}`)
          assert.ok(taken.remaining <= reference.remaining)
          if (!refunds || i > 0) continue
          table.refund(key, cost)
          reference.refund(clock.time, cost)
        }
        assert.ok(table.size <= maxKeys)
      }
    }),
    { numRuns: thinned(500) },
  )
})

test('in no time are more than burst + quota × t / window taken', () => {
  fc.assert(
    fc.property(rules, steps, ({ quota, windowMs, burst }, all) => {
      const clock = new QuickClock()
      const table = new MemoryTable(rateRule('test', quota, windowMs, burst), 10)
      const taken: { at: number; cost: number }[] = []
      for (const { pauseMs, cost } of all) {
        clock.time += pauseMs
        if (table.take('a', cost, clock).isAllowed) taken.push({ at: clock.time, cost })
      }
      for (let from = 0; from < taken.length; from++) {
        let sum = 0
        for (let to = from; to < taken.length; to++) {
          sum += taken[to]!.cost
          const allowed = burst * windowMs + quota * (taken[to]!.at - taken[from]!.at)
          assert.ok(sum * windowMs <= allowed, `${sum} in ${taken[to]!.at - taken[from]!.at} ms`)
        }
      }
    }),
    { numRuns: thinned(300) },
  )
})

test('retryAfterMs is exact: a millisecond before, it is too early', () => {
  fc.assert(
    fc.property(rules, fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 5_000 }), (rule, wanted, pauseMs) => {
      const { quota, windowMs, burst } = rule
      const cost = Math.min(wanted, burst)
      const clock = new QuickClock()
      const exhausted = (): MemoryTable => {
        clock.time = 0
        const table = new MemoryTable(rateRule('test', quota, windowMs, burst), 10)
        table.take('a', burst, clock)
        clock.time = pauseMs
        return table
      }
      const { isAllowed, retryAfterMs } = exhausted().take('a', cost, clock)
      if (isAllowed) return
      const early = exhausted()
      clock.time = pauseMs + retryAfterMs - 1
      assert.equal(early.take('a', cost, clock).isAllowed, false)
      const late = exhausted()
      clock.time = pauseMs + retryAfterMs
      assert.equal(late.take('a', cost, clock).isAllowed, true)
    }),
    { numRuns: thinned(500) },
  )
})
