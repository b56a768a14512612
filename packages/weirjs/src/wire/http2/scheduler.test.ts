import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Scheduler } from './scheduler.ts'
import { Http2Stream } from './stream.ts'

type Stream = Http2Stream<null>

function streamOf(id: number, urgency = 3, isIncremental = true): Stream {
  const stream = new Http2Stream<null>(id, 0, 0)
  stream.urgency = urgency
  stream.isIncremental = isIncremental
  return stream
}

/** The streams that the next `turns` frames belong to. */
const turnsOf = (scheduler: Scheduler<null>, turns: number): (number | undefined)[] =>
  Array.from({ length: turns }, () => scheduler.next()?.id)

function scheduled(...streams: readonly Stream[]): Scheduler<null> {
  const scheduler = new Scheduler<null>()
  for (const stream of streams) scheduler.add(stream)
  return scheduler
}

test('incremental streams take turns', () => {
  assert.deepEqual(turnsOf(scheduled(streamOf(1), streamOf(3), streamOf(5)), 7), [1, 3, 5, 1, 3, 5, 1])
})

test('others are sent in the order of their numbers, whenever they came', () => {
  const scheduler = scheduled(streamOf(5, 3, false), streamOf(1, 3, false), streamOf(9, 3, false), streamOf(7, 3, false))
  const order: number[] = []
  for (let stream = scheduler.next(); stream !== null; stream = scheduler.next()) {
    order.push(stream.id)
    assert.equal(scheduler.next(), stream, 'until it is removed')
    scheduler.remove(stream)
  }
  assert.deepEqual(order, [1, 5, 7, 9])
  assert.equal(scheduler.mask, 0)
})

test('of one urgency, the first of the others has every second turn', () => {
  const scheduler = scheduled(streamOf(1, 3, false), streamOf(3, 3, false), streamOf(5), streamOf(7))
  assert.deepEqual(turnsOf(scheduler, 6), [5, 1, 7, 1, 5, 1])
})

test('the most urgent go first', () => {
  const [low, high] = [streamOf(1, 6), streamOf(3, 0)]
  const scheduler = scheduled(low, high)
  assert.deepEqual(turnsOf(scheduler, 2), [3, 3])
  scheduler.prioritize(low, 0, true)
  assert.deepEqual(turnsOf(scheduler, 2), [3, 1])
  scheduler.prioritize(high, 7, false)
  assert.deepEqual(turnsOf(scheduler, 2), [1, 1])
})

test('a stream is there once, and may be removed twice', () => {
  const stream = streamOf(1)
  const scheduler = scheduled(stream, streamOf(3))
  scheduler.add(stream)
  assert.deepEqual(turnsOf(scheduler, 4), [1, 3, 1, 3])
  scheduler.remove(stream)
  scheduler.remove(stream)
  assert.deepEqual(turnsOf(scheduler, 2), [3, 3])
})

test('a priority may change while a stream does not wait', () => {
  const stream = streamOf(1)
  const scheduler = new Scheduler<null>()
  scheduler.prioritize(stream, 1, false)
  assert.equal(scheduler.next(), null)
  scheduler.add(stream)
  assert.deepEqual([stream.urgency, stream.isIncremental, scheduler.next()], [1, false, stream])
})

test('whatever is added, removed and changed: the next one is among the most urgent, and nobody starves', () => {
  const act = fc.tuple(fc.constantFrom('add', 'remove', 'prioritize'), fc.nat(9), fc.nat(7), fc.boolean())
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const streams = Array.from({ length: 10 }, (_, i) => streamOf(2 * i + 1))
      const waiting = new Set<Stream>()
      const scheduler = new Scheduler<null>()
      for (const [verb, index, urgency, isIncremental] of acts) {
        const stream = streams[index]!
        if (verb === 'add') {
          scheduler.add(stream)
          waiting.add(stream)
        } else if (verb === 'remove') {
          scheduler.remove(stream)
          waiting.delete(stream)
        } else scheduler.prioritize(stream, urgency, isIncremental)
        assert.equal(scheduler.mask === 0, waiting.size === 0)
        const most = Math.min(...[...waiting].map((one) => one.urgency))
        const next = scheduler.next()
        assert.equal(next !== null, waiting.size > 0)
        if (next !== null) assert.ok(waiting.has(next) && next.urgency === most)
      }
      if (waiting.size === 0) return
      const most = Math.min(...[...waiting].map((one) => one.urgency))
      const level = [...waiting].filter((one) => one.urgency === most)
      const inOrder = level.filter((one) => !one.isIncremental).sort((a, b) => a.id - b.id)
      const expected = new Set([...level.filter((one) => one.isIncremental), ...inOrder.slice(0, 1)].map(({ id }) => id))
      assert.deepEqual(new Set(turnsOf(scheduler, 2 * level.length + 2)), expected)
    }),
    { numRuns: 500 },
  )
})
