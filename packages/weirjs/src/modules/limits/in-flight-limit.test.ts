import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type Flight, InFlightLimit } from './in-flight-limit.ts'

interface Running {
  readonly flight: Flight
  readonly due: number
}

/** A server that works on `capacity` requests at once, `workMs` each; `arrivals` of them come in each millisecond of `ms`. */
function simulate(
  limit: InFlightLimit,
  capacity: number,
  workMs: number,
  arrivals: number,
  ms: number,
  from = 0,
): { served: number; refused: number; worstMs: number } {
  const freeAt = new Array<number>(capacity).fill(0)
  let running: Running[] = []
  let owed = 0
  let served = 0
  let refused = 0
  let worstMs = 0
  for (let now = from; now < from + ms; now++) {
    const over = running.filter(({ due }) => due <= now)
    running = running.filter(({ due }) => due > now)
    for (const { flight } of over) {
      limit.end(flight, now, true)
      served++
      if (now > from + ms / 2) worstMs = Math.max(worstMs, now - flight.startedAt)
    }
    for (owed += arrivals; owed >= 1; owed--) {
      if (limit.inFlight >= limit.limit) {
        refused++
        continue
      }
      const worker = freeAt.indexOf(Math.min(...freeAt))
      const due = Math.max(now, freeAt[worker]!) + workMs
      freeAt[worker] = due
      running.push({ flight: limit.begin('GET /', now), due })
    }
  }
  for (const { flight } of running) limit.end(flight, from + ms, false)
  return { served, refused, worstMs }
}

test('three times the capacity: all of it is used, and nobody waits three times as long', () => {
  const limit = new InFlightLimit()
  const { served, refused, worstMs } = simulate(limit, 10, 20, 1.5, 20_000)
  assert.ok(served > 0.97 * 0.5 * 20_000, `${served} served`)
  assert.ok(refused > 0.6 * 1.5 * 20_000, `${refused} refused`)
  assert.ok(worstMs <= 60, `${worstMs} ms`)
  assert.equal(limit.inFlight, 0)
})

test('a server that is fast enough is not limited', () => {
  const limit = new InFlightLimit()
  const { refused } = simulate(limit, 1_000, 20, 1, 10_000)
  assert.equal(refused, 0)
})

test('more and more requests at once, without waiting for each other, raise the limit', () => {
  const limit = new InFlightLimit()
  simulate(limit, 1_000, 50, 4, 20_000) // 200 at once
  assert.ok(limit.limit >= 200, String(limit.limit))
  assert.equal(simulate(limit, 1_000, 50, 4, 2_000, 20_000).refused, 0)
})

test('a dependency that becomes slower for good is learned', () => {
  const limit = new InFlightLimit()
  simulate(limit, 10, 20, 1.5, 5_000)
  const { served } = simulate(limit, 10, 80, 1.5, 60_000, 5_000)
  assert.ok(served > 0.9 * (10 / 80) * 60_000, `${served} served`)
})

test('routes of different speed are compared with themselves', () => {
  const limit = new InFlightLimit()
  let now = 0
  for (let i = 0; i < 5_000; i++) {
    const all = Array.from({ length: 30 }, (_, n) => limit.begin(n % 3 === 0 ? 'slow' : 'fast', now))
    now += 5
    for (const one of all) if (one.route === 'fast') limit.end(one, now, true)
    now += 200
    for (const one of all) if (one.route === 'slow') limit.end(one, now, true)
  }
  assert.ok(limit.limit > 30, String(limit.limit))
})

test('requests that were aborted change nothing but the count', () => {
  const limit = new InFlightLimit()
  for (let i = 0; i < 1_000; i++) limit.end(limit.begin('a', 0), 1_000 * i, false)
  assert.equal(limit.limit, 32)
  assert.equal(limit.inFlight, 0)
})
