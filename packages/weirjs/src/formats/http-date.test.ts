import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { formatHttpDate, parseHttpDate } from './http-date.ts'

const THEN = Date.UTC(1994, 10, 6, 8, 49, 37)
const NOW = Date.UTC(2026, 6, 1)

test('the three forms of RFC 9110 mean the same moment', () => {
  assert.equal(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', NOW), THEN)
  assert.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW), THEN)
  assert.equal(parseHttpDate('Sun Nov  6 08:49:37 1994', NOW), THEN)
  assert.equal(parseHttpDate('Wed Nov 16 08:49:37 1994', NOW), THEN + 10 * 86_400_000)
})

test('dates are written as IMF-fixdate and read back to the second', () => {
  assert.equal(formatHttpDate(THEN + 999), 'Sun, 06 Nov 1994 08:49:37 GMT')
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(-1, 12), max: Date.UTC(9999, 11, 31, 23, 59, 59) }), (time) => {
      assert.equal(parseHttpDate(formatHttpDate(time), NOW), Math.floor(time / 1000) * 1000)
    }),
  )
})

test('a time outside the years 0 to 9999 is refused', () => {
  for (const time of [Number.NaN, Date.UTC(10_000, 0), Date.UTC(-1, 0), 1e300]) assert.throws(() => formatHttpDate(time), RangeError)
})

test('a two-digit year is at most 50 years in the future', () => {
  const year = (text: string): number => new Date(parseHttpDate(text, NOW) ?? Number.NaN).getUTCFullYear()
  assert.equal(year('Tuesday, 01-Dec-76 00:00:00 GMT'), 2076)
  assert.equal(year('Thursday, 01-Dec-77 00:00:00 GMT'), 1977)
  assert.equal(year('Tuesday, 01-Dec-26 00:00:00 GMT'), 2026)
  assert.equal(year('Friday, 01-Dec-00 00:00:00 GMT'), 2000)
})

test('a leap second is read as the second after it', () => {
  assert.equal(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW), Date.UTC(2017, 0))
})

const REFUSED = [
  '',
  'Sun, 06 Nov 1994 08:49:37',
  'Sun, 06 Nov 1994 08:49:37 UTC',
  'Sun, 06 Nov 1994 08:49:37 +0000',
  'sun, 06 Nov 1994 08:49:37 GMT',
  'Sun, 6 Nov 1994 08:49:37 GMT',
  'Sun,  06 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 24:00:00 GMT',
  'Sun, 06 Nov 1994 08:60:00 GMT',
  'Sun, 06 Nov 1994 08:49:60 GMT',
  'Sun, 00 Nov 1994 08:49:37 GMT',
  'Thu, 31 Nov 1994 08:49:37 GMT',
  'Tue, 29 Feb 1994 08:49:37 GMT',
  'Mon, 06 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nox 1994 08:49:37 GMT',
  'Sun, 06-Nov-94 08:49:37 GMT',
  'Sunday, 06-Nov-1994 08:49:37 GMT',
  'Sun Nov 6 08:49:37 1994',
  'Sun Nov 06 08:49:37 1994 GMT',
  '1994-11-06T08:49:37Z',
  ' Sun, 06 Nov 1994 08:49:37 GMT',
  'Sun, 06 Nov 1994 08:49:37 GMT\n',
]

for (const text of REFUSED) test(`${JSON.stringify(text)} is not a date`, () => assert.equal(parseHttpDate(text, NOW), null))
