// Frames in whatever pieces they arrive, and what is not a frame.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { HttpServer } from 'weirjs'

import { Base64Pieces, FrameList, FrameQueue, frame, fromBase64, onlyFrame } from '../src/frames.ts'
import { mapService } from '../src/index.ts'
import { EchoService } from './proto/echo_pb.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** The messages of a body in pieces. @param isSlow whether nobody reads before all has arrived */
function read(pieces: Iterable<Uint8Array>, maxSize: number, isSlow = false): [number, string][] {
  const queue = new FrameQueue()
  const all: [number, string][] = []
  const take = (): void => {
    for (let one = queue.take(maxSize); one !== null; one = queue.take(maxSize)) all.push([one.flags, one.bytes.toString('hex')])
  }
  for (const piece of pieces) {
    const lent = Buffer.from(piece)
    queue.add(lent, 0, lent.length)
    lent.fill(0xff)
    if (!isSlow) take()
  }
  take()
  queue.end()
  return all
}

/** Cuts bytes at the places. */
function cut(bytes: Uint8Array, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return sorted.slice(1).map((place, i) => Buffer.from(bytes.subarray(sorted[i], place)))
}

function decoded(pieces: readonly Buffer[]): Buffer[] {
  const text = new Base64Pieces()
  return [...pieces.map((piece) => text.add(piece)), text.end()]
}

const MESSAGES = fc.array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 })
const PLACES = fc.array(fc.nat(500), { maxLength: 30 })

test('messages are the same whatever the cuts, as bytes and as base64', () => {
  fc.assert(
    fc.property(MESSAGES, PLACES, fc.boolean(), (messages, places, isSlow) => {
      const sent = Buffer.concat(messages.map(([flags, bytes]) => frame(flags, bytes)))
      const wanted = messages.map(([flags, bytes]) => [flags, Buffer.from(bytes).toString('hex')])
      assert.deepEqual(read(cut(sent, places), 40, isSlow), wanted)
      const text = Buffer.from(messages.map(([flags, bytes]) => frame(flags, bytes).toString('base64')).join(''))
      assert.deepEqual(read(decoded(cut(text, places)), 40, isSlow), wanted)
      assert.deepEqual(fromBase64(text.toString()), sent)
      const list = new FrameList()
      for (const [flags, bytes] of messages) list.add(flags, bytes)
      assert.equal(list.size, sent.length)
      assert.deepEqual(list.take(), sent)
      assert.equal(list.size, 0)
    }),
  )
})

test('messages of any size stay as they are when others arrive and are taken', () => {
  const sizes = [0, 1, 3_000, 5_000, 70_000, 2, 0, 20_000, 4_095, 4_096]
  const sent = Buffer.concat(sizes.map((size, i) => frame(0, Buffer.alloc(size, i))))
  for (const step of [1, 7, 999, 16_384, sent.length]) {
    const queue = new FrameQueue()
    const taken: Buffer[] = []
    for (let at = 0; at < sent.length; at += step) {
      queue.add(sent, at, Math.min(sent.length, at + step))
      if (step > 100) for (let one = queue.take(70_000); one !== null; one = queue.take(70_000)) taken.push(one.bytes)
    }
    for (let one = queue.take(70_000); one !== null; one = queue.take(70_000)) taken.push(one.bytes)
    assert.deepEqual(
      taken.map((bytes, i) => [bytes.length, bytes.every((byte) => byte === i)]),
      sizes.map((size) => [size, true]),
    )
  }
})

test('a body that ends within a message is refused, wherever it ends', () => {
  const sent = Buffer.concat([frame(0, Buffer.from('abc')), frame(0, Buffer.from('defgh'))])
  for (let length = 1; length < sent.length; length++) {
    if (length === 8) continue // between the two
    assert.throws(() => read([sent.subarray(0, length)], 40), { code: 'invalid_argument' })
    if (length < 8) assert.throws(() => onlyFrame(sent.subarray(0, length), 40), { code: 'invalid_argument' })
  }
  assert.throws(() => onlyFrame(sent, 40), { code: 'unimplemented' })
  assert.throws(() => onlyFrame(Buffer.alloc(0), 40), { code: 'unimplemented' })
})

test('a length above the limit is refused by its head, before anything is gathered', () => {
  const head = Buffer.from([0, 0xff, 0xff, 0xff, 0xff])
  assert.throws(() => read([head], 4_194_304), { code: 'resource_exhausted' })
  assert.throws(() => onlyFrame(head, 4_194_304), { code: 'resource_exhausted' })
})

test('a message in pieces of one byte is kept in about its own size', () => {
  const size = 1_000_000
  const sent = frame(0, Buffer.alloc(size))
  collectGarbage()
  const before = process.memoryUsage()
  let most = 0
  function* trickle() {
    for (let i = 0; i < sent.length - 1; i++) {
      yield sent.subarray(i, i + 1)
      if (i % 50_000 === 0) {
        collectGarbage()
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        most = Math.max(most, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
      }
    }
  }
  assert.throws(() => read(trickle(), size), { code: 'invalid_argument' })
  // One object for each byte would take a hundred times as much.
  assert.ok(most < 4 * size, `${most} bytes`)
})

test('what is not RPC is refused with a status, and what is broken RPC with a code', async () => {
  const server = new HttpServer({ logger: null })
  mapService(server, EchoService, { say: ({ text }) => ({ text }) })
  const url = '/test.v1.EchoService/Say'
  const send = (type: string, body: string | Uint8Array) => server.inject({ method: 'POST', url, body, headers: { 'Content-Type': type } })
  assert.equal((await send('text/plain', 'x')).status, 415)
  assert.equal((await send('application/json; charset=latin1', '{}')).status, 415)
  assert.equal((await send('application/grpc', '')).headers.get('grpc-message'), 'gRPC needs HTTP/2')
  assert.equal((await send('application/json', '{')).status, 400)
  assert.equal((await send('application/json; charset=utf-8', '{"text":"a"}')).text(), '{"text":"a"}')
  assert.equal((await send('application/proto', Buffer.from([0x0a, 0xff]))).status, 400)
  assert.match((await send('application/grpc-web', Buffer.from([0x40, 0, 0, 0, 0]))).text(), /grpc-status: 3/)
  assert.match(Buffer.from((await send('application/grpc-web-text', 'AAAA*AAA=')).text(), 'base64').toString(), /grpc-status: 3/)
})
