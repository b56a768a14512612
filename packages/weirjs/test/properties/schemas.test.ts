// Properties of schemas of every kind, for every value. On failure, fast-check prints the seed and the smallest case that it found.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Mismatch, show } from '../../src/schema/mismatch.ts'
import { checkedPickerOf, pickerOf } from '../../src/schema/picker.ts'
import type { Schema } from '../../src/schema/schema.ts'
import { t } from '../../src/schema/t.ts'
import { anyForm, anyJson, schemaCase } from '../support/schema-arbitraries.ts'
import { thinned } from '../support/thinned.ts'

/** A schema and a value, which the schema accepts half of the time. */
const readings = schemaCase.chain(({ schema, fitting }) => fc.tuple(fc.constant(schema), fc.oneof(fitting, anyJson)))
const fittings = schemaCase.chain(({ schema, fitting }) => fc.tuple(fc.constant(schema), fitting))

function assertRead(schema: Schema<unknown>, value: unknown): void {
  const read = schema.fromValue(value)
  if (read instanceof Mismatch) assert.fail(`${schema.describe()} at ${read.pointer}: ${read.message}`)
}

/** The value at a JSON Pointer (RFC 6901 §4), evaluated exactly as in the standard. */
function at(document: unknown, pointer: string): unknown {
  let value = document
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** The same value with properties that no schema declares, in every object that is not a record. */
function withExtras(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withExtras)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const isRecord = Object.getPrototypeOf(value) === null
  const parts = Object.entries(value).map(([key, part]) => [key, withExtras(part)])
  return Object.fromEntries(isRecord ? parts : [['x', { secret: 1 }], ...parts, ['y', 'secret']])
}

/** Whether `part` is `whole` without some properties; a Date and a bigint may have become text. */
function isWithin(part: unknown, whole: unknown): boolean {
  if (whole instanceof Date || typeof whole === 'bigint') return part === whole || typeof part === 'string'
  if (typeof part !== 'object' || part === null || typeof whole !== 'object' || whole === null) return Object.is(part, whole)
  if (Array.isArray(part)) return Array.isArray(whole) && part.length === whole.length && part.every((one, i) => isWithin(one, whole[i]))
  return Object.entries(part).every(([key, one]) => Object.hasOwn(whole, key) && isWithin(one, (whole as Record<string, unknown>)[key]))
}

test('a schema accepts what fits it', () => {
  fc.assert(
    fc.property(fittings, ([schema, value]) => assertRead(schema, value)),
    { numRuns: thinned(2000) },
  )
})

test('a pointer leads to the value that the failure shows', () => {
  fc.assert(
    fc.property(readings, ([schema, value]) => {
      const read = schema.fromValue(value)
      if (!(read instanceof Mismatch)) return
      assert.ok(read.all().length <= 100)
      for (const { pointer, actual } of read.failures('', 'body', '')) assert.equal(actual, show(at(value, pointer!)))
    }),
    { numRuns: thinned(4000) },
  )
})

test('a union accepts whatever a member accepts, and nothing else', () => {
  const members = fc.array(schemaCase, { minLength: 1, maxLength: 4 })
  const cases = members.chain((cases) =>
    fc.tuple(fc.constant(cases.map(({ schema }) => schema)), fc.oneof(...cases.map(({ fitting }) => fitting), anyJson)),
  )
  fc.assert(
    fc.property(cases, ([schemas, value]) => {
      const union = t.union(...(schemas as [Schema<unknown>])).fromValue(value)
      const first = schemas.map((schema) => schema.fromValue(value)).find((read) => !(read instanceof Mismatch))
      if (first === undefined) assert.ok(union instanceof Mismatch)
      else assert.deepEqual(union, first)
    }),
    { numRuns: thinned(3000) },
  )
})

test('what can never be read from one text, from several values or from a form is refused', () => {
  fc.assert(
    fc.property(schemaCase, anyForm, ({ schema }, form) => {
      const texts = Object.values(form).flat()
      // A form without names is an empty record, whatever the schema of the values.
      if (texts.length > 0 && schema.unreadable('form') !== null) assert.ok(schema.fromForm(form) instanceof Mismatch)
      for (const text of texts) if (schema.unreadable('text') !== null) assert.ok(schema.fromText(text) instanceof Mismatch)
      if (texts.length > 0 && schema.unreadable('texts') !== null) assert.ok(schema.fromTexts(texts) instanceof Mismatch)
    }),
    { numRuns: thinned(3000) },
  )
})

test('a picker leaves out what is not declared, and nothing else', () => {
  fc.assert(
    fc.property(fittings, ([schema, value]) => {
      const read = schema.fromValue(value)
      const picked = pickerOf(schema)(read)
      assert.ok(isWithin(picked, read))
      const text = JSON.stringify(picked)
      assert.equal(JSON.stringify(pickerOf(schema)(withExtras(read))), text)
      assert.equal(JSON.stringify(checkedPickerOf(schema)(read)), text)
      assert.equal(JSON.stringify(checkedPickerOf(schema)(withExtras(read))), text)
    }),
    { numRuns: thinned(2000) },
  )
})

test('a picker never adds, and picking again changes nothing', () => {
  fc.assert(
    fc.property(readings, ([schema, value]) => {
      const before = JSON.stringify(value)
      const picked = pickerOf(schema)(value)
      assert.equal(JSON.stringify(value), before)
      if (picked instanceof Mismatch) return
      assert.ok(isWithin(picked, value))
      assert.equal(JSON.stringify(pickerOf(schema)(picked)), JSON.stringify(picked))
      const checked = checkedPickerOf(schema)(value)
      if (!(checked instanceof Mismatch)) assert.equal(JSON.stringify(checked), JSON.stringify(picked))
    }),
    { numRuns: thinned(4000) },
  )
})

test('what a checked picker accepts, the schema accepts', () => {
  fc.assert(
    fc.property(readings, ([schema, value]) => {
      const checked = checkedPickerOf(schema)(value)
      if (checked instanceof Mismatch || checked === undefined) return
      assertRead(schema, JSON.parse(JSON.stringify(checked)))
    }),
    { numRuns: thinned(3000) },
  )
})

test('a JSON Schema is finite, and refers only to existing definitions', () => {
  const refsOf = (part: unknown): string[] => {
    if (typeof part !== 'object' || part === null) return []
    return Object.entries(part).flatMap(([key, one]) => (key === '$ref' && typeof one === 'string' ? [one] : refsOf(one)))
  }
  fc.assert(
    fc.property(schemaCase, fc.constantFrom<'input' | 'output'>('input', 'output'), ({ schema }, side) => {
      const document = schema.jsonSchema(side)
      for (const ref of refsOf(document)) assert.notEqual(at(document, ref.slice(1)), undefined, ref)
    }),
    { numRuns: thinned(2000) },
  )
})
