import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type Beaten, joinBeats, leaveBeats } from './beats.ts'
import { SseStream } from './sse-stream.ts'

/** An interval that no other test has. */
const INTERVAL_MS = 61_234
const member: Beaten = { beat() {} }

/** What streams of the interval have in common now, or would have. */
function beatsNow() {
  const beats = joinBeats(INTERVAL_MS, member)
  leaveBeats(beats, member)
  return beats
}

function stream(): SseStream {
  const source = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
  return new SseStream(source, new AbortController().signal, { greeting: ':', farewell: ':', heartbeatMs: INTERVAL_MS })
}

test('streams with one interval share their beats, of which nothing is kept when the last has ended', async () => {
  const [first, second, unused] = [stream(), stream(), stream()]
  await first.next()
  const beats = beatsNow()
  await second.next()
  await first.return()
  assert.equal(beatsNow(), beats)
  await second.return()
  assert.notEqual(beatsNow(), beats)
  await unused.return()
})
