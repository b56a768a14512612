import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'

import { DEFAULT_LIMITS } from '../base/limits.ts'

import { type Head, HeadReader } from './head.ts'

function read(reader: HeadReader, fields: string): Head {
  const bytes = Buffer.from(`POST / HTTP/1.1\r\nHost: h\r\n${fields}\r\n`, 'latin1')
  reader.reset()
  const head = reader.read(bytes, 0, bytes.length, DEFAULT_LIMITS)
  assert.ok(head !== null)
  return head
}

test('contentType is what this head says, whatever the heads before it said', () => {
  const reader = new HeadReader()
  const rows: [fields: string, expected: string | null][] = [
    ['Content-Type: a/b\r\n', 'a/b'],
    ['Content-Type: a/b\r\n', 'a/b'],
    ['', null],
    ['Content-Type: a/c\r\n', 'a/c'],
    ['Content-Type:a/c\r\n', 'a/c'],
    ['Content-Type:xa/c\r\n', 'xa/c'],
    ['Content-Type: \t a/c \r\n', 'a/c'],
    ['content-type: a/c;d\r\n', 'a/c;d'],
    ['CONTENT-TYPE: a/c\r\n', 'a/c'],
    ['Content-Type: a/c\r\nX: y\r\nContent-Type: a/c\r\n', 'a/c, a/c'],
    ['Content-Type: a/c\r\n', 'a/c'],
    ['Content-Type:\r\n', ''],
    [`Content-Type: a/${'b'.repeat(500)}\r\n`, `a/${'b'.repeat(500)}`],
    ['Content-Typo: a/c\r\n', null],
    ['Content-Type: A/C\r\n', 'A/C'],
  ]
  for (const [fields, expected] of rows) assert.equal(read(reader, fields).contentType, expected, JSON.stringify(fields))
})

test('contentType is what get() gives for it, in any heads that follow one another', () => {
  const name = fc.constantFrom('Content-Type', 'content-type', 'CONTENT-TYPE', 'Content-Typo', 'X')
  const value = fc.constantFrom('', ' ', ' a/b', 'a/b', ' a/b ', '\ta/b', ' a/bc', ' A/B', '  a/b', ` a/${'b'.repeat(200)}`)
  const heads = fc.array(fc.array(fc.tuple(name, value), { maxLength: 3 }), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(heads, (all) => {
      const reader = new HeadReader()
      for (const fields of all) {
        const head = read(reader, fields.map(([name, value]) => `${name}:${value}\r\n`).join(''))
        assert.equal(head.contentType, head.get('content-type'))
      }
    }),
  )
})
