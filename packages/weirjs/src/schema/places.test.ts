// Where a schema can be read at all: from a text, from the values of one name, from a form, or only from JSON.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Schema, SchemaPlace } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const any: AnySchema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const tree: Schema<unknown> = t.object({ children: t.array(t.lazy(() => tree)) })
const json: Schema<unknown> = t.union(t.string, t.array(t.lazy(() => json)))

/** Where each can be read: in one text (t), in the values of one name (n), in a form (f), in JSON (j). */
const EVERY: readonly [Schema<unknown>, string][] = [
  [t.string, 'tnj'],
  [t.email.nullable().optional(), 'tnj'],
  [t.literal(5), 'tnj'],
  [t.array(t.int), 'tnj'],
  [t.array(t.int).min(1), 'tnj'],
  [t.array(t.int).min(2), 'nj'],
  [t.array(t.array(t.int)), 'j'],
  [t.array(t.object({})), 'j'],
  [t.object({}), 'fj'],
  [t.object({ a: t.int, b: t.array(t.int).min(2) }), 'fj'],
  [t.object({ a: t.object({ b: t.int }) }), 'j'],
  [t.object({ a: t.object({ b: t.int }).optional() }), 'fj'],
  [t.object({ a: t.record(t.int).default({}) }), 'fj'],
  [t.object({ a: t.int }).strict().nullable(), 'fj'],
  [t.named('A', t.object({ a: t.int })), 'fj'],
  [t.record(t.int), 'fj'],
  [t.record(t.array(t.int)), 'fj'],
  [t.record(t.object({})), 'j'],
  [t.union(t.int, t.string), 'tnj'],
  [t.union(t.object({ a: t.int }), t.record(t.int)), 'fj'],
  [t.union(t.int, t.object({})), 'tnfj'],
  [t.union(t.array(t.int).length(2), t.object({ a: t.object({}) })), 'nj'],
  [t.lazy(() => t.int), 'tnj'],
  [t.lazy(() => t.object({ a: t.int })), 'fj'],
  [tree, 'j'],
  [json, 'tnj'],
  [t.object({ a: json }), 'fj'],
  [t.named('B', any), 'tnfj'],
  [t.array(any), 'tnj'],
  [t.object({ a: any }), 'fj'],
]
const PLACES: readonly [SchemaPlace, string][] = [
  ['text', 't'],
  ['texts', 'n'],
  ['form', 'f'],
  ['json', 'j'],
]

describe('where a schema can be read', () => {
  for (const [schema, letters] of EVERY) {
    test(`${schema.describe()}: ${letters}`, () => {
      const found = PLACES.filter(([place]) => schema.unreadable(place) === null).map(([, letter]) => letter)
      assert.equal(found.join(''), letters)
    })
  }
})

test('the reason names the part', () => {
  const address = t.object({ city: t.string })
  assert.equal(address.unreadable('texts'), 'an object with city can only be read from JSON')
  assert.equal(t.int.unreadable('form'), 'a form is not a whole number')
  assert.equal(t.array(t.int).min(2).unreadable('text'), 'one text is not an array of at least 2 elements, each a whole number')
  assert.equal(
    t.object({ name: t.string, address }).unreadable('form'),
    'property "address": an object with city can only be read from JSON',
  )
  assert.equal(t.record(address).unreadable('form'), 'each value: an object with city can only be read from JSON')
  assert.equal(t.union(t.int, t.array(address)).unreadable('form'), 'a form is not a whole number or an array, each an object with city')
})
