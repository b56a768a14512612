import assert from 'node:assert/strict'
import { Buffer, isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import fc from 'fast-check'

import { readFlatJson } from './flat-json.ts'

const NAMES = ['name', 'age', 'score', 'ok', 'note', 'last']

/** Reads the text from the middle of other bytes, all of which could continue it. */
function read(text: string | Buffer, names: readonly string[] = NAMES): unknown[] | null {
  const bytes = Buffer.from(text)
  return readWith(bytes, Object.fromEntries(names.map((name) => [name, 0])))
}

function readWith(bytes: Buffer, model: object): unknown[] | null {
  return readFlatJson(Buffer.concat([Buffer.from('{"'), bytes, Buffer.from('9.9"}e,')]), 2, 2 + bytes.length, model)
}

/** What `JSON.parse` returns for it, in the same form. */
function parsed(text: string): unknown[] {
  return Object.entries(JSON.parse(text) as object).flat()
}

for (const text of [
  '{"name":"Ada","age":36,"score":1843.5,"ok":true,"note":null,"last":false}',
  '{"name": "Ada", "age": 36}',
  '{ "name": "Ada", "age": 36 }',
  '{"age":-0,"score":-1.50}',
  '{"age":999999999999999,"score":0.1234567890123}',
  '{"name":"","ok":true,"note":" a:b,c}d "}',
  '{"name":"Grüße 😀","ok":true,"note":"\u00a0"}',
  '{"name":"a","score":1,"last":"z"}',
  '{"last":1,"age":36,"note":"n","name":"Ada"}',
  '{"other":1,"name":"Ada","another":null}',
  '{"__proto__":1,"constructor":2,"toString":3}',
  '{"age":1e3,"score":-1.5E-2,"note":0e+0}',
  '{"age":1e999,"score":9007199254740993}',
  '{"age":9999999999999999,"score":0.1234567890123456789}',
  '{"":1,"a b":2}',
  `{"name":"${'a'.repeat(501)}"}`,
  '{"age":123456789012345,"score":1234567890123456}',
  '{"age":1.2345678901234,"score":1.23456789012345}',
  '{"name":"\u007f"}',
]) {
  test(`reads the same as JSON.parse: ${text}`, () => assert.deepEqual(read(text), parsed(text)))
}

for (const [text, why] of [
  ['', 'nothing'],
  ['{}', 'no name'],
  ['[]', 'a list'],
  ['{"age":36,"age":37}', 'a name that repeats'],
  ['{"age":36,"name":"a","age":37}', 'a name that repeats later'],
  ['{"other":36,"name":"a","other":37}', 'a name that repeats and is not expected'],
  ['{"a":1,"1":2}', 'a name that is a number'],
  ['{"é":1}', 'a name that is not ASCII'],
  ['{"name":["a"]}', 'a list within'],
  ['{"name":{}}', 'an object within'],
  ['{"name":"[]"}', 'what looks like a list'],
  ['{"name":"a\\n"}', 'an escape'],
  ['{"n\\u0061me":"a"}', 'an escape in a name'],
  ['{"name":"\ufffd"}', 'U+FFFD, which invalid UTF-8 would also become'],
  ['{\n"age":1}', 'a new line'],
  ['{"age":1}\n', 'a new line after it'],
  [`{"name":"${'a'.repeat(502)}"}`, 'a long text'],
] as const) {
  test(`leaves to JSON.parse: ${why}`, () => assert.equal(read(text), null))
}

for (const text of [
  ...[
    '{"age":01}',
    '{"age":-}',
    '{"age":1.}',
    '{"age":.5}',
    '{"age":+1}',
    '{"age":1-}',
    '{"age":1e}',
    '{"age":1e+}',
    '{"age":1.e1}',
    '{"age":e1}',
    '{"age":--1}',
    '{"age":tru}',
    '{"age":nul',
    '{"age":truex}',
  ],
  ...[
    '{"name":"a\nb"}',
    '{"name":"a',
    '{"name":"a"',
    '{"name":"a",',
    '{"name":"a",}',
    '{"name""a"}',
    '{"name":}',
    '{"name"',
    '{"nam',
    '{"name:1}',
    '{name:1}',
  ],
  ...['{"age":1', '{"age":1}}', '{"age":1},', '{"age":1 2}', '{"age":1 ,,"score":1}', '{"name":"\u0000"}', "{'age':1}", '{"age":1;}'],
]) {
  test(`does not read invalid JSON: ${JSON.stringify(text)}`, () => {
    assert.throws(() => JSON.parse(text), SyntaxError)
    assert.equal(read(text), null)
  })
}

test('bytes that are not UTF-8 are not read', () => {
  for (const bytes of [[0xff], [0xc3], [0xc3, 0x22], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
    assert.equal(read(Buffer.concat([Buffer.from('{"name":"a'), Buffer.from(bytes), Buffer.from('b"}')])), null)
  }
})

for (const [text, asked] of [
  ['', 0],
  ['x', 0],
  ['[1]', 0],
  ['{}', 0],
  ['{ 1}', 0],
  [`{"name":"${'a'.repeat(600)}"}`, 0],
  ['{"name":1}', 1],
] as const) {
  test(`a model's names are listed ${asked} times, however many it has: ${text.slice(0, 12)}`, () => {
    let count = 0
    const ownKeys = (target: object) => {
      count++
      return Reflect.ownKeys(target)
    }
    readWith(Buffer.from(text), new Proxy({ name: '' }, { ownKeys }))
    assert.equal(count, asked)
  })
}

test('at most 48 comparisons of names fail, with those of the model and with one another', () => {
  const model = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, 0]))
  const last = (count: number) => readWith(Buffer.from(`{"field${count - 1}":1}`), model(count))
  assert.deepEqual([last(49), last(50)], [['field48', 1], null])
  const letters = (count: number) => Buffer.from(`{${[...'abcdefghijklmn'].slice(0, count).map((name) => `"${name}":1`)}}`)
  assert.deepEqual([readWith(letters(10), {})?.length, readWith(letters(11), {})], [20, null]) // 0 + 1 + ... + 9 is 45
  const reversed = (count: number) => Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(model(count)).reverse())))
  assert.deepEqual([readWith(reversed(5), model(5))?.length, readWith(reversed(20), model(20))], [10, null])
})

