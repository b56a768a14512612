import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type HeartbeatListener, startHeartbeat, stopHeartbeat } from '../heartbeat-timer.ts'
import { SseStream } from './stream.ts'

/** An interval that no other test has. */
const INTERVAL_MS = 61_234
const member: HeartbeatListener = { onHeartbeat() {} }

/** What streams of the interval have in common now, or would have. */
function timerNow() {
  const timer = startHeartbeat(INTERVAL_MS, member)
  stopHeartbeat(timer, member)
  return timer
}

function stream(): SseStream {
  const source = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
  return new SseStream(source, new AbortController().signal, { greeting: ':', farewell: ':', heartbeatMs: INTERVAL_MS })
}

test('streams with one interval share a timer, which is not kept when the last has ended', async () => {
  const [first, second, unused] = [stream(), stream(), stream()]
  await first.next()
  const timer = timerNow()
  await second.next()
  await first.return()
  assert.equal(timerNow(), timer)
  await second.return()
  assert.notEqual(timerNow(), timer)
  await unused.return()
})
