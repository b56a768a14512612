import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { jsonMember, quotable } from './printable.ts'
import { remembered } from './remembered.ts'

test('what is remembered is what is written, whatever came before', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom('', '"', 'a"b', 'ab\n', '\u2028', 'x'.repeat(300)))
  for (const write of [quotable, (one: string) => jsonMember(',"userAgent":', one)])
    fc.assert(
      fc.property(fc.array(text, { maxLength: 50 }), (all) => {
        const known = remembered(write)
        for (const one of [...all, ...all]) assert.equal(known(one), write(one))
      }),
    )
})

test('texts that share a place replace each other', () => {
  let calls = 0
  const known = remembered((text) => {
    calls++
    return text.toUpperCase()
  })
  // Equal lengths, last, middle and quarter characters.
  for (const text of ['aXaaaaaa', 'aYaaaaaa', 'aYaaaaaa', 'aXaaaaaa']) assert.equal(known(text), text.toUpperCase())
  assert.equal(calls, 3)
})
