import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Mismatch } from './mismatch.ts'
import { t } from './t.ts'

test('a string is accepted unchanged, from text and from JSON', () => {
  for (const text of ['', ' ', 'true', '5', 'ä\u0000']) {
    assert.equal(t.string.fromText(text), text)
    assert.equal(t.string.fromValue(text), text)
  }
})

test('nothing else becomes a string', () => {
  for (const value of [5, true, null, {}, [], ['x'], 5n, new String('x')]) assert.ok(t.string.fromValue(value) instanceof Mismatch)
})

test('.min, .max and .length allow their own value and refuse the next', () => {
  assert.equal(t.string.min(2).fromText('ab'), 'ab')
  assert.ok(t.string.min(2).fromText('a') instanceof Mismatch)
  assert.equal(t.string.max(2).fromText('ab'), 'ab')
  assert.ok(t.string.max(2).fromText('abc') instanceof Mismatch)
  assert.equal(t.string.length(2).fromValue('ab'), 'ab')
  assert.ok(t.string.length(2).fromValue('a') instanceof Mismatch)
  assert.ok(t.string.length(2).fromValue('abc') instanceof Mismatch)
})

test('lengths are counted in characters, not in code units', () => {
  assert.equal(t.string.max(2).fromText('😀😀'), '😀😀')
  assert.ok(t.string.max(1).fromText('😀😀') instanceof Mismatch)
  assert.ok(t.string.min(2).fromText('😀') instanceof Mismatch)
  assert.equal(t.string.length(3).fromText('a😀\ude00'), 'a😀\ude00')
})

test('.pattern matches anywhere, and has the same result every time', () => {
  const schema = t.string.pattern(/b/g)
  for (let i = 0; i < 3; i++) assert.equal(schema.fromText('abc'), 'abc')
  assert.ok(schema.fromText('ac') instanceof Mismatch)
  assert.ok(t.string.pattern(/^b$/).fromText('abc') instanceof Mismatch)
})

test('a pattern runs only on strings of the right length', () => {
  // For 60 letters, this expression would take longer than the age of the universe, so the test only has to end.
  assert.ok(
    t.string
      .max(40)
      .pattern(/^(?:a+)+$/)
      .fromText(`${'a'.repeat(60)}!`) instanceof Mismatch,
  )
})

test('modifiers return a new schema and do not change the old one', () => {
  const short = t.string.max(1)
  const long = short.max(3)
  assert.ok(short.fromText('abc') instanceof Mismatch)
  assert.equal(long.fromText('abc'), 'abc')
  assert.equal(t.string.fromText('abcd'), 'abcd')
})

test('impossible bounds are refused where they are declared', () => {
  const refused = { code: 'WEIR_OPTION_INVALID' }
  assert.throws(() => t.string.min(-1), refused)
  assert.throws(() => t.string.max(1.5), refused)
  assert.throws(() => t.string.max(Number.NaN), refused)
  assert.throws(() => t.string.min(3).max(2), refused)
  assert.throws(() => t.string.length('5' as never), { ...refused, message: /a bound is the string "5", not a count$/ })
  for (const end of ['5', null, Number.NaN, new Date(0)] as never[]) {
    assert.throws(() => t.int.min(end), { ...refused, message: /a bound is .+, not a number$/ })
    assert.throws(() => t.number.max(end), refused)
  }
  for (const end of ['5', 5, null] as never[]) {
    assert.throws(() => t.bigint.min(end), { ...refused, message: /a bound is .+, not a bigint$/ })
  }
  assert.throws(() => t.string.pattern('x' as unknown as RegExp), refused)
})

test('a string describes itself in words and as JSON Schema', () => {
  assert.equal(t.string.describe(), 'a string')
  assert.equal(t.string.min(1).describe(), 'a string of at least 1 character')
  assert.equal(t.string.max(5).describe(), 'a string of at most 5 characters')
  assert.equal(t.string.min(1).max(5).describe(), 'a string of 1 to 5 characters')
  assert.equal(t.string.length(1).pattern(/x/i).describe(), 'a string of exactly 1 character that matches /x/i')
  assert.deepEqual(t.string.jsonSchema(), { type: 'string' })
  assert.deepEqual(t.string.min(1).max(5).pattern(/^x/).jsonSchema(), { type: 'string', minLength: 1, maxLength: 5, pattern: '^x' })
  assert.deepEqual(t.string.pattern(/^x/i).jsonSchema(), { type: 'string' })
})

test('a UUID has 8-4-4-4-12 hexadecimal digits and is kept as sent', () => {
  const uuid = '018F0b3c-7E1a-7000-8000-00805F9B34fb'
  assert.equal(t.uuid.fromText(uuid), uuid)
  assert.equal(t.uuid.fromValue(uuid), uuid)
  const wrong = [
    '',
    uuid.slice(1),
    `${uuid}0`,
    `{${uuid}}`,
    uuid.replaceAll('-', ''),
    uuid.replace('F', 'G'),
    ` ${uuid.slice(1)}`,
    `${uuid}\n`,
  ]
  for (const text of wrong) assert.ok(t.uuid.fromText(text) instanceof Mismatch, text)
  assert.ok(t.uuid.fromValue(5) instanceof Mismatch)
  assert.deepEqual(t.uuid.jsonSchema(), { type: 'string', format: 'uuid' })
  assert.deepEqual(t.uuid.fromText('x'), new Mismatch('a UUID', 'x'))
})
