import assert from 'node:assert/strict'
import { test } from 'node:test'

import { serialize } from 'cookie'
import fc from 'fast-check'

import { MOST_COOKIES, parseCookies } from './cookie.ts'

const CASES: readonly (readonly [says: string, header: string, cookies: readonly string[]])[] = [
  ['cookies keep their order and their duplicates', 'b=2; a=1; b=3', ['b', '2', 'a', '1', 'b', '3']],
  ['the space after a semicolon may be missing', 'a=1;b=2', ['a', '1', 'b', '2']],
  ['only SP and HTAB are trimmed', ' \ta =\t1 ;\xa0b\xa0=\xa02\xa0', ['a', '1', '\xa0b\xa0', '\xa02\xa0']],
  ['the first equals sign splits', 'a=b=c==', ['a', 'b=c==']],
  ['a value may be empty', 'a=; b=""', ['a', '', 'b', '""']],
  ['a piece without an equals sign or without a name is skipped', 'a; =b; c=d;; ; e', ['c', 'd']],
  ['an equals sign in one piece does not count for the piece before it', 'a; b=1', ['b', '1']],
  [
    'quotes belong to the value, as in the browser that sends them',
    'a="x"; b=""y""; c="; d="z; e=z"',
    ['a', '"x"', 'b', '""y""', 'c', '"', 'd', '"z', 'e', 'z"'],
  ],
  ['a semicolon inside quotes splits too: RFC 6265 has no way to quote it', 'a="x;y=1"', ['a', '"x', 'y', '1"']],
  ['valid percent-encoded UTF-8 is decoded', 'a=%C3%A9%20%3D%3b; b="%22"', ['a', 'é =;', 'b', '"""']],
  ['a value with a malformed escape is returned as it was sent', 'a=100%; b=%zz%41; c=%4', ['a', '100%', 'b', '%zz%41', 'c', '%4']],
  [
    'a value whose escapes are not UTF-8 is returned as it was sent',
    'a=%C3; b=%C0%80; c=%ED%A0%80',
    ['a', '%C3', 'b', '%C0%80', 'c', '%ED%A0%80'],
  ],
  ['a plus stays a plus', 'a=1+1', ['a', '1+1']],
  ['names are not decoded', '%61=1', ['%61', '1']],
  ['names are case-sensitive and may be any text', '__proto__=1; A=2; a=3', ['__proto__', '1', 'A', '2', 'a', '3']],
  ['an empty header has no cookies', '', []],
]

for (const [says, header, cookies] of CASES) {
  test(`${says}: ${JSON.stringify(header)}`, () => assert.deepEqual(parseCookies(header), cookies))
}

test('cookies that a response sets are read back unchanged', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_-]+$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string({ unit: 'binary' }))), (pairs) => {
      const header = pairs.map(([key, value]) => serialize(key, value)).join('; ')
      assert.deepEqual(parseCookies(header), pairs.flat())
    }),
  )
})

test('any header yields pairs whose names are not empty', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '=', ';', ' ', '"', '%', '4', '\t', 'é') }), (header) => {
      const cookies = parseCookies(header)
      assert.equal(cookies.length % 2, 0)
      for (let i = 0; i < cookies.length; i += 2) assert.match(cookies[i]!, /^[^=;\s].*/)
    }),
  )
})

test('the first cookies are read, and no more than are allowed', () => {
  const named = (length: number): string[] => Array.from({ length }, (_, i) => `c${i}=${i}`)
  const read = (pieces: readonly string[]): number => parseCookies(pieces.join('; ')).length / 2
  assert.equal(read(named(MOST_COOKIES)), MOST_COOKIES)
  assert.deepEqual(parseCookies(named(MOST_COOKIES + 1).join('; ')), parseCookies(named(MOST_COOKIES).join('; ')))
  assert.equal(read([...Array.from({ length: MOST_COOKIES - 1 }, () => 'no cookie'), ...named(9)]), 1)
})
