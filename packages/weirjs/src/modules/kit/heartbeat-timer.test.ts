import assert from 'node:assert/strict'
import { test } from 'node:test'

import { eventually } from '../../../test/support/serving.ts'
import { Turns } from '../../../test/support/turns.ts'
import { settled, TestClock } from '../../testing/test-clock.ts'
import { HeartbeatTimer } from './heartbeat-timer.ts'

const MANY = 2_000

class Listener {
  calls = 0
  onCall: () => void = () => {}

  onHeartbeat(): void {
    this.calls++
    this.onCall()
  }
}

function started(onCall: (listener: Listener) => void = () => {}) {
  const clock = new TestClock()
  const timer = new HeartbeatTimer(10_000, clock)
  const listeners = Array.from({ length: MANY }, () => new Listener())
  for (const one of listeners) {
    one.onCall = () => onCall(one)
    timer.add(one)
  }
  const calls = (): number => listeners.reduce((sum, one) => sum + one.calls, 0)
  return { clock, timer, listeners, calls }
}

test('many listeners are called in several turns, each once in a period', async (t) => {
  const turns = new Turns(t)
  const { clock, listeners, calls } = started(() => turns.count())
  for (const periods of [1, 2, 3]) {
    await clock.advance(1_000)
    await eventually(() => calls() === periods * MANY, 'all of them')
    assert.ok(listeners.every((one) => one.calls === periods))
  }
  assert.ok(turns.most < 600, `${turns.most} in one turn`)
})

test('a period that begins while listeners of the one before wait is skipped', async () => {
  const { clock, listeners, calls } = started()
  for (let i = 0; i < 5; i++) void clock.advance(1_000)
  await eventually(() => listeners.at(-1)!.calls === 1, 'the last one')
  for (let i = 0; i < 20; i++) await settled()
  assert.equal(calls(), MANY)
  await clock.advance(1_000)
  await eventually(() => calls() === 2 * MANY, 'the next period')
})

test('a listener that is removed while others are called is not called, and one that is added is', async () => {
  const late = new Listener()
  let change = (): void => {}
  const { clock, timer, listeners, calls } = started((one) => {
    if (one === listeners[0] && one.calls === 1) change()
  })
  change = () => {
    for (const one of listeners.slice(1_000)) timer.delete(one)
    timer.add(late)
  }
  await clock.advance(1_000)
  await eventually(() => late.calls === 1, 'the one that was added')
  assert.equal(calls(), 1_000)
})

test('if all listeners leave while some wait, the timer stops, and calls new ones from their next period on', async () => {
  let leave = (): void => {}
  const { clock, timer, listeners, calls } = started((one) => {
    if (one === listeners[0]) leave()
  })
  leave = () => {
    for (const one of listeners) timer.delete(one)
  }
  await clock.advance(1_000)
  assert.equal(clock.running, 0)
  const next = new Listener()
  timer.add(next)
  for (let i = 0; i < 20; i++) await settled()
  assert.equal(next.calls, 0)
  await clock.advance(1_000)
  assert.deepEqual([next.calls, calls()], [1, 1])
})

test('a listener that throws does not keep the others from being called, then and later', async () => {
  const { clock, listeners, calls } = started((one) => {
    if (one === listeners[0]) throw new Error('of a listener')
  })
  for (const periods of [1, 2]) {
    await assert.rejects(clock.advance(1_000), /of a listener/)
    await eventually(() => calls() === periods * MANY, 'all of them')
  }
})
