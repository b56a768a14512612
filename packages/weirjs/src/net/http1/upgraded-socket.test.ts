import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import type { Transport } from '../transport/transport.ts'
import type { Flushable } from '../transport/write-batch.ts'

import { UpgradedSocket } from './upgraded-socket.ts'

/** A socket over a transport that only notes what is written to it. Under load, what is written waits until `flush` is called. */
function upgraded({ isLoaded = false, isSecure = false, unsentBytes = 0 } = {}) {
  const sent: string[] = []
  const boxes: Flushable[] = []
  const transport = {
    ...{ isBlocked: false, isPaused: true, isDestroyed: false, keepsBytes: false, isSecure, unsentBytes, sentBytes: 0 },
    flushSoon: (box: Flushable) => (isLoaded ? void boxes.push(box) : box.flush()),
    writeText: (text: string) => sent.push(text),
    writeBytes: (bytes: Buffer) => sent.push(bytes.toString('latin1')),
    destroy: () => sent.push('destroyed'),
    ...{ handOver() {}, end() {} },
    pause: () => void (transport.isPaused = true),
    resume: () => void (transport.isPaused = false),
  }
  const socket = new UpgradedSocket(transport as unknown as Transport, false, () => {}, new AsyncResource('test'))
  const deliver = (text: string) => socket.onBytes(Buffer.from(text), text.length, true)
  const flush = () => {
    for (const box of boxes.splice(0)) box.flush()
  }
  return { socket, sent, transport, deliver, flush }
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

test('under load, what is written while bytes are handled waits for other connections, and is sent in order', async () => {
  const { socket, sent, deliver, flush } = upgraded({ isLoaded: true })
  const done: string[] = []
  socket.on('data', (bytes: Buffer) => {
    for (const letter of String(bytes)) socket.write(letter, () => done.push(letter))
  })
  await flowing()
  deliver('ab')
  await flowing()
  assert.deepEqual([sent, done], [[], []])
  flush()
  assert.deepEqual([sent, done], [['ab'], ['a', 'b']])
  deliver('cd')
  await flowing() // each is a read
  deliver('ef')
  flush()
  assert.deepEqual(sent, ['ab', 'cd', 'ef'])
})

test('under load, nothing that is written later waits for it, and it is sent before the end', async () => {
  const { socket, sent, deliver, flush } = upgraded({ isLoaded: true })
  socket.on('data', () => {
    for (const letter of 'ab') socket.write(letter)
  })
  await flowing()
  deliver('x')
  socket.write('c')
  assert.deepEqual(sent, ['ab', 'c'])
  assert.equal(socket.writableLength, 0)
  await flowing()
  deliver('x')
  socket.destroy()
  flush()
  assert.deepEqual(sent, ['ab', 'c', 'ab', 'destroyed'])
})

test('tells of the end of its client, and stays open for what the program still sends', async () => {
  const cases = [
    { name: 'nothing is left' },
    { name: 'TLS', isSecure: true },
    { name: 'unsent', unsentBytes: 1 },
    { name: 'not read', isPaused: true }, // as a socket of Node tells of it
  ]
  for (const { name, isPaused, ...how } of cases) {
    const { socket } = upgraded(how)
    const seen: string[] = []
    for (const event of ['end', 'close']) socket.on(event, () => seen.push(event))
    socket.resume()
    await flowing()
    if (isPaused) socket.pause()
    socket.onEnd()
    await flowing()
    assert.equal(seen.join(), 'end', name)
    assert.ok(socket.wasClosed, name)
  }
})

test('after a read that has filled its memory, the next one is left to the next turn of the event loop', async () => {
  const { socket, transport, deliver } = upgraded()
  socket.resume()
  await flowing()
  deliver('x'.repeat(1000))
  assert.equal(transport.isPaused, false)
  deliver('x'.repeat(64 * 1024))
  socket.read(0)
  assert.equal(transport.isPaused, true)
  await flowing()
  assert.equal(transport.isPaused, false)
})
