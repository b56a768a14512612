import assert from 'node:assert/strict'
import { test } from 'node:test'

import { MAX_LEVELS } from './lazy.ts'
import { Mismatch } from './mismatch.ts'
import { checkedPickerOf, pickerOf } from './picker.ts'
import type { Schema } from './schema.ts'
import type { AnySchema } from './standard.ts'
import { t } from './t.ts'

const user = t.object({ id: t.int, name: t.string, mail: t.email.optional() })
const passwordHash = '$argon2id$v=19$x'

/** What is sent, as text. */
function sent(schema: AnySchema, value: unknown): string | undefined {
  const picked = pickerOf(schema)(value)
  assert.ok(!(picked instanceof Mismatch), (picked as Mismatch | null)?.message)
  return JSON.stringify(picked)
}

function refused(schema: AnySchema, value: unknown): [pointer: string, expected: string, actual: string | undefined] {
  const picked = pickerOf(schema)(value)
  assert.ok(picked instanceof Mismatch, JSON.stringify(picked))
  return [picked.pointer, picked.expected, picked.actual]
}

function misfits(schema: AnySchema, value: unknown): string[] {
  const picked = checkedPickerOf(schema)(value)
  assert.ok(picked instanceof Mismatch, JSON.stringify(picked))
  return picked.all().map(({ pointer, message }) => `${pointer}: ${message}`)
}

test('only declared properties are sent', () => {
  assert.equal(sent(user, { id: 1, name: 'Ada', passwordHash }), '{"id":1,"name":"Ada"}')
  assert.equal(sent(user, { passwordHash, name: 'Ada', id: 1 }), '{"id":1,"name":"Ada"}')
  assert.equal(sent(t.object({}), { passwordHash }), '{}')
  assert.equal(
    sent(t.array(user), [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Bob', passwordHash },
    ]),
    '[{"id":1,"name":"Ada"},{"id":2,"name":"Bob"}]',
  )
  assert.equal(sent(t.record(user), { ada: { id: 1, passwordHash } }), '{"ada":{"id":1}}')
  assert.equal(sent(t.object({ a: t.object({ b: user }) }), { a: { b: { id: 1, passwordHash }, x: 1 }, y: 1 }), '{"a":{"b":{"id":1}}}')
})

test('what is sent is a copy in the order of the schema, and the value is never changed', () => {
  const shape = t.object({ user, list: t.array(user), record: t.record(t.array(t.int)), at: t.dateTime })
  const value = { at: new Date(0), user: { id: 1, name: 'Ada' }, list: [{ name: 'Bob', id: 2, passwordHash }], record: { a: [1] } }
  const kept = structuredClone(value)
  const picked = pickerOf(shape)(value) as typeof value
  assert.deepEqual(Object.keys(picked), ['user', 'list', 'record', 'at'])
  assert.equal(
    JSON.stringify(picked),
    '{"user":{"id":1,"name":"Ada"},"list":[{"id":2,"name":"Bob"}],"record":{"a":[1]},"at":"1970-01-01T00:00:00.000Z"}',
  )
  assert.deepEqual(value, kept)
  // Later changes of the value have no effect.
  assert.notEqual(picked.user, value.user)
  assert.notEqual(picked.record.a, value.record.a)
})

test('each part is read once, so what it becomes later is not sent', () => {
  let reads = 0
  const flipping = {
    id: 1,
    get name() {
      return reads++ === 0 ? 'Ada' : { passwordHash }
    },
  }
  assert.equal(sent(user, flipping), '{"id":1,"name":"Ada"}')
  let calls = 0
  const growing = new Proxy(
    { id: 1, name: 'Ada', passwordHash },
    { ownKeys: (row) => (calls++ === 0 ? ['id', 'name'] : Reflect.ownKeys(row)) },
  )
  assert.equal(sent(user, growing), '{"id":1,"name":"Ada"}')
  let asked = 0
  const late = new Proxy(
    { id: 1 },
    { get: (row, name) => (name === 'toJSON' ? (asked++ === 0 ? undefined : () => ({ passwordHash })) : Reflect.get(row, name)) },
  )
  assert.equal(sent(user, late), '{"id":1}')
  assert.equal(sent(t.array(t.object({ list: t.array(t.int) })), [{ list: new Proxy([1, 2], {}) }]), '[{"list":[1,2]}]')
  assert.equal(sent(t.object({ at: t.dateTime }), { at: Object.assign(new Date(0), { toJSON: () => 5 }) }), '{"at":5}')
})

