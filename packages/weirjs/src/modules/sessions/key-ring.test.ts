import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { KeyRing, type SealingKey, sealedLength } from './key-ring.ts'

const [one, two] = [randomBytes(32), randomBytes(32)]
const boxOf = (keys: readonly SealingKey[], purpose = 'test') => new KeyRing('test', keys).boxFor(purpose)

test('the first key seals, and all of them open', () => {
  const old = boxOf([one]).seal('text')
  const both = boxOf([two, one])
  assert.equal(both.open(old), 'text')
  assert.equal(both.isOld(old), true)
  const fresh = both.seal('text')
  assert.equal(both.isOld(fresh), false)
  assert.equal(boxOf([two]).open(fresh), 'text')
  assert.equal(boxOf([two]).open(old), null)
  assert.equal(boxOf([one]).open(fresh), null)
})

test('what is sealed for one purpose does not open for another', () => {
  assert.equal(boxOf([one], 'other').open(boxOf([one]).seal('text')), null)
})

test('the length is known before', () => {
  for (const text of ['', 'a', 'ab', 'abc', 'grüße', 'x'.repeat(3_000)])
    assert.equal(boxOf([one]).seal(text).length, sealedLength(Buffer.byteLength(text)))
})

test('there is only one text for each message', () => {
  const sealed = boxOf([one]).seal('text')
  for (const other of ['', '.', '1', `${sealed}A`, `${sealed}=`, sealed.slice(0, -1), ` ${sealed}`, sealed.replace('1.', '2.')])
    assert.equal(boxOf([one]).open(other), null, other)
})

test('keys are 32 bytes in one of their forms, and random; errors do not contain them', () => {
  for (const key of [one, one.toString('base64'), one.toString('base64url'), one.toString('hex')])
    assert.equal(boxOf([key]).open(boxOf([one]).seal('text')), 'text')
  const refused: readonly unknown[] = [
    randomBytes(31),
    randomBytes(33),
    'correct horse battery staple, and more',
    randomBytes(16).toString('hex'),
    Buffer.alloc(32),
    'A'.repeat(43),
    'change-me-change-me-change-me-change-me-ch',
    32,
    null,
    undefined,
  ]
  for (const key of refused)
    assert.throws(
      () => boxOf([key as string]),
      (error: Error & { code: string }) => {
        assert.equal(error.code, 'WEIR_OPTION_INVALID')
        if (typeof key === 'string') assert.ok(!error.message.includes(key))
        return true
      },
    )
  assert.throws(() => boxOf([]), /keys is empty/)
  assert.throws(() => boxOf([one, one.toString('hex')]), /same key twice/)
  assert.throws(() => boxOf('key' as unknown as string[]), /not a list/)
})
