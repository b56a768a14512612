// Populating models: what is written, what is refused, and that a failure leaves the model unchanged.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import { ModelBindingError } from '../base/errors.ts'
import { t } from '../schema/t.ts'

import { Field, fields } from './fields.ts'
import { type PopulateOptions, populate } from './populate.ts'

const fromJson = (model: object, text: string, options: PopulateOptions = {}): void =>
  populate(model, { kind: 'json', value: JSON.parse(text) as object }, options)
const fromForm = (model: object, value: Record<string, string | string[]>, options: PopulateOptions = {}): void =>
  populate(model, { kind: 'form', value: Object.assign(Object.create(null), value) }, options)

/** Runs `act`, which must fail and leave `model` unchanged, and returns the failures. */
function refused(model: object, act: () => void): string[] {
  const before = inspect(model, { depth: 4 })
  let failures: string[] = []
  assert.throws(act, (error) => {
    assert.ok(error instanceof ModelBindingError)
    failures = error.failures.map(({ name, expected, actual }) => `${name}: ${expected}, not ${actual}`)
    return true
  })
  assert.equal(inspect(model, { depth: 4 }), before)
  return failures
}

class Address {
  city = ''
  zip = 0
  get label() {
    return `${this.zip} ${this.city}`
  }
}

class Person {
  name = 'nobody'
  age = 1
  big = 2n
  isAdmin = false
  born = new Date(0)
  tags: string[] = []
  scores = [1, 2]
  address = new Address()
  anything: unknown = null
  greet = () => this.name
}

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