test('values without properties are sent unchanged', () => {
  for (const value of ['x', 5, Number.NaN, true, null, undefined]) {
    for (const schema of [t.int, user, t.array(user), t.record(t.int), t.union(t.int, user), t.lazy(() => user)])
      assert.equal(pickerOf(schema)(value), value)
  }
  assert.equal(sent(user, { id: 'x', name: Number.NaN, mail: undefined }), '{"id":"x","name":null}')
})

test('a value with properties where none are declared is refused', () => {
  assert.deepEqual(refused(user, { id: 1, name: { first: 'Ada', passwordHash } }), ['/name', 'a string', 'an object'])
  assert.deepEqual(refused(user, [{ id: 1 }]), ['', 'an object with id, name, mail', 'an array of 1'])
  assert.deepEqual(refused(t.object({ 0: t.int }), [1])[2], 'an array of 1')
  assert.deepEqual(refused(t.array(user), { 0: { id: 1 } }), ['', 'an array, each an object with id, name, mail', 'an object'])
  assert.deepEqual(refused(t.object({ list: t.array(t.int) }), { list: [1, [2]] }), ['/list/1', 'a whole number', 'an array of 1'])
  assert.deepEqual(refused(t.record(t.int), { a: {} })[0], '/a')
  assert.deepEqual(refused(t.object({ bytes: t.string }), { bytes: Buffer.from('x') }), ['/bytes', 'a string', 'an object'])
  assert.deepEqual(refused(t.object({ list: t.array(t.int) }), { list: new Set([1]) })[0], '/list')
})

test('dates, and other objects with a toJSON, are sent as JSON.stringify writes them', () => {
  const at = new Date('2024-01-31T09:30:00Z')
  assert.equal(sent(t.object({ at: t.dateTime }), { at }), '{"at":"2024-01-31T09:30:00.000Z"}')
  assert.equal(sent(t.object({ at: t.string }), { at }), '{"at":"2024-01-31T09:30:00.000Z"}')
  assert.equal(sent(t.dateTime, new Date(Number.NaN)), 'null')
  assert.equal(sent(t.object({ url: t.url }), { url: new URL('https://example.com') }), '{"url":"https://example.com/"}')
  class Money {
    toJSON() {
      return '5 EUR'
    }
  }
  assert.equal(sent(t.array(t.string), [new Money()]), '["5 EUR"]')
  // Like a document of a database: its JSON form has other properties than the object itself.
  class Row {
    readonly row = { id: 1, name: 'Ada', passwordHash }
    toJSON() {
      return this.row
    }
  }
  assert.equal(sent(user, new Row()), '{"id":1,"name":"Ada"}')
  assert.equal(sent(t.array(user), { toJSON: () => [new Row()] }), '[{"id":1,"name":"Ada"}]')
  assert.equal(sent(t.record(user), { toJSON: () => ({ a: new Row() }) }), '{"a":{"id":1,"name":"Ada"}}')
  assert.equal(sent(user, { toJSON: () => 'x' }), '"x"')
})

test('a second call of toJSON cannot add undeclared properties', () => {
  const sly = { id: 1, toJSON: () => ({ passwordHash }) }
  const value = { toJSON: () => sly }
  assert.equal(sent(user, value), '{"id":1}')
  assert.equal(sent(user, Object.defineProperty({ id: 1 }, 'toJSON', { value: () => ({ id: 2, passwordHash }) })), '{"id":2}')
  assert.equal(sent(t.record(t.int), { toJSON: () => Object.defineProperty({ a: 1 }, 'toJSON', { value: () => sly }) }), '{"a":1}')
  const list = Object.assign([1], { toJSON: () => [2, 3] })
  assert.equal(sent(t.array(t.int), list), '[2,3]')
  const fn = Object.assign(() => 0, { toJSON: () => ({ passwordHash }) })
  assert.deepEqual(refused(t.object({ name: t.string }), { name: fn })[0], '/name')
  assert.equal(sent(t.object({ name: t.string }), { name: () => 0 }), '{}')
})

