// The examples of RFC 7541 Appendix C, read and written.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HpackDecoder } from './decoder.ts'
import { HpackEncoder, INDEX, MOST_UPDATE_BYTES, mostFieldBytes, NEVER, PLAIN } from './encoder.ts'
import type { HeaderField } from './header-field.ts'
import { writeInteger } from './integer.ts'
import { LiteralCache } from './literal-cache.ts'

type Field = readonly [name: string, value: string]

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

function fieldsOf(decoder: HpackDecoder, block: Buffer): Field[] {
  const fields: HeaderField[] = []
  decoder.decode(block, 0, block.length, fields, 1_000_000)
  return fields.map(({ name, value }) => [name, value])
}

function blockOf(encoder: HpackEncoder, fields: readonly Field[], indexing = INDEX): Buffer {
  const target = Buffer.alloc(MOST_UPDATE_BYTES + fields.reduce((sum, [name, value]) => sum + mostFieldBytes(name, value), 0))
  let at = encoder.begin(target, 0)
  for (const [name, value] of fields) at = encoder.write(target, at, name, value, indexing)
  return target.subarray(0, at)
}

test('C.1: integers', () => {
  const target = Buffer.alloc(8)
  const written = (value: number, prefix: number, pattern = 0): string =>
    target.toString('hex', 0, writeInteger(target, 0, value, prefix, pattern))
  assert.deepEqual([written(10, 0x1f), written(1337, 0x1f), written(42, 0xff)], ['0a', '1f9a0a', '2a'])
  assert.deepEqual([written(10, 0x1f, 0x20), written(31, 0x1f, 0x20), written(2 ** 32 - 1, 0x7f, 0x80)], ['2a', '3f00', 'ff80ffffff0f'])
})

const single: readonly (readonly [id: string, hex: string, field: Field, tableBytes: number, indexing: number | null])[] = [
  ['C.2.1', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key', 'custom-header'], 55, null],
  ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path'], 0, null],
  ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret'], 0, null],
  ['C.2.4', '82', [':method', 'GET'], 0, INDEX],
]
for (const [id, hex, field, tableBytes, indexing] of single) {
  test(`${id}: ${field.join(': ')}`, () => {
    const decoder = new HpackDecoder(null)
    assert.deepEqual(fieldsOf(decoder, bytesOf(hex)), [field])
    assert.equal(decoder.tableBytes, tableBytes)
    if (indexing !== null) assert.deepEqual(blockOf(new HpackEncoder(), [field], indexing), bytesOf(hex))
  })
}

const REQUESTS: readonly (readonly [fields: readonly Field[], tableBytes: number])[] = [
  [
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ],
    57,
  ],
  [
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
      ['cache-control', 'no-cache'],
    ],
    110,
  ],
  [
    [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ],
    164,
  ],
]
const DATE = 'Mon, 21 Oct 2013 20:13:21 GMT'
const LOCATION = 'https://www.example.com'
const RESPONSES: readonly (readonly [fields: readonly Field[], tableBytes: number])[] = [
  [
    [
      [':status', '302'],
      ['cache-control', 'private'],
      ['date', DATE],
      ['location', LOCATION],
    ],
    222,
  ],
  [
    [
      [':status', '307'],
      ['cache-control', 'private'],
      ['date', DATE],
      ['location', LOCATION],
    ],
    222,
  ],
  [
    [
      [':status', '200'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
      ['location', LOCATION],
      ['content-encoding', 'gzip'],
      ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
    ],
    215,
  ],
]

const sequences: readonly (readonly [id: string, messages: typeof REQUESTS, tableBytes: number, blocks: readonly string[]])[] = [
  [
    'C.3',
    REQUESTS,
    4096,
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
  ],
  [
    'C.4',
    REQUESTS,
    4096,
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ],
  [
    'C.5',
    RESPONSES,
    256,
    [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 54' +
        '6e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153' +
        '444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ],
  ],
  [
    'C.6',
    RESPONSES,
    256,
    [
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960' +
        'd5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ],
  ],
]

for (const [id, messages, tableBytes, blocks] of sequences) {
  test(`${id}: messages that follow each other, read`, () => {
    for (const literals of [null, new LiteralCache()]) {
      const decoder = new HpackDecoder(literals, tableBytes)
      blocks.forEach((hex, i) => {
        const [fields, bytes] = messages[i]!
        assert.deepEqual(fieldsOf(decoder, bytesOf(hex)), fields)
        assert.equal(decoder.tableBytes, bytes)
      })
    }
  })
}

for (const [id, messages, tableBytes, blocks] of [sequences[1]!, sequences[3]!]) {
  test(`${id}: messages that follow each other, written`, () => {
    const encoder = new HpackEncoder(tableBytes)
    blockOf(encoder, []) // the size of the table, where it is not that which both begin with
    blocks.forEach((hex, i) => {
      const [fields, bytes] = messages[i]!
      // The example writes 307 in the Huffman code, which is as long as the text itself.
      assert.equal(blockOf(encoder, fields).toString('hex'), hex.replaceAll(' ', '').replace('83640eff', '03333037'))
      assert.equal(encoder.table.bytes, bytes)
    })
  })
}

test('what is a secret is written as a literal that is never indexed, what changes as one that is not', () => {
  const encoder = new HpackEncoder()
  assert.deepEqual(blockOf(encoder, [['password', 'secret']], NEVER), bytesOf('1086 ac684783d927 84 4149 6153'))
  assert.deepEqual(blockOf(encoder, [[':path', '/sample/path']], PLAIN), bytesOf('0489 6103a6ba0ac5634cff'))
  assert.equal(encoder.table.bytes, 0)
  // An index would say that it is in a table.
  assert.deepEqual(blockOf(encoder, [['accept-encoding', 'gzip, deflate']], NEVER)[0], 0x1f)
})
