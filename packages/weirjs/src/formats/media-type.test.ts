import assert from 'node:assert/strict'
import { test } from 'node:test'

import { isJson, parseMediaType } from './media-type.ts'

const READ: readonly (readonly [value: string, type: string, parameters: Readonly<Record<string, string>>])[] = [
  ['text/html', 'text/html', {}],
  [' Application/JSON\t', 'application/json', {}],
  ['text/html;charset=utf-8', 'text/html', { charset: 'utf-8' }],
  ['text/html ; Charset="UTF-8" ; a=b', 'text/html', { charset: 'UTF-8', a: 'b' }],
  ['text/html;; ;a=b; ', 'text/html', { a: 'b' }],
  ['a/b;x="q \\"u\\\\o\\t;= é"', 'a/b', { x: 'q "u\\ot;= é' }],
  ['a/b;x=""', 'a/b', { x: '' }],
  ['a/b;__proto__=1', 'a/b', { ['__proto__']: '1' }],
  ['application/vnd.api+json;profile="a b"', 'application/vnd.api+json', { profile: 'a b' }],
]

for (const [value, type, parameters] of READ) {
  test(`reads ${JSON.stringify(value)}`, () => {
    const read = parseMediaType(value)
    assert.equal(read?.type, type)
    assert.deepEqual([...(read?.parameters ?? [])], Object.entries(parameters))
  })
}

const REFUSED = [
  '',
  'text',
  '/',
  'text/',
  '/html',
  'text/html/x',
  'text /html',
  'text/ html',
  'te xt/html',
  'text/html, text/plain',
  'text/html;charset',
  'text/html;charset=',
  'text/html;=utf-8',
  'text/html;charset =utf-8',
  'text/html;charset= utf-8',
  'text/html;charset="utf-8',
  'text/html;charset="utf-8\\',
  'text/html;charset="utf-8\\"',
  'text/html;charset="utf"-8',
  'text/html;charset=utf-8 x',
  'text/html;a="\0"',
  'text/html;a="\\\n"',
  'text/html;a="\u0100"',
  'text/html;charset=utf-8;Charset=utf-8',
  '\xa0text/html',
  'téxt/html',
]

for (const value of REFUSED) {
  test(`refuses ${JSON.stringify(value)}`, () => assert.equal(parseMediaType(value), null))
}

test('JSON is application/json and anything that ends in +json, in upper or lower case', () => {
  for (const type of ['application/json', 'Application/JSON', 'application/problem+json', 'model/x+Json']) assert.equal(isJson(type), true)
  for (const type of ['text/json', 'application/jsonp', 'application/json-seq', 'application/x-json', 'json'])
    assert.equal(isJson(type), false)
})

test('a media type has at most 256 parameters', () => {
  const withParameters = (count: number): string => `text/plain${Array.from({ length: count }, (_, i) => `;${i}=1`).join('')}`
  assert.equal(parseMediaType(withParameters(256))?.parameters.size, 256)
  assert.equal(parseMediaType(withParameters(257)), null)
})