test('a day is sent as a day, and a bigint as text', () => {
  assert.equal(sent(t.object({ day: t.date }), { day: new Date('2024-01-31') }), '{"day":"2024-01-31"}')
  assert.equal(sent(t.array(t.date), ['2024-01-31', null]), '["2024-01-31",null]')
  assert.equal(sent(t.object({ n: t.bigint }), { n: 5n }), '{"n":"5"}')
  assert.equal(sent(t.union(t.bool, t.bigint), 5n), '"5"')
  assert.equal(sent(t.union(t.date, t.int), new Date('2024-01-31')), '"2024-01-31"')
  assert.throws(() => sent(t.int, 5n), TypeError)
})

test('instances leave by the declared properties, getters included', () => {
  class Account {
    readonly id = 1
    passwordHash = passwordHash
    #calls = 0
    get name() {
      return this.#calls++ === 0 ? 'Ada' : { passwordHash }
    }
    get friend() {
      return new Account()
    }
    get secret() {
      return passwordHash
    }
    mail() {
      return 'a method is no property'
    }
  }
  assert.equal(sent(user, new Account()), '{"id":1,"name":"Ada"}')
  assert.equal(sent(t.object({ friend: user }), new Account()), '{"friend":{"id":1,"name":"Ada"}}')
  assert.deepEqual(checkedPickerOf(user)(new Account()), { id: 1, name: 'Ada' })
  const inherits = Object.assign(Object.create({ name: 'Ada', extra: 1 }), { id: 1, passwordHash })
  assert.equal(sent(user, inherits), '{"id":1,"name":"Ada"}')
  assert.equal(sent(user, Object.assign(Object.create(null), { id: 1, passwordHash })), '{"id":1}')
  assert.equal(sent(user, new Map([['id', 1]])), '{}')
  assert.equal(sent(t.object({ message: t.string }), new Error('broken')), '{"message":"broken"}')
  // What every object inherits is not meant.
  const odd = t.object({ constructor: t.string, toString: t.string.optional(), valueOf: t.record(t.int) })
  assert.equal(sent(odd, new Account()), '{}')
  assert.equal(sent(odd, { constructor: 'x' }), '{"constructor":"x"}')
})

test('proxies leave by what their traps return', () => {
  const seen: PropertyKey[] = []
  const row = { id: 1, name: 'Ada', passwordHash }
  const proxy = new Proxy(row, { get: (target, name) => seen.push(name) && Reflect.get(target, name) })
  assert.equal(sent(user, proxy), '{"id":1,"name":"Ada"}')
  assert.equal(sent(t.array(user), new Proxy([proxy], {})), '[{"id":1,"name":"Ada"}]')
  assert.ok(!seen.includes('passwordHash'), 'what does not leave is not read')
})

test('a record keeps the keys that it would accept', () => {
  const schema = t.record(t.int).keys(t.enum('a', 'b'))
  assert.equal(sent(schema, { a: 1, b: 2 }), '{"a":1,"b":2}')
  assert.equal(sent(schema, { a: 1, passwordHash: 2 }), '{"a":1}')
  assert.equal(sent(t.record(t.int), JSON.parse('{"a":1,"__proto__":2}')), '{"a":1}')
})

test('the tag of a union determines what may be sent', () => {
  const event = t.union(t.object({ type: t.literal('in'), user }), t.object({ type: t.literal('out'), at: t.dateTime }))
  assert.equal(sent(event, { type: 'in', user: { id: 1, passwordHash }, at: 5 }), '{"type":"in","user":{"id":1}}')
  assert.equal(sent(event, { type: 'out', user: { id: 1 }, at: 5 }), '{"type":"out","at":5}')
  assert.deepEqual(refused(event, { type: 'away', user }), ['/type', 'one of "in", "out"', '"away"'])
  assert.deepEqual(refused(event, [1])[0], '')
})

