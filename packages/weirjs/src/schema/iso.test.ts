import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { dateMs, dateTimeMs, hasZone } from './iso.ts'

// A zone other than UTC, with summer time: in others, reading as local and as UTC could have the same result.
process.env['TZ'] = 'America/New_York'

const FIRST = Date.parse('0000-01-01T00:00:00.000Z')
const LAST = Date.parse('9999-12-31T23:59:59.999Z')
const moments = fc.integer({ min: FIRST, max: LAST })

test('every moment of the years 0 to 9999 is read back from its ISO text', () => {
  fc.assert(fc.property(moments, (ms) => assert.equal(dateTimeMs(new Date(ms).toISOString()), ms)))
  fc.assert(fc.property(moments, (ms) => assert.equal(dateTimeMs(new Date(ms).toISOString().slice(0, -1)), ms)))
  assert.equal(dateTimeMs('0000-01-01T00:00:00Z'), FIRST)
  assert.equal(dateTimeMs('0099-12-31T23:59:59Z'), Date.parse('0099-12-31T23:59:59Z'))
})

test('a day is accepted exactly when the calendar has it', () => {
  const digits = fc.record({
    year: fc.integer({ min: 0, max: 9999 }),
    month: fc.integer({ min: 0, max: 14 }),
    day: fc.integer({ min: 0, max: 33 }),
  })
  fc.assert(
    fc.property(digits, ({ year, month, day }) => {
      const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
      const ms = dateMs(text)
      const moment = new Date(0)
      moment.setUTCFullYear(year, month - 1, day)
      const isDay = month >= 1 && month <= 12 && moment.getUTCMonth() === month - 1 && day >= 1
      assert.equal(ms, isDay ? moment.getTime() : Number.NaN)
    }),
    { numRuns: 2000 },
  )
})

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

test('leap days exist in leap years only', () => {
  assert.equal(dateMs('2024-02-29'), Date.UTC(2024, 1, 29))
  assert.equal(dateMs('2000-02-29'), Date.UTC(2000, 1, 29))
  for (const text of ['2023-02-29', '1900-02-29', '2024-02-30', '2024-02-31', '2024-04-31']) assert.equal(dateMs(text), Number.NaN, text)
})

test('zones move the moment', () => {
  assert.equal(dateTimeMs('2024-01-31T09:30:00+02:00'), Date.UTC(2024, 0, 31, 7, 30))
  assert.equal(dateTimeMs('2024-01-31T09:30:00-05:30'), Date.UTC(2024, 0, 31, 15, 0))
  assert.equal(dateTimeMs('2024-01-31T09:30-00:00'), Date.UTC(2024, 0, 31, 9, 30))
  assert.equal(dateTimeMs('2024-01-31t09:30:00z'), Date.UTC(2024, 0, 31, 9, 30))
  assert.equal(dateTimeMs('2024-01-01T00:00:00.5+23:59'), Date.UTC(2023, 11, 31, 0, 1, 0, 500))
})

test('seconds and their fraction may be missing; a fraction is cut to milliseconds', () => {
  assert.equal(dateTimeMs('2024-01-31T09:30'), Date.UTC(2024, 0, 31, 9, 30))
  assert.equal(dateTimeMs('2024-01-31T09:30:15.1'), Date.UTC(2024, 0, 31, 9, 30, 15, 100))
  assert.equal(dateTimeMs('2024-01-31T09:30:15.12Z'), Date.UTC(2024, 0, 31, 9, 30, 15, 120))
  assert.equal(dateTimeMs('2024-01-31T09:30:15.123999999Z'), Date.UTC(2024, 0, 31, 9, 30, 15, 123))
  assert.equal(dateTimeMs('2024-01-31'), Date.UTC(2024, 0, 31))
})

