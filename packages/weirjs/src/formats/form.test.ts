import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { PayloadTooLargeError } from '../base/errors.ts'

import { foldForm, parseForm, parseFormBytes } from './form.ts'

const MARKS = ['&', '=', '+', '%41', '%C3%A9', '%5B%5D', '[]', '?', '#', ';', ' ', '\0', '%EF%BB%BF']
const BAD_ESCAPES = ['%', '%2', '%zz', '%C3', '%80', '%ED%A0%80', '%F0%9F%98']

function textOf(...pieces: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.array(fc.oneof(...pieces), { maxLength: 30 }).map((list) => list.join(''))
}

function sameAsUrlSearchParams(text: string): void {
  assert.deepEqual(parseForm(text), [...new URLSearchParams(`?${text}`)].flat())
}

test('parseForm reads a form as URLSearchParams does', () => {
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 3 }).filter((text) => !text.includes('%'))
  const any = fc.string({ unit: 'binary', maxLength: 3 }).filter((text) => !text.includes('%'))
  fc.assert(fc.property(textOf(fc.constantFrom(...MARKS), any), sameAsUrlSearchParams))
  // Bad escapes appear next to ASCII only: next to other characters, Node 20 cuts their code points to one byte. See the test below.
  fc.assert(fc.property(textOf(fc.constantFrom(...MARKS, ...BAD_ESCAPES), ascii), sameAsUrlSearchParams))
})

test('a bad escape does not change the characters next to it', () => {
  assert.deepEqual(parseForm('a=%é&b=%C3é&c=%zz\u{1f600}+%'), ['a', '%é', 'b', '\ufffdé', 'c', '%zz\u{1f600} %'])
})

test('bytes that are not UTF-8 become U+FFFD as in URLSearchParams', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      const text = `a=${[...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')}`
      assert.deepEqual(parseForm(text), [...new URLSearchParams(text)].flat())
    }),
  )
})

test('parseForm reads back what URLSearchParams writes', () => {
  const pair = fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(fc.array(pair), (pairs) => {
      assert.deepEqual(parseForm(new URLSearchParams(pairs).toString()), pairs.flat())
    }),
  )
})

test('a leading question mark belongs to the first name', () => {
  assert.deepEqual(parseForm('?a=1'), ['?a', '1'])
})

test('as many pairs as allowed are read, one more is refused', () => {
  assert.equal(parseForm('a=1&b=2&&c', 3).length, 6)
  assert.throws(
    () => parseForm('a=1&b=2&&c&d', 3),
    (error: unknown) =>
      error instanceof PayloadTooLargeError && error.limit === 'maxFormPairs' && error.maximum === 3 && error.status === 413,
  )
  assert.equal(parseForm('a&'.repeat(1000)).length, 2000)
  assert.throws(() => parseForm('a&'.repeat(1001)), PayloadTooLargeError)
})

test('a name that repeats or ends in [] becomes a list, any other a single value', () => {
  const folded = foldForm(parseForm('one=1&two=a&two=b&three[]=x&four%5B%5D=y&four[]=z&two=c&five=v&five[]=w&[]=n&a[b]=flat'))
  assert.deepEqual(
    { ...folded },
    { one: '1', two: ['a', 'b', 'c'], three: ['x'], four: ['y', 'z'], five: ['v', 'w'], '': ['n'], 'a[b]': 'flat' },
  )
})

test('names of Object.prototype are names like any other', () => {
  const folded = foldForm(parseForm('__proto__=a&__proto__=b&constructor=c'))
  assert.equal(Object.getPrototypeOf(folded), null)
  assert.deepEqual(Object.entries(folded), [
    ['__proto__', ['a', 'b']],
    ['constructor', 'c'],
  ])
  assert.equal(foldForm([])['toString'], undefined)
})

test('expected names do not change the result, except that a name found among them is that same string', () => {
  const names = ['name', 'e-mail', 'a b', 'ticked', 'last']
  const word = fc.oneof(fc.constantFrom(...names, 'nam', 'names', ''), fc.string({ unit: 'grapheme', maxLength: 4 }))
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word)), fc.boolean(), (pairs, isPlain) => {
      const text = isPlain ? pairs.map(([name, value]) => `${name}=${value}`).join('&') : new URLSearchParams(pairs).toString()
      const list = parseForm(text, Number.POSITIVE_INFINITY)
      const form = parseFormBytes(Buffer.from(text), 0, Buffer.byteLength(text), Number.POSITIVE_INFINITY, names)
      assert.deepEqual(form.pairs, list)
      if (form.isFlat) assert.deepEqual(Object.entries(foldForm(list)).flat(), list)
    }),
  )
})

test('a form is read the same whether or not it fits into the buffer for short forms', () => {
  for (const value of ['%41', '+%', 'é%C3%A9', '%ff', 'a=b%', '%4', 'x&y&&=z%3d']) {
    for (const times of [1, 100, 170, 171, 200, 700, 1400, 4096, 5000]) {
      const text = `name=${value.repeat(times)}&%6c=${'+'.repeat(times)}`
      assert.deepEqual(parseForm(text, Number.POSITIVE_INFINITY), [...new URLSearchParams(`?${text}`)].flat())
      const bytes = Buffer.from(`=&=${text}=&=`)
      assert.deepEqual(
        parseFormBytes(bytes, 3, bytes.length - 3, Number.POSITIVE_INFINITY, []).pairs,
        parseForm(text, Number.POSITIVE_INFINITY),
      )
    }
  }
})

test('percent-escapes are decoded before UTF-8, as the standard requires', () => {
  const read = (bytes: Buffer) => parseFormBytes(bytes, 0, bytes.length, 10, []).pairs
  assert.deepEqual(read(Buffer.from('a=\xc3%A9&\xff=%C3\xa9', 'latin1')), ['a', 'é', '\ufffd', 'é'])
})

test('bytes that are not UTF-8 are read the same in a long form without escapes', () => {
  const read = (bytes: Buffer) => parseFormBytes(bytes, 0, bytes.length, 10, []).pairs
  const tail = `&long=${'x'.repeat(5000)}`
  for (const text of ['a=\xc3&b=\xff', '\xf0\x9f=\xe2\x82&\xa9=', '\xc3=\xc3\xa9&=\xc3']) {
    const short = Buffer.from(text, 'latin1')
    assert.deepEqual(read(Buffer.concat([short, Buffer.from(tail)])).slice(0, -2), read(short))
  }
})

test('parseFormBytes does not create pairs above the limit either', () => {
  for (const value of ['x', '%41', 'x'.repeat(5000), '%41'.repeat(2000)]) {
    const bytes = Buffer.from(`a=${value}&b=${value}`)
    assert.equal(parseFormBytes(bytes, 0, bytes.length, 2, ['a', 'b']).pairs.length, 4)
    assert.throws(() => parseFormBytes(bytes, 0, bytes.length, 1, ['a', 'b']), PayloadTooLargeError)
  }
})

test('only a form whose names are all expected and different is flat', () => {
  const isFlat = (text: string) => parseFormBytes(Buffer.from(text), 0, Buffer.byteLength(text), 10, ['a', 'b', 'c', 'd[]']).isFlat
  for (const text of ['', 'a=1', 'a=1&b=2&c=3', 'a&c', 'b=ü&c=%C3%BC']) assert.equal(isFlat(text), true, text)
  for (const text of ['a=1&a=2', 'b=1&a=2', 'x=1', 'a=1&x=2', 'a[]=1', 'c=1&d[]=2', '=']) assert.equal(isFlat(text), false, text)
})
