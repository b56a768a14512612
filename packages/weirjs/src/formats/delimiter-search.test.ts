import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { DelimiterSearch } from './delimiter-search.ts'

/** Needles that are short or long, with repeated and periodic bytes. */
const boundary = fc.oneof(
  fc.string({ unit: fc.constantFrom('-', 'a', 'b'), minLength: 1, maxLength: 70 }),
  fc.stringMatching(/^[-A-Za-z0-9]{1,70}$/),
)

/** Text full of beginnings and ends of the needle, and long enough for every search method. */
function textAround(needle: string): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.tuple(fc.nat(needle.length), fc.nat(needle.length)).map(([from, to]) => needle.slice(from, to)),
    fc.nat(needle.length).map((length) => `${needle.slice(0, length)}!`),
    fc.constantFrom('\r', '\n', '\r\n', '-', '\0', '\r\n--', '----------', 'abababab', 'ÿ'),
    fc.constant(needle),
    fc.nat(6000).map((length) => '.'.repeat(length)),
  )
  return fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''))
}

const search = boundary.chain((text) => {
  const needle = `\r\n--${text}`
  return fc.tuple(fc.constant(needle), textAround(needle), fc.nat(9), fc.nat(9), fc.nat(200))
})

test('the first needle is found at any offset in memory, and none outside the range', () => {
  fc.assert(
    fc.property(search, ([needle, text, offset, skip, dropped]) => {
      const bytes = Buffer.concat([Buffer.alloc(offset, needle, 'latin1'), Buffer.from(text, 'latin1')]).subarray(offset)
      const to = Math.max(0, bytes.length - dropped)
      const from = Math.min(skip, to)
      const expected = text.slice(0, to).indexOf(needle, from)
      assert.equal(new DelimiterSearch(Buffer.from(needle, 'latin1')).find(bytes, from, to), expected)
    }),
    { numRuns: 2000 },
  )
})

test('one search works on several buffers', () => {
  const finder = new DelimiterSearch(Buffer.from('\r\n--a-long-enough-boundary'))
  const one = new Uint8Array(9001)
  const two = new Uint8Array(9003)
  one.set(finder.needle, 8000)
  two.set(finder.needle, 8500)
  assert.deepEqual(
    [one, two, one].map((bytes) => finder.find(bytes, 0, bytes.length)),
    [8000, 8500, 8000],
  )
})

test('tail returns the length of the longest end of the text that begins a needle', () => {
  fc.assert(
    fc.property(search, ([needle, text, , skip]) => {
      const to = text.length
      const from = Math.min(skip, to)
      let expected = Math.min(needle.length - 1, to - from)
      while (expected > 0 && !text.endsWith(needle.slice(0, expected))) expected--
      const finder = new DelimiterSearch(Buffer.from(needle, 'latin1'))
      assert.equal(finder.tail(Buffer.from(text, 'latin1'), from, to), expected)
    }),
  )
})
