import assert from 'node:assert/strict'
import { test } from 'node:test'

import { type FaultName, Http2Error } from '../errors.ts'
import { HpackDecoder } from './decoder.ts'
import type { HeaderField } from './header-field.ts'
import { LiteralCache } from './literal-cache.ts'
import { STATIC_TABLE } from './static-table.ts'

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

/** A literal field without any table or code, as hexadecimal digits. @param first its first byte: 40 to be indexed, 00, 10 */
const literal = (first: string, name: string, value: string): string => first + textOf(name) + textOf(value)
const textOf = (text: string): string => Buffer.from([text.length, ...Buffer.from(text, 'latin1')]).toString('hex')

function read(decoder: HpackDecoder, hex: string, maxListBytes = 1_000_000): { readonly list: string[]; readonly bytes: number } {
  const fields: HeaderField[] = []
  const block = bytesOf(hex)
  const bytes = decoder.decode(block, 0, block.length, fields, maxListBytes)
  return { list: fields.map(({ name, value }) => `${name}: ${value}`), bytes }
}

function refuses(decoder: HpackDecoder, hex: string, fault: FaultName): void {
  assert.throws(
    () => read(decoder, hex),
    (error) => error instanceof Http2Error && error.fault === fault && error.code === 9,
    hex,
  )
}

const refused: readonly (readonly [what: string, hex: string, fault: FaultName])[] = [
  ['the index 0', '80', 'HPACK_INDEX'],
  ['an index behind both tables', 'be', 'HPACK_INDEX'],
  ['an index far behind both tables', 'ffffffff07', 'HPACK_INDEX'],
  ['a name by an index behind both tables', '7e0161', 'HPACK_INDEX'],
  ['a name by an index behind both tables, not to be indexed', '0f2f0161', 'HPACK_INDEX'],
  ['an integer without an end', 'ff', 'HPACK_TRUNCATED'],
  ['an integer of six bytes behind the first', 'ff808080808000', 'HPACK_INTEGER'],
  ['an integer above 2^32 - 1', 'ff81ffffff0f', 'HPACK_INTEGER'],
  ['a literal without a name', '40', 'HPACK_TRUNCATED'],
  ['a literal without a value', '400161', 'HPACK_TRUNCATED'],
  ['a name that is longer than the block', '400261', 'HPACK_TRUNCATED'],
  ['a value that is longer than the block', '4001610262', 'HPACK_TRUNCATED'],
  ['a value of 4 GB', '400161 7f80ffffff0f', 'HPACK_TRUNCATED'],
  ['a Huffman-coded value with EOS', '400161 84ffffffff', 'HPACK_HUFFMAN'],
  ['a Huffman-coded name with a byte of padding', '4082 f8ff 0161', 'HPACK_HUFFMAN'],
  ['a table above its limit', '3fe21f', 'HPACK_SIZE'],
  ['a size behind a field', '8220', 'HPACK_SIZE_UPDATE'],
]
for (const [what, hex, fault] of refused) {
  test(`refuses ${what}: ${fault}`, () => {
    refuses(new HpackDecoder(null), hex, fault)
    refuses(new HpackDecoder(new LiteralCache()), hex, fault)
  })
}

test('takes integers with zeros behind them, as long as there are no more than five bytes, and the largest table', () => {
  assert.deepEqual(read(new HpackDecoder(null), '3fe11f 3fe19f00 20 82').list, [':method: GET'])
  assert.deepEqual(read(new HpackDecoder(null), '0001 61 7f8180808000'.concat('62'.repeat(128))).list, [`a: ${'b'.repeat(128)}`])
})

test('a field that is in the table is the same object each time', () => {
  const decoder = new HpackDecoder(null)
  const fields: HeaderField[] = []
  for (const hex of [literal('40', 'a', 'b'), 'be', 'bebe']) decoder.decode(bytesOf(hex), 0, hex.length / 2, fields, 1_000)
  assert.equal(fields.length, 4)
  assert.ok(fields.every((field) => field === fields[0]))
})

