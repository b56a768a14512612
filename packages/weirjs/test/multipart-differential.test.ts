// Forms as other programs write and read them: a separate encoder makes forms that are read back completely, and what busboy and
// @fastify/busboy also accept, they read in the same way.
//
// `DIFFERENCES` below lists where readings differ, and why; the generated forms avoid these cases. What the others accept and weir refuses
// needs no exception: a line that begins with the boundary and continues as text, folded lines, parts without a name (they skip them),
// base64, repeated fields and parameters, control characters.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Busboy as FastifyBusboy } from '@fastify/busboy'
import fc from 'fast-check'

import { WeirError } from '../src/base/errors.ts'
import { MultipartParser } from '../src/formats/multipart.ts'
import { readByBusboy } from './support/busboy-reading.ts'

/** Data is latin1: one character for each byte. */
interface Part {
  readonly name: string
  readonly fileName: string | null
  data: string
}

/** The parts that were read, or null for a refusal. */
type Reading = readonly Part[] | null

const LIMITS = { maxParts: 1000, maxPartHeaders: 100, maxPartHeaderSize: 16_384 }

function readByWeir(boundary: string, chunks: readonly Buffer[]): Reading {
  const parts: Part[] = []
  const parser = new MultipartParser(
    boundary,
    {
      partBegin({ name, fileName }) {
        parts.push({ name, fileName, data: '' })
        return true
      },
      partData(bytes, start, end) {
        parts.at(-1)!.data += Buffer.from(bytes.subarray(start, end)).toString('latin1')
        return true
      },
      partEnd: () => true,
    },
    LIMITS,
  )
  try {
    for (const chunk of chunks) assert.equal(parser.push(chunk), chunk.length)
    parser.finish()
    return parts
  } catch (error) {
    if (error instanceof WeirError) return null
    throw error
  }
}

function readByFastify(boundary: string, chunks: readonly Buffer[]): Promise<Reading> {
  return new Promise((resolve) => {
    const parts: Part[] = []
    const parser = new FastifyBusboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      preservePath: true,
      defCharset: 'latin1',
      limits: { fieldNameSize: 10_000 },
    })
    parser.on('field', (name, data) => parts.push({ name, fileName: null, data }))
    parser.on('file', (name, file, fileName) => {
      const part: Part = { name, fileName: fileName ?? null, data: '' }
      parts.push(part)
      file.on('data', (bytes: Buffer) => {
        part.data += bytes.toString('latin1')
      })
      file.on('error', () => {})
    })
    parser.on('error', () => resolve(null))
    parser.on('finish', () => resolve(parts))
    for (const chunk of chunks) parser.write(chunk)
    parser.end()
  })
}

interface Style {
  readonly disposition: string
  readonly lead: string
  readonly type: string
  readonly preamble: string
  readonly epilogue: string
}

/** Writes a form. It shares nothing with the parser: names are quoted as in curl, and data is written unchanged. */
function encode(boundary: string, parts: readonly Part[], style: Style): Buffer {
  const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
  const pieces: (Buffer | string)[] = [style.preamble]
  for (const { name, fileName, data } of parts) {
    pieces.push(`--${boundary}\r\n${style.lead}${style.disposition}: form-data; name=${quoted(name)}`)
    if (fileName !== null) pieces.push(`; filename=${quoted(fileName)}\r\n${style.type}`)
    else pieces.push('\r\n')
    pieces.push('\r\n', Buffer.from(data, 'latin1'), '\r\n')
  }
  pieces.push(`--${boundary}--${style.epilogue}`)
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
}

function cutAt(body: Buffer, marks: readonly number[]): Buffer[] {
  const cuts = [0, ...marks.map((mark) => mark % (body.length + 1)).sort((a, b) => a - b), body.length]
  return cuts.slice(1).map((cut, i) => body.subarray(cuts[i], cut))
}

const boundaries = fc.oneof(
  fc.constantFrom('----WebKitFormBoundary7MA4YWxkTrZu0gWq', '-----------------------------38291947205938271950382719', 'x', '--'),
  fc.stringMatching(/^[0-9A-Za-z'()+_,\-./:=?!#$%&*^`|~]{1,70}$/),
)

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => !/[%\0-\x1f\x7f]/.test(text))

const style: fc.Arbitrary<Style> = fc.record({
  disposition: fc.constantFrom('Content-Disposition', 'content-disposition', 'CONTENT-DISPOSITION'),
  lead: fc.constantFrom('', 'X-Lead: one\r\n', 'Content-Length: 5\r\nX: \xe9\r\n'),
  type: fc.constantFrom('', 'Content-Type: application/octet-stream\r\n', 'content-type:image/png; a="b;c"\r\n'),
  preamble: fc.constantFrom('', '\r\n', 'This is a form.\r\n'),
  epilogue: fc.constantFrom('', '\r\n', '\r\nbye', '\r\n--x\r\n'),
})

/** Bytes that look like delimiters but contain none; sometimes long enough for the parser's fast path. */
function dataFor(boundary: string): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc.constantFrom('\r', '\n', '\r\n', '-', '--', '\r\n--', `--${boundary}`, `\n--${boundary}\r\n`, `\r\r--${boundary}--`),
    fc.nat(boundary.length).map((length) => `\r\n--${boundary.slice(0, length)}`),
    fc.constantFrom(60, 9000).map((length) => 'text\r\n'.repeat(length / 6)),
  )
  const data = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  return data.filter((text) => !`\r\n${text}`.includes(`\r\n--${boundary}`))
}

