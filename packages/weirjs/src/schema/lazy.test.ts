import assert from 'node:assert/strict'
import { mock, test } from 'node:test'

import { MAX_LEVELS } from './lazy.ts'
import { Mismatch } from './mismatch.ts'
import type { Schema } from './schema.ts'
import { t } from './t.ts'

interface Comment {
  text: string
  replies?: Comment[]
}

const comment: Schema<Comment> = t.object({ text: t.string, replies: t.array(t.lazy(() => comment)).optional() })
const json: Schema<unknown> = t.union(t.string, t.number, t.array(t.lazy(() => json)), t.record(t.lazy(() => json))).nullable()

/** `{ text: '', replies: [{ … }] }`, with this many levels. */
function thread(levels: number, last: unknown = { text: 'x' }): unknown {
  let value = last
  for (let i = 0; i < levels; i++) value = { text: '', replies: [value] }
  return value
}

test('a shape can contain itself', () => {
  assert.deepEqual(comment.fromValue(thread(3)), thread(3))
  const wrong = comment.fromValue(thread(2, { text: 5 }))
  assert.ok(wrong instanceof Mismatch)
  assert.deepEqual([wrong.pointer, wrong.expected], ['/replies/0/replies/0/text', 'a string'])
  const read = json.fromValue({ a: [1, 'x', { b: null }] })
  assert.deepEqual(JSON.stringify(read), '{"a":[1,"x",{"b":null}]}')
  assert.ok(json.fromValue({ a: [true] }) instanceof Mismatch)
})

test('the function is called when it is first needed, and once', () => {
  let calls = 0
  const schema = t.lazy(() => {
    calls++
    return t.int
  })
  const list = t.array(schema).optional()
  assert.equal(calls, 0)
  assert.deepEqual(list.fromValue([1, 2]), [1, 2])
  assert.deepEqual(schema.nullable().fromValue(3), 3)
  assert.equal(calls, 1)
})

test('depth is limited for values that are nested, and for values that contain themselves', () => {
  const deep = comment.fromValue(thread(MAX_LEVELS + 1))
  assert.ok(deep instanceof Mismatch)
  assert.deepEqual([deep.expected, deep.actual], [`at most ${MAX_LEVELS} levels`, 'more'])
  assert.ok(!(comment.fromValue(thread(MAX_LEVELS)) instanceof Mismatch))
  const circle: Record<string, unknown> = { text: 'x' }
  circle['replies'] = [circle]
  const round = comment.fromValue(circle)
  assert.ok(round instanceof Mismatch)
  assert.equal(round.expected, 'a value that does not contain itself')
  const loop: Schema<unknown> = t.lazy(() => loop)
  assert.ok(loop.fromValue(5) instanceof Mismatch)
  assert.ok(loop.fromText('5') instanceof Mismatch)
  assert.deepEqual([loop.reads, loop.isOptional, loop.describe()], ['json', false, 'a value of the same kind'])
})

test('members that fail do not multiply the time', () => {
  // Every level is read by the second member, after the first has read all levels below it.
  const node: Schema<unknown> = t.union(
    t.object({ next: t.lazy(() => node).nullable(), a: t.int }),
    t.object({ next: t.lazy(() => node).nullable(), b: t.int }),
  )
  let value: unknown = null
  for (let i = 0; i < 60; i++) value = { next: value, b: i }
  assert.deepEqual(node.fromValue(value), value)
})

test('neither do several recursive schemas, which read the same values for one another', () => {
  let reads = 0
  const validate = (value: unknown): { value: unknown } => {
    reads++
    return { value }
  }
  const counted = { '~standard': { version: 1, vendor: 'test', validate } } as const
  const member = <N extends string>(name: N) => t.object({ next: t.lazy(() => node).nullable(), read: counted, [name]: t.string })
  const node: Schema<unknown> = t.union(member('a'), member('b'), member('c'))
  const LEVELS = 30
  let value: unknown = null
  for (let i = 0; i < LEVELS; i++) value = { next: value, read: 1, a: 1, b: 1, c: 1 }
  assert.ok(node.fromValue(value) instanceof Mismatch)
  assert.ok(reads <= LEVELS * 3 ** 3, `${reads} reads`)
})

