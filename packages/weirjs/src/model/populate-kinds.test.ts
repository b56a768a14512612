// What a property takes: the value that it has says it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { fromForm, fromJson, Person, refused } from '../../test/support/populated.ts'
import { ModelBindingError } from '../base/errors.ts'

import { populate } from './populate.ts'

describe('the value of a property determines its type', () => {
  test('every kind of value, from JSON', () => {
    const person = new Person()
    const { address, greet } = person
    fromJson(
      person,
      `{"name":"Ada","age":36.5,"big":"123456789012345678901234567890","isAdmin":true,"born":"1815-12-10T01:02:03","tags":["a","b"],
        "scores":[],"address":{"city":"London","zip":7},"anything":{"deep":[1,{"x":null}]}}`,
    )
    assert.deepEqual(
      { ...person, address: { ...person.address } },
      {
        name: 'Ada',
        age: 36.5,
        big: 123456789012345678901234567890n,
        isAdmin: true,
        born: new Date('1815-12-10T01:02:03Z'),
        tags: ['a', 'b'],
        scores: [],
        address: { city: 'London', zip: 7 },
        anything: { deep: [1, { x: null }] },
        greet,
      },
    )
    assert.equal(person.address, address, 'a nested object is populated, not replaced')
    assert.equal(person.address.label, '7 London')
  })

  test('every kind of value, from a form', () => {
    const person = new Person()
    fromForm(person, { name: 'Ada', age: '36.5', big: '-9', isAdmin: 'true', born: '1815-12-10', tags: ['a', 'b'], anything: 'text' })
    const { name, age, big, isAdmin, born, tags, anything } = person
    assert.deepEqual(
      { name, age, big, isAdmin, born, tags, anything },
      { name: 'Ada', age: 36.5, big: -9n, isAdmin: true, born: new Date('1815-12-10T00:00:00Z'), tags: ['a', 'b'], anything: 'text' },
    )
  })

  test('a form has no nested objects', () => {
    const person = new Person()
    assert.deepEqual(
      refused(person, () => fromForm(person, { address: 'x' })),
      ['address: an object, not "x"'],
    )
    fromForm(person, { 'address.city': 'x', 'address[city]': 'y' })
    assert.equal(person.address.city, '')
  })

  test('one text of a form fills an array of texts', () => {
    const person = new Person()
    fromForm(person, { tags: 'a' })
    assert.deepEqual(person.tags, ['a'])
  })

  test('arrays of dates are read as dates, arrays of objects are copied unchanged', () => {
    const model = { days: [new Date(0)], people: [{ name: '' }], flags: [true] }
    fromJson(model, '{"days":["2024-02-29","2024-03-01T00:00:00+01:00"],"people":[{"name":"a","more":1}],"flags":[false]}')
    assert.deepEqual(model, {
      days: [new Date('2024-02-29T00:00:00Z'), new Date('2024-02-29T23:00:00Z')],
      people: [{ name: 'a', more: 1 }],
      flags: [false],
    })
  })

  test('a value created by a reviver is written unchanged', () => {
    const moment = new Date(5)
    const model: Record<string, unknown> = { any: null, list: [], born: new Date(0) }
    const value = { any: { moment }, list: [moment, new Map([[1, 2]])], born: moment }
    populate(model, { kind: 'json', value }, {})
    assert.deepEqual(model, value)
  })

  test('a property that cannot be mapped is reported', () => {
    const model = { map: new Map(), bytes: new Uint8Array(1), symbol: Symbol('s') }
    assert.throws(() => fromJson(model, '{"map":{},"bytes":[],"symbol":1}'), ModelBindingError)
  })
})