const forms = boundaries.chain((boundary) => {
  const part = fc.record({ name, fileName: fc.option(name), data: dataFor(boundary) }, { noNullPrototype: true })
  return fc.record({
    boundary: fc.constant(boundary),
    parts: fc.array(part, { maxLength: 6 }),
    style,
    marks: fc.array(fc.nat(), { maxLength: 12 }),
  })
})

test('a form is read back as it was written, wherever it is cut, and others read it in the same way', async () => {
  const property = fc.asyncProperty(forms, async ({ boundary, parts, style, marks }) => {
    const chunks = cutAt(encode(boundary, parts, style), marks)
    assert.deepEqual(readByWeir(boundary, chunks), parts)
    assert.deepEqual(inOrder(await readByBusboy(boundary, chunks)), inOrder(parts))
    assert.deepEqual(inOrder(await readByFastify(boundary, chunks)), inOrder(parts))
  })
  await fc.assert(property, { numRuns: 300 })
})

/** Fields and files in the same order: the others report a field when it ends and a file when it begins. */
function inOrder(parts: Reading): Reading {
  return parts === null ? null : [...parts.filter((part) => part.fileName === null), ...parts.filter((part) => part.fileName !== null)]
}

const FORM = 'Content-Disposition: form-data; name='

/** Bodies with the boundary `b`: how weir and busboy read them, as lines of `name<file name>=data`. */
const DIFFERENCES: readonly (readonly [reason: string, body: string, ours: readonly string[], theirs: readonly string[]])[] = [
  [
    'HTML makes browsers write %22, %0D and %0A for a quote and line ends in names: weir decodes these, they do not',
    `--b\r\n${FORM}"a%22b"; filename="c%0D%0Ad"\r\n\r\n1\r\n--b--`,
    ['a"b<c\r\nd>=1'],
    ['a%22b<c%0D%0Ad>=1'],
  ],
  [
    'a browser sends an empty file name for an empty file input: a file for weir, a field for them',
    `--b\r\n${FORM}"a"; filename=""\r\n\r\n\r\n--b--`,
    ['a<>='],
    ['a='],
  ],
  ['an empty name is a name for weir, but not for them', `--b\r\n${FORM}""\r\n\r\n1\r\n--b--`, ['=1'], ['undefined=1']],
  [
    'a delimiter right after a head shares its line end (RFC 2046 §5.1.1), so the part is empty: they drop it and read the next head as data',
    `--b\r\n${FORM}"a"\r\n\r\n--b\r\n${FORM}"c"\r\n\r\n1\r\n--b--`,
    ['a=', 'c=1'],
    [`a=${FORM}"c"\r\n\r\n1`],
  ],
  [
    'padding may follow a boundary (RFC 2046 §5.1.1): they skip the part',
    `--b \r\n${FORM}"a"\r\n\r\n1\r\n--b\r\n${FORM}"c"\r\n\r\n2\r\n--b--`,
    ['a=1', 'c=2'],
    ['c=2'],
  ],
  ['the parameters may end with a semicolon: they skip the part', `--b\r\n${FORM}"a";\r\n\r\n1\r\n--b--`, ['a=1'], []],
]

for (const [reason, body, ours, theirs] of DIFFERENCES) {
  test(`known to differ from busboy: ${reason}`, async () => {
    const lines = (parts: Reading): string[] | undefined =>
      parts?.map((part) => `${part.name}${part.fileName === null ? '' : `<${part.fileName}>`}=${part.data}`)
    assert.deepEqual(lines(readByWeir('b', [Buffer.from(body)])), ours)
    assert.deepEqual(lines(await readByBusboy('b', [Buffer.from(body)])), theirs)
  })
}

/** Whether a body contains one of the last three differences, or might contain one. */
function isReadDifferently(boundary: string, text: string): boolean {
  return [`\r\n\r\n--${boundary}`, `--${boundary} `].some((piece) => text.includes(piece)) || /;[ \t]*(?:;|\r\n)/.test(text)
}

/** A change to a body: bytes are removed, inserted or replaced. */
const change = fc.record({
  at: fc.nat(),
  length: fc.nat(3),
  text: fc.constantFrom('', '\r', '\n', '\r\n', '-', '--', ' ', '"', ';', ':', '=', 'a', '\0'),
})

test('what others also accept, they read in the same way, however a form was damaged', async () => {
  const property = fc.asyncProperty(
    forms,
    fc.array(change, { minLength: 1, maxLength: 3 }),
    async ({ boundary, parts, style, marks }, changes) => {
      let text = encode(boundary, parts, style).toString('latin1')
      for (const { at, length, text: put } of changes) {
        const from = at % (text.length + 1)
        text = text.slice(0, from) + put + text.slice(from + length)
      }
      if (isReadDifferently(boundary, text)) return
      const chunks = cutAt(Buffer.from(text, 'latin1'), marks)
      const ours = readByWeir(boundary, chunks)
      if (ours === null) return
      for (const theirs of [await readByBusboy(boundary, chunks), await readByFastify(boundary, chunks)]) {
        if (theirs !== null) assert.deepEqual(inOrder(theirs), inOrder(ours))
      }
    },
  )
  await fc.assert(property, { numRuns: 1000 })
})