test('a union without a tag uses the only member that has such values, or the first that fits', () => {
  const one = t.union(t.string, user, t.array(user))
  assert.equal(sent(one, { id: 'not checked', passwordHash }), '{"id":"not checked"}')
  assert.equal(sent(one, [{ id: 1, passwordHash }]), '[{"id":1}]')
  const two = t.union(t.object({ mail: t.email }), t.object({ phone: t.string, area: t.int.optional() }))
  assert.equal(sent(two, { phone: '5', mail: 'x', passwordHash }), '{"phone":"5"}')
  assert.deepEqual(
    refused(two, { passwordHash }),
    ['/mail', 'an email address', undefined].with(0, '').with(1, two.describe()).with(2, 'an object'),
  )
  assert.deepEqual(refused(t.union(t.int, t.string), { passwordHash })[0], '')
})

test('a recursive value is picked at every level; one that contains itself, or is too deep, is refused', () => {
  interface Comment {
    text: string
    replies?: Comment[]
  }
  const comment: Schema<Comment> = t.object({ text: t.string, replies: t.array(t.lazy(() => comment)).optional() })
  const value = { text: 'a', replies: [{ text: 'b', replies: [{ text: 'c', passwordHash }] }] }
  assert.equal(sent(comment, value), '{"text":"a","replies":[{"text":"b","replies":[{"text":"c"}]}]}')
  const circle: { text: string; replies: unknown[] } = { text: 'x', replies: [] }
  circle.replies.push(circle)
  assert.equal(refused(comment, circle)[1], 'a value that does not contain itself')
  let deep: unknown = { text: '' }
  for (let i = 0; i <= MAX_LEVELS; i++) deep = { text: '', replies: [deep] }
  assert.equal(refused(comment, deep)[1], `at most ${MAX_LEVELS} levels`)
  assert.match(misfits(comment, circle)[0]!, /a value that does not contain itself/)
})

test('for a schema of another library, what it returns is sent', () => {
  const stripping: AnySchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { id } = value as { id?: unknown }
        return typeof id === 'number' ? { value: { id } } : { issues: [{ message: 'No id', path: ['id'] }] }
      },
    },
  }
  assert.equal(sent(t.array(stripping), [{ id: 1, passwordHash }]), '[{"id":1}]')
  assert.deepEqual(refused(t.array(stripping), [{ passwordHash }])[0], '/0/id')
  const later: AnySchema = { '~standard': { version: 1, vendor: 'test', validate: async (value) => ({ value }) } }
  assert.throws(() => pickerOf(later)({}), { code: 'WEIR_OPTION_INVALID' })
})

test('a schema of another library runs over strings and numbers too, wherever it stands: it may mask them', () => {
  const masking: AnySchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (typeof value === 'string' ? { value: `${value[0]}*` } : { issues: [{ message: 'No string' }] }),
    },
  }
  const filling: AnySchema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value ?? 'none' }) } }
  const places: readonly (readonly [schema: AnySchema, value: unknown, json: string])[] = [
    [masking, 'hush', '"h*"'],
    [t.object({ a: masking, b: t.string }), { a: 'hush', b: 'c' }, '{"a":"h*","b":"c"}'],
    [t.array(masking), ['hush'], '["h*"]'],
    [t.record(masking), { a: 'hush' }, '{"a":"h*"}'],
    [t.array(t.lazy(() => masking)), ['hush'], '["h*"]'],
    [
      t.object({
        a: t.union(
          t.int,
          t.lazy(() => t.union(masking, t.bool)),
        ),
      }),
      { a: 'hush' },
      '{"a":"h*"}',
    ],
    [t.array(t.union(masking, t.int).nullable()), ['hush', 5, null], '["h*",5,null]'],
    [t.array(t.lazy(() => masking).nullable()), [null], '[null]'],
    [t.object({ a: filling, b: filling }), { a: null }, '{"a":"none","b":"none"}'],
  ]
  for (const [schema, value, json] of places) {
    assert.equal(sent(schema, value), json)
    assert.equal(JSON.stringify(checkedPickerOf(schema)(value)), json)
  }
  assert.equal(sent(t.object({ a: masking }), {}), '{}') // what is missing cannot leak
  assert.deepEqual(refused(t.object({ a: masking }), { a: 5 })[0], '/a')
  assert.equal(
    sent(
      t.lazy(() => t.array(t.int)),
      'x',
    ),
    '"x"',
  )
})

