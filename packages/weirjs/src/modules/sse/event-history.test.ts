import assert from 'node:assert/strict'
import { test } from 'node:test'

import { EncodedEvent } from './event.ts'
import { EventHistory, type MissedEvents } from './event-history.ts'

function takeAll(missed: MissedEvents): (string | null)[] {
  const ids: (string | null)[] = []
  for (let event = missed.shift(); event !== undefined; event = missed.shift()) ids.push(event.id)
  return ids
}

test('a client gets what a list of the latest events would give it, wherever it is and whatever is added meanwhile', () => {
  for (const most of [0, 1, 2, 15, 16, 17, 31, 50, 64]) {
    const history = new EventHistory(most)
    const model: (string | null)[] = []
    const readers: { missed: MissedEvents; expected: (string | null)[] }[] = []
    for (let i = 0; i < 150; i++) {
      // Every seventh event repeats an id: the last one counts.
      const id = i % 7 === 6 ? 'again' : String(i)
      history.add(id, new EncodedEvent({ id, data: i }))
      model.push(id)
      if (model.length > most) model.shift()
      assert.equal(history.lastId, model.at(-1) ?? null)
      const asked = i % 5 === 0 ? 'unknown' : i % 5 === 1 ? 'again' : String(i - (i % 40))
      readers.push({ missed: history.since(asked), expected: model.slice(model.lastIndexOf(asked) + 1) })
    }
    for (const { missed, expected } of readers) assert.deepEqual(takeAll(missed), expected, `of ${most}`)
  }
})