test('reads the part of a buffer that is the block, and nothing else', () => {
  const buffer = bytesOf(`ff80 ${literal('40', 'a', 'b')} ff80`)
  const fields: HeaderField[] = []
  new HpackDecoder(null).decode(buffer, 2, buffer.length - 2, fields, 1_000)
  assert.deepEqual(
    fields.map(({ name, value }) => [name, value]),
    [['a', 'b']],
  )
})

test('above maxListBytes no more fields are given, but the table stays in step and the size is that of all', () => {
  const decoder = new HpackDecoder(null)
  const [a, b, c] = [literal('40', 'a', '1'), literal('40', 'b', '2'), literal('00', 'c', '3')]
  assert.deepEqual(read(decoder, `${a}${b}${c}`, 2 * 34), { list: ['a: 1', 'b: 2'], bytes: 3 * 34 })
  assert.deepEqual(read(decoder, `${a}${b}${c}`, 33), { list: [], bytes: 3 * 34 })
  assert.deepEqual(read(decoder, 'bebfc0c1').list, ['b: 2', 'a: 1', 'b: 2', 'a: 1'])
})

test('an index that stands for much text costs no memory: a list of 100 MB is counted, not made', () => {
  const decoder = new HpackDecoder(null)
  read(decoder, `40 01 61 7f a11e ${'62'.repeat(4000)}`)
  assert.equal(decoder.tableBytes, 4033)
  const { list, bytes } = read(decoder, 'be'.repeat(25_000), 16_000)
  assert.deepEqual([list.length, bytes], [3, 25_000 * 4033])
})

test('text of 64 KiB is read, Huffman-coded too', () => {
  const raw = `0001 61 7f81ff03 ${'62'.repeat(65_536)}`
  const coded = `0001 61 ff81ff03 ${'ff'.repeat(0)}${'8c63'.repeat(32_768)}`
  assert.equal(read(new HpackDecoder(null), raw).list[0]!.length, 65_536 + 3)
  assert.match(read(new HpackDecoder(null), coded).list[0]!, /^a: (?:bb|[ -~])+$/)
})

// SETTINGS_HEADER_TABLE_SIZE

test('after a lower limit the next block begins with a size that keeps it', () => {
  for (const [hex, fault] of [
    ['82', 'HPACK_SIZE_MISSING'],
    ['3fe11f82', 'HPACK_SIZE'],
    ['3f4682', 'HPACK_SIZE'],
  ] as const) {
    const decoder = new HpackDecoder(null)
    decoder.setTableLimit(100)
    refuses(decoder, hex, fault)
  }
  const decoder = new HpackDecoder(null)
  read(decoder, literal('40', 'a', 'b') + literal('40', 'c', 'd') + literal('40', 'e', 'f'))
  decoder.setTableLimit(100)
  assert.deepEqual(read(decoder, '').list, [], 'a block without fields need not')
  assert.deepEqual(read(decoder, '3f45 bebf').list, ['e: f', 'c: d'])
  refuses(decoder, 'c0', 'HPACK_INDEX')
})

test('of several limits between two blocks the lowest counts first, then the last (RFC 7541 §4.2)', () => {
  const decoderWith = (): HpackDecoder => {
    const decoder = new HpackDecoder(null)
    read(decoder, literal('40', 'a', 'b'))
    decoder.setTableLimit(0)
    decoder.setTableLimit(4096)
    return decoder
  }
  refuses(decoderWith(), 'be', 'HPACK_SIZE_MISSING')
  refuses(decoderWith(), '3fe11fbe', 'HPACK_SIZE_MISSING')
  refuses(decoderWith(), '203fe11fbe', 'HPACK_INDEX')
  assert.deepEqual(read(decoderWith(), `203fe11f${literal('40', 'c', 'd')}be`).list, ['c: d', 'c: d'])
})

