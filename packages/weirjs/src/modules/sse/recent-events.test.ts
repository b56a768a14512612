import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { costOf, EncodedEvent } from './event.ts'
import { RecentEvents } from './recent-events.ts'

function read(recent: RecentEvents, after: string): (string | null)[] {
  const missed = recent.after(after)
  const ids: (string | null)[] = []
  for (let event = missed.shift(); event !== undefined; event = missed.shift()) ids.push(event.id)
  return ids
}

test('whoever knows an id gets exactly what follows, also if more is added meanwhile', async () => {
  const sizes = fc.array(fc.oneof(fc.constant(null), fc.nat(40), fc.constant(2_000)), { maxLength: 200 })
  await fc.assert(
    fc.property(sizes, fc.nat(), (all, choice) => {
      const recent = new RecentEvents(2_000)
      const kept: { id: string; isSent: boolean; bytes: number }[] = []
      all.forEach((size, i) => {
        const id = `${i}`
        const event = size === null ? null : new EncodedEvent({ id, data: 'x'.repeat(size) })
        recent.add(id, event)
        kept.push({ id, isSent: event !== null, bytes: 2 * id.length + (event === null ? 64 : costOf(event)) })
      })
      const known = kept.filter(({ id }) => recent.has(id))
      assert.deepEqual(known, kept.slice(kept.length - known.length), 'the latest')
      const bytes = known.reduce((sum, one) => sum + one.bytes, 0)
      assert.ok(bytes <= 2_000 || known.length === 1, `${bytes} bytes`)
      if (known.length === 0) return
      const at = choice % known.length
      const expected = known.slice(at + 1).flatMap(({ id, isSent }) => (isSent ? [id] : []))
      const missed = recent.after(known[at]!.id)
      for (let i = 0; i < 50; i++) recent.add(`later ${i}`, new EncodedEvent({ id: `later ${i}` }))
      const got: (string | null)[] = []
      for (let event = missed.shift(); event !== undefined; event = missed.shift()) got.push(event.id)
      assert.deepEqual(got, expected)
    }),
  )
})

test('most of what fits is kept, and nothing after clear', () => {
  const recent = new RecentEvents(100_000)
  let bytes = 0
  for (let i = 0; i < 2_000; i++) {
    const event = new EncodedEvent({ id: `${i}`, data: 'x' })
    recent.add(`${i}`, event)
    bytes = costOf(event) + 8
  }
  const ids = read(recent, '1999')
  assert.deepEqual(ids, [])
  const first = Array.from({ length: 2_000 }, (_, i) => `${i}`).find((id) => recent.has(id))!
  assert.ok((2_000 - Number(first)) * bytes > 90_000, first)
  assert.equal(read(recent, first).length, 1_999 - Number(first))
  recent.clear()
  assert.equal(recent.has('1999'), false)
  recent.add('a', null)
  recent.add('b', new EncodedEvent({ id: 'b' }))
  assert.deepEqual(read(recent, 'a'), ['b'])
})

test('clients that go on after different ids share the lists of what they have missed', () => {
  const recent = new RecentEvents()
  for (let i = 0; i < 5_000; i++) recent.add(`${i}`, new EncodedEvent({ id: `${i}` }))
  const before = process.memoryUsage().heapUsed
  const clients = Array.from({ length: 2_000 }, (_, i) => recent.after(`${i}`))
  const each = (process.memoryUsage().heapUsed - before) / clients.length
  assert.ok(each < 4_096, `${Math.round(each)} bytes for each client`)
  assert.equal(clients[0]!.shift()!.id, '1')
})
