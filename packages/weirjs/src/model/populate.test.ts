// A failure leaves the model unchanged, and a hostile body stays cheap.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { fromJson, Person, refused } from '../../test/support/populated.ts'
import { ModelBindingError } from '../base/errors.ts'
import { t } from '../schema/t.ts'

import { fields } from './fields.ts'

describe('all or nothing', () => {
  test('every mistake is reported with its path', () => {
    const person = new Person()
    assert.deepEqual(
      refused(person, () => fromJson(person, '{"name":"changed","age":"x","address":{"city":"changed","zip":"y"}}')),
      ['age: a number, not "x"', 'address.zip: a number, not "y"'],
    )
    assert.equal(person.address.city, '')
  })

  test('a setter that throws leaves everything unchanged', () => {
    class Model {
      static fields = fields(this, { nick: t.string, guarded: t.int, late: t.string })
      declare nick?: string
      first = 'a'
      nested = { x: 1 }
      #guarded = 1
      get guarded() {
        return this.#guarded
      }
      set guarded(value: number) {
        this.#guarded = value
        if (value > 10) throw new RangeError('too many')
      }
      late = 'z'
    }
    const model = new Model()
    assert.throws(() => fromJson(model, '{"nick":"n","first":"b","nested":{"x":2},"guarded":11,"late":"y"}'), RangeError)
    assert.deepEqual(
      [Object.keys(model), model.first, model.nested, model.guarded, model.late],
      [['first', 'nested', 'late'], 'a', { x: 1 }, 1, 'z'],
    )
  })

  test('a setter that also refuses its old value does not prevent restoring the others', () => {
    class Model {
      static fields = fields(this, { first: t.int, second: t.int, third: t.int })
      first = 1
      #second = 0
      get second() {
        return this.#second
      }
      set second(value: number) {
        if (value < 5) throw new RangeError('too few')
        this.#second = value
      }
      get third() {
        return 0
      }
      set third(_value: number) {
        throw new RangeError('never')
      }
    }
    const model = new Model()
    assert.throws(() => fromJson(model, '{"first":2,"second":6,"third":3}'), /never/)
    assert.equal(model.first, 1)
  })

  test('a frozen model is the program’s mistake', () => {
    assert.throws(() => fromJson(Object.freeze({ a: 1 }), '{"a":2}'), TypeError)
  })
})

describe('a hostile body stays cheap', () => {
  test('at most a hundred mistakes are reported', () => {
    const scores = JSON.stringify(Array.from({ length: 100_000 }, () => 'x'))
    const person = new Person()
    assert.equal(refused(person, () => fromJson(person, `{"scores":${scores},"name":1}`)).length, 100)
  })

  test('depth is limited in what is copied and in what is nested', () => {
    const deep = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    fromJson({ any: null }, `{"any":${deep(63)}}`)
    const model = { any: null }
    assert.equal(refused(model, () => fromJson(model, `{"any":${deep(64)}}`)).length, 1)
    assert.equal(refused(model, () => fromJson(model, '{"any":[{}]}', { maxDepth: 2 })).length, 1)
    const circle: Record<string, unknown> = { name: 'a' }
    circle['self'] = circle
    fromJson(circle, '{"self":{"self":{"name":"b"}}}')
    assert.equal(circle['name'], 'b')
    assert.throws(() => fromJson(circle, `${'{"self":'.repeat(64)}{}${'}'.repeat(64)}`), ModelBindingError)
  })

  test('a hundred thousand unknown names change nothing', () => {
    const model = { a: 1 }
    fromJson(model, JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))))
    assert.deepEqual(model, { a: 1 })
  })
})