test('a higher limit asks for nothing, and may be used', () => {
  const decoder = new HpackDecoder(null)
  decoder.setTableLimit(8192)
  assert.deepEqual(read(decoder, '82').list, [':method: GET'])
  assert.deepEqual(read(decoder, '3fe13f82').list, [':method: GET'])
})

// Literals that were seen before

test('a literal that was seen before is the same object, on another connection too', () => {
  const literals = new LiteralCache()
  const fields: HeaderField[] = []
  const hex = `${literal('00', 'x-a', 'some text')}04${textOf('/path')}`
  for (const decoder of [new HpackDecoder(literals), new HpackDecoder(literals), new HpackDecoder(null)])
    decoder.decode(bytesOf(hex), 0, hex.length / 2, fields, 1_000)
  assert.deepEqual(
    fields.map(({ name, value }) => `${name}: ${value}`),
    ['x-a: some text', ':path: /path', 'x-a: some text', ':path: /path', 'x-a: some text', ':path: /path'],
  )
  assert.deepEqual([fields[2] === fields[0], fields[3] === fields[1], fields[4] === fields[0]], [true, true, false])
})

test('names by index, names as text and values that share their bytes are not taken for each other', () => {
  const decoder = new HpackDecoder(new LiteralCache())
  const value = textOf('v')
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(read(decoder, `04${value} 01${value} 0f02${value} 00${value}${value} 00 0161 00 00 00 0161`).list, [
      ':path: v',
      ':authority: v',
      'accept-language: v',
      'v: v',
      'a: ',
      ': a',
    ])
  }
})

test('of the same text after every name of the static table, each is read with its own name', () => {
  const decoder = new HpackDecoder(new LiteralCache())
  for (let value = 0; value < 20; value++) {
    const hex = STATIC_TABLE.slice(1).map(
      (_, i) => (i + 1 < 15 ? `0${(i + 1).toString(16)}` : `0f${(i + 1 - 15).toString(16).padStart(2, '0')}`) + textOf(`v${value}`),
    )
    const names = STATIC_TABLE.slice(1).map(({ name }) => `${name}: v${value}`)
    for (let round = 0; round < 2; round++)
      for (const [i, name] of names.entries()) assert.deepEqual(read(decoder, hex[i]! + hex[0]!).list, [name, `:authority: v${value}`])
  }
})

test('a name in the dynamic table is never what its index was before', () => {
  const decoder = new HpackDecoder(new LiteralCache())
  assert.deepEqual(read(decoder, `${literal('40', 'a', '1')} 0f2f${textOf('v')}`).list, ['a: 1', 'a: v'])
  assert.deepEqual(read(decoder, `${literal('40', 'b', '1')} 0f2f${textOf('v')}`).list, ['b: 1', 'b: v'])
})

for (const [what, hex] of [
  ['a literal that is never to be indexed', literal('10', 'x-token', 'secret')],
  ['authorization, by index', `0f08${textOf('secret')}`],
  ['cookie, as text', literal('00', 'cookie', 'secret')],
  ['a long value', literal('00', 'x-a', 'x'.repeat(80))],
] as const) {
  test(`${what} is not kept beyond its connection`, () => {
    const literals = new LiteralCache()
    const fields: HeaderField[] = []
    for (let i = 0; i < 2; i++) new HpackDecoder(literals).decode(bytesOf(hex), 0, bytesOf(hex).length, fields, 1_000)
    assert.deepEqual(fields[0], fields[1])
    assert.notEqual(fields[0], fields[1])
  })
}

test('literals that share a place replace each other, and each is read for what it is', () => {
  const literals = new LiteralCache()
  const decoder = new HpackDecoder(literals)
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 5_000; i++) assert.deepEqual(read(decoder, `04${textOf(`/${i}`)}`).list, [`:path: /${i}`])
  }
})
