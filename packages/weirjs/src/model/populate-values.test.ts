// Which values are converted, and which are refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { fromForm, fromJson, Person, refused } from '../../test/support/populated.ts'
import { t } from '../schema/t.ts'

import { Field } from './fields.ts'

describe('conversion is strict', () => {
  const json: [value: string, property: keyof Person, expected: string][] = [
    ['"36"', 'age', 'a number'],
    ['1e999', 'age', 'a number'],
    ['true', 'age', 'a number'],
    ['[1]', 'age', 'a number'],
    ['null', 'age', 'a number'],
    ['5', 'name', 'a string'],
    ['{}', 'name', 'a string'],
    ['["a"]', 'name', 'a string'],
    ['false', 'name', 'a string'],
    ['"false"', 'isAdmin', 'true or false'],
    ['"true"', 'isAdmin', 'true or false'],
    ['1', 'isAdmin', 'true or false'],
    ['0', 'isAdmin', 'true or false'],
    ['null', 'isAdmin', 'true or false'],
    ['1.5', 'big', 'a whole number'],
    ['9007199254740993', 'big', 'a whole number'],
    ['"0x10"', 'big', 'a whole number'],
    ['""', 'big', 'a whole number'],
    ['"2023-02-31"', 'born', 'a date and time'],
    ['"2023-02-29T00:00:00"', 'born', 'a date and time'],
    ['"yesterday"', 'born', 'a date and time'],
    ['"Feb 3 2024"', 'born', 'a date and time'],
    ['"2024-01-31 10:00"', 'born', 'a date and time'],
    ['"2024-01-31T25:00:00"', 'born', 'a date and time'],
    ['""', 'born', 'a date and time'],
    ['0', 'born', 'a date and time'],
    ['null', 'born', 'a date and time'],
    ['"a"', 'tags', 'an array'],
    ['{"0":"a"}', 'tags', 'an array'],
    ['["1"]', 'scores', 'a number'],
    ['[[1]]', 'scores', 'a number'],
    ['"x"', 'address', 'an object'],
    ['[]', 'address', 'an object'],
    ['5', 'address', 'an object'],
  ]
  for (const [value, property, expected] of json) {
    test(`JSON ${value} is refused for ${property}`, () => {
      const person = new Person()
      const failures = refused(person, () => fromJson(person, `{"name":"changed","${property}":${value}}`))
      assert.equal(failures.length, 1)
      assert.ok(failures[0]!.startsWith(property) && failures[0]!.includes(expected), failures[0])
    })
  }

  const texts: [value: string, property: keyof Person][] = [
    ['', 'age'],
    [' 1', 'age'],
    ['0x10', 'age'],
    ['NaN', 'age'],
    ['Infinity', 'age'],
    ['-Infinity', 'age'],
    ['1e999', 'age'],
    ['1,5', 'age'],
    ['+1', 'age'],
    ['yes', 'isAdmin'],
    ['on', 'isAdmin'],
    ['', 'isAdmin'],
    ['TRUE ', 'isAdmin'],
    ['1.0', 'big'],
    ['31 February 2024', 'born'],
    ['2024-02-31', 'born'],
    ['1700000000', 'born'],
  ]
  for (const [value, property] of texts) {
    test(`a form's ${JSON.stringify(value)} is refused for ${property}`, () => {
      const person = new Person()
      assert.equal(refused(person, () => fromForm(person, { name: 'changed', [property]: value })).length, 1)
    })
  }

  test('"false" in a form is false', () => {
    const model = { isAdmin: true }
    fromForm(model, { isAdmin: 'false' })
    assert.equal(model.isAdmin, false)
  })

  test('several form values for a property that holds one are refused', () => {
    const person = new Person()
    assert.equal(refused(person, () => fromForm(person, { name: ['a', 'b'], age: ['1', '2'] })).length, 2)
  })

  test('a list of one form value is a list, as in JSON: it is not read as a single value', () => {
    class Model {
      @Field(t.int.min(1)) id = 0
      name = ''
      tags: string[] = []
      anything: unknown = null
    }
    const model = new Model()
    const failures = ['id: a whole number of at least 1, not an array of 1', 'name: a string, not an array of 1']
    assert.deepEqual(
      refused(model, () => fromForm(model, { id: ['5'], name: ['x'] })),
      failures,
    )
    assert.deepEqual(
      refused(model, () => fromJson(model, '{"id":["5"],"name":["x"]}')),
      failures,
    )
    fromForm(model, { tags: ['a'], anything: ['b'] })
    assert.deepEqual([model.tags, model.anything], [['a'], ['b']])
  })

  test('a time without zone is UTC unless set otherwise, and t.localDateTime keeps the text', () => {
    class Model {
      @Field(t.localDateTime) wall = ''
      moment = new Date(0)
    }
    const model = new Model()
    fromJson(model, '{"wall":"2024-07-01T10:00","moment":"2024-07-01T10:00"}')
    assert.deepEqual({ ...model }, { wall: '2024-07-01T10:00', moment: new Date(Date.UTC(2024, 6, 1, 10)) })
    fromJson(model, '{"moment":"2024-07-01T10:00"}', { zoneless: 'local' })
    assert.deepEqual(model.moment, new Date(2024, 6, 1, 10))
    assert.equal(refused(model, () => fromJson(model, '{"wall":"2024-02-30T10:00"}')).length, 1)
    assert.equal(refused(model, () => fromJson(model, '{"wall":"2024-07-01T10:00Z"}')).length, 1)
  })

  test('an ignored null leaves a declared property unchanged: no default, no null, no failure', () => {
    class Rating {
      @Field(t.uuid) id = 'none yet'
      @Field(t.int) stars = 3
      @Field(t.string.nullable()) note: string | null = 'fine'
    }
    const model = new Rating()
    fromJson(model, '{"id":null,"stars":null,"note":null}', { nullValues: 'ignore' })
    assert.deepEqual({ ...model }, { ...new Rating() })
  })

  test('null replaces a reference, or is ignored everywhere', () => {
    const json = '{"name":null,"tags":null,"address":null,"anything":null}'
    const setting = new Person()
    fromJson(setting, json)
    assert.deepEqual([setting.name, setting.tags, setting.address, setting.anything], [null, null, null, null])
    const ignoring = new Person()
    fromJson(ignoring, `{"age":null,"isAdmin":null,"born":null,${json.slice(1)}`, { nullValues: 'ignore' })
    assert.deepEqual({ ...ignoring, greet: 0 }, { ...new Person(), greet: 0 })
  })

  test('a schema takes precedence over the type of the value', () => {
    class Model {
      @Field(t.int.min(1).max(5)) stars = 1
      @Field(t.enum('low', 'high')) level: 'low' | 'high' = 'low'
      @Field(t.string.nullable()) note: string | null = null
      @Field(t.array(t.int)) sizes: number[] = []
    }
    const model = new Model()
    fromForm(model, { stars: '5', level: 'high', sizes: ['1', '2'] })
    assert.deepEqual({ ...model }, { stars: 5, level: 'high', note: null, sizes: [1, 2] })
    assert.deepEqual(
      refused(model, () => fromJson(model, '{"stars":6,"level":"mid","note":5,"sizes":[1,"2",3.5]}')).map((line) => line.split(':')[0]),
      ['stars', 'level', 'note', 'sizes[1]', 'sizes[2]'],
    )
  })
})
