import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

const NEITHER = [
  '',
  ' ',
  '+1',
  ' 1',
  '1 ',
  '1\n',
  '01',
  '-',
  '--1',
  '0x10',
  '1_000',
  '1,5',
  'NaN',
  'Infinity',
  '-Infinity',
  'true',
  '１',
  '٣',
]

test('whole numbers are read from plain decimal digits', () => {
  for (const value of [0, 7, -7, 10, 1234567890, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    assert.equal(t.int.fromText(String(value)), value)
    assert.equal(t.int.fromValue(value), value)
  }
})

test('anything that is not clearly a whole number is refused', () => {
  for (const text of [...NEITHER, '1.0', '1.5', '1e3', '.5', '-01', '00']) assert.ok(t.int.fromText(text) instanceof Mismatch, text)
  for (const value of ['5', 1.5, true, null, [], [5], {}, 5n, Number.NaN, Infinity]) assert.ok(t.int.fromValue(value) instanceof Mismatch)
})

test('whole numbers above 2^53 are refused, not rounded', () => {
  for (const text of ['9007199254740992', '-9007199254740992', '9999999999999999', '10000000000000000', '9'.repeat(400)]) {
    assert.ok(t.int.fromText(text) instanceof Mismatch, text)
  }
  assert.ok(t.int.fromValue(2 ** 53) instanceof Mismatch)
})

test('a whole number is never -0', () => {
  assert.ok(Object.is(t.int.fromText('-0'), 0))
  assert.ok(Object.is(t.int.fromValue(-0), 0))
})

test('any text is a whole number exactly when it is written as one', () => {
  const numeric = fc.oneof(fc.string(), fc.integer().map(String), fc.maxSafeInteger().map(String), fc.stringMatching(/^[-+ 0-9.e]{0,18}$/))
  fc.assert(
    fc.property(numeric, (text) => {
      const value = t.int.fromText(text)
      const isWhole = /^-?(0|[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text))
      assert.equal(value instanceof Mismatch, !isWhole)
      if (isWhole) assert.equal(value, Number(text) + 0)
    }),
    { numRuns: 2000 },
  )
})

test('any text is a number exactly when it is one in JSON', () => {
  const numeric = fc.oneof(
    fc.string(),
    fc.double().map(String),
    fc.stringMatching(/^[-+0-9.eE]{0,8}$/),
    fc.stringMatching(/^-?[0-9]{1,9}\.?[0-9]{0,9}$/),
  )
  fc.assert(
    fc.property(numeric, (text) => {
      const value = t.number.fromText(text)
      assert.equal(value instanceof Mismatch ? undefined : value, jsonNumber(text))
    }),
    { numRuns: 2000 },
  )
})

function jsonNumber(text: string): number | undefined {
  if (/^\s|\s$/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined
  } catch {
    return undefined
  }
}

test('numbers are finite', () => {
  for (const text of [...NEITHER, '1e999', '-1e999', '1.', '.5', '1e', '1e+', '0.5.1'])
    assert.ok(t.number.fromText(text) instanceof Mismatch, text)
  for (const value of ['5', Infinity, Number.NaN, null, true]) assert.ok(t.number.fromValue(value) instanceof Mismatch)
  assert.equal(t.number.fromText('-1.25e2'), -125)
  assert.equal(t.number.fromValue(0.1), 0.1)
})

test('.min and .max allow their own value', () => {
  const percent = t.int.min(0).max(100)
  assert.equal(percent.fromText('0'), 0)
  assert.equal(percent.fromText('100'), 100)
  assert.deepEqual(percent.fromText('101'), new Mismatch('a whole number from 0 to 100', '101'))
  assert.ok(percent.fromValue(-1) instanceof Mismatch)
  assert.throws(() => t.int.min(2).max(1), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => t.int.min(Number.NaN), { code: 'WEIR_OPTION_INVALID' })
})

test('a number describes itself in words and as JSON Schema', () => {
  assert.equal(t.int.describe(), 'a whole number')
  assert.equal(t.number.min(1).describe(), 'a number of at least 1')
  assert.equal(t.number.max(1).describe(), 'a number of at most 1')
  assert.equal(t.number.min(1).max(1).describe(), 'a number equal to 1')
  assert.deepEqual(t.int.min(0).max(9).jsonSchema(), { type: 'integer', minimum: 0, maximum: 9 })
  assert.deepEqual(t.number.jsonSchema(), { type: 'number' })
})

test('big whole numbers are read from text, from JSON strings and from whole JSON numbers', () => {
  const big = 2n ** 80n
  assert.equal(t.bigint.fromText(String(big)), big)
  assert.equal(t.bigint.fromText('-0'), 0n)
  assert.equal(t.bigint.fromValue(String(-big)), -big)
  assert.equal(t.bigint.fromValue(5), 5n)
  assert.equal(t.bigint.fromValue(5n), 5n)
})

test('anything that is not clearly a big whole number is refused', () => {
  for (const text of [...NEITHER, '1.0', '1e3', '1n']) assert.ok(t.bigint.fromText(text) instanceof Mismatch, text)
  for (const value of [1.5, 2 ** 53, true, null, {}, '', ' 1']) assert.ok(t.bigint.fromValue(value) instanceof Mismatch)
})

test('a big whole number has at most 1,000 digits', () => {
  assert.equal(t.bigint.fromText('9'.repeat(1000)), 10n ** 1000n - 1n)
  assert.equal(t.bigint.fromText(`-${'9'.repeat(1000)}`), 1n - 10n ** 1000n)
  assert.ok(t.bigint.fromText('9'.repeat(1001)) instanceof Mismatch)
  assert.ok(t.bigint.fromText(`-${'9'.repeat(1001)}`) instanceof Mismatch)
})

test('big whole numbers have bounds, a description and a JSON Schema', () => {
  const schema = t.bigint.min(1n).max(3n)
  assert.equal(schema.fromText('3'), 3n)
  assert.deepEqual(schema.fromText('4'), new Mismatch('a whole number from 1 to 3', '4'))
  assert.ok(schema.fromValue(0) instanceof Mismatch)
  assert.throws(() => t.bigint.min(2n).max(1n), { code: 'WEIR_OPTION_INVALID' })
  assert.equal(t.bigint.min(1n).describe(), 'a whole number of at least 1')
  assert.equal(t.bigint.max(1n).describe(), 'a whole number of at most 1')
  assert.deepEqual(t.bigint.max(9n).default(5n).jsonSchema(), {
    type: ['string', 'integer'],
    pattern: '^-?(?:0|[1-9]\\d*)$',
    description: 'a whole number of at most 9',
    default: '5',
  })
})
