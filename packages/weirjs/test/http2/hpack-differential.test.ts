// HPACK against nghttp2, as node:http2 has it: what the one writes the other reads, and bytes that one refuses the other refuses too.
//
// HPACK_BLOCKS=1000000 node scripts/test.mjs hpack-differential   # so many blocks, from a random start; SEED=… for the same again

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../../test/fuzz/random.ts'
import { Http2Error } from '../../src/wire/http2/errors.ts'
import { HpackDecoder } from '../../src/wire/http2/hpack/decoder.ts'
import { HpackEncoder, INDEX, MOST_UPDATE_BYTES, mostFieldBytes, NEVER, PLAIN } from '../../src/wire/http2/hpack/encoder.ts'
import type { HeaderField } from '../../src/wire/http2/hpack/header-field.ts'
import { encodeHuffman, huffmanLength } from '../../src/wire/http2/hpack/huffman-encode.ts'
import { writeInteger } from '../../src/wire/http2/hpack/integer.ts'
import { LiteralCache } from '../../src/wire/http2/hpack/literal-cache.ts'
import type { Field } from '../support/hpack-reference.ts'
import { Nghttp2Reader, Nghttp2Writer } from '../support/nghttp2-hpack.ts'

const BLOCKS = Number(process.env['HPACK_BLOCKS'] ?? 1_500)
const SEED = process.env['SEED'] ?? (process.env['HPACK_BLOCKS'] === undefined ? 'test' : String(Date.now()))
const BLOCKS_OF_A_CONNECTION = 40

const literals = new LiteralCache()

const NAMES = ['x-a', 'x-b', 'accept', 'accept-encoding', 'cookie', 'authorization', 'user-agent', 'etag', 'x-a-much-longer-name', 'via']
const CHARS = ' !"#$%&()*+,-./0123456789:;<=>?@ABCXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\x80\xa0\xff'
const REQUEST: readonly Field[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', '/'],
]

/** A value that nghttp2 takes: no controls, no blanks around it. */
function anyValue(random: Random): string {
  const length = random.oneIn(20) ? random.below(3000) : random.skewed(40)
  const text = Array.from({ length }, () => (random.oneIn(3) ? random.pick([...CHARS]) : 'e')).join('')
  return text.replace(/^ +| +$/g, '')
}

function listOf(random: Random): Field[] {
  const path: Field = [':path', `/${random.below(5)}`]
  const others = Array.from({ length: random.below(8) }, (): Field => {
    if (random.oneIn(3)) return ['accept-encoding', 'gzip, deflate']
    return [random.oneIn(10) ? `x-${random.below(1000)}` : random.pick(NAMES), random.oneIn(2) ? `v${random.below(4)}` : anyValue(random)]
  })
  return [...REQUEST.slice(0, 3), path, ...others]
}

function read(decoder: HpackDecoder, block: Buffer): Field[] | 'error' {
  const fields: HeaderField[] = []
  try {
    decoder.decode(block, 0, block.length, fields, Number.MAX_SAFE_INTEGER)
  } catch (error) {
    if (!(error instanceof Http2Error)) throw error
    return 'error'
  }
  return fields.map(({ name, value }) => [name, value])
}

/** `blocks` rounds, some on the same connection. @param connection says what the tries of one connection are about, and how they end */
async function inConnections(title: string, connection: (random: Random) => { round(): Promise<boolean>; end(): void }): Promise<void> {
  const random = new Random(`${SEED} ${title}`)
  for (let done = 0; done < BLOCKS; ) {
    const { round, end } = connection(random)
    let goesOn = true
    for (let i = 0; goesOn && i < BLOCKS_OF_A_CONNECTION && done < BLOCKS; i++, done++) goesOn = await round()
    end()
  }
}

test(`what the encoder writes nghttp2 reads (seed ${SEED})`, async () => {
  await inConnections('write', (random) => {
    const reader = new Nghttp2Reader()
    const encoder = new HpackEncoder(random.pick([0, 200, 1000, 4096, 4096]))
    const end = (): void => reader.end()
    const round = async (): Promise<boolean> => {
      const list = listOf(random)
      const target = Buffer.alloc(MOST_UPDATE_BYTES + list.reduce((sum, [name, value]) => sum + mostFieldBytes(name, value), 0))
      if (random.oneIn(8)) encoder.setPeerLimit(random.below(4097))
      if (random.oneIn(16)) encoder.setPeerLimit(4096)
      let at = encoder.begin(target, 0)
      for (const [name, value] of list) at = encoder.write(target, at, name, value, random.pick([INDEX, INDEX, INDEX, PLAIN, NEVER]))
      assert.deepEqual(await reader.read(target.subarray(0, at)), list)
      return true
    }
    return { round, end }
  })
})

