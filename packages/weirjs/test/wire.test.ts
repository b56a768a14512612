// Every fixture of packages/weirjs/test/wire, cut in every way, leads to the same log. Further tests cover what a log does not show.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LimitError } from '../src/base/errors.ts'
import { resolveLimits } from '../src/base/limits.ts'
import type { Head } from '../src/wire/head/head.ts'
import { CLOSED, HEAD, NEED_DATA, WireConnection } from '../src/wire/http1/connection.ts'
import { cuts, loadWireCases, parseWireCases, pieces, type WireCase, wireTopics } from './support/wire-cases.ts'
import { formatReading, read } from './support/wire-reading.ts'

const FOLDER = 'packages/weirjs/test/wire'

const topics = wireTopics(FOLDER).map((name) => ({ name, cases: loadWireCases(`${FOLDER}/${name}.http`) }))
const isFocused = topics.some(({ cases }) => cases.some(({ only }) => only))

for (const topic of topics) {
  for (const wireCase of topic.cases) {
    const skip = wireCase.skip ?? (isFocused && !wireCase.only ? 'another case is marked "only"' : false)
    test(`${topic.name}: ${wireCase.name} (${wireCase.see})`, { skip, todo: wireCase.todo ?? false }, () => checkEveryCut(wireCase))
  }
}

function checkEveryCut(wireCase: WireCase): void {
  const { bytes, limits, halfClose, log } = wireCase
  for (const cut of cuts(bytes)) {
    for (const pauses of [false, true]) {
      const how = `${wireCase.where}: ${cut.name}${pauses ? ', pausing after each request' : ''}`
      assert.equal(
        logOf(how, () => formatReading(read(cut.parts, { limits, halfClose, pauses }), halfClose)),
        log,
        how,
      )
    }
  }
}

/** What is thrown in the middle of a reading states its place. */
function logOf(how: string, reading: () => string): string {
  try {
    return reading()
  } catch (error) {
    throw new Error(how, { cause: error })
  }
}

const CHUNKED_HEAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

test('bodyLimit, set after HEAD, replaces maxRequestBodySize', () => {
  const limits = resolveLimits({ maxRequestBodySize: 3 })
  const bytes = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello')
  const chunks = Buffer.from(`${CHUNKED_HEAD}5\r\nhello\r\n0\r\n\r\n`)
  for (const [bodyLimit, error] of [
    [5, null],
    [4, 'WEIR_BODY_TOO_LARGE'],
    [null, null],
  ] as const) {
    const onHead = (connection: WireConnection) => {
      connection.bodyLimit = bodyLimit
    }
    assert.equal(read([bytes], { limits, onHead }).error, error, `a length, limit ${bodyLimit}`)
    assert.equal(read([chunks], { limits, onHead }).error, error, `chunks, limit ${bodyLimit}`)
  }
})

test('for the next request, bodyLimit is that of the limits again', () => {
  const limits = resolveLimits({ maxRequestBodySize: 3 })
  const message = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello'
  const seen: (number | null)[] = []
  const reading = read([Buffer.from(message + message)], {
    limits,
    onHead(connection) {
      seen.push(connection.bodyLimit)
      if (seen.length === 1) connection.bodyLimit = 5
    },
  })
  assert.deepEqual(seen, [3, 3])
  assert.deepEqual([reading.messages[0]!.isWhole, reading.messages[1]!.isWhole, reading.error], [true, false, 'WEIR_BODY_TOO_LARGE'])
})

const CROSSINGS: readonly [
  limit: 'maxRequestHeaderSize' | 'maxRequestHeaders' | 'maxRequestBodySize' | 'maxChunkExtensionSize',
  bytes: string,
][] = [
  ['maxRequestHeaderSize', `GET / HTTP/1.1\r\nHost: a\r\nB: ${'x'.repeat(100)}\r\n\r\n`],
  ['maxRequestHeaderSize', `GET /${'x'.repeat(100)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ['maxRequestHeaders', `GET / HTTP/1.1\r\nHost: a\r\n${'B: c\r\n'.repeat(70)}\r\n`],
  ['maxRequestBodySize', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 80\r\n\r\n`],
  ['maxRequestBodySize', `${CHUNKED_HEAD}50\r\n${'x'.repeat(80)}`],
  ['maxChunkExtensionSize', `${CHUNKED_HEAD}5;${'a'.repeat(80)}\r\n`],
]

