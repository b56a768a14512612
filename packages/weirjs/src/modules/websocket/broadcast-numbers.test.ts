import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { HeardNumbers, LostNumbers, type Position } from './broadcast-numbers.ts'

const at = (number: number | null, more: Partial<Position> = {}): Position => ({
  origin: 'a',
  number,
  isBeacon: false,
  isAfterLoss: false,
  ...more,
})

/** What becomes of a broadcast: it comes back, or it is lost; and the relay takes it, refuses it first, or refuses it after it came back. */
const fate = fc.record({ arrives: fc.boolean(), refused: fc.constantFrom('no', 'before', 'after') })

describe('numbers of broadcasts', () => {
  test('every hole is told once, whatever was lost', () => {
    fc.assert(
      fc.property(fc.array(fate, { maxLength: 60 }), (fates) => {
        const heard = new HeardNumbers()
        assert.equal(heard.isMissing(at(0)), false)
        let missing = 0
        for (const [i, { arrives }] of fates.entries()) {
          if (!arrives) missing++
          else {
            assert.equal(heard.isMissing(at(i + 1)), missing > 0)
            missing = 0
          }
        }
        assert.equal(heard.isMissing(at(fates.length, { isBeacon: true })), missing > 0)
        assert.equal(heard.isMissing(at(fates.length, { isBeacon: true })), false)
      }),
    )
  })

  test('the count is what was lost, whatever the relay has said', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.array(fate, { maxLength: 60 }), (before, fates) => {
        const lost = new LostNumbers()
        lost.begin(before)
        for (const [i, { arrives, refused }] of fates.entries()) {
          const number = before + i + 1
          if (refused === 'before') lost.refuse(number)
          if (arrives) lost.hear(number, false)
          if (refused === 'after') lost.refuse(number)
        }
        lost.hear(before + fates.length, true)
        assert.equal(lost.count, fates.filter(({ arrives }) => !arrives).length)
        lost.end()
        lost.refuse(1_000)
        assert.equal(lost.count, fates.filter(({ arrives }) => !arrives).length + 1)
      }),
    )
  })

  test('what is refused counts before anything has come back', () => {
    const lost = new LostNumbers()
    lost.refuse(1)
    assert.equal(lost.count, 1)
    lost.begin(3)
    lost.refuse(3) // it was on its way when the subscription was made
    for (const number of [5, 6, 9]) lost.refuse(number)
    assert.equal(lost.count, 5)
    lost.hear(5, false) // 4 is lost, and 5 is not
    assert.equal(lost.count, 5)
    for (let number = 11; number <= 10_001; number += 2) lost.refuse(number)
    lost.hear(20_000, true)
    assert.equal(lost.count, 2 + 1 + 19_995)
  })

  test('an origin that began during an outage is told, one that is new is not', () => {
    const heard = new HeardNumbers()
    assert.equal(heard.isMissing(at(7)), false)
    assert.equal(heard.isMissing(at(7, { origin: 'b', isAfterLoss: true })), true)
    assert.equal(heard.isMissing(at(8, { origin: 'b', isAfterLoss: true })), false)
    assert.equal(heard.isMissing(at(null)), false)
  })

  test('what the relay has told of is not told again', () => {
    const heard = new HeardNumbers()
    heard.isMissing(at(1))
    heard.accept()
    assert.equal(heard.isMissing(at(5)), false)
    assert.equal(heard.isMissing(at(7)), true)
  })

  test('origins are bounded', () => {
    const heard = new HeardNumbers()
    for (let i = 0; i <= 1_024; i++) heard.isMissing(at(1, { origin: String(i) }))
    assert.equal(heard.isMissing(at(9, { origin: '1024' })), true)
    assert.equal(heard.isMissing(at(9, { origin: '0' })), false) // the oldest was forgotten
  })
})
