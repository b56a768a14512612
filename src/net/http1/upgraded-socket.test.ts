import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import type { Transport } from '../transport/transport.ts'

import { UpgradedSocket } from './upgraded-socket.ts'

/** A socket over a transport that only notes what is written to it. */
function upgraded() {
  const sent: string[] = []
  const transport = {
    ...{ isBlocked: false, isPaused: true, keepsBytes: false, unsentBytes: 0, sentBytes: 0 },
    writeText: (text: string) => sent.push(text),
    writeBytes: (bytes: Buffer) => sent.push(bytes.toString('latin1')),
    destroy: () => sent.push('destroyed'),
    ...{ handOver() {}, pause() {}, resume() {}, end() {} },
  }
  const socket = new UpgradedSocket(transport as unknown as Transport, false, () => {})
  return { socket, sent, transport, deliver: (text: string) => socket.onBytes(Buffer.from(text), text.length, true) }
}

/** Lets the stream start to flow. */
const flowing = () => new Promise((resolve) => setImmediate(resolve))

test('what is written while bytes are handled is sent together, and what is written later at once', async () => {
  const { socket, sent, deliver } = upgraded()
  socket.on('data', (bytes: Buffer) => {
    for (const letter of String(bytes)) socket.write(letter)
    assert.deepEqual(sent, [])
  })
  await flowing()
  deliver('abc')
  assert.deepEqual(sent, ['abc'])
  socket.write('d')
  assert.deepEqual(sent, ['abc', 'd'])
})

test('what was written is sent before the end: by destroy() in the same turn, and when a listener throws', async () => {
  const ended = upgraded()
  ended.socket.on('data', () => {
    ended.socket.write('bye')
    ended.socket.destroy()
  })
  const failed = upgraded()
  failed.socket.on('data', () => {
    failed.socket.write('bye')
    throw new Error('from a listener')
  })
  await flowing()
  ended.deliver('x')
  assert.deepEqual(ended.sent, ['bye', 'destroyed'])
  assert.throws(() => failed.deliver('x'), /from a listener/)
  assert.deepEqual(failed.sent, ['bye'])
  failed.socket.write('later')
  assert.deepEqual(failed.sent, ['bye', 'later'])
})

test('the client has read when some of what waited has gone out, and nothing is known while nothing waits', () => {
  const { socket, transport } = upgraded()
  const after = (sentBytes: number, unsentBytes: number): boolean => {
    Object.assign(transport, { sentBytes, unsentBytes })
    return socket.hasBeenRead()
  }
  assert.equal(after(0, 0), false)
  assert.equal(after(500, 0), false)
  assert.equal(after(500, 1_000), false)
  assert.equal(after(500, 2_000), false)
  assert.equal(after(501, 1_999), true)
  assert.equal(after(501, 1_999), false)
  assert.equal(after(2_500, 0), true)
  assert.equal(after(2_500, 1_000), false)
})
