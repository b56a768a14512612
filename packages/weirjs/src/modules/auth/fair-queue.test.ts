import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { FairQueue } from './fair-queue.ts'

test('those who wait take turns, each in order of arrival', () => {
  const queue = new FairQueue<string>(10)
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) assert.equal(queue.add(item[0]!, item), null)
  const order: (string | null)[] = []
  for (let i = 0; i < 7; i++) order.push(queue.next())
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', null])
})

test('a full queue drops the newest of whoever has the most', () => {
  const queue = new FairQueue<string>(4)
  for (const item of ['a1', 'a2', 'a3', 'a4']) assert.equal(queue.add('a', item), null)
  assert.equal(queue.add('a', 'a5'), 'a5')
  assert.equal(queue.add('b', 'b1'), 'a4')
  assert.equal(queue.add('b', 'b2'), 'a3')
  assert.equal(queue.add('b', 'b3'), 'b3', 'nobody has more than it would have')
  assert.equal(queue.add('c', 'c1'), 'a2')
  assert.equal(queue.add('d', 'd1'), 'b2')
  assert.equal(queue.add('e', 'e1'), 'e1', 'nobody has more than one')
  assert.equal(new FairQueue<string>(0).add('a', 'a1'), 'a1')
})

test('whatever is sent, nothing is lost, and who sends little is served before a flood is', () => {
  const arrivals = fc.array(fc.constantFrom('flood', 'flood', 'flood', 'a', 'b', 'next'), { maxLength: 200 })
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 3, max: 10 }), (all, max) => {
      const queue = new FairQueue<{ from: string }>(max)
      const waiting = new Set<{ from: string }>()
      for (const from of all) {
        if (from === 'next') {
          const item = queue.next()
          assert.equal(item === null, waiting.size === 0)
          if (item === null) continue
          waiting.delete(item)
          continue
        }
        const item = { from }
        const isFirst = ![...waiting].some((one) => one.from === from)
        waiting.add(item)
        const dropped = queue.add(from, item)
        if (dropped !== null) assert.ok(waiting.delete(dropped))
        if (isFirst) assert.notEqual(dropped, item, 'the first of three who send always has a place')
        assert.ok(waiting.size <= max)
      }
      const senders = new Set([...waiting].map(({ from }) => from))
      const first = new Set<string>()
      for (let i = 0; i < senders.size; i++) first.add(queue.next()!.from)
      assert.deepEqual(first, senders, 'each has its turn before anybody has two')
      let rest = 0
      while (queue.next() !== null) rest++
      assert.equal(rest, waiting.size - senders.size)
    }),
  )
})
