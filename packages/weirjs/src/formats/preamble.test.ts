import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { WeirError } from '../base/errors.ts'
import { Preamble } from './preamble.ts'

/** What a reader of the whole text finds: where the first needle ends, or that it is not at the start of a line. */
function expected(needle: string, text: string): number | 'refused' {
  const at = text.indexOf(needle)
  if (at === -1) return -1
  return at === 0 || text.startsWith('\r\n', at - 2) ? at + needle.length : 'refused'
}

/** @param cuts where the text is cut; the first `matched` characters, which begin the needle, are not handed over */
function found(needle: string, text: string, matched: number, cuts: readonly number[]): number | 'refused' {
  const preamble = new Preamble(Buffer.from(needle), matched)
  const bytes = Buffer.from(text)
  const ends = [...cuts.map((cut) => Math.max(matched, cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b)
  let from = matched
  try {
    for (const end of ends) {
      const at = preamble.end(bytes, from, end)
      if (at !== -1) return at
      from = end
    }
    return -1
  } catch (error) {
    assert.ok(error instanceof WeirError && error.code === 'WEIR_MULTIPART_DELIMITER')
    return 'refused'
  }
}

/** Needles that contain their own beginning are the hard ones. */
const needles = fc.stringMatching(/^--[-ab]{1,6}$/)
const texts = fc.array(fc.constantFrom('-', '-', '-', 'a', 'b', '\r', '\n', '\r\n', 'x'), { maxLength: 40 }).map((all) => all.join(''))

test('it finds the same as a search of the whole text, however the text is split', () => {
  const property = fc.property(
    needles,
    texts,
    texts,
    fc.boolean(),
    fc.array(fc.nat(), { maxLength: 5 }),
    (needle, before, after, isIn, cuts) => {
      const text = before + (isIn ? needle : '') + after
      assert.equal(found(needle, text, 0, cuts), expected(needle, text))
    },
  )
  fc.assert(property, { numRuns: 5000 })
})

test('it continues in a body that begins like the needle', () => {
  const property = fc.property(needles, texts, fc.nat(), fc.array(fc.nat(), { maxLength: 5 }), (needle, rest, length, cuts) => {
    const matched = length % needle.length
    const text = needle.slice(0, matched) + rest
    if (text.startsWith(needle.slice(0, matched + 1))) return // then more of it matches
    assert.equal(found(needle, text, matched, cuts), expected(needle, text))
  })
  fc.assert(property, { numRuns: 5000 })
})
