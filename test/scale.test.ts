// The model of many machines (test/scale): what must hold for all of its results. The table in docs/reliability.md is made by
// build/test/scale/main.js.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import fc from 'fast-check'

import { EventQueue } from './scale/event-queue.ts'
import { type Assumptions, type Disturbance, simulate } from './scale/model.ts'
import { ASSUMPTIONS } from './scale/scenarios.ts'

const SMALL: Assumptions = { ...ASSUMPTIONS, processes: 10, clients: 1000 }
const BALANCER: Disturbance = { kind: 'balancer-restart' }

const disturbances = fc.oneof(
  fc.constant<Disturbance>(BALANCER),
  fc.record({ kind: fc.constant('crash' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant('rolling-restart' as const), batch: fc.integer({ min: 1, max: 10 }) }),
  fc.record({
    kind: fc.constant('partition' as const),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    forMs: fc.integer({ min: 0, max: 60_000 }),
  }),
)
const assumptions = fc
  .record({
    connectMs: fc.double({ min: 0.01, max: 50, noNaN: true }),
    backlog: fc.integer({ min: 1, max: 600 }),
    tries: fc.integer({ min: 1, max: 10 }),
    noticeMs: fc.integer({ min: 0, max: 5000 }),
    answerTimeoutMs: fc.integer({ min: 10, max: 60_000 }),
    retryMs: fc.integer({ min: 100, max: 10_000 }),
    jitterMs: fc.integer({ min: 0, max: 10_000 }),
    eventsPerSecond: fc.integer({ min: 0, max: 50 }),
    seed: fc.integer(),
  })
  .map((changes): Assumptions => ({ ...SMALL, ...changes }))

describe('the model of many machines', () => {
  it('takes what is due in the order of the times, and of their addition', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 3000 }), (times) => {
        const queue = new EventQueue()
        for (const [i, time] of times.entries()) queue.add(time, i)
        const expected = times.map((time, i) => ({ time, i })).sort((a, b) => a.time - b.time || a.i - b.i)
        for (const { time, i } of expected) assert.deepEqual([queue.nextTime, queue.take()], [time, i])
        assert.equal(queue.nextTime, Infinity)
        assert.ok(Number.isNaN(queue.take()))
      }),
    )
  })

  it('gives the same findings for the same seed', () => {
    fc.assert(
      fc.property(assumptions, disturbances, (given, disturbance) => {
        assert.deepEqual(simulate(given, disturbance), simulate(given, disturbance))
      }),
      { numRuns: 20 },
    )
  })

  it('brings back every client that has not given up, and loses nothing that a long stream holds', () => {
    fc.assert(
      fc.property(assumptions, disturbances, (given, disturbance) => {
        const { gaveUp, refusals, lost, steadyAfterMs, longestAwayMs } = simulate(given, disturbance)
        assert.equal(gaveUp, refusals)
        assert.ok(gaveUp <= given.clients)
        // Nobody is away for longer than it takes until all are back, and nobody is back before retry.
        assert.ok(longestAwayMs <= steadyAfterMs + 1e-6)
        assert.ok(longestAwayMs === 0 || longestAwayMs >= given.retryMs)
        if ((steadyAfterMs * given.eventsPerSecond) / 1000 <= 10_000) assert.equal(lost, 0)
      }),
      { numRuns: 100 },
    )
  })

  it('is as slow as the process that has the most to do', () => {
    // 100 clients reach each of the ten processes at the same moment, and each takes 2 ms.
    const findings = simulate({ ...SMALL, connectMs: 2, eventsPerSecond: 0 }, BALANCER)
    assert.equal(findings.steadyAfterMs, 3000 + 100 * 2)
    assert.equal(findings.longestQueue, 100)
    assert.equal(findings.peakAttempts, 1000)
    // With events, less of the core is left for those that connect.
    const { steadyAfterMs } = simulate(
      { ...SMALL, clients: 10, processes: 1, connectMs: 1, eventsPerSecond: 100, deliverMs: 0.5 },
      BALANCER,
    )
    assert.ok(steadyAfterMs > 3010 && steadyAfterMs < 3020)
  })

  it('refuses what no process has room for, and lets programs try again', () => {
    const crowded = { ...SMALL, backlog: 50, eventsPerSecond: 0 }
    const refused = simulate(crowded, BALANCER)
    assert.equal(refused.gaveUp, 500)
    const patient = simulate({ ...crowded, afterRefusal: 'retry' }, BALANCER)
    assert.equal(patient.gaveUp, 0)
    assert.equal(patient.refusals, 500)
    assert.equal(patient.longestAwayMs, 6000 + 50 * SMALL.connectMs)
  })

  it('counts what each kind of relay loses', () => {
    const relay = { kind: 'publish-subscribe', history: 100 } as const
    const cut: Disturbance = { kind: 'partition', share: 0.5, forMs: 30_000 }
    assert.equal(simulate(SMALL, cut).lost, 0)
    assert.equal(simulate({ ...SMALL, relay: { kind: 'stream', maxLength: 10 } }, cut).lost, 500 * 20)
    assert.equal(simulate({ ...SMALL, relay }, cut).lost, 500 * 30)
    // A process that has just started has heard nothing of what its clients missed while it was away.
    const all: Disturbance = { kind: 'crash', share: 1 }
    const back = { ...SMALL, processes: 1, clients: 1, connectMs: 0.001, startMs: 1000, eventsPerSecond: 10 }
    assert.equal(Math.round(simulate({ ...back, relay }, all).lost), 10)
    assert.equal(simulate(back, all).lost, 0)
  })

  it('loses and repeats events if the clocks of the processes make their ids', () => {
    const skewed = { ...SMALL, jitterMs: 1000, skewMs: 2000, eventsPerSecond: 10 }
    const { lost, repeated } = simulate({ ...skewed, ids: 'process' }, BALANCER)
    assert.ok(lost > 0 && repeated > 0)
    assert.deepEqual(simulate(skewed, BALANCER).lost, 0)
    assert.deepEqual(simulate(skewed, BALANCER).repeated, 0)
  })
})
