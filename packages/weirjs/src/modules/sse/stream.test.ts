import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HeartbeatTimer } from '../kit/heartbeat-timer.ts'
import { SseChannel } from './channel.ts'
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

test('events that wait go out together in pieces of at most 8 KiB, and a larger event alone', async () => {
  const sizes = [4_000, 4_000, 4_000, 9_000, 9_000, 10, 10, 10]
  const channel = new SseChannel({ history: 4 })
  const send = (some: readonly number[]): void => {
    for (const size of some) channel.send({ id: 'a', data: 'x'.repeat(size) })
  }
  send(sizes.slice(0, 4))
  const settings = { greeting: ':', farewell: 'bye', heartbeatMs: null }
  const stream = new SseStream(channel.subscribe('unknown'), new AbortController().signal, settings)
  assert.deepEqual(await stream.next(), { value: ':' })
  send(sizes.slice(4))
  const pieces: (readonly number[])[] = []
  while (pieces.flat().length < sizes.length) {
    const { value } = await stream.next()
    const text = Buffer.from(value as Uint8Array).toString()
    pieces.push(Array.from(text.matchAll(/x+/g), ([data]) => data.length))
  }
  assert.deepEqual(pieces, [[4_000, 4_000], [4_000], [9_000], [9_000], [10, 10, 10]])
  await stream.return()
})

test('a stream that ends makes no error for its source, however many end at once: those that get a signal share one', async (t) => {
  const abort = t.mock.method(AbortController.prototype, 'abort')
  const settings = { greeting: ':', farewell: 'bye', heartbeatMs: null }
  const channel = new SseChannel()
  const own = new SseStream(channel.subscribe(null), new AbortController().signal, settings)
  await own.next()
  await own.return()
  assert.equal(abort.mock.callCount(), 0)
  const signals: AbortSignal[] = []
  for (let i = 0; i < 2; i++) {
    const source = (signal: AbortSignal) => {
      signals.push(signal)
      return channel.subscribe(null)
    }
    const one = new SseStream(source, new AbortController().signal, settings)
    await one.next()
    assert.equal(signals[i]!.aborted, false)
    await one.return()
  }
  assert.equal(signals[0]!.reason.name, 'AbortError')
  assert.equal(signals[0]!.reason, signals[1]!.reason)
})
