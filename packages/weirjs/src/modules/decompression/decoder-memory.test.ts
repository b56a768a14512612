import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as zlib from 'node:zlib'

import { TestClock } from '../../testing/test-clock.ts'
import { brotliWindowBits, decoderBytes } from './codings.ts'
import { DecoderMemory, type DecoderOwner } from './decoder-memory.ts'

class Owner implements DecoderOwner {
  idle = 0
  readonly name: string
  readonly decoderBytes: number
  readonly log: string[]
  readonly client: string

  constructor(name: string, decoderBytes: number, log: string[], client: string) {
    this.client = client
    this.name = name
    this.decoderBytes = decoderBytes
    this.log = log
  }

  idleMs(): number {
    return this.idle
  }

  start(): void {
    this.log.push(`${this.name} starts`)
  }
  giveUp(): void {
    this.log.push(`${this.name} is given up`)
  }
}

function memory(allBytes: number) {
  const clock = new TestClock()
  const log: string[] = []
  const owner = (name: string, bytes: number, client = '192.0.2.1') => new Owner(name, bytes, log, client)
  return { all: new DecoderMemory(clock, allBytes), clock, log, owner }
}

test('what does not fit waits in order of arrival, and a small one does not overtake', () => {
  const { all, log, owner } = memory(10)
  const [a, b, c, d] = [owner('a', 6), owner('b', 4), owner('c', 8), owner('d', 1)]
  for (const one of [a, b, c, d]) all.enter(one)
  assert.deepEqual(log, ['a starts', 'b starts'])
  all.leave(a)
  all.leave(a)
  assert.deepEqual(log, ['a starts', 'b starts'])
  all.leave(b)
  assert.deepEqual(log, ['a starts', 'b starts', 'c starts', 'd starts'])
})

test('one that leaves while it waits makes room for the next', () => {
  const { all, log, owner } = memory(10)
  const [a, b, c] = [owner('a', 9), owner('b', 9), owner('c', 1)]
  for (const one of [a, b, c]) all.enter(one)
  all.leave(b)
  assert.deepEqual(log, ['a starts', 'c starts'])
})

test('a decoder that has been idle for five seconds is given up, if others wait', async () => {
  const { all, clock, log, owner } = memory(10)
  const [a, b] = [owner('a', 5), owner('b', 5)]
  all.enter(a)
  all.enter(b)
  a.idle = 60_000
  await clock.advance(60_000)
  assert.deepEqual(log, ['a starts', 'b starts'])
  a.idle = 4_999
  all.enter(owner('c', 5))
  await clock.advance(1_000)
  assert.equal(log.length, 2)
  a.idle = 5_000
  await clock.advance(1_000)
  assert.deepEqual(log.slice(2), ['a is given up'])
})

const KIB = 1024
const MIB = 1024 * KIB
const REAL_BYTES = 32 * MIB
const GZIP_BYTES = 64 * KIB
const BROTLI_BYTES = 4 * MIB + 64 * KIB

test('small ones overtake large ones that wait, in memory of their own', () => {
  const { all, log, owner } = memory(REAL_BYTES)
  const large = Array.from({ length: 9 }, (_, i) => owner(`large ${i}`, BROTLI_BYTES))
  const small = Array.from({ length: 80 }, (_, i) => owner(`small ${i}`, GZIP_BYTES))
  for (const one of [...large, ...small]) all.enter(one)
  assert.equal(log.filter((line) => line.startsWith('large')).length, 7)
  assert.equal(log.filter((line) => line.startsWith('small')).length, 56)
  all.leave(large[0]!)
  assert.deepEqual(log.slice(63), ['large 7 starts', 'small 56 starts'], 'the first of both kinds take turns')
  all.leave(small[0]!)
  all.leave(small[1]!)
  assert.deepEqual(log.slice(65), ['small 57 starts'])
})

test('a large one is not kept waiting by small ones that come later', () => {
  const { all, log, owner } = memory(REAL_BYTES)
  const small = Array.from({ length: 512 }, (_, i) => owner(`small ${i}`, GZIP_BYTES))
  for (const one of small) all.enter(one)
  all.enter(owner('large', BROTLI_BYTES))
  for (let i = 0; i < 100; i++) {
    all.enter(owner(`later ${i}`, GZIP_BYTES))
    all.leave(small[i]!)
  }
  assert.deepEqual(log.slice(512, 514), ['large starts', 'later 0 starts'])
})

test('clients take turns: none waits for all bodies of another, whatever their size', () => {
  for (const [flooding, asking] of [
    [BROTLI_BYTES, BROTLI_BYTES],
    [GZIP_BYTES, GZIP_BYTES],
    [GZIP_BYTES, BROTLI_BYTES],
    [BROTLI_BYTES, GZIP_BYTES],
  ] as const) {
    const { all, log, owner } = memory(REAL_BYTES)
    const flood = Array.from({ length: 2_000 }, (_, i) => owner(`flood ${i}`, flooding))
    for (const one of flood) all.enter(one)
    all.enter(owner('other', asking, '192.0.2.2'))
    const begun = log.length
    // A large one needs the room of 65 small ones.
    let ended = 0
    for (; !log.includes('other starts'); ended++) all.leave(flood[ended]!)
    assert.ok(ended <= 70, `${ended} of ${begun} had to end`)
  }
})

test('of those that are idle, the largest are given up, and no more than are needed', async () => {
  const { all, clock, log, owner } = memory(REAL_BYTES)
  const large = Array.from({ length: 7 }, (_, i) => owner(`large ${i}`, BROTLI_BYTES))
  const small = owner('small', GZIP_BYTES)
  for (const one of [small, ...large]) {
    one.idle = 60_000
    one.giveUp = () => {
      log.push(`${one.name} is given up`)
      all.leave(one)
    }
    all.enter(one)
  }
  all.enter(owner('next', BROTLI_BYTES))
  await clock.advance(1_000)
  assert.deepEqual(log.slice(8), ['large 0 is given up', 'next starts'])
})

test('the first byte of Brotli states its window', () => {
  for (const bits of [18, 20, 22, 24]) {
    const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: bits, [zlib.constants.BROTLI_PARAM_QUALITY]: 2 }
    assert.equal(brotliWindowBits(zlib.brotliCompressSync(Buffer.alloc(2 ** 24), { params })[0]!), bits)
  }
  // RFC 7932 §9.1, its table, with the unused bits set.
  const TABLE = [
    [0b0, 16],
    [0b0000001, 17],
    [0b0011, 18],
    [0b0101, 19],
    [0b0111, 20],
    [0b1001, 21],
    [0b1011, 22],
    [0b1101, 23],
    [0b1111, 24],
    [0b0100001, 10],
    [0b0110001, 11],
    [0b0111_0001, 15],
  ] as const
  for (const [byte, bits] of TABLE) assert.equal(brotliWindowBits(byte), bits, byte.toString(2))
  assert.equal(brotliWindowBits(0b0010001), Number.POSITIVE_INFINITY)
  assert.ok(decoderBytes('br', 0b1011) > 2 ** 22)
})
