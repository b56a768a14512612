// Frames in whatever pieces they arrive, and what is not a frame.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { HttpServer } from 'weirjs'

import { decodedPieces, type Frame, frame, framesOf, fromBase64, onlyFrame } from '../src/frames.ts'
import { mapService } from '../src/index.ts'
import { EchoService } from './proto/echo_pb.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function read(frames: AsyncIterable<Frame>): Promise<[number, string][]> {
  const all: [number, string][] = []
  for await (const { flags, bytes } of frames) all.push([flags, bytes.toString('hex')])
  return all
}

/** Cuts bytes at the places. */
async function* cut(bytes: Uint8Array, places: readonly number[]) {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (let i = 1; i < sorted.length; i++) yield bytes.subarray(sorted[i - 1], sorted[i])
}

const MESSAGES = fc.array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 })
const PLACES = fc.array(fc.nat(500), { maxLength: 30 })

test('messages are the same whatever the cuts, as bytes and as base64', async () => {
  await fc.assert(
    fc.asyncProperty(MESSAGES, PLACES, async (messages, places) => {
      const sent = Buffer.concat(messages.map(([flags, bytes]) => frame(flags, bytes)))
      const wanted = messages.map(([flags, bytes]) => [flags, Buffer.from(bytes).toString('hex')])
      assert.deepEqual(await read(framesOf(cut(sent, places), 40)), wanted)
      const text = Buffer.from(messages.map(([flags, bytes]) => frame(flags, bytes).toString('base64')).join(''))
      assert.deepEqual(await read(framesOf(decodedPieces(cut(text, places)), 40)), wanted)
      assert.deepEqual(fromBase64(text.toString()), sent)
    }),
  )
})

test('a body that ends within a message is refused, wherever it ends', async () => {
  const sent = Buffer.concat([frame(0, Buffer.from('abc')), frame(0, Buffer.from('defgh'))])
  for (let length = 1; length < sent.length; length++) {
    if (length === 8) continue // between the two
    await assert.rejects(read(framesOf(cut(sent.subarray(0, length), []), 40)), { code: 'invalid_argument' })
    if (length < 8) assert.throws(() => onlyFrame(sent.subarray(0, length), 40), { code: 'invalid_argument' })
  }
  assert.throws(() => onlyFrame(sent, 40), { code: 'unimplemented' })
  assert.throws(() => onlyFrame(Buffer.alloc(0), 40), { code: 'unimplemented' })
})

test('a length above the limit is refused by its head, before anything is gathered', async () => {
  const head = Buffer.from([0, 0xff, 0xff, 0xff, 0xff])
  await assert.rejects(read(framesOf(cut(head, []), 4_194_304)), { code: 'resource_exhausted' })
  assert.throws(() => onlyFrame(head, 4_194_304), { code: 'resource_exhausted' })
})

test('a message in pieces of one byte is kept in about its own size', async () => {
  const size = 1_000_000
  const sent = frame(0, Buffer.alloc(size))
  collectGarbage()
  const before = process.memoryUsage()
  let most = 0
  async function* trickle() {
    for (let i = 0; i < sent.length - 1; i++) {
      yield sent.subarray(i, i + 1)
      if (i % 50_000 === 0) {
        collectGarbage()
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        most = Math.max(most, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
      }
    }
  }
  await assert.rejects(read(framesOf(trickle(), size)), { code: 'invalid_argument' })
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
