// Which properties are written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Address, fromForm, fromJson, Person, refused } from '../../test/support/populated.ts'
import { t } from '../schema/t.ts'

import { Field, fields } from './fields.ts'
import type { PopulateOptions } from './populate.ts'

describe('only what the model has is written', () => {
  test('unknown names, methods and accessors of the class are ignored', () => {
    const person = new Person()
    fromJson(person, '{"nmae":"x","greet":"x","toString":"x","constructor":"x","address":{"label":"x","street":"x"}}')
    const fresh = new Person()
    assert.deepEqual(Object.keys(person), Object.keys(fresh))
    assert.deepEqual({ ...person, greet: 0 }, { ...fresh, greet: 0 })
  })

  test('absent names keep their values', () => {
    const person = new Person()
    fromJson(person, '{"age":2}')
    assert.deepEqual([person.name, person.age], ['nobody', 2])
  })

  for (const name of ['__proto__', 'constructor', 'prototype']) {
    test(`"${name}" does not reach a prototype at any depth`, () => {
      const evil = `{"${name}":{"isAdmin":true,"prototype":{"isAdmin":true}}}`
      const model: Record<string, unknown> = { nested: new Address(), any: null, list: [], typed: {} }
      const prototypes = [Object.getPrototypeOf(model), Object.getPrototypeOf(model['nested'])]
      fromJson(model, `{"${name}":{"isAdmin":true},"nested":${evil},"any":${evil},"list":[${evil}],"typed":${evil}}`)
      fromForm(model, JSON.parse(`{"${name}":"x"}`) as Record<string, string>)
      assert.deepEqual([Object.getPrototypeOf(model), Object.getPrototypeOf(model['nested'])], prototypes)
      assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
      assert.equal((model['any'] as Record<string, unknown>)['isAdmin'], undefined)
      assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).includes('isAdmin'), false)
      // A later copy of the result must not reach one either.
      const copied = Object.assign({}, model['any']) as Record<string, unknown>
      assert.equal(Object.getPrototypeOf(copied), Object.prototype)
    })
  }

  test('an own property "constructor" can be populated', () => {
    const model = { constructor: 'a' as unknown }
    fromJson(model, '{"constructor":"b"}')
    assert.equal(model.constructor, 'b')
  })

  test('a declared property is written even if the instance does not have it, also through a setter', () => {
    class Model {
      static fields = fields(this, { nick: t.string, upper: t.string })
      declare nick?: string
      #upper = ''
      get upper() {
        return this.#upper
      }
      set upper(value: string) {
        this.#upper = value.toUpperCase()
      }
    }
    const model = new Model()
    fromJson(model, '{"nick":"n","upper":"u"}')
    assert.deepEqual([model.nick, model.upper], ['n', 'U'])
  })

  test('unknownProperties: error reports at most a hundred names, in few bytes', () => {
    const model = { a: 1 }
    assert.deepEqual(
      refused(model, () => fromJson(model, '{"a":2,"b":[1],"__proto__":1}', { unknownProperties: 'error' })),
      ['b: no such property, not an array of 1', '__proto__: no such property, not 1'],
    )
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${i}${'x'.repeat(10_000)}`, 'y'.repeat(1000)])))
    const failures = refused(model, () => fromJson(model, many, { unknownProperties: 'error' }))
    assert.equal(failures.length, 100)
    assert.ok(failures.join().length < 50_000)
  })
})

describe('include and exclude', () => {
  const json = '{"name":"n","age":9,"address":{"city":"c","zip":9}}'
  const mapped = (options: PopulateOptions): unknown[] => {
    const person = new Person()
    fromJson(person, json, options)
    return [person.name, person.age, person.address.city, person.address.zip]
  }

  test('null and absent mean all', () => {
    assert.deepEqual(mapped({}), ['n', 9, 'c', 9])
    assert.deepEqual(mapped({ includeProperties: null, excludeProperties: null }), ['n', 9, 'c', 9])
  })
  test('include writes only the properties that it names', () => {
    assert.deepEqual(mapped({ includeProperties: ['name'] }), ['n', 1, '', 0])
    assert.deepEqual(mapped({ includeProperties: ['address'] }), ['nobody', 1, 'c', 9])
    assert.deepEqual(mapped({ includeProperties: new Set(['address.city']) }), ['nobody', 1, 'c', 0])
    assert.deepEqual(mapped({ includeProperties: [] }), ['nobody', 1, '', 0])
  })
  test('exclude omits the properties that it names', () => {
    assert.deepEqual(mapped({ excludeProperties: ['name', 'address.zip'] }), ['nobody', 9, 'c', 0])
    assert.deepEqual(mapped({ excludeProperties: ['address'] }), ['n', 9, '', 0])
    assert.deepEqual(mapped({ includeProperties: ['address', 'age'], excludeProperties: ['age', 'address.city'] }), ['nobody', 1, '', 9])
  })
  test('an omitted property is not checked', () => {
    const person = new Person()
    fromJson(person, '{"name":1,"age":2,"address":{"city":1,"zip":3}}', { excludeProperties: ['name', 'address.city'] })
    assert.deepEqual([person.age, person.address.zip], [2, 3])
  })
  test('a null does not erase parts that may not be written', () => {
    const excluding = new Person()
    fromJson(excluding, '{"address":null}', { excludeProperties: ['address.city'] })
    assert.equal(excluding.address.city, '')
    const including = new Person()
    fromJson(including, '{"address":null}', { includeProperties: ['address.city'] })
    assert.equal(including.address.city, '')
    const all = new Person()
    fromJson(all, '{"address":null}', { includeProperties: ['address'] })
    assert.equal(all.address, null)
  })
  test('an empty property receives only the parts that may be written', () => {
    const excluding = { address: null as unknown }
    fromJson(excluding, '{"address":{"city":"c","zip":9,"geo":{"lat":1,"lon":2}}}', {
      excludeProperties: ['address.city', 'address.geo.lat'],
    })
    assert.deepEqual(excluding.address, { zip: 9, geo: { lon: 2 } })
    const including = { address: null as unknown }
    fromJson(including, '{"address":{"city":"c","zip":9}}', { includeProperties: ['address.city'] })
    assert.deepEqual(including.address, { city: 'c' })
  })
  test('a property with a schema receives only the parts that may be written', () => {
    class Model {
      @Field(t.object({ city: t.string, zip: t.int })) address = { city: 'old', zip: 1 }
    }
    const model = new Model()
    fromJson(model, '{"address":{"city":"c","zip":9}}', { excludeProperties: ['address.city'] })
    assert.deepEqual(model.address, { city: 'old', zip: 9 })
    fromJson(model, '{"address":{"city":"c","zip":7}}', { includeProperties: ['address.city'] })
    assert.deepEqual(model.address, { city: 'c', zip: 9 })
    fromJson(model, '{"address":{"city":"d","zip":7}}')
    assert.deepEqual(model.address, { city: 'd', zip: 7 })
  })
})
