// Arrays in a model: what a form may write into them, and key paths into arrays of objects.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { type BodyMapOptions, fields, type HttpRequest, t } from '../../src/index.ts'
import { FORM_TYPE, failuresOf, JSON_TYPE, see } from '../support/see-request.ts'

describe('arrays of a form are converted and refused by the rules of JSON', () => {
  const rows: [what: string, model: () => { n: unknown[] }, form: string, json: string, mapped: unknown[]][] = [
    ['numbers', () => ({ n: [0] }), 'n[]=1&n[]=2.5', '[1,2.5]', [1, 2.5]],
    ['one number', () => ({ n: [0] }), 'n[]=1', '[1]', [1]],
    ['a name without [] that repeats', () => ({ n: [0] }), 'n=1&n=2', '[1,2]', [1, 2]],
    ['booleans', () => ({ n: [false] }), 'n[]=true&n[]=false', '[true,false]', [true, false]],
    ['bigints', () => ({ n: [0n] }), 'n[]=9007199254740993', '["9007199254740993"]', [9007199254740993n]],
    ['moments', () => ({ n: [new Date(0)] }), 'n[]=2024-01-31T09%3A30%3A00', '["2024-01-31T09:30:00"]', [new Date('2024-01-31T09:30Z')]],
    ['texts', () => ({ n: [''] }), 'n[]=1&n[]=x', '["1","x"]', ['1', 'x']],
    ['strings if the model does not state the type', () => ({ n: [] }), 'n[]=1&n[]=x', '["1","x"]', ['1', 'x']],
    ['strings if the first element is null', () => ({ n: [null] }), 'n[]=1', '["1"]', ['1']],
  ]
  for (const [what, model, form, json, mapped] of rows) {
    test(what, async () => {
      const [byForm, byJson] = [model(), model()]
      assert.equal(await see(FORM_TYPE, form, (request) => request.bodyMap(byForm)), true)
      assert.equal(await see(JSON_TYPE, `{"n":${json}}`, (request) => request.bodyMap(byJson)), true)
      assert.deepEqual([byForm.n, byJson.n], [mapped, mapped])
    })
  }

  const refused: [what: string, model: () => { n: unknown[] }, form: string, failures: string[]][] = [
    ['a string among numbers', () => ({ n: [0] }), 'n[]=1&n[]=x', ['n[1]: a number, not x']],
    ['a single one', () => ({ n: [0] }), 'n=x', ['n[0]: a number, not x']],
    ['a boolean in free text', () => ({ n: [true] }), 'n[]=yes', ['n[0]: true or false, not yes']],
    ['every one of them', () => ({ n: [0] }), 'n[]=x&n[]=y', ['n[0]: a number, not x', 'n[1]: a number, not y']],
    ['strings in place of objects', () => ({ n: [{ x: 1 }] }), 'n[]=x', ['n: an array of objects, not an array of 1']],
    ['strings in place of arrays', () => ({ n: [[1]] }), 'n=x', ['n: an array of objects, not "x"']],
  ]
  for (const [what, model, form, failures] of refused) {
    test(`refused: ${what}`, async () => {
      const given = model()
      assert.deepEqual(await see(FORM_TYPE, form, (request) => failuresOf(() => request.bodyMap(given))), failures)
      assert.deepEqual(given, model())
    })
  }
})

