// What a client reads whose body is refused: the response first, and by itself. Some clients discard a response that they read together with
// the reset that follows it.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { DATA, END_HEADERS, encodeFields, encodeFrame, HEADERS, PREFACE, RST_STREAM, SETTINGS } from '../support/http2-client.ts'
import { eventually } from '../support/serving.ts'

test('the reset that refuses the rest of a body is not read together with the response', async (t) => {
  const server = new HttpServer({ hosts: 'any', port: 0, http2: 'cleartext', limits: { maxRequestBodySize: 10 } })
  server.mapPost('/', (_, { request }) => request.bodyLength)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => socket.destroy())
  const reads: Buffer[] = []
  socket.on('data', (bytes) => reads.push(bytes))
  const block = encodeFields([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', '/'],
    ['content-length', '1000000'],
  ])
  socket.write(
    Buffer.concat([
      PREFACE,
      encodeFrame(SETTINGS, 0, 0),
      encodeFrame(HEADERS, END_HEADERS, 1, block),
      encodeFrame(DATA, 0, 1, Buffer.alloc(999)),
    ]),
  )
  const readOf = (type: number): number => {
    let at = 0
    for (const frame of framesOf(Buffer.concat(reads))) {
      if (frame.type === type && frame.stream === 1) return readAt(reads, at)
      at += frame.length
    }
    return -1
  }
  await eventually(() => readOf(RST_STREAM) !== -1, 'the reset')
  assert.ok(readOf(DATA) !== -1 && readOf(DATA) < readOf(RST_STREAM))
})

function framesOf(bytes: Buffer): { readonly type: number; readonly stream: number; readonly length: number }[] {
  const frames = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const length = 9 + bytes.readUIntBE(at, 3)
    frames.push({ type: bytes[at + 3]!, stream: bytes.readUInt32BE(at + 5), length })
    at += length
  }
  return frames
}

/** Which of the reads has the byte at `offset`. */
function readAt(reads: readonly Buffer[], offset: number): number {
  let end = 0
  return reads.findIndex(({ length }) => (end += length) > offset)
}
