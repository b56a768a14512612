// Requests from fast-check, and how they are encoded. The encoder shares no code with packages/weirjs/src/wire.

import fc from 'fast-check'

export interface RequestSpec {
  readonly method: string
  readonly target: string
  readonly minorVersion: 0 | 1
  /** The encoder adds Connection, Content-Length and Transfer-Encoding. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Blanks before and after the field values, used in turn. */
  readonly blanks: readonly string[]
  /**
   * null: no body. In HTTP/1.0, and for a single piece with framing `length`, the body has a Content-Length; otherwise it is sent in
   * chunks.
   */
  readonly body: readonly Buffer[] | null
  readonly framing: 'length' | 'chunked'
  /** Extensions after the sizes of the chunks, used in turn. */
  readonly extensions: readonly string[]
  readonly trailers: readonly (readonly [name: string, value: string])[]
  readonly keepAlive: boolean
}

const TCHARS = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** Fields to which the parser or Node gives a meaning. */
const RESERVED = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect', 'upgrade', 'proxy-connection'])

function textOf(chars: string, lengths: { minLength?: number; maxLength: number }): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: fc.constantFrom(...chars) })
}

function latin1(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, i) => String.fromCharCode(from + i)).join('')
}

const fieldName = fc.oneof(
  fc.constantFrom(
    'Accept',
    'Cookie',
    'cookie',
    'X-Id',
    'x-id',
    'TE',
    'Trailer',
    'Keep-Alive',
    'Content-Type',
    'Content_Length',
    '__proto__',
  ),
  textOf(TCHARS, { minLength: 1, maxLength: 20 }).filter((name) => !RESERVED.has(name.toLowerCase())),
)

/** Everything that a value may contain, from blanks to 0xFF, without blanks at its ends. */
const fieldValue = textOf(`\t${latin1(0x20, 0x7e)}${latin1(0x80, 0xff)}`, { maxLength: 30 }).map((value) =>
  value.replace(/^[ \t]+|[ \t]+$/g, ''),
)
const fields = fc.array(fc.tuple(fieldName, fieldValue), { maxLength: 6 })

const segment = fc.oneof(textOf("-_~!$&'()*+,;=:@09azAZ", { maxLength: 8 }), fc.constantFrom('%20', '%C3%A9', '%2F', '%2541', '...'))
const target = fc
  .tuple(fc.array(segment, { maxLength: 5 }), fc.option(textOf("-._~!$&'()*+,;=:@/?%09azAZ", { maxLength: 20 })))
  .map(([segments, query]) => `/${segments.join('/')}${query === null ? '' : `?${query}`}`)

const blanks = fc.array(fc.constantFrom('', ' ', ' ', ' ', '  ', '   ', '', ' ', ' ', '\t', ' \t'), { minLength: 1, maxLength: 3 })
const extension = fc
  .constantFrom('', '', ';a', ';a=b', ';a="b;c"', ' ; a = "\\"" ', '\t;\ta=b;c')
  .map((text) => text.replace(/[ \t]+$/, ''))
const pieceOfBody = fc
  .oneof(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.constantFrom('0\r\n\r\n', '\r\n', 'GET / HTTP/1.1\r\n\r\n').map(Buffer.from))
  .map((bytes) => Buffer.from(bytes))

/** A request that RFC 9112 allows, with a method that Node knows. */
export const requestSpec: fc.Arbitrary<RequestSpec> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'M-SEARCH'),
    target,
    minorVersion: fc.constantFrom<0 | 1>(1, 1, 1, 0),
    fields,
    host: fc.constantFrom('a', 'www.example.com:8080', '[::1]:80', '127.0.0.1'),
    hostAt: fc.nat(),
    blanks,
    body: fc.option(fc.array(pieceOfBody, { maxLength: 4 })),
    framing: fc.constantFrom<'length' | 'chunked'>('length', 'chunked'),
    extensions: fc.array(extension, { minLength: 1, maxLength: 3 }),
    trailers: fields,
    keepAlive: fc.constantFrom(true, true, true, false),
  })
  .map(({ host, hostAt, ...spec }) => ({
    ...spec,
    framing: spec.minorVersion === 0 ? 'length' : spec.framing,
    fields: spec.fields.toSpliced(hostAt % (spec.fields.length + 1), 0, ['Host', host]),
  }))

/** All fields of the request, including those that frame it, as the parser should list them. */
export function fieldsOf(spec: RequestSpec): (readonly [name: string, value: string])[] {
  const framing: (readonly [string, string])[] = []
  if (spec.minorVersion === 0 && spec.keepAlive) framing.push(['Connection', 'keep-alive'])
  if (spec.minorVersion === 1 && !spec.keepAlive) framing.push(['Connection', 'close'])
  if (spec.body !== null && spec.framing === 'chunked') framing.push(['Transfer-Encoding', 'chunked'])
  if (spec.body !== null && spec.framing === 'length') framing.push(['Content-Length', `${Buffer.concat(spec.body).length}`])
  return [...spec.fields, ...framing]
}

