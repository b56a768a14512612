import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import type { HttpSession } from '../../http/session.ts'
import { principalKey, shortKey } from './principal-key.ts'

test('one id of two issuers is two principals, although their schemes have one name', () => {
  const keyOf = (iss: unknown, id = '7', scheme = 'jwt') =>
    principalKey('a test', { principal: { id, scheme, claims: { iss } } } as unknown as HttpSession)
  assert.equal(keyOf('https://a.example'), keyOf('https://a.example'))
  const keys = [
    ...['https://a.example', 'https://b.example', undefined, '', '3 jwt', 'a string 7'].map((iss) => keyOf(iss)),
    keyOf('a', 'string 7 string 7'),
    keyOf(undefined, '7', 'jwt 1 a'),
  ]
  assert.equal(new Set(keys).size, keys.length)
})

test('different keys stay different, also one that is written as the short form of another', () => {
  const long = 'x'.repeat(300)
  const keys = ['', 'ann', 'x'.repeat(256), long, `${long}y`]
  for (let i = 0; i < 3; i++) keys.push(...keys.map(shortKey))
  const distinct = [...new Set(keys)]
  assert.equal(new Set(distinct.map(shortKey)).size, distinct.length)
  for (const key of distinct) assert.ok(shortKey(key).length <= 256)
  const halves = ['a\ud800', 'a\ud801', 'a\ufffd'].map((key) => Buffer.from(shortKey(key)).toString('hex'))
  assert.equal(new Set(halves).size, 3, 'in UTF-8, too, which stores use')
})
