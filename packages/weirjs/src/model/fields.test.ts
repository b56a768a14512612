import assert from 'node:assert/strict'
import { test } from 'node:test'

import { t } from '../schema/t.ts'

import { Field, fields, fieldsOf } from './fields.ts'

const described = (model: object): Record<string, string> =>
  Object.fromEntries([...(fieldsOf(model) ?? [])].map(([name, schema]) => [name, schema.describe()]))

test('a model without declarations has none', () => {
  class Plain {
    name = ''
  }
  assert.equal(fieldsOf(new Plain()), null)
  assert.equal(fieldsOf({ name: '' }), null)
  assert.equal(fieldsOf(Object.create(null) as object), null)
})

test('@Field and static fields declare the same', () => {
  class Decorated {
    @Field(t.uuid) id = ''
    @Field(t.int) age = 0
  }
  class Tabled {
    static fields = fields(this, { id: t.uuid, age: t.int })
    id = ''
    age = 0
  }
  assert.deepEqual(described(new Decorated()), { id: 'a UUID', age: 'a whole number' })
  assert.deepEqual(described(new Tabled()), described(new Decorated()))
})

test('a table that was not passed to fields() is refused, because its schemas would have no effect', () => {
  class Forgotten {
    static fields = { age: t.int.min(0) }
    age = 0
  }
  class Derived extends Forgotten {
    name = ''
  }
  for (const model of [new Forgotten(), new Derived()]) {
    assert.throws(() => fieldsOf(model), { code: 'WEIR_OPTION_INVALID', message: /Forgotten\.fields has no effect: .* fields\(this, / })
  }
  class OfItsOwn {
    static fields = ['age']
    age = 0
  }
  assert.equal(fieldsOf(new OfItsOwn()), null)
})

test('a subclass has the fields of its base, but the base does not have those of the subclass', () => {
  class Base {
    @Field(t.uuid) id = ''
  }
  class Derived extends Base {
    @Field(t.int) age = 0
  }
  class TabledBase {
    static fields = fields(this, { id: t.uuid })
    id = ''
  }
  class TabledDerived extends TabledBase {
    static override fields = fields(this, { age: t.int })
    age = 0
  }
  assert.deepEqual(described(new Derived()), { id: 'a UUID', age: 'a whole number' })
  assert.deepEqual(described(new Base()), { id: 'a UUID' })
  assert.deepEqual(described(new TabledDerived()), { id: 'a UUID', age: 'a whole number' })
  assert.deepEqual(described(new TabledBase()), { id: 'a UUID' })
})

test('a subclass takes precedence for a property that it declares again, in either notation', () => {
  class Base {
    @Field(t.int) age = 0
  }
  class Derived extends Base {
    @Field(t.int.min(18)) override age = 18
  }
  class DerivedByTable extends Base {
    static fields = fields(this, { age: t.int.min(21) })
  }
  class TabledBase {
    static fields = fields(this, { age: t.int })
    age = 0
  }
  class DecoratedOverTable extends TabledBase {
    @Field(t.int.min(30)) override age = 30
  }
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(described(new Derived()), { age: 'a whole number of at least 18' })
    assert.deepEqual(described(new DerivedByTable()), { age: 'a whole number of at least 21' })
    assert.deepEqual(described(new DecoratedOverTable()), { age: 'a whole number of at least 30' })
    assert.deepEqual(described(new Base()), { age: 'a whole number' })
  }
})

test('@Field accepts a schema of another library', () => {
  const even = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) => (typeof value === 'number' && value % 2 === 0 ? { value } : { issues: [{ message: 'odd' }] }),
    },
  }
  class Model {
    @Field(even) count = 0
  }
  assert.equal(fieldsOf(new Model())?.get('count')?.fromValue(4), 4)
})

test('@Field refuses members that cannot be populated', () => {
  assert.throws(() => {
    class Static {
      @Field(t.int) static count = 0
      name = ''
    }
    return Static
  }, TypeError)
  assert.throws(() => {
    class Private {
      @Field(t.int) #count = 0
      get count() {
        return this.#count
      }
    }
    return Private
  }, TypeError)
})

test('a default is refused where it is declared: the initial value of the property is what it would be', () => {
  const message = /"age" has a default, which has no effect in a model: give the property an initial value, as in age = …/
  assert.throws(
    () =>
      class {
        @Field(t.int.default(3)) age = 0
      },
    { code: 'WEIR_OPTION_INVALID', message },
  )
  assert.throws(
    () =>
      class Person {
        static fields = fields(Person, { age: t.int.default(3) })
        age = 0
      },
    { code: 'WEIR_OPTION_INVALID', message },
  )
})