/** The bytes of a request. */
export function encodeRequest(spec: RequestSpec): Buffer {
  const line = (pair: readonly [string, string], i: number) => {
    const { blanks } = spec
    return `${pair[0]}:${blanks[i % blanks.length]}${pair[1]}${blanks[(i + 1) % blanks.length]}\r\n`
  }
  const head = `${spec.method} ${spec.target} HTTP/1.${spec.minorVersion}\r\n${fieldsOf(spec).map(line).join('')}\r\n`
  const parts: Buffer[] = [Buffer.from(head, 'latin1')]
  if (spec.body !== null && spec.framing === 'length') parts.push(...spec.body)
  if (spec.body !== null && spec.framing === 'chunked') {
    const sizeLine = (size: number, i: number) => `${size.toString(16)}${spec.extensions[i % spec.extensions.length]}\r\n`
    for (const [i, piece] of spec.body.entries()) parts.push(Buffer.from(sizeLine(piece.length, i)), piece, Buffer.from('\r\n'))
    parts.push(Buffer.from(`${sizeLine(0, spec.body.length)}${spec.trailers.map(line).join('')}\r\n`, 'latin1'))
  }
  return Buffer.concat(parts)
}

/** Changes that turn one reading of a request into another if a parser is not careful. */
const POISONS = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '\n\n',
    ' ',
    '\t',
    '\0',
    '\x0b',
    '\x7f',
    '\xa0',
    '\xff',
    ':',
    ';',
    '"',
    '\\',
    ',',
    '=',
    '-',
    '+',
    '0',
    '5',
    'f',
    '%',
    '/',
    '?',
    '#',
    '*',
  ],
  ...['Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Content-Length:\r\n', 'Content-Length: +5\r\n', 'Content-Length: 5, 5\r\n'],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: gzip\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding : chunked\r\n',
  ],
  ...[
    'Transfer-Encoding: \x0bchunked\r\n',
    'Transfer-Encoding: chunked\xa0\r\n',
    'Transfer-Encoding:\r\n chunked\r\n',
    '\r\nTransfer-Encoding: chunked',
  ],
  ...[
    'Host: b\r\n',
    'Connection: close\r\n',
    'Connection: keep-alive, close\r\n',
    'Proxy-Connection: keep-alive\r\n',
    'Connection: upgrade\r\nUpgrade: x\r\n',
  ],
  ...['Expect: 100-continue\r\n', 'Expect: x\r\n', ' folded\r\n', 'A : b\r\n', ': b\r\n', 'A\r\n'],
  ...['0\r\n\r\n', '0\r\n', '5\r\nhello\r\n', '5;\r\n', ';a="\r\n', ';a="\n"', '5;a\n', '0x5', '00000000000005'],
  ...['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', '../', '%2e%2e/', 'http://a/', 'CONNECT a:80'],
].map((text) => Buffer.from(text, 'latin1'))

const mutation = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'insert', 'insertAtLine', 'insertAtLine', 'replace', 'remove', 'repeat', 'truncate'),
  at: fc.nat({ max: 1 << 20 }),
  length: fc.integer({ min: 1, max: 12 }),
  poison: fc.constantFrom(...POISONS),
})

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutate(bytes: Buffer, { kind, at, length, poison }: Mutation): Buffer {
  const place = at % (bytes.length + 1)
  const until = (end: number) => [bytes.subarray(0, place), bytes.subarray(Math.min(end, bytes.length))] as const
  const [before, after] = until(place)
  if (kind === 'insert') return Buffer.concat([before, poison, after])
  if (kind === 'replace') return Buffer.concat([before, poison, until(place + poison.length)[1]])
  if (kind === 'remove') return Buffer.concat([before, until(place + length)[1]])
  if (kind === 'repeat') return Buffer.concat([before, after.subarray(0, length), after])
  if (kind === 'truncate') return before
  const lineStart = bytes.indexOf('\n', place) + 1
  return Buffer.concat([bytes.subarray(0, lineStart), poison, bytes.subarray(lineStart)])
}

/** What a client might send, as latin1 text: one to three requests, intact or damaged in up to two places. */
export const wireText: fc.Arbitrary<string> = fc
  .tuple(fc.array(requestSpec, { minLength: 1, maxLength: 3 }), fc.array(mutation, { maxLength: 2 }))
  .map(([specs, mutations]) => mutations.reduce<Buffer>(mutate, Buffer.concat(specs.map(encodeRequest))).toString('latin1'))

/** Bytes that have little or nothing to do with HTTP, as latin1 text so that a counterexample can be read. */
export const anyText: fc.Arbitrary<string> = fc
  .oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.array(fc.constantFrom(...POISONS), { maxLength: 20 }).map((parts) => Buffer.concat(parts)),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n'), bytes])),
    fc
      .uint8Array({ maxLength: 60 })
      .map((bytes) => Buffer.concat([Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;'), bytes])),
  )
  .map((bytes) => bytes.toString('latin1'))

/** Places for `cutAt`. */
export const places: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 1 << 20 }), { maxLength: 12 })
