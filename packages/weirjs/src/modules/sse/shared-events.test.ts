import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { systemClock } from '../../base/clock.ts'
import { memoryRelay } from '../relay/memory-relay.ts'
import { EncodedEvent } from './event.ts'
import { encodeEnvelope } from './event-envelope.ts'
import { LiveFeed } from './live-feed.ts'
import { SharedEvents } from './shared-events.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('clients whose pages begin at different ids have the same events in memory', async () => {
  const relay = memoryRelay()
  const feed = new LiveFeed({
    relay,
    name: 'news',
    queues: { maxQueuedSize: 1_000, whenFull: 'disconnect' },
    gap: new EncodedEvent({ event: 'gap', data: '' }),
    onError: (error) => assert.fail(String(error)),
    clock: systemClock,
  })
  const ids: string[] = []
  for (let i = 0; i < 100; i++) ids.push((await relay.publish('news', encodeEnvelope({ data: `event ${i}` })))!)
  const read = async (after: string, count: number): Promise<EncodedEvent[]> => {
    const client = feed.listen(after, '192.0.2.1')
    const events: EncodedEvent[] = []
    while (events.length < count) events.push((await client.next()).value as EncodedEvent)
    return events
  }
  const [one, other, known] = await Promise.all([read('unknown-1', 101), read('unknown-2', 101), read(ids[39]!, 60)])
  for (const events of [one, other, known]) assert.equal(events.at(-1)!.id, ids[99])
  assert.ok(one.every((event, i) => event === other[i]))
  assert.ok(known.every((event, i) => event === one[41 + i]))
  feed.close()
  await relay.close()
})

test('an event that no page has any more is not kept, and decoded again', async () => {
  const shared = new SharedEvents()
  let decoded = 0
  const decode = (id: string): EncodedEvent => {
    decoded++
    return new EncodedEvent({ id })
  }
  const take = (id: string): EncodedEvent | null => shared.take(id, () => decode(id))
  const kept = take('kept')
  const gone = new WeakRef(take('gone')!)
  for (let i = 0; i < 3_000; i++) take(`event ${i}`)
  assert.equal(take('event 7')!.id, 'event 7')
  assert.equal(decoded, 3_002)
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.equal(gone.deref(), undefined)
  for (let i = 0; i < 6_000; i++) take(`later ${i}`) // which forgets the ids of those that are gone
  assert.equal(take('kept'), kept)
  assert.equal(take('gone')!.id, 'gone')
  assert.equal(decoded, 9_003)
  assert.equal(
    shared.take('refused', () => null),
    null,
  )
})
