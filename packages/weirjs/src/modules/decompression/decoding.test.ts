// How long a decoder has been idle: of that its memory asks, while others wait.

import assert from 'node:assert/strict'
import type { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'

import { eventually } from '../../../test/support/serving.ts'
import { RequestBody, STREAMED } from '../../http/body/body.ts'
import { TestClock } from '../../testing/test-clock.ts'
import { DecodedBody } from '../kit/decoded-body.ts'
import { DecoderMemory, type DecoderOwner } from './decoder-memory.ts'
import { Decoding } from './decoding.ts'

/** As much as fits beside nobody. */
const ALL_BYTES = 8 * 1024 * 1024
const CONTENT = randomBytes(400_000)

/** A reader that takes as much as it is told to. */
class Slow {
  received = 0
  hasEnded = false
  error: Error | null = null
  takes = true

  data(_buffer: Buffer, start: number, end: number): boolean {
    this.received += end - start
    return this.takes
  }

  end(): void {
    this.hasEnded = true
  }

  fail(error: Error): void {
    this.error = error
  }
}

class Waiting implements DecoderOwner {
  readonly client = '192.0.2.2'
  readonly decoderBytes = ALL_BYTES - 3.5 * 1024 * 1024
  hasStarted = false
  idleMs(): number {
    return 0
  }
  start(): void {
    this.hasStarted = true
  }
  giveUp(): void {}
}

function begin(coding: 'br' | 'gzip') {
  const clock = new TestClock()
  const memory = new DecoderMemory(clock, ALL_BYTES)
  let demands = 0
  const source = new RequestBody(-1, { isGating: false, demand: () => void demands++ }, STREAMED)
  const limits = { maxRequestBodySize: Number.POSITIVE_INFINITY, maxRatio: 100 }
  const body = new DecodedBody('the test', '192.0.2.1', source, (coded) => new Decoding(coded, '192.0.2.1', coding, limits, memory))
  const reader = new Slow()
  body.take('the test', reader)
  const other = new Waiting()
  const bytes = coding === 'br' ? brotliCompressSync(CONTENT) : gzipSync(CONTENT)
  let at = 0
  return {
    clock,
    memory,
    body,
    reader,
    other,
    /** The client sends this many bytes. Resolves when the decoder asks for more. */
    async send(count: number): Promise<void> {
      const before = demands
      const end = Math.min(at + count, bytes.length)
      source.push(bytes, at, end, false)
      at = end
      if (reader.takes) await eventually(() => demands > before, 'a demand')
    },
    finish(): void {
      source.push(bytes, at, bytes.length, false)
      source.finish()
    },
  }
}

test('time in which it waits for its client adds up, however often a byte comes', async () => {
  const { clock, memory, reader, other, send } = begin('br')
  await send(1000)
  memory.enter(other)
  for (let i = 0; i < 4; i++) {
    await clock.advance(1_000)
    await send(1)
  }
  assert.equal(reader.error, null)
  await clock.advance(999)
  assert.equal(reader.error, null)
  await clock.advance(1_001)
  assert.deepEqual([(reader.error as { code?: string } | null)?.code, other.hasStarted], ['WEIR_BODY_TOO_SLOW', true])
})

test('time in which it waits for its reader counts too', async () => {
  const { clock, memory, body, reader, other, send } = begin('br')
  reader.takes = false
  await send(300_000)
  await eventually(() => reader.received > 0, 'the first piece')
  memory.enter(other)
  for (let i = 0; i < 4; i++) {
    await clock.advance(1_000)
    const { received } = reader
    body.demand() // for one more piece
    await eventually(() => reader.received > received, 'a piece')
  }
  assert.equal(reader.error, null)
  await clock.advance(2_000)
  assert.match(String(reader.error), /what reads it has stopped/)
  assert.equal(other.hasStarted, true)
})

test('time in which it works does not count', async () => {
  const { clock, memory, reader, other, send, finish } = begin('br')
  for (let i = 0; i < 10; i++) await send(10_000)
  memory.enter(other)
  await clock.advance(4_000) // it waits for its client for this long
  finish()
  await eventually(() => reader.hasEnded, 'the end')
  await clock.advance(60_000)
  assert.deepEqual([reader.error, reader.received, other.hasStarted], [null, CONTENT.length, true])
})

test('a reader that stops does not matter while nobody waits', async () => {
  const { clock, body, reader, finish } = begin('gzip')
  reader.takes = false
  finish()
  await eventually(() => reader.received > 0, 'the first piece')
  await clock.advance(600_000)
  reader.takes = true
  body.demand()
  await eventually(() => reader.hasEnded, 'the end')
  assert.equal(reader.received, CONTENT.length)
})
