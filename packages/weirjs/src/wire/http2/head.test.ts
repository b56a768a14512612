import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { WeirError } from '../../base/errors.ts'
import { resolveLimits } from '../../base/limits.ts'

import { CHUNKED } from '../head/framing.ts'
import type { Head } from '../head/head.ts'
import { HeadReader } from '../head/head-reader.ts'
import { readHttp2Head } from './head.ts'
import { fieldsOf } from './hpack/header-field.ts'

const limits = resolveLimits({ maxRequestHeaderSize: 2000, maxRequestHeaders: 20 })
const read = (list: readonly string[], isWhole: boolean): Head => readHttp2Head(fieldsOf(list), isWhole, limits)

/** A list with the pseudo-header fields of GET, replaced by those that are passed. */
function listOf(pseudo: Readonly<Record<string, string>>, fields: readonly string[] = []): string[] {
  const all = { ':method': 'GET', ':scheme': 'https', ':authority': 'localhost', ':path': '/', ...pseudo }
  return [...Object.entries(all).flat(), ...fields]
}

const codeOf = (reading: () => unknown): string => {
  try {
    reading()
    return 'read'
  } catch (error) {
    assert.ok(error instanceof WeirError, String(error))
    assert.ok(error.fault === 'peer' || error.fault === 'limit')
    return error.code
  }
}
const refusal = (list: readonly string[], isWhole = true): string => codeOf(() => read(list, isWhole))

test('a list is read as the equivalent HTTP/1.1 head', () => {
  const head = read(listOf({ ':path': '/J%C3%BC?q', ':authority': 'a.org:8443' }, ['cookie', 'a=1', 'x-a', '', 'cookie', 'b=2']), true)
  assert.deepEqual([head.method, head.path, head.queryString, head.target, head.host], ['GET', '/Jü', 'q', '/J%C3%BC?q', 'a.org:8443'])
  assert.deepEqual([head.protocol, head.keepAlive, head.upgrade, head.contentLength], ['HTTP/2.0', true, false, 0])
  assert.deepEqual([head.get('host'), head.get('cookie'), head.get('x-a'), head.get('x-b')], ['a.org:8443', 'a=1; b=2', '', null])
  assert.equal(head.get(':path'), null)
})

test('the body has the length of Content-Length, an unknown length without one, and no length if the head ends the request', () => {
  const post = (fields: string[], isWhole: boolean): unknown[] => {
    const { contentLength, expectsContinue } = read(listOf({ ':method': 'POST' }, fields), isWhole)
    return [contentLength, expectsContinue]
  }
  assert.deepEqual(post([], true), [0, false])
  assert.deepEqual(post([], false), [CHUNKED, false])
  assert.deepEqual(post(['content-length', '5'], false), [5, false])
  assert.deepEqual(post(['content-length', '0'], false), [0, false])
  assert.deepEqual(post(['expect', '100-continue'], false), [CHUNKED, true])
  assert.deepEqual(post(['expect', '100-continue'], true), [0, false])
  assert.equal(refusal(listOf({}, ['content-length', '5'])), 'WEIR_CONTENT_LENGTH_SYNTAX')
})