const REFUSED = [
  '',
  '2024',
  '2024-01',
  '20240131T093000Z',
  '2024-1-31',
  '2024-01-31 09:30:00',
  '2024-01-31T',
  '2024-01-31T09',
  '2024-01-31T9:30',
  '2024-01-31T09:30:',
  '2024-01-31T09:30:00.',
  '2024-01-31T09:30:00.1234567890',
  '2024-01-31T09:30:00,5',
  '2024-01-31T09:30.5',
  '2024-01-31T24:00:00Z',
  '2024-01-31T23:60:00Z',
  '2024-06-30T23:59:60Z',
  '2024-02-31T00:00:00Z',
  '2024-00-01T00:00:00Z',
  '2024-13-01T00:00:00Z',
  '2024-01-00T00:00:00Z',
  '2024-01-31T09:30:00+0200',
  '2024-01-31T09:30:00+02',
  '2024-01-31T09:30:00+24:00',
  '2024-01-31T09:30:00+02:60',
  '2024-01-31T09:30:00+02:00Z',
  '2024-01-31T09:30:00ZZ',
  '2024-01-31T09:30:00 Z',
  '2024-01-31T09:30:00Z\n',
  ' 2024-01-31T09:30:00Z',
  '2024-01-31Z',
  '+002024-01-31T09:30:00Z',
  '-000001-01-31T09:30:00Z',
  '２024-01-31T09:30:00Z',
  'Wed, 31 Jan 2024 09:30:00 GMT',
  '31 January 2024',
  'now',
  '0',
]

for (const text of REFUSED) {
  test(`refuses ${JSON.stringify(text)} as a date and time`, () => assert.equal(dateTimeMs(text), Number.NaN))
}

test('the result equals that of Date.parse for any text that both accept', () => {
  const near = fc.tuple(moments, fc.nat(30), fc.string({ unit: fc.constantFrom(...'0123456789-+:TZ. '), maxLength: 2 }))
  fc.assert(
    fc.property(near, ([ms, at, patch]) => {
      const iso = new Date(ms).toISOString()
      const text = iso.slice(0, at) + patch + iso.slice(at + patch.length)
      const read = dateTimeMs(text)
      if (!Number.isNaN(read) && /(?:Z|[+-]\d\d:\d\d)$/.test(text)) assert.equal(read, Date.parse(text))
    }),
    { numRuns: 2000 },
  )
})

for (const zone of ['America/New_York', 'Asia/Tokyo', 'UTC']) {
  test(`read as local in ${zone}, a time without zone is read as in ECMAScript`, () => {
    process.env['TZ'] = zone
    const skippedOrTwice = ['2024-03-10T02:30:00', '2024-11-03T01:30:00']
    for (const text of ['2024-01-31T09:30', '2024-07-31T23:59:59.999', '1969-12-31T00:00:00', '0050-03-01T12:00:00', ...skippedOrTwice]) {
      assert.equal(dateTimeMs(text, 'local'), Date.parse(text), text)
    }
    assert.equal(dateTimeMs('2024-01-31', 'local'), Date.UTC(2024, 0, 31))
    assert.equal(dateTimeMs('2024-01-31T09:30:00Z', 'local'), Date.UTC(2024, 0, 31, 9, 30))
    assert.equal(dateTimeMs('2024-02-31T09:30:00', 'local'), Number.NaN)
  })
}

test('read as local, a time is in the zone of the machine', () => {
  process.env['TZ'] = 'America/New_York'
  assert.equal(dateTimeMs('2024-01-31T09:30', 'local'), Date.UTC(2024, 0, 31, 14, 30))
})

test('a zone is found if there is one', () => {
  for (const text of ['2024-01-31T09:30Z', '2024-01-31T09:30:00z', '2024-01-31T09:30+02:00', '2024-01-31T09:30:00.123456-02:00'])
    assert.ok(hasZone(text), text)
  for (const text of ['2024-01-31', '2024-01-31T09:30', '2024-01-31T09:30:00', '2024-01-31T09:30:00.12345']) assert.ok(!hasZone(text), text)
})