test(`what nghttp2 writes the decoder reads (seed ${SEED})`, async () => {
  await inConnections('read', (random) => {
    const writer = new Nghttp2Writer()
    const decoder = new HpackDecoder(random.pick([null, literals]))
    const end = (): void => writer.end()
    const round = async (): Promise<boolean> => {
      if (random.oneIn(8)) {
        const limit = random.pick([0, 100, 500, 4096, 20_000])
        await writer.setTableLimit(limit)
        decoder.setTableLimit(limit)
      }
      const list = listOf(random)
      const headers: Record<string, string | string[]> = Object.create(null)
      for (const [name, value] of list) headers[name] = value
      const block = await writer.write(headers)
      assert.deepEqual(Object.fromEntries(read(decoder, block) as Field[]), Object.fromEntries(Object.entries(headers)))
      return true
    }
    return { round, end }
  })
})

/** A block of representations of every kind, whatever they say. */
function anyBlock(random: Random): Buffer {
  const target = Buffer.alloc(64 * 1024)
  let at = 0
  const text = (value: string): void => {
    if (random.oneIn(2)) {
      at = writeInteger(target, at, value.length, 0x7f, 0)
      at += target.write(value, at, 'latin1')
    } else at = encodeHuffman(value, target, writeInteger(target, at, huffmanLength(value), 0x7f, 0x80))
  }
  for (let updates = random.oneIn(6) ? 1 + random.below(2) : 0; updates > 0; updates--)
    at = writeInteger(target, at, random.pick([0, 100, 500, 4096]), 0x1f, 0x20)
  for (const [name, value] of REQUEST) {
    at = writeInteger(target, at, 0, 0x0f, random.pick([0, 0x10]))
    text(name)
    text(value)
  }
  for (let fields = random.below(10); fields > 0; fields--) {
    const index = random.oneIn(30) ? random.below(200) : random.oneIn(2) ? 15 + random.below(47) : 62 + random.skewed(12)
    if (random.oneIn(3)) {
      at = writeInteger(target, at, index, 0x7f, 0x80)
      continue
    }
    const nameIndex = random.oneIn(2) ? index : 0
    const [prefix, pattern] = random.pick([
      [0x3f, 0x40],
      [0x3f, 0x40],
      [0x0f, 0],
      [0x0f, 0x10],
    ] as const)
    at = writeInteger(target, at, nameIndex, prefix, pattern)
    if (nameIndex === 0) text(random.pick(NAMES))
    text(anyValue(random))
  }
  return target.subarray(0, at)
}

function damaged(block: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(block)
  for (let changes = 1 + random.below(3); changes > 0; changes--) bytes[random.below(bytes.length)] = random.below(256)
  return random.oneIn(3) ? bytes.subarray(0, 1 + random.below(bytes.length)) : bytes
}

/** nghttp2 judges fields too, and drops those that it does not like: what it is asked here is what HPACK alone says. */
const isPlain = ([name, value]: Field): boolean =>
  /^[a-z0-9-]+$/.test(name) &&
  name !== 'host' &&
  name !== 'content-length' &&
  /^(?:[!-~\x80-\xff]([\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/.test(value)

for (const [what, isDamaged] of [
  ['any representations', false],
  ['damaged blocks', true],
] as const) {
  test(`${what} are read as nghttp2 reads them, or refused by both (seed ${SEED})`, async () => {
    let [lists, refusals] = [0, 0]
    await inConnections(what, (random) => {
      const reader = new Nghttp2Reader()
      const decoder = new HpackDecoder(random.pick([null, literals]))
      const end = (): void => reader.end()
      const round = async (): Promise<boolean> => {
        const sound = anyBlock(random)
        const block = isDamaged && random.oneIn(4) ? damaged(sound, random) : sound
        const theirs = await reader.read(block)
        const ours = read(decoder, block)
        const how = `${block.toString('hex')}: ${JSON.stringify(ours)}, ${JSON.stringify(theirs)}`
        assert.equal(ours === 'error', theirs === 'error', how)
        if (ours === 'error') refusals++
        else if (theirs !== 'none' && theirs !== 'error') {
          lists++
          assert.deepEqual(theirs.filter(isPlain), ours.filter(isPlain), how)
        }
        return ours !== 'error'
      }
      return { round, end }
    })
    assert.ok(lists > BLOCKS / 4 && refusals > BLOCKS / 200, `${lists} lists, ${refusals} refusals`)
  })
}