const refusals: readonly (readonly [what: string, list: readonly string[], code: string])[] = [
  ['no :method', [':scheme', 'https', ':path', '/'], 'WEIR_PSEUDO_FIELDS'],
  ['no :path', [':method', 'GET', ':scheme', 'https'], 'WEIR_PSEUDO_FIELDS'],
  ['no :scheme', [':method', 'GET', ':path', '/'], 'WEIR_PSEUDO_FIELDS'],
  ['one that repeats', [...listOf({}), ':path', '/'], 'WEIR_PSEUDO_FIELDS'],
  ['one that comes late', [...listOf({}, ['a', 'b']), ':path', '/'], 'WEIR_PSEUDO_FIELDS'],
  ['one that nobody knows', listOf({ ':protocol': 'websocket' }), 'WEIR_PSEUDO_FIELDS'],
  ['one named like a member of Object', listOf({ ':constructor': '' }), 'WEIR_PSEUDO_FIELDS'],
  ['CONNECT', [':method', 'CONNECT', ':authority', 'a:1'], 'WEIR_METHOD_NOT_IMPLEMENTED'],
  ['a method with a line end', listOf({ ':method': 'GET\r\n' }), 'WEIR_METHOD_SYNTAX'],
  ['a path with a line end', listOf({ ':path': '/ HTTP/1.1\r\nx: y' }), 'WEIR_TARGET_SYNTAX'],
  ['a path with a character that is no byte', listOf({ ':path': '/\u010a' }), 'WEIR_TARGET_SYNTAX'],
  ['an empty path', listOf({ ':path': '' }), 'WEIR_TARGET_FORM'],
  ['a whole URL', listOf({ ':path': 'http://a/' }), 'WEIR_TARGET_FORM'],
  ['an authority with a line end', listOf({ ':authority': 'a\r\nx: y' }), 'WEIR_HOST_SYNTAX'],
  ['an authority that is too long', listOf({ ':authority': 'a'.repeat(262) }), 'WEIR_HOST_SYNTAX'],
  ['an authority with blanks around it', listOf({ ':authority': 'a ' }), 'WEIR_HOST_SYNTAX'],
  ['no authority and no host', [':method', 'GET', ':scheme', 'https', ':path', '/'], 'WEIR_HOST_MISSING'],
  ['a host that is another', listOf({}, ['host', 'b']), 'WEIR_HOST_MISMATCH'],
  ['two hosts', [...listOf({}, ['host', 'localhost', 'host', 'localhost'])], 'WEIR_HOST_MISMATCH'],
  ['a name in upper case', listOf({}, ['X', '1']), 'WEIR_FIELD_NAME_SYNTAX'],
  ['a name with a colon', listOf({}, ['x:y', '1']), 'WEIR_FIELD_NAME_SYNTAX'],
  ['a value with a line end', listOf({}, ['x', '1\r\ny: 2']), 'WEIR_FIELD_VALUE_SYNTAX'],
  ['a value with blanks around it', listOf({}, ['x', ' 1']), 'WEIR_FIELD_VALUE_SYNTAX'],
  ['a value with a character that is no byte', listOf({}, ['x', '\u010a']), 'WEIR_FIELD_VALUE_SYNTAX'],
  ['transfer-encoding', listOf({}, ['transfer-encoding', 'chunked']), 'WEIR_CONNECTION_FIELD'],
  ['te with more than trailers', listOf({}, ['te', 'trailers, gzip']), 'WEIR_CONNECTION_FIELD'],
  [
    'too many fields',
    listOf(
      {},
      Array.from({ length: 40 }, () => 'x'),
    ),
    'WEIR_TOO_MANY_FIELDS',
  ],
  ['too much', listOf({}, ['x', 'x'.repeat(2000)]), 'WEIR_HEAD_TOO_LARGE'],
  ['a path that is too long', listOf({ ':path': `/${'x'.repeat(2000)}` }), 'WEIR_TARGET_TOO_LONG'],
]
for (const [what, list, code] of refusals) {
  test(`refuses ${what}`, () => {
    assert.equal(refusal(list), code)
    assert.equal(refusal(listOf({})), 'read', 'and reads the next one')
  })
}

const text = fc.string({ unit: fc.constantFrom('a', 'B', '/', ':', ' ', '\r', '\n', '\0', '%', '2', 'e', '.', '@', '*', '\xfc', '\u010a') })

test('any list yields a head with the fields of the list, or one error', () => {
  const name = fc.oneof(fc.constantFrom('host', 'te', 'cookie', 'content-length', 'expect', 'connection', 'x-a'), text)
  const list = fc
    .tuple(
      fc.record({ ':method': text, ':scheme': text, ':authority': text, ':path': text }, { requiredKeys: [] }),
      fc.array(fc.tuple(name, fc.oneof(text, fc.constantFrom('0', 'localhost', 'trailers', '100-continue')))),
    )
    .map(([pseudo, fields]) => ({ pseudo, fields, list: listOf(pseudo, fields.flat()) }))
  fc.assert(
    fc.property(list, fc.boolean(), (given, isWhole) => {
      let head: Head
      try {
        head = read(given.list, isWhole)
      } catch (error) {
        assert.ok(error instanceof WeirError && (error.fault === 'peer' || error.fault === 'limit'), String(error))
        return
      }
      const own = [...head.entries()]
      if (own.length > given.fields.length) assert.equal(own.shift()![0], 'host')
      assert.deepEqual(own, given.fields)
    }),
    { numRuns: 2_000 },
  )
})

test('both readers agree on any target and host', () => {
  const target = text.map((rest) => `/${rest}`)
  fc.assert(
    fc.property(target, text, (path, host) => {
      const block = Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`, 'latin1')
      const isText = !/[\r\n\0 \u010a]/.test(path + host)
      fc.pre(isText)
      const first = codeOf(() => new HeadReader().read(block, 0, block.length, limits))
      assert.equal(refusal(listOf({ ':path': path, ':authority': host })), first)
    }),
    { numRuns: 2_000 },
  )
})
