import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

process.env['TZ'] = 'America/New_York'

const NOON = new Date('2024-01-31T12:00:00Z')

test('a date and time without zone is read as UTC, whatever the zone of the machine', () => {
  assert.deepEqual(t.dateTime.fromText('2024-01-31T12:00:00'), NOON)
  assert.deepEqual(t.dateTime.fromValue('2024-01-31T12:00:00'), NOON)
  assert.deepEqual(t.dateTime.fromValue('2024-01-31T14:00:00+02:00'), NOON)
})

test('the context may select local time', () => {
  const text = '2024-01-31T12:00:00'
  assert.deepEqual(t.dateTime.fromText(text, { zoneless: 'local' }), new Date(text))
  assert.deepEqual(t.dateTime.fromValue(text, { zoneless: 'local' }), new Date(text))
})

test('numbers, free text and dates that the calendar does not have are refused', () => {
  for (const value of [0, 1706702400000, true, {}, [], null, '1706702400000', 'tomorrow', '2024-02-31T00:00:00Z']) {
    assert.ok(t.dateTime.fromValue(value) instanceof Mismatch)
  }
  assert.deepEqual(t.dateTime.fromText('tomorrow'), new Mismatch('a date and time like 2024-01-31T09:30:00Z', 'tomorrow'))
})

test('a Date that a reviver made is accepted, an invalid one is not', () => {
  assert.equal(t.dateTime.fromValue(NOON), NOON)
  assert.ok(t.dateTime.fromValue(new Date(Number.NaN)) instanceof Mismatch)
  assert.ok(t.date.fromValue(NOON) instanceof Mismatch)
  assert.deepEqual(t.date.fromValue(new Date('1969-01-31')), new Date('1969-01-31'))
})

test('a date is midnight UTC of its day, and has no time', () => {
  assert.deepEqual(t.date.fromText('2024-02-29'), new Date('2024-02-29T00:00:00Z'))
  assert.deepEqual(t.date.fromText('2024-02-29', { zoneless: 'local' }), new Date('2024-02-29T00:00:00Z'))
  for (const text of ['2023-02-29', '2024-02-29T00:00:00Z', '2024-2-9', '29.02.2024', ''])
    assert.ok(t.date.fromText(text) instanceof Mismatch, text)
})

test('.min and .max allow their own moment', () => {
  const day = t.date.min(new Date('2024-01-01')).max(new Date('2024-12-31'))
  assert.deepEqual(day.fromText('2024-01-01'), new Date('2024-01-01'))
  assert.deepEqual(day.fromText('2024-12-31'), new Date('2024-12-31'))
  assert.deepEqual(
    day.fromText('2025-01-01'),
    new Mismatch('a date like 2024-01-31, not before 2024-01-01, not after 2024-12-31', '2025-01-01'),
  )
  assert.ok(t.dateTime.min(NOON).fromValue(new Date(NOON.getTime() - 1)) instanceof Mismatch)
  const message = /a bound is (?:the string "2024-01-01"|a Date), not a valid Date, such as new Date\('2024-01-31'\)$/
  assert.throws(() => t.date.min(new Date(Number.NaN)), { code: 'WEIR_OPTION_INVALID', message })
  for (const call of ['min', 'max'] as const)
    assert.throws(() => t.date[call]('2024-01-01' as never), { code: 'WEIR_OPTION_INVALID', message })
})

test('changing the Date that was a bound, or a default, changes nothing', () => {
  const bound = new Date(NOON)
  const schema = t.dateTime.max(bound).default(bound)
  bound.setFullYear(1999)
  assert.deepEqual(schema.fromValue(NOON), NOON)
  assert.deepEqual(schema.absent(), NOON)
  const given = schema.absent()
  if (given instanceof Date) given.setFullYear(1999)
  assert.deepEqual(schema.absent(), NOON)
})

test('dates have a JSON Schema', () => {
  assert.deepEqual(t.dateTime.default(NOON).jsonSchema(), { type: 'string', format: 'date-time', default: '2024-01-31T12:00:00.000Z' })
  assert.deepEqual(t.date.default(new Date('2024-01-31')).jsonSchema(), { type: 'string', format: 'date', default: '2024-01-31' })
  assert.deepEqual(t.date.max(new Date('2024-01-31')).jsonSchema(), {
    type: 'string',
    format: 'date',
    description: 'a date like 2024-01-31, not after 2024-01-31',
  })
})

test('a local date and time stays the received text', () => {
  for (const text of ['2024-01-31T09:30', '2024-01-31T09:30:00', '2024-01-31T09:30:00.123456']) {
    assert.equal(t.localDateTime.fromText(text), text)
    assert.equal(t.localDateTime.fromValue(text), text)
  }
  const wrong = ['2024-01-31', '2024-01-31T09:30Z', '2024-01-31T09:30:00+02:00', '2024-02-31T09:30:00', '2024-01-31T24:00', 'noon', '']
  for (const text of wrong) assert.ok(t.localDateTime.fromText(text) instanceof Mismatch, text)
  assert.ok(t.localDateTime.fromValue(NOON) instanceof Mismatch)
})

test('the JSON Schema of a local date and time accepts the same as the schema', () => {
  const pattern = new RegExp(String(t.localDateTime.jsonSchema()['pattern']))
  assert.match('2024-01-31T09:30:00.123', pattern)
  assert.match('2024-01-31T09:30', pattern)
  assert.doesNotMatch('2024-01-31T09:30Z', pattern)
})
