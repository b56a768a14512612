// Three targets on a whole Connection: heads, everything with bodies, and only chunks. wire-reading.ts also checks that events are in
// order, that nothing borrowed is kept, that a refusal is final, and that all views of a head agree.

import assert from 'node:assert/strict'

import { type Limits, resolveLimits } from '../../../packages/weirjs/src/base/limits.ts'
import { loadWireCases, pieces, wireTopics } from '../../../packages/weirjs/test/support/wire-cases.ts'
import { formatReading, type Message, type Reading, read } from '../../../packages/weirjs/test/support/wire-reading.ts'
import { readByNode } from '../node-reading.ts'
import type { Random } from '../random.ts'
import { assertSameWords, cutRandomly, cutTwice, type Target } from '../target.ts'
import { WireWords } from '../wire-words.ts'

const FIXTURES = 'packages/weirjs/test/wire'
const LIMITS: readonly Limits[] = [
  resolveLimits(),
  resolveLimits(),
  resolveLimits({ maxRequestHeaderSize: 400, maxRequestHeaders: 6, maxRequestBodySize: 40, maxChunkExtensionSize: 12 }),
  resolveLimits({ maxRequestHeaderSize: 80, maxRequestHeaders: 2, maxRequestBodySize: 0, maxChunkExtensionSize: 0 }),
]
/** The grammar of a head, written a second time in another way. If one piece does not fit, the whole does not match. */
const HEAD = /^(?:\r\n)?[!#$%&'*+.^_`|~\w-]+ [!"$-[\]-~]+ HTTP\/1\.\d\r\n(?:[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/
/** Refusals of bytes that are not a head; a head can only be refused for its content. */
const SYNTAX = /^WEIR_(?:FIRST_BYTE|METHOD_SYNTAX|REQUEST_LINE_SYNTAX|TARGET_SYNTAX|VERSION_SYNTAX|LINE_END|FIELD_\w+)$/
/** Refusals of bytes that are not chunks or trailers, or no refusal at all. */
const BODY_SYNTAX = /^(?:nothing|WEIR_CHUNK_(?!EXTENSIONS_TOO_LARGE)\w+|WEIR_LINE_END|WEIR_FIELD_\w+)$/
/** Node costs a hundred times as much as weir. */
const NODE_IS_ASKED = 16

export const WIRE_WORDS = [
  ...['\r\n', '\r\n\r\n', '\n', '\r', ' ', '\t', '\0', '\x7f', '\x80', '\xa0', '\xff', ':', ': ', ';', ',', '"', '\\', '='],
  ...['GET', 'HEAD', 'POST', 'OPTIONS', 'CONNECT', 'get', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\x16\x03\x01'],
  ...[' / ', ' * ', ' http://a/ ', ' a:80 ', '/%2F', '/%2e%2e', '/../', '/%00', '/%ff', '/%', '?', '#', '//', '\\'],
  ...['HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.1\r\n', ' HTTP/1.1\r\nHost: a\r\n'],
  ...['Host: a\r\n', 'Host: b\r\n', 'Host:\r\n', 'Host: [::1]:80\r\n', 'host', 'Expect: 100-continue\r\n', 'Expect: 200-ok\r\n'],
  ...['Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Content-Length: 5, 5\r\n', 'Content-Length: +5\r\n', 'Content-Length'],
  ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'Transfer-Encoding', 'chunked', 'identity', ';q=1'],
  ...['Connection: close\r\n', 'Connection: keep-alive\r\n', 'Connection: upgrade\r\nUpgrade: x\r\n', 'Cookie: a=b\r\n', 'Trailer: a\r\n'],
  ...[
    '0\r\n\r\n',
    '0\r\n',
    '5\r\nhello\r\n',
    '5;a=b\r\n',
    '5;a="b\\""\r\n',
    ' ; a = b',
    'ffffffffffffff',
    '0000000000000',
    '1fffffffffffff',
  ],
  ...[
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
    'A: b\r\n',
    ' b\r\n',
    'A : b\r\n',
  ],
]

function* fixtures(topics: (topic: string) => boolean): Generator<Buffer> {
  for (const topic of wireTopics(FIXTURES).filter(topics)) for (const { bytes } of loadWireCases(`${FIXTURES}/${topic}.http`)) yield bytes
}

/** Compares the words of the whole input and of three pieces. */
function readTwice(bytes: Buffer, choices: Random): string {
  const limits = choices.pick(LIMITS)
  const halfClose = choices.oneIn(2)
  const whole = new WireWords(bytes, [bytes.length], limits, halfClose)
  const cut = new WireWords(bytes, cutTwice(bytes.length, choices), limits, halfClose)
  assertSameWords(cut.words, whole.words, 'cut')
  return whole.outcome
}

/** Compares the logs of the whole input, of pieces, and byte by byte. */
function readEveryWay(bytes: Buffer, limits: Limits, choices: Random): Reading {
  const halfClose = choices.oneIn(2)
  const reading = read([bytes], { limits, halfClose })
  const log = formatReading(reading, halfClose)
  for (const [how, parts] of [
    ['cut', cutRandomly(bytes, choices)],
    ['byte by byte', pieces(bytes, 1)],
  ] as const) {
    const other = read(parts, { limits, halfClose, pauses: choices.oneIn(2) })
    assert.equal(formatReading(other, halfClose), log, how)
    const most = 2 * (limits.maxRequestHeaderSize + bytes.length) + 4096
    assert.ok(other.mostHeldBytes <= most, `${other.mostHeldBytes} bytes held`)
  }
  for (const [i, message] of reading.messages.entries()) {
    assert.ok(message.isWhole || i === reading.messages.length - 1, 'only the last request may lack its end')
    checkMeaning(message)
  }
  return reading
}

/** What the fields mean together, by the rules of RFC 9112 §3.2, §6 and §9.3 and RFC 9110 §10.1.1, read from the list of fields alone. */
function checkMeaning(message: Message): void {
  const { minorVersion, target, host, keepAlive, bodyKind, contentLength, expectsContinue } = message
  const valuesOf = (wanted: string): string[] => message.fields.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
  const [hosts, lengths, codings] = [valuesOf('host'), valuesOf('content-length'), valuesOf('transfer-encoding')]
  assert.ok(hosts.length === 1 || (hosts.length === 0 && minorVersion === 0), `${hosts.length} Hosts`)
  const authority = /^https?:\/\/([^/?]*)/i.exec(target)?.[1]
  if (authority !== undefined && hosts.length === 1) assert.equal(hosts[0]!.toLowerCase(), authority.toLowerCase(), 'a Host that differs')
  assert.equal(host, hosts[0] ?? authority ?? '')
  assert.ok(lengths.length + codings.length <= 1, 'a length that is stated more than once')
  if (lengths.length === 1) assert.match(lengths[0]!, /^\d+$/)
  if (codings.length === 1) assert.ok(minorVersion === 1 && /^chunked$/i.test(codings[0]!), 'a transfer coding that is not supported')
  assert.equal(contentLength, codings.length === 1 ? -1 : Number(lengths[0] ?? 0))
  assert.equal(bodyKind, codings.length === 1 ? 'chunked' : contentLength === 0 ? 'none' : 'length')
  const options = valuesOf('connection').flatMap((value) =>
    value.split(',').map((one) => one.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase()),
  )
  assert.equal(keepAlive, !options.includes('close') && (minorVersion === 1 || options.includes('keep-alive')))
  const expectations = valuesOf('expect').map((value) => value.toLowerCase())
  assert.equal(expectsContinue, minorVersion === 1 && contentLength !== 0 && expectations.join() === '100-continue')
}

async function agreeWithNode(bytes: Buffer, { messages, error }: Reading): Promise<void> {
  const node = await readByNode(bytes)
  if (node === null) return
  const ours = messages.filter(({ isWhole }) => isWhole)
  for (const [i, theirs] of node.requests.slice(0, ours.length).entries()) assert.deepEqual(asNode(ours[i]!), theirs, `request ${i + 1}`)
  if (ours.length > node.requests.length) assert.ok(node.refuses, 'weir reads a request that Node neither reads nor refuses')
  if (ours.length < node.requests.length) assert.ok(error !== null, 'Node reads a request that weir neither reads nor refuses')
}

function asNode(message: Message): unknown {
  const { method, target, minorVersion, fields, body, trailers } = message
  return { method, target, version: `1.${minorVersion}`, fields: fields.flat(), body: body.toString('latin1'), trailers: trailers.flat() }
}

export const headTarget: Target = {
  name: 'head',
  promise:
    'what is read as a head follows the grammar, what follows the grammar is not refused for its syntax, and a head written again is the same head',
  dictionary: WIRE_WORDS,
  maxBytes: 2000,
  seeds: () => fixtures((topic) => topic !== 'chunked'),
  quickCheck: readTwice,
  fullCheckOneIn: 32,
  fullCheck(bytes, choices) {
    const limits = choices.pick(LIMITS)
    const reading = readEveryWay(bytes, limits, choices)
    const first = reading.messages[0]
    const isHead = HEAD.test(bytes.toString('latin1'))
    if (first === undefined) {
      if (isHead) assert.doesNotMatch(reading.error ?? 'nothing', /^nothing$/, 'a complete head is read or refused')
      if (isHead) assert.doesNotMatch(reading.error!, SYNTAX, 'refused for its syntax, but its syntax is valid')
    } else {
      assert.ok(isHead, 'read as a head, but it is not a head')
      if (limits === LIMITS[0]) assertSameAgain(first)
    }
  },
}

function assertSameAgain(message: Message): void {
  const fields = message.fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const text = `${message.method} ${message.target} HTTP/1.${message.minorVersion}\r\n${fields}\r\n`
  const again = read([Buffer.from(text, 'latin1')]).messages[0]!
  const { body: _body, trailers: _trailers, isWhole: _isWhole, ...head } = message
  const { body: _body2, trailers: _trailers2, isWhole: _isWhole2, ...second } = again
  assert.deepEqual(second, head)
}

export const chunkedTarget: Target = {
  name: 'chunked',
  promise: 'a body is what a second reader finds in the same bytes, a connection reads the same however it is cut, and Node does so too',
  dictionary: WIRE_WORDS,
  maxBytes: 3000,
  seeds: () => fixtures(() => true),
  quickCheck: readTwice,
  fullCheckOneIn: 32,
  fullCheck(bytes, choices) {
    const limits = choices.pick(LIMITS)
    const reading = readEveryWay(bytes, limits, choices)
    checkFirstBody(bytes, reading)
    return limits === LIMITS[0] && choices.oneIn(NODE_IS_ASKED) ? agreeWithNode(bytes, reading) : undefined
  },
}

const CHUNKED_HEAD = Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')

/** With a head that is always valid, more inputs reach the chunks. */
export const chunksTarget: Target = {
  name: 'chunks',
  promise: chunkedTarget.promise,
  dictionary: [
    ...[
      '\r\n',
      '\r\n\r\n',
      '\r',
      '\n',
      ' ',
      '\t',
      ';',
      '=',
      '"',
      '\\',
      '\\"',
      '""',
      ',',
      ':',
      '\0',
      '\x7f',
      '\x80',
      '\xff',
      '0',
      '00',
      'a',
      'F',
      'g',
      '0x',
      '-1',
      '+1',
    ],
    ...[
      '0\r\n\r\n',
      '5\r\nhello\r\n',
      ';a',
      ';a=b',
      '; a = "b"',
      ' ; a',
      ';a="\\""',
      'fffffffffffff',
      '0000000000001',
      'A: b\r\n',
      'A : b\r\n',
      ' b\r\n',
      '\r\n0\r\n',
    ],
  ],
  maxBytes: 600,
  *seeds() {
    for (const bytes of fixtures((topic) => topic === 'chunked')) yield bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
  },
  quickCheck: (bytes, choices) => readTwice(Buffer.concat([CHUNKED_HEAD, bytes]), choices),
  fullCheckOneIn: 32,
  fullCheck: (bytes, choices) => chunkedTarget.fullCheck(Buffer.concat([CHUNKED_HEAD, bytes]), choices),
}

/** Reads the first body, if it is chunked and complete, with another reader. */
function checkFirstBody(bytes: Buffer, { messages, error }: Reading): void {
  const message = messages[0]
  if (message === undefined || message.bodyKind !== 'chunked') return
  const text = bytes.toString('latin1')
  const body = chunksOf(text.slice(text.indexOf('\r\n\r\n', text.startsWith('\r\n') ? 2 : 0) + 4))
  assert.ok(!message.isWhole || body !== null, 'read as a complete body, but it is not')
  if (body === null) return
  if (!message.isWhole) assert.doesNotMatch(error ?? 'nothing', BODY_SYNTAX, 'a complete body, but refused for its syntax')
  if (!message.isWhole) return
  assert.equal(message.body.toString('latin1'), body.data)
  assert.deepEqual(message.trailers, body.trailers)
}

const SIZE_LINE =
  /^([0-9a-f]{1,13})(?:[ \t]*;[ \t]*[!#$%&'*+.^_`|~\w-]+(?:[ \t]*=[ \t]*(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*\r\n/i
const TRAILER = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e\x80-\xff]*)\r\n/

/** RFC 9112 §7.1 as expressions. Null if it is not a complete body. */
function chunksOf(text: string): { data: string; trailers: [string, string][] } | null {
  let rest = text
  let data = ''
  for (;;) {
    const line = SIZE_LINE.exec(rest)
    if (line === null) return null
    const size = Number.parseInt(line[1]!, 16)
    rest = rest.slice(line[0].length)
    if (size === 0) break
    if (rest.slice(size, size + 2) !== '\r\n') return null
    data += rest.slice(0, size)
    rest = rest.slice(size + 2)
  }
  const trailers: [string, string][] = []
  for (let field = TRAILER.exec(rest); field !== null; field = TRAILER.exec(rest)) {
    trailers.push([field[1]!, field[2]!.replace(/^[ \t]+|[ \t]+$/g, '')])
    rest = rest.slice(field[0].length)
  }
  return rest.startsWith('\r\n') ? { data, trailers } : null
}