test('a name that JSON has to escape is never found in bytes that mean a different name', () => {
  for (const name of ['a":1,"b', 'a\\', 'a\n', '\u00e9', '\u{1f600}', 'a\u0000']) {
    const ours = (bytes: Buffer) => read(bytes, [name]) ?? 'left'
    for (const bytes of [
      Buffer.from(`{"${name}":2}`),
      Buffer.from(`{"${name}":2}`, 'latin1'),
      Buffer.from(JSON.stringify({ [name]: 2 })),
    ]) {
      assert.ok(ours(bytes) === 'left' || (isUtf8(bytes) && isDeepStrictEqual(ours(bytes), parsed(bytes.toString()))), bytes.toString())
    }
  }
})

const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '{',
      '}',
      '"',
      ':',
      ',',
      ' ',
      '-',
      '.',
      '0',
      '12',
      '3.5',
      'true',
      'false',
      'null',
      '\\',
      '[',
      ']',
      'e1',
      'é',
      '\n',
      '\u0000',
      '\ufffd',
    ],
  ),
  fc.constantFrom(...NAMES.map((name) => `"${name}":`)),
  fc.constantFrom(...NAMES.map((name) => `,"${name}":`)),
)
const plain = fc.oneof(
  fc.stringMatching(/^[a-z :,.-]{0,9}$/),
  fc.integer(),
  fc.integer().map((number) => number / 100),
  fc.boolean(),
  fc.constant(null),
)
const rare = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true }), fc.constant([]))
const value = fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: rare })
const likely = fc
  .record(Object.fromEntries(NAMES.map((name) => [name, value])), { requiredKeys: [] })
  .chain((object) => fc.constantFrom(JSON.stringify(object), JSON.stringify(object).replaceAll('":', '": ').replaceAll(',"', ', "')))
const broken = fc
  .tuple(likely, fc.nat(200), fc.nat(3), piece)
  .map(([text, at, dropped, put]) => text.slice(0, at) + put + text.slice(at + dropped))

test('whatever is read equals the result of JSON.parse, and most likely texts are read', () => {
  let count = 0
  fc.assert(
    fc.property(
      fc.oneof(
        likely,
        broken,
        fc.array(piece, { maxLength: 12 }).map((pieces) => `{${pieces.join('')}}`),
      ),
      (text) => {
        const pairs = read(text)
        if (pairs === null) return
        count++
        assert.deepEqual(pairs, parsed(text))
      },
    ),
    { numRuns: 5000 },
  )
  assert.ok(count > 1000, `${count} were read`)
})
