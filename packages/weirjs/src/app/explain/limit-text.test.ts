import assert from 'node:assert/strict'
import { test } from 'node:test'

import { DEFAULT_LIMITS } from '../../base/limits.ts'
import { limitText, setBy } from './limit-text.ts'

test('a value has the largest unit that it is a whole number of', () => {
  const cases: readonly (readonly [string, number | null, string])[] = [
    ['maxRequestBodySize', null, 'none'],
    ['maxRequestBodySize', 0, '0 B'],
    ['maxRequestBodySize', 1023, '1023 B'],
    ['maxRequestBodySize', 1024, '1 KiB'],
    ['maxRequestBodySize', 1536, '1536 B'],
    ['maxRequestBodySize', 10 * 1024 ** 2, '10 MiB'],
    ['maxRequestBodySize', 3 * 1024 ** 3, '3 GiB'],
    ['requestTimeout', 999, '999 ms'],
    ['requestTimeout', 1000, '1 s'],
    ['requestTimeout', 1500, '1500 ms'],
    ['maxRequestHeaders', 200, '200'],
    ['minBodyRate', 256, '256 B/s'],
  ]
  for (const [name, value, text] of cases) assert.equal(limitText(name, value), text, `${name} ${value}`)
})

test('a server that has the default has not set it; a route has', () => {
  const { maxRequestHeaders } = DEFAULT_LIMITS
  assert.equal(setBy('maxRequestHeaders', maxRequestHeaders, 'server'), 'default')
  assert.equal(setBy('maxRequestHeaders', maxRequestHeaders + 1, 'server'), 'server')
  assert.equal(setBy('maxRequestHeaders', maxRequestHeaders, 'route'), 'route')
})
