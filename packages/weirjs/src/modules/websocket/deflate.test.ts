import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, createDeflateRaw, createInflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib'

import fc from 'fast-check'
import { acceptDeflate } from '../../wire/websocket/deflate-offer.ts'
import { INFLATES_TOO_LARGE, NOT_DEFLATE, PerMessageDeflate } from './deflate.ts'

const OFFERS = [
  'permessage-deflate',
  'permessage-deflate; client_no_context_takeover; server_no_context_takeover',
  'permessage-deflate; server_max_window_bits=8; client_max_window_bits=9',
]
const codec = (offer = OFFERS[0]!): PerMessageDeflate => new PerMessageDeflate(acceptDeflate(offer)!.parameters)

/** A compressed message as it is on the wire. */
const small = (bytes: Uint8Array): Buffer => deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)

/** A stream of zlib, as the other side uses one for all of its messages. */
function streamed(stream: import('node:zlib').DeflateRaw | import('node:zlib').InflateRaw): (bytes: Uint8Array) => Promise<Buffer> {
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  return (bytes) =>
    new Promise((resolve) => {
      stream.write(bytes)
      stream.flush(constants.Z_SYNC_FLUSH, () => resolve(Buffer.concat(pieces.splice(0))))
    })
}

const MESSAGES = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 3000 }),
    fc.string({ maxLength: 2000 }).map((text) => Buffer.from(text)),
    fc.nat(100_000).map((length) => Buffer.alloc(length, 'abcdefg')),
  ),
  { maxLength: 12 },
)

for (const offer of OFFERS)
  test(`messages of a stream of zlib are inflated, and it inflates ours: ${offer}`, async () => {
    const { parameters } = acceptDeflate(offer)!
    await fc.assert(
      fc.asyncProperty(MESSAGES, async (messages) => {
        const own = new PerMessageDeflate(parameters)
        const { clientKeeps, serverKeeps, clientBits, serverBits } = parameters
        let compress = streamed(createDeflateRaw({ windowBits: clientBits }))
        let expand = streamed(createInflateRaw({ windowBits: serverBits }))
        for (const message of messages) {
          if (!clientKeeps) compress = streamed(createDeflateRaw({ windowBits: clientBits }))
          if (!serverKeeps) expand = streamed(createInflateRaw({ windowBits: serverBits }))
          const inflated = own.inflate((await compress(message)).subarray(0, -4), 200_000)
          assert.ok(typeof inflated === 'object' && inflated.equals(message), 'inflated')
          const sent = own.deflate(message)
          assert.ok((await expand(Buffer.concat([sent, Buffer.from([0, 0, 255, 255])]))).equals(message), 'deflated')
          assert.ok(own.heldBytes <= 48 * 1024 + 6 * 1024, `${own.heldBytes} bytes are held`)
        }
      }),
      { numRuns: 40 },
    )
  })

test('a bomb fails when it has reached the limit, and one byte less does not', () => {
  const bomb = small(Buffer.alloc(64 * 1024 * 1024))
  const before = process.memoryUsage().arrayBuffers
  assert.equal(codec().inflate(bomb, 100_000), INFLATES_TOO_LARGE)
  assert.ok(process.memoryUsage().arrayBuffers - before < 4 * 1024 * 1024)
  assert.equal((codec().inflate(small(Buffer.alloc(100_000)), 100_000) as Buffer).length, 100_000)
  assert.equal(codec().inflate(small(Buffer.alloc(100_001)), 100_000), INFLATES_TOO_LARGE)
})

test('a stream that is cut is refused, wherever it is cut', () => {
  const texts = [Buffer.from('a'.repeat(20)), Buffer.from(JSON.stringify([...Array(200).keys()])), Buffer.from('x')]
  for (const text of texts)
    for (const level of [0, 1, 9]) {
      const whole = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH, level }).subarray(0, -4)
      assert.deepEqual(codec().inflate(whole, 10_000), text)
      for (let length = 1; length < whole.length; length++) {
        if (level === 0 && length === 1) continue // that is all of a message without bytes
        const inflated = codec().inflate(whole.subarray(0, length), 10_000)
        assert.equal(inflated, NOT_DEFLATE, `level ${level}, ${length} of ${whole.length}`)
      }
    }
})

test('a stream may end within a message, and another begin, but not without end', () => {
  const ended = deflateRawSync('first')
  const message = Buffer.concat([ended, ended, small(Buffer.from(' second'))])
  assert.equal(String(codec().inflate(message, 100)), 'firstfirst second')
  assert.equal(codec().inflate(message, 10), INFLATES_TOO_LARGE)
  assert.equal(String(codec().inflate(Buffer.concat([ended, Buffer.of(0)]), 100)), 'first')
  assert.equal(codec().inflate(Buffer.concat([...Array<Buffer>(1000).fill(ended), Buffer.of(0)]), 1_000_000), NOT_DEFLATE)
})

test('garbage is refused, and what follows a refusal does not matter', () => {
  for (const bytes of [[0xff], [0x07, 1, 2], [1, 2, 3, 4, 5]]) assert.equal(codec().inflate(Buffer.from(bytes), 1000), NOT_DEFLATE)
  assert.equal((codec().inflate(Buffer.alloc(0), 1000) as Buffer).length, 0)
})

test('what repeats an earlier message costs few bytes, if the client remembers it', () => {
  const text = Buffer.from(Array.from({ length: 300 }, (_, i) => String.fromCharCode(33 + ((i * 7919) % 89))).join(''))
  const [keeps, forgets] = OFFERS.map((offer) => codec(offer)) as [PerMessageDeflate, PerMessageDeflate]
  const sizes = [keeps, keeps, forgets, forgets].map((one) => one.deflate(text).length)
  assert.ok(sizes[1]! < sizes[0]! / 4, sizes.join())
  assert.equal(sizes[2], sizes[3])
  assert.ok(inflateRawSync(forgets.deflate(text), { finishFlush: constants.Z_SYNC_FLUSH }).equals(text))
})

test('what is inflated with a window leaves no memory behind that the collector does not know of', () => {
  const deflate = codec()
  deflate.inflate(small(Buffer.alloc(100_000)), 100_000)
  const message = small(Buffer.from('a'))
  const before = process.memoryUsage()
  for (let i = 0; i < 6_000; i++) deflate.inflate(message, 1)
  const after = process.memoryUsage()
  const unknown = after.rss - before.rss - (after.heapTotal - before.heapTotal) - (after.external - before.external)
  // The window of each, 32 KiB, would be 196 MB.
  assert.ok(unknown < 120_000_000, String(unknown))
})