test('each schema has one picker', () => {
  assert.equal(pickerOf(user), pickerOf(user))
})

test('a checked picker names everything that does not fit', () => {
  const answer = t.object({ user, list: t.array(t.int).max(1), level: t.int.default(1), day: t.date, kind: t.record(t.int).max(1) })
  const fits = { user: { id: 1, name: 'Ada', passwordHash }, list: [], level: 1, day: new Date('2024-01-31'), kind: {} }
  assert.equal(
    JSON.stringify(checkedPickerOf(answer)(fits)),
    '{"user":{"id":1,"name":"Ada"},"list":[],"level":1,"day":"2024-01-31","kind":{}}',
  )
  assert.deepEqual(misfits(answer, { user: { id: '1', name: null }, list: [1, 2], day: new Date(5), kind: { a: 'x' } }), [
    '/user/id: expected a whole number, got "1"',
    '/user/name: expected a string, got null',
    '/list: expected an array of at most 1 element, each a whole number, got an array of 2',
    '/level: expected a whole number, got nothing',
    '/day: expected a date like 2024-01-31, got 1970-01-01T00:00:00.005Z',
    '/kind/a: expected a whole number, got "x"',
  ])
})

test('a checked picker accepts what JSON.stringify would write, and refuses what it would leave out', () => {
  class Account {
    id = 1
    name = 'Ada'
  }
  assert.deepEqual(checkedPickerOf(user)(new Account()), { id: 1, name: 'Ada' })
  assert.deepEqual(checkedPickerOf(t.url)(new URL('https://example.com')), 'https://example.com/')
  assert.deepEqual(checkedPickerOf(t.object({ n: t.bigint }))({ n: 5n }), { n: '5' })
  assert.deepEqual(checkedPickerOf(t.string.nullable().optional())(null), null)
  assert.deepEqual(checkedPickerOf(t.string.nullable().optional())(undefined), undefined)
  assert.deepEqual(misfits(user, { id: 1, name: () => 0 }), ['/name: expected a string, got nothing'])
  assert.deepEqual(checkedPickerOf(user)(Object.create({ id: 1, name: 'x' })), { id: 1, name: 'x' })
  assert.deepEqual(misfits(user, new Map([['id', 1]])).length, 2)
  assert.deepEqual(misfits(t.array(t.int), [1, undefined]), ['/1: expected a whole number, got nothing'])
  assert.deepEqual(misfits(t.number, Number.NaN), [': expected a number, got NaN'])
  assert.deepEqual(misfits(user.strict(), { id: 1, name: '', passwordHash: 1 }), [
    '/passwordHash: expected no property of this name, got (not shown)',
  ])
  assert.deepEqual(misfits(t.record(t.int).keys(t.uuid), { a: 1 }), ['/a: expected a key that is a UUID, got "a"'])
  assert.deepEqual(misfits(t.union(t.int, t.bool), 'x'), [': expected a whole number or true or false, got "x"'])
  const tagged = t.union(t.object({ k: t.literal(1), n: t.int }), t.object({ k: t.literal(2) }))
  assert.deepEqual(misfits(tagged, { k: 1 }), ['/n: expected a whole number, got nothing'])
  assert.deepEqual(misfits(tagged, { k: 3 }), ['/k: expected one of 1, 2, got 3'])
})
