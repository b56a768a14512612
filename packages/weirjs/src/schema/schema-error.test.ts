import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { SchemaError } from './schema-error.ts'
import { t } from './t.ts'

const Settings = t.object({ port: t.int.min(1), token: t.string.min(8).secret(), hosts: t.array(t.string).default([]) })

test('parse() returns the value that fits', () => {
  assert.deepEqual(Settings.parse({ port: 80, token: 'long enough' }), { port: 80, token: 'long enough', hosts: [] })
  assert.equal(t.int.optional().parse(undefined), undefined)
  assert.equal(t.dateTime.parse('2024-01-31T09:30:00', { zoneless: 'utc' }).getTime(), Date.UTC(2024, 0, 31, 9, 30))
})

test('a printed error shows no tree of mismatches after its message', () => {
  assert.throws(
    () => Settings.parse({ port: 0, token: 'long enough' }),
    (error) =>
      error instanceof SchemaError &&
      error.mismatches.length === 1 &&
      !/mismatches|Mismatch/.test(inspect(error).replaceAll(/^ +at .*$/gm, '')),
  )
})

test('parse() throws everything that does not fit, without secrets', () => {
  assert.throws(
    () => Settings.parse({ port: 0, token: 'hunter2' }),
    (error) => {
      assert.ok(error instanceof SchemaError)
      assert.deepEqual([error.name, error.code, error.status, error.fault], ['SchemaError', 'WEIR_VALUE_INVALID', 500, 'developer'])
      assert.deepEqual(
        error.mismatches.map(({ pointer, actual }) => [pointer, actual]),
        [
          ['/port', '0'],
          ['/token', '(not shown)'],
        ],
      )
      assert.match(
        error.message,
        /^a value does not fit its schema: \/port: expected a whole number of at least 1, got 0; \/token: expected /,
      )
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    },
  )
  assert.throws(() => t.int.parse('5'), /^SchemaError: a value does not fit its schema: expected a whole number, got "5"$/)
})
