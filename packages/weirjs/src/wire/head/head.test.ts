import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'

import { DEFAULT_LIMITS } from '../../base/limits.ts'

import type { Head } from './head.ts'
import { HeadReader } from './head-reader.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function read(reader: HeadReader, fields: string): Head {
  const bytes = Buffer.from(`POST / HTTP/1.1\r\nHost: h\r\n${fields}\r\n`, 'latin1')
  reader.reset()
  const head = reader.read(bytes, 0, bytes.length, DEFAULT_LIMITS)
  assert.ok(head !== null)
  return head
}

test('contentType is that of this head, whatever earlier heads had', () => {
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

test('contentType is what get() returns, in any sequence of heads', () => {
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

test('host is that of this head, whatever earlier heads had', () => {
  const reader = new HeadReader()
  const long = 'h'.repeat(200)
  for (const host of ['a', 'a', long, long, 'a', 'b:80', `${long}x`, 'b:80', '']) {
    const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 'latin1')
    reader.reset()
    assert.equal(reader.read(bytes, 0, bytes.length, DEFAULT_LIMITS)?.host, host)
  }
})

test('a host has a name of at most 255 characters, because URL parsers take quadratic time for some longer ones', () => {
  for (const [host, isRead] of [
    [`${'h'.repeat(255)}:65535`, true],
    ['h'.repeat(262), false],
    [`${'h'.repeat(257)}:8080`, false],
    ['%CC%81'.repeat(44), false],
  ] as const)
    for (const head of [`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, `GET http://${host}/ HTTP/1.0\r\n\r\n`]) {
      const bytes = Buffer.from(head, 'latin1')
      const read = (): unknown => new HeadReader().read(bytes, 0, bytes.length, DEFAULT_LIMITS)?.host
      if (isRead) assert.equal(read(), host)
      else assert.throws(read, { code: 'WEIR_HOST_SYNTAX' })
    }
})

test('a reader keeps nothing of a large head, which may be its last one for a long time', () => {
  const large = 'h'.repeat(50_000)
  const heads = [
    `GET / HTTP/1.1\r\nHost: a\r\nX-Note: ${large}\r\n\r\n`,
    `GET http://the.host.of.a.large.target/${large} HTTP/1.0\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nContent-Type: ${large}\r\n\r\n`,
  ]
  for (const head of heads) {
    const bytes = Buffer.from(head, 'latin1')
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const readers = Array.from({ length: 100 }, () => new HeadReader())
    for (const reader of readers) assert.ok(reader.read(bytes, 0, bytes.length, DEFAULT_LIMITS) !== null)
    collectGarbage()
    const kept = (process.memoryUsage().heapUsed - before) / readers.length
    assert.ok(kept < 5_000, `${kept} bytes for each reader, of ${head.slice(0, 50)}`)
  }
})

test('only a reader can write to a head', () => {
  const head = read(new HeadReader(), '')
  // @ts-expect-error Cannot assign to 'keepAlive' because it is a read-only property.
  const write = (): void => void (head.keepAlive = false)
  assert.equal(typeof write, 'function')
})

test('pick() returns what get() does for each name, from one search', () => {
  const name = fc.constantFrom('Referer', 'referer', 'User-Agent', 'USER-AGENT', 'User-Agents', 'User', 'X', 'Cookie')
  const value = fc.constantFrom('', ' ', ' a', 'a: b', '\ta ', ' user-agent: x')
  const wanted = fc.subarray(['referer', 'user-agent', 'x', 'cookie', 'user', 'none', 'referer'])
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), wanted, (fields, names) => {
      const head = read(new HeadReader(), fields.map(([name, value]) => `${name}:${value}\r\n`).join(''))
      assert.deepEqual(
        head.pick(names),
        names.map((one) => head.get(one)),
      )
    }),
  )
})

test('pick() returns what is shown in the place of fields, as get() does', () => {
  const head = read(new HeadReader(), 'A: 1\r\nB: 2\r\nC: 3\r\n')
  head.show(
    new Map([
      ['a', null],
      ['b', 'other'],
    ]),
  )
  assert.deepEqual(head.pick(['a', 'b', 'c']), [null, 'other', '3'])
  head.show(null)
  assert.deepEqual(head.pick(['a', 'b', 'c']), ['1', '2', '3'])
})
