// Field blocks of one connection: the input is a list of blocks, each after a byte with its length. A zero is followed by a byte that,
// times 32, is SETTINGS_HEADER_TABLE_SIZE from there on.

import assert from 'node:assert/strict'

import { Http2Error } from '../../../packages/weirjs/src/wire/http2/errors.ts'
import { HpackDecoder } from '../../../packages/weirjs/src/wire/http2/hpack/decoder.ts'
import {
  HpackEncoder,
  INDEX,
  MOST_UPDATE_BYTES,
  mostFieldBytes,
  NEVER,
  PLAIN,
} from '../../../packages/weirjs/src/wire/http2/hpack/encoder.ts'
import type { HeaderField } from '../../../packages/weirjs/src/wire/http2/hpack/header-field.ts'
import { LiteralCache } from '../../../packages/weirjs/src/wire/http2/hpack/literal-cache.ts'
import { type Field, HpackReference, Refused } from '../../../packages/weirjs/test/support/hpack-reference.ts'
import type { Random } from '../random.ts'
import { assertSameWords, type Target } from '../target.ts'

type Step = { readonly block: Buffer } | { readonly limit: number }
/** The content of a list, and how it ended: `''`, or the fault. */
interface Reading {
  readonly words: readonly (string | number)[]
  readonly lists: readonly (readonly Field[])[]
  readonly end: string
}

const COMPRESSION_ERROR = 9
const POISON = 0xdd
const LIST_LIMITS = [1_000_000, 1_000_000, 200, 60, 0]

/** Kept from one input to the next, as a server keeps it from one connection to the next. */
const literals = new LiteralCache()
const lent = Buffer.alloc(256)

const hex = (text: string): string => Buffer.from(text.replaceAll(' ', ''), 'hex').toString('latin1')
const block = (text: string): string => `${String.fromCharCode(hex(text).length)}${hex(text)}`

const SEEDS = [
  block('82 86 84 41 0f 7777772e6578616d706c652e636f6d') + block('82 86 84 be 58 08 6e6f2d6361636865'),
  block('82 86 84 41 8c f1e3c2e5f23a6ba0ab90f4ff') + block('82 86 84 be 58 86 a8eb10649cbf'),
  block('4003 787979 0161 0f2f0162 1f2f0163') + block('bebe 7e 00 c0'),
  `${block('40016101624001630164')}\0\x02${block('3f21 bebf')}\0\0\0\x08${block('20 3f e101 be')}`,
  `${block(`4001617f21${'62'.repeat(160)}`).repeat(30)}${block('bedbff02')}`,
  block('0f 09 85 aec3771a4b 00 81 7f 82 ffff'),
]

export const hpackTarget: Target = {
  name: 'hpack',
  promise:
    'field blocks are read as in RFC 7541, with and without earlier blocks, or end the connection; written again, they mean the same',
  dictionary: [
    ...[
      '82',
      '84',
      'be',
      'bf',
      'ff00',
      'ff8001',
      '40',
      '7e',
      '7f00',
      '20',
      '3f e1 1f',
      '3f 21',
      '0f 2f',
      '1f 00',
      '10',
      '0161',
      '8163',
      '00',
    ],
    ...['84 a0e41d13', '83 ffffff', '7f 80ffffff0f', 'ff 8080808000', '4003787979', '0f 09', '1f 08'],
  ].map(hex),
  maxBytes: 1500,
  seeds: () => SEEDS.map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes, choices) {
    const maxListBytes = choices.pick(LIST_LIMITS)
    const steps = stepsOf(bytes)
    const { words, lists, end } = read(steps, null, maxListBytes)
    assertSameWords(read(steps, literals, maxListBytes).words, words, 'with earlier blocks')
    return `${end} ${Math.min(lists.length, 4)} ${Math.min(lists.flat().length, 8)}`
  },
  fullCheckOneIn: 16,
  fullCheck(bytes, choices) {
    const steps = stepsOf(bytes)
    const { lists, end } = read(steps, null, LIST_LIMITS[0]!)
    const expected = readByReference(steps)
    assert.deepEqual(lists, expected.lists)
    assert.equal(end !== '', expected.isRefused, end)
    writeAgain(lists, choices)
  },
}

function stepsOf(bytes: Buffer): Step[] {
  const steps: Step[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at++]!
    if (length === 0) steps.push({ limit: 32 * (bytes[at++] ?? 0) })
    else steps.push({ block: bytes.subarray(at, (at += length)) })
  }
  return steps
}

function read(steps: readonly Step[], cache: LiteralCache | null, maxListBytes: number): Reading {
  const decoder = new HpackDecoder(cache)
  const words: (string | number)[] = []
  const lists: Field[][] = []
  try {
    for (const step of steps) {
      if ('limit' in step) decoder.setTableLimit(step.limit)
      else {
        const fields: HeaderField[] = []
        step.block.copy(lent)
        const listBytes = decoder.decode(lent, 0, step.block.length, fields, maxListBytes)
        lent.fill(POISON, 0, step.block.length)
        words.push(listBytes, fields.length, decoder.tableBytes)
        for (const { name, value } of fields) words.push(name, value)
        lists.push(fields.map(({ name, value }) => [name, value]))
      }
    }
    return { words, lists, end: '' }
  } catch (error) {
    if (!(error instanceof Http2Error)) throw error
    assert.equal(error.code, COMPRESSION_ERROR)
    words.push(error.code) // of two faults in one field, either may be noticed first
    return { words, lists, end: error.fault }
  }
}

function readByReference(steps: readonly Step[]): { readonly lists: readonly (readonly Field[])[]; readonly isRefused: boolean } {
  const reference = new HpackReference()
  const lists: Field[][] = []
  try {
    for (const step of steps) {
      if ('limit' in step) reference.setTableLimit(step.limit)
      else lists.push(reference.decode(step.block))
    }
    return { lists, isRefused: false }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { lists, isRefused: true }
  }
}

/** The encoder writes what was read, and it is read again, while the client's limit changes. */
function writeAgain(lists: readonly (readonly Field[])[], choices: Random): void {
  const encoder = new HpackEncoder(choices.pick([0, 100, 4096, 4096, 65_536]))
  const decoder = new HpackDecoder(choices.pick([null, literals]))
  const reference = new HpackReference()
  for (const list of lists) {
    for (let changes = choices.below(3); changes > 0; changes--) {
      const limit = choices.pick([0, 64, 300, 4096, 10_000])
      encoder.setPeerLimit(limit)
      decoder.setTableLimit(limit)
      reference.setTableLimit(limit)
    }
    const target = Buffer.alloc(MOST_UPDATE_BYTES + list.reduce((sum, [name, value]) => sum + mostFieldBytes(name, value), 0))
    let at = encoder.begin(target, 0)
    for (const [name, value] of list) at = encoder.write(target, at, name, value, choices.pick([INDEX, INDEX, PLAIN, NEVER]))
    const fields: HeaderField[] = []
    decoder.decode(target, 0, at, fields, LIST_LIMITS[0]!)
    assert.deepEqual(
      fields.map(({ name, value }) => [name, value]),
      list,
      'written again',
    )
    assert.deepEqual(reference.decode(target.subarray(0, at)), list, 'written again, for the reference')
    assert.equal(encoder.table.bytes, decoder.tableBytes, 'both ends have the same table')
  }
}
