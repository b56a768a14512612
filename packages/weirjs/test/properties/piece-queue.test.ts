// For its reader, a stream with a queue of pieces is like a plain one: it has the same bytes, and no later.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'

import fc from 'fast-check'

import { PieceQueue } from '../../src/http/body/piece-queue.ts'

type Step =
  | { readonly kind: 'arrive'; readonly sizes: readonly number[] }
  | { readonly kind: 'read'; readonly size: number | undefined }
  | { readonly kind: 'listen' | 'look' | 'pause' | 'resume' | 'turn' | 'encode' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('arrive'), sizes: fc.array(fc.oneof(fc.constant(1), fc.nat(20), fc.constant(5000))) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read'), size: fc.oneof(fc.constant(undefined), fc.nat(30)) }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...(['listen', 'look', 'pause', 'resume', 'turn', 'encode'] as const)).map((kind) => ({ kind })),
  },
) as fc.Arbitrary<Step>

/** A stream, and what its reader has seen. */
class Side {
  readonly stream: Readable
  readonly #push: (bytes: Buffer) => void
  readonly #end: () => void
  text = ''
  hasEnded = false
  looks = 0

  constructor(isQueued: boolean) {
    this.stream = new Readable({ read() {} })
    this.stream.on('end', () => (this.hasEnded = true))
    const queue = new PieceQueue(this.stream)
    this.#push = isQueued ? (bytes) => queue.push(bytes, 0, bytes.length, true) : (bytes) => this.stream.push(Buffer.from(bytes))
    this.#end = isQueued ? () => queue.end() : () => this.stream.push(null)
  }

  async do(one: Step, content: Buffer): Promise<void> {
    const { stream } = this
    if (one.kind === 'arrive') {
      let at = 0
      for (const size of one.sizes) this.#push(content.subarray(at, (at += size)))
    } else if (one.kind === 'read') {
      // Node 20 returns too much of a text, depending on how it was cut.
      const found = stream.read(stream.readableEncoding === null ? one.size : undefined) as Buffer | string | null
      if (found !== null && stream.listenerCount('data') === 0) this.text += found.toString('latin1' as never)
    } else if (one.kind === 'listen') {
      if (stream.listenerCount('data') === 0)
        stream.on('data', (piece: Buffer | string) => (this.text += piece.toString('latin1' as never)))
    } else if (one.kind === 'look') stream.on('readable', () => this.looks++)
    else if (one.kind === 'pause') stream.pause()
    else if (one.kind === 'resume' && stream.listenerCount('data') > 0) stream.resume()
    else if (one.kind === 'encode') stream.setEncoding('latin1')
    else await turn()
  }

  async finish(): Promise<void> {
    this.#end()
    this.stream.removeAllListeners('readable')
    await turn()
    if (this.stream.listenerCount('data') === 0) await this.do({ kind: 'listen' }, Buffer.alloc(0))
    this.stream.resume()
    for (let i = 0; i < 5; i++) await turn()
  }
}

test('a reader finds what it finds in a stream of Node, and no later', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const [plain, queued] = [new Side(false), new Side(true)]
      let letter = 0
      for (const one of steps) {
        const bytes = one.kind === 'arrive' ? one.sizes.reduce((sum, size) => sum + size, 0) : 0
        const content = Buffer.from(Array.from({ length: bytes }, () => 97 + (letter++ % 26)))
        for (const side of [plain, queued]) {
          await side.do(one, Buffer.from(content))
          await turn()
        }
        assert.ok(queued.text.startsWith(plain.text), 'no later')
        assert.equal(queued.text.length + queued.stream.readableLength, plain.text.length + plain.stream.readableLength)
        assert.equal(queued.looks > 0, plain.looks > 0)
      }
      for (const side of [plain, queued]) await side.finish()
      assert.ok(queued.text === plain.text, 'the same bytes')
      assert.deepEqual([queued.hasEnded, plain.hasEnded], [true, true])
    }),
    { numRuns: 300 },
  )
})

test('a reader that keeps up gets the first small piece of a read at once, and the others when the read is over', async () => {
  const stream = new Readable({ read() {} })
  const queue = new PieceQueue(stream)
  const seen: string[] = []
  stream.on('data', (piece: Buffer) => seen.push(piece.toString()))
  await turn()
  for (let read = 1; read <= 2; read++) {
    const bytes = Buffer.from('abcd')
    for (let i = 0; i < 4; i++) {
      assert.equal(queue.push(bytes, i, i + 1, true), true)
      assert.deepEqual(seen.splice(0), i === 0 ? ['a'] : [])
    }
    bytes.fill('x') // it is used again
    await turn()
    assert.deepEqual(seen.splice(0), ['bcd'])
  }
})

test('a large piece takes the small ones before it along, and so does the end', async () => {
  const stream = new Readable({ read() {} })
  const queue = new PieceQueue(stream)
  const seen: number[] = []
  stream.on('data', (piece: Buffer) => seen.push(piece.length))
  await turn()
  for (const size of [1, 2, 3, 5000, 4, 5]) queue.push(Buffer.alloc(size), 0, size, true)
  assert.deepEqual(seen, [1, 5, 5000, 4])
  queue.end()
  assert.deepEqual(seen, [1, 5, 5000, 4, 5])
})

test('a small part of a large receive buffer does not wait with it', () => {
  const stream = new Readable({ read() {} })
  const queue = new PieceQueue(stream)
  for (let i = 0; i < 3; i++) queue.push(Buffer.allocUnsafeSlow(64 * 1024), 0, 5000, false)
  const pieces = [1, 2, 3].map(() => stream.read(5000) as Buffer)
  assert.deepEqual(
    pieces.map(({ buffer }) => buffer.byteLength),
    [64 * 1024, 5000, 5000],
  )
})
