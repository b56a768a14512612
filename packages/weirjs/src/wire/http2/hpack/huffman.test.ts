import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { CODE_LENGTHS, CODES, EOS } from './huffman-code.ts'
import { decodeHuffman, INVALID } from './huffman-decode.ts'
import { encodeHuffman, huffmanLength } from './huffman-encode.ts'

const latin1 = (options: { maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.uint8Array(options).map((bytes) => Buffer.from(bytes).toString('latin1'))

function encode(text: string): Buffer {
  const target = Buffer.alloc(huffmanLength(text) + 2, 0xdd)
  const end = encodeHuffman(text, target, 1)
  assert.deepEqual([end, target[0], target[end]], [target.length - 1, 0xdd, 0xdd], 'as long as was said, and nothing else is written')
  return target.subarray(1, end)
}

/** Text, or null where the bytes are refused. */
function decode(bytes: Uint8Array): string | null {
  const text = Buffer.alloc(2 * bytes.length + 2)
  const length = decodeHuffman(bytes, 0, bytes.length, text)
  return length === INVALID ? null : text.toString('latin1', 0, length)
}

/** Bits as text: the slow way, one bit after the other. */
function bitsOf(text: string): string {
  return [...Buffer.from(text, 'latin1')].map((byte) => codeOf(byte)).join('')
}
const codeOf = (symbol: number): string => CODES[symbol]!.toString(2).padStart(CODE_LENGTHS[symbol]!, '0')
const bytesOf = (bits: string): Buffer => Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))

test('the code is complete: no sequence of bits is without a meaning, and none has two', () => {
  assert.equal(
    CODE_LENGTHS.reduce((sum, length) => sum + 2 ** -length, 0),
    1,
  )
  const codes = Array.from({ length: EOS + 1 }, (_, symbol) => codeOf(symbol)).sort()
  assert.ok(codes.every((code, i) => i === 0 || !code.startsWith(codes[i - 1]!)))
  assert.equal(codeOf(EOS), '1'.repeat(30))
})

test('every byte comes back, alone, twice and behind every other', () => {
  for (let first = 0; first < 256; first++) {
    const one = String.fromCharCode(first)
    assert.equal(decode(encode(one)), one)
    for (let second = 0; second < 256; second++) {
      const two = one + String.fromCharCode(second)
      assert.equal(decode(encode(two)), two)
    }
  }
})

test('any text is written as its codes and the beginning of EOS, and comes back', () => {
  fc.assert(
    fc.property(latin1({ maxLength: 40 }), (text) => {
      const bits = bitsOf(text)
      assert.deepEqual(encode(text), bytesOf(bits + '1'.repeat((8 - (bits.length % 8)) % 8)))
      assert.equal(decode(encode(text)), text)
    }),
    { numRuns: 2_000 },
  )
})

test('any bytes are read as one bit after the other would be', () => {
  const symbols = new Map(Array.from({ length: EOS + 1 }, (_, symbol) => [codeOf(symbol), symbol]))
  const bitByBit = (bytes: Uint8Array): string | null => {
    let [text, code] = ['', '']
    for (const byte of bytes) {
      for (let bit = 7; bit >= 0; bit--) {
        code += (byte >> bit) & 1
        const symbol = symbols.get(code)
        if (symbol === EOS) return null
        if (symbol === undefined) continue
        text += String.fromCharCode(symbol)
        code = ''
      }
    }
    return /^1{0,7}$/.test(code) ? text : null
  }
  const bits = fc.array(fc.oneof(fc.uint8Array({ maxLength: 4 }), latin1({ maxLength: 6 }).map(encode), fc.constant(Uint8Array.of(0xff))))
  fc.assert(
    fc.property(
      bits.map((parts) => Buffer.concat(parts)),
      (bytes) => assert.equal(decode(bytes), bitByBit(bytes)),
    ),
    { numRuns: 5_000 },
  )
})

for (const [what, bits] of [
  ['EOS', `${'1'.repeat(30)}11`],
  ['EOS behind text', `${bitsOf('0')}${'1'.repeat(30)}11111`],
  ['padding of a whole byte', `${bitsOf('&')}11111111`],
  ['padding of 10 bits', `${bitsOf(' ')}${'1'.repeat(10)}`],
  ['padding with a zero in it', `${bitsOf('0')}110`],
  ['the beginning of a code', `${bitsOf('0')}010`],
] as const) {
  test(`${what} is refused (RFC 7541 §5.2)`, () => {
    assert.equal(bits.length % 8, 0)
    assert.equal(decode(bytesOf(bits)), null)
  })
}

test('padding of 1 to 7 bits of EOS is taken, and no bytes are no text', () => {
  assert.equal(decode(Buffer.alloc(0)), '')
  for (const text of ['0', 'aa', '000', 'A', '\\', '&0', '&']) {
    const padding = (8 - (bitsOf(text).length % 8)) % 8
    assert.equal(decode(bytesOf(bitsOf(text) + '1'.repeat(padding))), text)
  }
})
