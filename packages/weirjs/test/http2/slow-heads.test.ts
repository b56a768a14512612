// Heads as large as the limit allows that arrive byte by byte, in HEADERS and CONTINUATION frames of any size. What they cost is counted, not timed.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'

import { resolveLimits } from '../../src/base/limits.ts'
import { HttpServer } from '../../src/index.ts'
import { Http2WireConnection } from '../../src/wire/http2/connection.ts'
import { HEAD, PAUSED } from '../../src/wire/http2/connection-events.ts'
import { CONTINUATION, END_HEADERS, END_STREAM, HEADERS } from '../../src/wire/http2/frames/frame-types.ts'
import { encodeFields, encodeFrame } from '../support/http2-client.ts'
import { PROLOGUE } from '../support/http2-steps.ts'
import { within } from '../support/serving.ts'

const NAME = 'x-large'
const VALUE = Array.from({ length: 60_000 }, (_, i) => 'abcdefghij'[i % 10]).join('')
const BLOCK = encodeFields([
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'a'],
  [':path', '/'],
  [NAME, VALUE],
])

/** One head in frames with so many bytes of it each. */
function headIn(frameBytes: number): Buffer {
  const frames: Buffer[] = []
  for (let at = 0; at < BLOCK.length; at += frameBytes) {
    const end = at + frameBytes >= BLOCK.length ? END_HEADERS : 0
    const piece = BLOCK.subarray(at, at + frameBytes)
    frames.push(at === 0 ? encodeFrame(HEADERS, END_STREAM | end, 1, piece) : encodeFrame(CONTINUATION, end, 1, piece))
  }
  return Buffer.concat(frames)
}

/** Counts the bytes that are copied from one buffer to another. */
function countCopies(t: TestContext): { bytes: number } {
  const count = { bytes: 0 }
  const { copy } = Buffer.prototype
  const { concat } = Buffer
  Buffer.prototype.copy = function (this: Buffer, ...args: Parameters<typeof copy>) {
    const copied = copy.apply(this, args)
    count.bytes += copied
    return copied
  }
  Buffer.concat = (...args: Parameters<typeof concat>) => {
    const joined = concat(...args)
    count.bytes += joined.length
    return joined
  }
  t.after(() => {
    Buffer.prototype.copy = copy
    Buffer.concat = concat
  })
  return count
}

for (const frameBytes of [16_384, 1_000, 12]) {
  test(`a head of 60 KB in frames of ${frameBytes} bytes costs a few copies of each byte, however it is cut`, (t) => {
    const head = headIn(frameBytes)
    const count = countCopies(t)
    for (const cut of [1, 10, 1_400]) {
      const wire = new Http2WireConnection<null>(resolveLimits())
      wire.receive(PROLOGUE, PROLOGUE.length)
      while (wire.next() > PAUSED);
      wire.sender.output.take()
      count.bytes = 0
      let heads = 0
      for (let at = 0; at < head.length; at += cut) {
        const piece = head.subarray(at, at + cut)
        wire.receive(piece, piece.length)
        if (wire.next() !== HEAD) continue
        heads++
        assert.equal(wire.stream.head.get(NAME), VALUE)
      }
      assert.equal(heads, 1)
      assert.ok(count.bytes < 8 * head.length, `${count.bytes} bytes were copied of ${head.length}`)
    }
  })
}

for (const sharedReceiveBuffer of [true, false]) {
  test(`it is read the same through a server, in single bytes and small pieces, ${sharedReceiveBuffer ? 'with the shared receive buffer' : 'by data events'}`, async (t) => {
    const server = new HttpServer('127.0.0.1', 0, {
      hosts: 'any',
      http2: 'cleartext',
      sharedReceiveBuffer,
      logger: null,
      timeouts: { headersTimeout: 120_000 },
    })
    server.mapGet('/', (_, { request }) => String(request.headers.get(NAME) === VALUE))
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    for (const frameBytes of [16_384, 12]) {
      const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
      t.after(() => socket.destroy())
      let received = ''
      const answered = new Promise<void>((resolve) => {
        socket.setEncoding('latin1').on('data', (text) => {
          received += text
          if (/true|false/.test(received)) resolve()
        })
        socket.on('close', () => resolve())
      })
      socket.write(PROLOGUE)
      const head = headIn(frameBytes)
      for (let at = 0, length = 1; at < head.length; at += length) {
        length = at % 1_000 < 50 ? 1 : 50
        socket.write(head.subarray(at, at + length))
        await new Promise((resolve) => setImmediate(resolve))
      }
      await within(answered, 'the response')
      assert.match(received, /true$/)
    }
  })
}
