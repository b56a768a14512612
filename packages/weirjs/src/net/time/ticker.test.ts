import assert from 'node:assert/strict'
import { test } from 'node:test'

import { eventually } from '../../../test/support/serving.ts'
import { Turns } from '../../../test/support/turns.ts'
import { DEFAULT_TIMEOUTS } from '../../base/limits.ts'
import { TestClock } from '../../testing/test-clock.ts'
import { Deadlines, HEAD } from './deadlines.ts'
import { Ticker, type Timed } from './ticker.ts'

/** Long enough that the longest period applies. */
const TIMEOUTS = { ...DEFAULT_TIMEOUTS, lingerTimeout: 4000 }

class Connection implements Timed {
  isIdle = false
  elapsed: number[] = []
  onTick: () => void = () => {}

  tick(elapsedMs: number): void {
    this.elapsed.push(elapsedMs)
    this.onTick()
  }
}

function started() {
  const clock = new TestClock()
  const ticker = new Ticker(clock, TIMEOUTS)
  const connection = new Connection()
  ticker.add(connection)
  return { clock, ticker, connection }
}

test('a ticker ticks twice a second while a connection is busy, and once a second while all are idle', async () => {
  const { clock, connection } = started()
  await clock.advance(2000)
  assert.deepEqual(connection.elapsed, [500, 500, 500, 500])
  connection.isIdle = true
  connection.elapsed = []
  await clock.advance(3500)
  assert.deepEqual(connection.elapsed, [500, 1000, 1000, 1000])
})

test('one busy connection among idle ones keeps the shorter period', async () => {
  const { clock, ticker, connection } = started()
  const idle = new Connection()
  idle.isIdle = true
  ticker.add(idle)
  await clock.advance(2000)
  assert.equal(connection.elapsed.length, 4)
})

test('reading the time in an idle second returns it exactly, and restores the shorter period', async () => {
  const { clock, ticker, connection } = started()
  connection.isIdle = true
  await clock.advance(500)
  await clock.advance(700)
  connection.isIdle = false
  assert.equal(ticker.now, 1200)
  connection.elapsed = []
  await clock.advance(1000)
  assert.deepEqual(connection.elapsed, [1200, 500], 'the first tick counts the time since the last one')
})

test('what begins after an idle second is not charged with it', async () => {
  const { clock, ticker, connection } = started()
  connection.isIdle = true
  await clock.advance(500)
  await clock.advance(900)
  connection.isIdle = false
  const deadlines = new Deadlines({ ...TIMEOUTS, requestTimeout: 600, writeTimeout: 600 }, ticker)
  deadlines.enter(HEAD)
  deadlines.startRequest(null)
  const late: unknown[] = []
  connection.onTick = () => {
    const elapsed = connection.elapsed.at(-1)!
    late.push(deadlines.checkRequest(elapsed, false) ?? deadlines.checkWrite(elapsed, true, 0))
  }
  await clock.advance(500)
  assert.deepEqual(late, [null])
  await clock.advance(1_000)
  assert.ok(late.at(-1) !== null, 'but with its own time')
})

test('many connections are checked in several turns, each once and with the same time', async (t) => {
  const { clock, ticker } = started()
  const turns = new Turns(t)
  const many = Array.from({ length: 2_000 }, () => new Connection())
  for (const one of many) {
    one.isIdle = true
    one.onTick = () => turns.count()
    ticker.add(one)
  }
  await clock.advance(500)
  await eventually(() => many.at(-1)!.elapsed.length === 1, 'the last one')
  assert.ok(turns.most < 600, `${turns.most} in one turn`)
  await clock.advance(500)
  await eventually(() => many.at(-1)!.elapsed.length === 2, 'the last one again')
  for (const { elapsed } of many) assert.deepEqual(elapsed, [500, 500])
  // Removed while the others wait.
  await clock.advance(500)
  for (const one of many) ticker.delete(one)
})

test('a connection with many requests counts as many', async (t) => {
  const { clock, ticker } = started()
  const turns = new Turns(t)
  let checked = 0
  for (let i = 0; i < 50; i++) {
    const tick = (): void => {
      checked++
      turns.count()
    }
    ticker.add({ isIdle: false, load: 100, tick })
  }
  await clock.advance(500)
  await eventually(() => checked === 50, 'all of them')
  assert.ok(turns.most < 8, `${turns.most} in one turn`)
})

test('nothing ticks without connections', async () => {
  const { clock, ticker, connection } = started()
  assert.equal(clock.running, 1)
  connection.isIdle = true
  await clock.advance(1500)
  ticker.delete(connection)
  assert.equal(clock.running, 0)
  assert.equal(ticker.now, ticker.now)
  assert.equal(clock.running, 0, 'not even when the time is read')
})

test('a connection that is removed in its own tick leaves no timer', async () => {
  const { clock, ticker } = started()
  const leaving: Timed = { isIdle: true, tick: () => ticker.delete(leaving) }
  const alone = new Ticker(clock, TIMEOUTS)
  const last: Timed = { isIdle: true, tick: () => alone.delete(last) }
  ticker.add(leaving)
  alone.add(last)
  await clock.advance(600)
  assert.equal(clock.running, 1)
})
