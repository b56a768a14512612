// A body of HTTP/2 of which one read has more than is passed on at once, and whose reader asks to wait in between.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { Http2Connection } from '../../src/net/http2/connection.ts'
import { hostOf } from '../../src/server.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { BOUNDARY, encodeForm, patternBytes } from '../support/forms.ts'
import { ACK, DATA, END_HEADERS, END_STREAM, encodeFields, encodeFrame, HEADERS, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { SimulatedSocket } from '../support/simulated-socket.ts'

const FRAME_BYTES = 16 * 1024
const SIZES = [100, 90_000, 40_000, 60_000]
const POST = encodeFields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'a'],
  [':path', '/'],
  ['content-type', `multipart/form-data; boundary=${BOUNDARY}`],
])

/** What a handler reads of a form that a client sends in reads of `bytes` at most. */
async function read(bytes: number, isShared: boolean): Promise<Buffer[]> {
  const server = new HttpServer({ logger: null })
  const files: Buffer[] = []
  server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
    await request.bodyMultipartStream({
      async onFile(_, content) {
        const chunks: Uint8Array[] = []
        for await (const chunk of content as AsyncIterable<Buffer>) {
          chunks.push(Buffer.from(chunk))
          await new Promise((resolve) => setImmediate(resolve))
        }
        files.push(Buffer.concat(chunks))
      },
    })
    return 'done'
  })
  const shared = isShared ? Buffer.alloc(bytes) : null
  const socket = new SimulatedSocket({ highWaterMark: 1_000_000, shared, fails: () => false, blame: (what) => assert.fail(what) })
  socket.start(new Http2Connection(hostOf(server), socket))
  const form = encodeForm(SIZES.map((size, i) => ({ name: `${i}`, fileName: `${i}`, content: patternBytes(size).fill(`${i}`, 0, 50) })))
  const head = encodeFrame(HEADERS, END_HEADERS, 1, POST)
  socket.send(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(SETTINGS, ACK, 0), head]))
  socket.deliver(Number.POSITIVE_INFINITY)
  await settled() // it reads the form by now
  const frames: Buffer[] = []
  for (let at = 0; at < form.length; at += FRAME_BYTES) {
    const end = at + FRAME_BYTES
    frames.push(encodeFrame(DATA, end < form.length ? 0 : END_STREAM, 1, form.subarray(at, end)))
  }
  socket.send(Buffer.concat(frames))
  while (!socket.received.includes('done')) {
    socket.deliver(bytes)
    socket.take(Number.POSITIVE_INFINITY)
    await settled()
  }
  socket.break()
  await settled()
  return files
}

for (const isShared of [false, true]) {
  for (const bytes of [50_000, 100_000, 256 * 1024]) {
    test(`each file of a form has its own bytes: reads of ${bytes} bytes, ${isShared ? 'shared' : 'own'} memory`, async () => {
      const files = await read(bytes, isShared)
      const expected = SIZES.map((size, i) => patternBytes(size).fill(`${i}`, 0, 50))
      assert.deepEqual(
        files.map(({ length }) => length),
        SIZES,
      )
      assert.ok(files.every((file, i) => file.equals(expected[i]!)))
    })
  }
}
