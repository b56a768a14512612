import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { ClientQueue } from './client-queue.ts'
import { costOf, EncodedEvent } from './event.ts'
import { EventHistory } from './event-history.ts'
import { RecentEvents } from './recent-events.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const eventOf = (data: string): EncodedEvent => new EncodedEvent({ data })

test('events come out in the order in which they went in, however pushes and takes alternate', () => {
  const queue = new ClientQueue(null, null, () => {})
  const model: string[] = []
  const takeData = (): string | undefined => {
    const taken = queue.take(Number.POSITIVE_INFINITY)
    return taken === null ? undefined : Buffer.from(taken.bytes).toString()
  }
  for (let i = 0; i < 200; i++) {
    for (let k = i % 7; k > 0; k--) {
      const event = eventOf(`${i}-${k}`)
      queue.push(event, 1_000_000, 'disconnect')
      model.push(Buffer.from(event.bytes).toString())
    }
    for (let k = i < 100 ? i % 5 : i % 11; k > 0; k--) assert.equal(takeData(), model.shift())
  }
  while (model.length > 0) assert.equal(takeData(), model.shift())
  assert.equal(takeData(), undefined)
})

test('a full queue drops the oldest events, and has room again once it was emptied', () => {
  const queue = new ClientQueue(null, null, () => {})
  const events = ['a', 'b', 'c', 'd'].map(eventOf)
  const most = 2 * costOf(events[0]!)
  for (const event of events) assert.equal(queue.push(event, most, 'drop-oldest'), true)
  assert.deepEqual([queue.take(100), queue.take(100), queue.take(100)], [events[2], events[3], null])
  assert.equal(queue.push(events[0]!, most, 'disconnect'), true)
  assert.equal(queue.push(events[1]!, most, 'disconnect'), true)
  assert.equal(queue.push(events[2]!, most, 'disconnect'), false)
  assert.equal(queue.take(100), null, 'a client that was given up gets nothing more')
})

for (const [kind, historyOf, sinceIn] of [
  ['a history', () => new EventHistory(16), (history: EventHistory | RecentEvents) => (history as EventHistory).since('0')],
  ['recent events', () => new RecentEvents(16 * 1_100), (history: EventHistory | RecentEvents) => (history as RecentEvents).after('0')],
] as const)
  test(`missed events count once ${kind} has forgotten them: a client that is slow would be the only one to keep them`, () => {
    const eventAt = (i: number): EncodedEvent => new EncodedEvent({ id: String(i), data: 'x'.repeat(1_000) })
    const most = 20 * costOf(eventAt(0))
    for (const whenFull of ['disconnect', 'drop-oldest'] as const) {
      const history = historyOf()
      for (let i = 0; i < 16; i++) history.add(String(i), eventAt(i))
      const slow = new ClientQueue(sinceIn(history), null, () => {})
      let pushed = 0
      for (let i = 16; i < 34; i++) {
        history.add(String(i), eventAt(i))
        if (!slow.push(eventAt(i), most, whenFull)) break // its stream ends
        pushed++
      }
      let left = 0
      while (slow.take(Number.POSITIVE_INFINITY) !== null) left++
      if (whenFull === 'disconnect') assert.ok(pushed >= 9 && pushed <= 12 && left === 0, `${pushed} pushed, ${left} left`)
      else assert.deepEqual([pushed, left], [18, 18], 'the missed events were dropped')
    }
  })

test('missed events that a client has taken count no longer, whatever the history forgets', () => {
  const eventAt = (i: number): EncodedEvent => new EncodedEvent({ id: String(i), data: 'x'.repeat(1_000) })
  const history = new EventHistory(16)
  for (let i = 0; i < 16; i++) history.add(String(i), eventAt(i))
  const queue = new ClientQueue(history.since('0'), null, () => {})
  for (let i = 1; i < 16; i++) assert.notEqual(queue.take(Number.POSITIVE_INFINITY), null)
  for (let i = 16; i < 34; i++) {
    history.add(String(i), eventAt(i))
    assert.equal(queue.push(eventAt(i), 18 * costOf(eventAt(99)), 'disconnect'), true, `${i}`)
  }
})

test('an event that was taken is not kept', async () => {
  const queue = new ClientQueue(null, null, () => {})
  const references = Array.from({ length: 20 }, (_, i) => {
    const event = eventOf(String(i))
    queue.push(event, 1_000_000, 'disconnect')
    return new WeakRef(event)
  })
  for (let i = 0; i < 10; i++) queue.take(100)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.deepEqual(
    references.map((one) => one.deref() === undefined),
    references.map((_, i) => i < 10),
  )
})