test('to write a union does not read what is below it again for each level', () => {
  const leaf = t.object({ day: t.date })
  const tree: Schema<unknown> = t.union(t.array(t.lazy(() => tree)), leaf)
  const value: unknown = tree.fromValue(JSON.parse(`${'['.repeat(50)}{ "day": "2024-01-31" }${']'.repeat(50)}`))
  const reads = mock.method(leaf, 'fromValue')
  const written = tree.toJson(value)
  assert.equal(JSON.stringify(written), `${'['.repeat(50)}{"day":"2024-01-31"}${']'.repeat(50)}`)
  assert.ok(reads.mock.callCount() <= 4, `${reads.mock.callCount()} reads`)
})

test('an object in two places is read once, and a string once for each place', () => {
  const dates = t.array(t.lazy(() => t.dateTime)).fromValue(['2024-01-31', '2024-01-31']) as Date[]
  assert.notEqual(dates[0], dates[1])
})

test('what is remembered of a list does not grow with the same number again and again', () => {
  // V8 keeps a deleted key in its bucket until the table is rebuilt, so that each of these would have to pass all the others.
  const deletes = mock.method(Map.prototype, 'delete')
  const list = Array.from({ length: 1_000 }, () => ({ a: 1, b: '', c: null }))
  const read = json.fromValue(list)
  const deleted = deletes.mock.callCount()
  deletes.mock.restore()
  assert.deepEqual(JSON.parse(JSON.stringify(read)), list)
  assert.equal(deleted, 0)
})

test('an error leaves no state behind', () => {
  const schema: Schema<unknown> = t.lazy(() =>
    t.object({ a: { '~standard': { version: 1, vendor: 'test', validate: () => assert.fail('broken') } } }),
  )
  const value = { a: 1 }
  for (let i = 0; i < MAX_LEVELS + 1; i++) assert.throws(() => schema.fromValue(value), /broken/)
})

test('its presence is its own, or that of its target', () => {
  const schema = t.lazy(() => t.int.nullable().default(5))
  assert.deepEqual([schema.fromValue(null), schema.absent(), schema.hasDefault, schema.defaultValue()], [null, 5, true, 5])
  assert.equal(schema.optional().absent(), undefined)
  assert.equal(schema.default(7).absent(), 7)
  assert.equal(
    t
      .lazy(() => t.int)
      .nullable()
      .fromValue(null),
    null,
  )
  assert.deepEqual(t.lazy(() => t.int).absent(), new Mismatch('a whole number'))
  assert.deepEqual(t.object({ a: t.lazy(() => t.int.optional()) }).fromValue({}), {})
})

test('it reads its target from every place', () => {
  const schema = t.lazy(() => t.array(t.int))
  assert.deepEqual([schema.reads, schema.fromText('1'), schema.fromTexts(['1', '2'])], ['texts', [1], [1, 2]])
  assert.deepEqual(t.lazy(() => t.object({ a: t.int })).fromForm({ a: '1' }), { a: 1 })
})

test('it describes itself, and the description ends', () => {
  assert.equal(comment.describe(), 'an object with text, replies')
  assert.match(json.describe(), /^a string, a number, an array, each .*a value of the same kind/)
  assert.deepEqual(comment.jsonSchema(), {
    type: 'object',
    properties: { text: { type: 'string' }, replies: { type: 'array', items: { $ref: '#' } } },
    required: ['text'],
  })
  assert.deepEqual(t.object({ thread: comment }).jsonSchema(), {
    type: 'object',
    properties: {
      thread: {
        ...comment.jsonSchema(),
        properties: { text: { type: 'string' }, replies: { type: 'array', items: { $ref: '#/$defs/Recursive' } } },
      },
    },
    required: ['thread'],
    $defs: {
      Recursive: {
        type: 'object',
        properties: { text: { type: 'string' }, replies: { type: 'array', items: { $ref: '#/$defs/Recursive' } } },
        required: ['text'],
      },
    },
  })
})

test('anything but a function that returns a schema is refused', () => {
  assert.throws(() => t.lazy(t.int as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => t.lazy(() => 5 as never).fromValue(5), { code: 'WEIR_OPTION_INVALID' })
})
