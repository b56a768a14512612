import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HeartbeatTimer } from '../../base/heartbeat-timer.ts'
import { SseStream } from './stream.ts'

/** An interval that no other test uses. */
const INTERVAL_MS = 61_234
const member = { onHeartbeat() {} }

/** The timer that streams with this interval share now, or would share. */
function timerNow() {
  const timer = HeartbeatTimer.join(INTERVAL_MS, member)
  timer.delete(member)
  return timer
}

function stream(): SseStream {
  const source = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
  return new SseStream(source, new AbortController().signal, { greeting: ':', farewell: ':', heartbeatMs: INTERVAL_MS })
}

test('streams with the same interval share a timer, which is removed with the last stream', async () => {
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