describe('a key path into an array of objects applies to each element', () => {
  interface Order {
    note: string
    lines: { price: number; qty: number; tags?: { name: string; secret: string }[] }[]
  }
  const order = (): Order => ({ note: '', lines: [{ price: 1, qty: 1 }] })

  async function mapped(body: unknown, options: BodyMapOptions<Order>, model = order()): Promise<Order> {
    assert.equal(await see(JSON_TYPE, JSON.stringify(body), (request) => request.bodyMap(model, options)), true)
    return model
  }

  test('an excluded property is not written in any element', async () => {
    const body = { note: 'n', lines: [{ price: 0, qty: 2 }, { qty: 3 }] }
    assert.deepEqual(await mapped(body, { excludeProperties: ['lines.price'] }), { note: 'n', lines: [{ qty: 2 }, { qty: 3 }] })
  })

  test('with an included path, only that part is written', async () => {
    const body = { note: 'n', lines: [{ price: 0, qty: 2, more: 1 }, 'x', null] }
    assert.deepEqual(await mapped(body, { includeProperties: ['lines.qty'] }), { note: '', lines: [{ qty: 2 }] })
  })

  test('arrays in elements, and elements that are arrays', async () => {
    const tags = [{ name: 'a', secret: 's' }]
    const body = { lines: [[{ price: 0, qty: 1, tags }], { price: 0, qty: 2, tags }] }
    const named = [{ name: 'a' }]
    assert.deepEqual((await mapped(body, { excludeProperties: ['lines.price', 'lines.tags.secret'] })).lines as unknown, [
      [{ qty: 1, tags: named }],
      { qty: 2, tags: named },
    ])
    assert.deepEqual((await mapped(body, { includeProperties: ['lines.tags.name'] })).lines as unknown, [
      [{ tags: named }],
      { tags: named },
    ])
  })

  test('no element inherits parts that may not be written: the client chooses the order', async () => {
    const model: Order = { note: '', lines: [1, 2].map((price) => ({ price, qty: price })) }
    assert.deepEqual((await mapped({ lines: [{ price: 0, qty: 9 }] }, { excludeProperties: ['lines.price'] }, model)).lines, [{ qty: 9 }])
  })

  test('elements without parts are kept when something is excluded, and an empty array stays one', async () => {
    assert.deepEqual((await mapped({ lines: ['x', null] }, { excludeProperties: ['lines.price'] })).lines as unknown, ['x', null])
    for (const options of [{ excludeProperties: ['lines.price'] }, { includeProperties: ['lines.qty'] }] satisfies BodyMapOptions<Order>[])
      assert.deepEqual((await mapped({ lines: [] }, options)).lines, [])
  })

  test('nothing replaces an array of which only parts may be written', async () => {
    for (const lines of [null, ['x'], [1, null]])
      assert.deepEqual((await mapped({ lines }, { includeProperties: ['lines.qty'] })).lines, order().lines)
  })

  test('a declared array', async () => {
    class Declared {
      static fields = fields(this, { lines: t.array(t.object({ price: t.int, qty: t.int })) })
      lines: { price: number; qty: number }[] = [{ price: 1, qty: 1 }]
    }
    const model = new Declared()
    const look = (request: HttpRequest) => request.bodyMap(model, { excludeProperties: ['lines.price'] })
    assert.equal(await see(JSON_TYPE, '{"lines":[{"price":7,"qty":2}]}', look), true)
    assert.deepEqual(model.lines as unknown, [{ qty: 2 }])
  })

  test('arrays in a property that accepts any JSON', async () => {
    const model: { any: { l: { x: number; y: number }[] } | null } = { any: null }
    const look = (request: HttpRequest) => request.bodyMap(model, { excludeProperties: ['any.l.x'] })
    assert.equal(await see(JSON_TYPE, '{"any":{"l":[{"x":1,"y":2}]}}', look), true)
    assert.deepEqual(model.any as unknown, { l: [{ y: 2 }] })
  })

  test('an array does not replace an object with parts that may not be written', async () => {
    class Declared {
      static fields = fields(this, {
        any: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as object }) } },
      })
      any: { secret?: number } = { secret: 1 }
    }
    const model = new Declared()
    assert.equal(await see(JSON_TYPE, '{"any":[]}', (request) => request.bodyMap(model, { excludeProperties: ['any.secret'] })), true)
    assert.deepEqual(model.any, { secret: 1 })
  })

  test('a path into a value without parts names nothing', async () => {
    const model = { name: 'old', when: new Date(0), tags: ['old'] }
    const options = { includeProperties: ['name.x', 'when.x', 'tags.x'] } as object
    for (const body of ['{"name":"new","when":"2024-01-31","tags":["new"]}', '{"name":{"x":1}}'])
      assert.equal(await see(JSON_TYPE, body, (request) => request.bodyMap(model, options)), true)
    assert.equal(await see(FORM_TYPE, 'name=new&when=2024-01-31&tags[]=new', (request) => request.bodyMap(model, options)), true)
    assert.deepEqual(model, { name: 'old', when: new Date(0), tags: ['old'] })
  })

  test('__proto__ in an element, or in the output of a schema, does not reach a prototype', async () => {
    const body = '{"lines":[{"qty":1,"__proto__":{"price":9}}]}'
    const model = order()
    assert.equal(await see(JSON_TYPE, body, (request) => request.bodyMap(model, { excludeProperties: ['lines.price'] })), true)
    assert.deepEqual([Object.getPrototypeOf(model.lines[0]), model.lines[0]!.price], [Object.prototype, undefined])
    class Declared {
      static fields = fields(this, {
        any: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as object }) } },
      })
      any: { a?: number; b?: number } | null = null
    }
    const declared = new Declared()
    const look = (request: HttpRequest) => request.bodyMap(declared, { excludeProperties: ['any.b'] })
    assert.equal(await see(JSON_TYPE, '{"any":{"a":1,"__proto__":{"b":9}}}', look), true)
    assert.deepEqual([Object.getPrototypeOf(declared.any), declared.any!.b], [Object.prototype, undefined])
  })
})