test('a refusal for a limit names the option and what it allows', () => {
  for (const [limit, bytes] of CROSSINGS) {
    const connection = new WireConnection(resolveLimits({ [limit]: 64 }))
    connection.receive(Buffer.from(bytes), bytes.length)
    assert.throws(
      () => {
        while (connection.next() !== NEED_DATA);
      },
      (error) => error instanceof LimitError && error.limit === limit && error.maximum === 64,
      limit,
    )
  }
})

test('a head may be kept: it is the same after the next request was read', () => {
  const heads: Head[] = []
  const first = 'GET /1?a HTTP/1.1\r\nHost: one\r\nB: c\r\n\r\n'
  const second = 'POST /22222 HTTP/1.0\r\nD: efghijkl\r\nContent-Length: 1\r\n\r\nx'
  read(pieces(Buffer.from(first + second), 7), { onHead: (connection) => heads.push(connection.head) })
  const [one, two] = heads
  assert.deepEqual(
    [one!.method, one!.url, one!.host, [...one!.entries()]],
    [
      'GET',
      '/1?a',
      'one',
      [
        ['Host', 'one'],
        ['B', 'c'],
      ],
    ],
  )
  assert.deepEqual([two!.method, two!.url, two!.contentLength], ['POST', '/22222', 1])
})

test('after a refusal, nothing more is read', () => {
  const connection = new WireConnection(resolveLimits())
  connection.receive(Buffer.from('\0'), 1)
  assert.throws(() => connection.next(), { code: 'WEIR_FIRST_BYTE' })
  const more = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  connection.receive(more, more.length)
  assert.equal(connection.next(), CLOSED)
  assert.equal(connection.heldBytes, 0)
  assert.equal(connection.buffer.length, 0, 'not even a reference is kept')
})

test('an empty piece changes nothing', () => {
  const connection = new WireConnection(resolveLimits())
  const bytes = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  connection.receive(bytes, 10)
  assert.equal(connection.next(), NEED_DATA)
  connection.receive(bytes, 0)
  assert.equal(connection.next(), NEED_DATA)
  connection.receive(bytes.subarray(10), bytes.length - 10)
  assert.equal(connection.next(), HEAD)
})

test('a malformed fixture is an error with its place, not a missing case', () => {
  const broken: readonly [text: string, message: RegExp][] = [
    ['=== a\n>>>\n<<<\n', /f:1: a heading is/],
    ['=== a -- b\n>>>\nGET\n', /f:1: ">>>" without/],
    ['=== a -- b\n>>>\n=== c -- d\n>>>\n<<<\n', /f:1: ">>>" without/],
    ['=== a -- b\nskip\n>>>\n<<<\n', /f:2: not an option/],
    ['=== a -- b\n>>>\n\\q\n<<<\n', /f:3: write .* as an escape/],
    ['=== a -- b\n>>>\n\u00e9\n<<<\n', /f:3: write .* as an escape/],
    ['=== a -- b\nlimits maxRequestHeader=1\n>>>\n<<<\n', /maxRequestHeader/],
    ['GET / HTTP/1.1\n', /f:1: neither/],
  ]
  for (const [text, message] of broken) assert.throws(() => parseWireCases('f', text), message)
})

test('a fixture is read as it is written', () => {
  const text = "=== a -- b\n>>>\n{{'x\\r\\n' * 2}}\n\\x00\\\\\\t\\\n\ny\\\\\n<<<\nlog {{'z' * 3}}\n\n"
  const [wireCase] = parseWireCases('f', text)
  assert.equal(wireCase!.bytes.toString('latin1'), 'x\r\nx\r\n\r\n\0\\\t\r\ny\\\r\n')
  assert.equal(wireCase!.log, 'log zzz')
})
