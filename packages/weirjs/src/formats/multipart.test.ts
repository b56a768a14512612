import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { LimitError, WeirError } from '../base/errors.ts'

import { MultipartParser } from './multipart.ts'
import { DEFAULT_MULTIPART_LIMITS, type MultipartLimits } from './multipart-limits.ts'
import type { PartHead } from './part-head.ts'

/** The result for a body: its complete parts as `name=data`, what was delivered of a part that never ended, and how the body ended. */
interface Log {
  readonly parts: string[]
  open: string | null
  outcome: string
}

interface Way {
  /** Where the body is cut into chunks. */
  readonly cuts?: readonly number[]
  /** Whether the n-th event pauses the parser. */
  readonly pauses?: (event: number) => boolean
  readonly limits?: Partial<MultipartLimits>
  readonly boundary?: string
}

function read(body: string | Uint8Array, way: Way = {}): Log {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  const log: Log = { parts: [], open: null, outcome: 'whole' }
  let events = 0
  const goesOn = (): boolean => !(way.pauses?.(events++) ?? false)
  const handler = {
    partBegin(head: PartHead): boolean {
      assert.equal(log.open, null, 'a part begins within a part')
      log.open = `${head.name}${head.fileName === null ? '' : `<${head.fileName}>`}=`
      return goesOn()
    },
    partData(data: Uint8Array, start: number, end: number): boolean {
      assert.ok(log.open !== null && start < end)
      log.open += Buffer.from(data.subarray(start, end)).toString('latin1')
      return goesOn()
    },
    partEnd(): boolean {
      assert.ok(log.open !== null)
      log.parts.push(log.open)
      log.open = null
      return goesOn()
    },
  }
  const parser = new MultipartParser(way.boundary ?? 'b', handler, { ...DEFAULT_MULTIPART_LIMITS, ...way.limits })
  try {
    let start = 0
    for (const end of [...(way.cuts ?? []), bytes.length]) {
      let steps = 0
      while (start < end) {
        start += parser.push(bytes, start, end)
        assert.ok(steps++ < 2 * bytes.length + 2 * events + 10, 'the parser stands still')
      }
    }
    parser.finish()
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    log.outcome = error instanceof LimitError ? error.limit : error.code
    assert.throws(() => parser.push(bytes), error)
    assert.throws(() => parser.finish(), error)
  }
  return log
}

const eachByte = (body: string): number[] => Array.from({ length: body.length }, (_, at) => at)

const FIELD = 'Content-Disposition: form-data; name="a"\r\n'
const HEAD = `--b\r\n${FIELD}\r\n`

/** Bodies with the boundary `b`, and their meaning. */
const CASES: readonly (readonly [says: string, body: string, parts: readonly string[], outcome: string, open?: string])[] = [
  [
    'a form with a field and a file',
    `${HEAD}1\r\n--b\r\ncontent-disposition:form-data;name=f;filename="x"\r\n\r\n\0\xff\r\n\r\n--b--\r\n`,
    ['a=1', 'f<x>=\0\xff\r\n'],
    'whole',
  ],
  ['a form without parts', '--b--', [], 'whole'],
  ['a form without a line end at its end', `${HEAD}1\r\n--b--`, ['a=1'], 'whole'],
  ['a preamble of lines', `hello\r\n\n--\n-\r-b\r\r\n-\r\n-b--\r\n--\r\n${HEAD}1\r\n--b--`, ['a=1'], 'whole'],
  ['an empty line before the first delimiter', `\r\n${HEAD}1\r\n--b--`, ['a=1'], 'whole'],
  ['an epilogue is dropped, whatever it is', `${HEAD}1\r\n--b--x\r\n${HEAD}2\r\n--b--\0`, ['a=1'], 'whole'],
  ['padding after a delimiter', `--b \t \r\n${FIELD}\r\n1\r\n--b\t\r\n${FIELD}\r\n2\r\n--b--  \r\n`, ['a=1', 'a=2'], 'whole'],
  ['an empty part', `${HEAD}\r\n--b--`, ['a='], 'whole'],
  ['an empty part whose delimiter shares the line end of its head', `${HEAD}--b\r\n${FIELD}\r\n--b--`, ['a=', 'a='], 'whole'],
  ['data of line ends only', `${HEAD}\r\n\r\n\r\r\n\n\r\n--b--`, ['a=\r\n\r\n\r\r\n\n'], 'whole'],
  [
    'almost delimiters are data',
    `${HEAD}\r\n-b\r\n--\r\n--B\n--b\r--b x--b--\r\n --b\r\n--b--`,
    ['a=\r\n-b\r\n--\r\n--B\n--b\r--b x--b--\r\n --b'],
    'whole',
  ],
  ['data that begins like a delimiter', `${HEAD}-\r\n--b--`, ['a=-'], 'whole'],
  ['a delimiter that begins right after half of one', `${HEAD}1\r\n-\r\n--\r\r\n--b--`, ['a=1\r\n-\r\n--\r'], 'whole'],
  ['header lines of any name are skipped', `--b\r\nX: \x01\xc3\xa9\r\n${FIELD}\r\n1\r\n--b--`, ['a=1'], 'whole'],

  ['an empty body', '', [], 'WEIR_MULTIPART_TRUNCATED'],
  ['a body without the boundary', '--c\r\n\r\n--c--', [], 'WEIR_MULTIPART_TRUNCATED'],
  ['only a preamble', 'x--\r\n-b--', [], 'WEIR_MULTIPART_TRUNCATED'],
  ['an end within a delimiter', `${HEAD}1\r\n--b`, [], 'WEIR_MULTIPART_TRUNCATED', 'a=1'],
  ['an end within a close delimiter', `${HEAD}1\r\n--b-`, [], 'WEIR_MULTIPART_TRUNCATED', 'a=1'],
  ['an end within data', `${HEAD}1\r\n-`, [], 'WEIR_MULTIPART_TRUNCATED', 'a=1'],
  ['an end within a head', `${HEAD}1\r\n--b\r\n${FIELD}`, ['a=1'], 'WEIR_MULTIPART_TRUNCATED'],
  ['an end after a delimiter', `${HEAD}1\r\n--b\r\n`, ['a=1'], 'WEIR_MULTIPART_TRUNCATED'],

  ['a line that continues after the boundary', `${HEAD}1\r\n--bc\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['a line that continues after the boundary, in the preamble', `--bc\r\n${HEAD}1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter within a line of the preamble', `x--b\r\n${FIELD}\r\n1\r\n${HEAD}2\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter of the preamble after a bare LF', `x\n${HEAD}1\r\n${HEAD}2\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter after a bare LF at the start', `\n${HEAD}1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter of the preamble after a bare CR', `x\r${HEAD}1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter of the preamble after LF CR', `x\n\r${HEAD}1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter behind a third dash', `-${HEAD}1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a close delimiter within a line of the preamble', 'x--b--', [], 'WEIR_MULTIPART_DELIMITER'],
  ['a line that continues after padding', `${HEAD}1\r\n--b x\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['dashes after padding', `${HEAD}1\r\n--b --`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['a single dash', `${HEAD}1\r\n--b-\r\n`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['a bare LF after the boundary', `${HEAD}1\r\n--b\n${FIELD}`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['a bare CR after the boundary', `${HEAD}1\r\n--b\r${FIELD}`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['two CR after the boundary', `${HEAD}1\r\n--b\r\r\n${FIELD}`, [], 'WEIR_MULTIPART_DELIMITER', 'a=1'],
  ['a NUL after the boundary', '--b\0\r\n', [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter within a head', `--b\r\n${FIELD}--b\r\n${FIELD}\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_DELIMITER'],
  ['a delimiter instead of a head', '--b\r\n--b--\r\n', [], 'WEIR_MULTIPART_DELIMITER'],

  ['a folded line', `--b\r\nContent-Disposition: form-data;\r\n name="a"\r\n\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a head that begins with a blank', `--b\r\n ${FIELD}\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a bare LF in a head', `--b\r\n${FIELD.trim()}\n\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a bare LF at the end of a head', `--b\r\n${FIELD}\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a bare CR in a head', `--b\r\nX: a\rb\r\n${FIELD}\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a bare CR at the end of a head', `--b\r\n${FIELD}\r1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a NUL in a head', `--b\r\nContent-Disposition: form-data; name="a\0"\r\n\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a name that is not UTF-8', `--b\r\nContent-Disposition: form-data; name="\xe9"\r\n\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a line without a colon', `--b\r\nhello\r\n${FIELD}\r\n1\r\n--b--`, [], 'WEIR_MULTIPART_HEADER_SYNTAX'],
  ['a part without a head', '--b\r\n\r\n1\r\n--b--', [], 'WEIR_MULTIPART_PART_NAME'],
  ['a part without a name', '--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--', [], 'WEIR_MULTIPART_PART_NAME'],
  ['a second part without a name', `${HEAD}1\r\n--b\r\n\r\n1\r\n--b--`, ['a=1'], 'WEIR_MULTIPART_PART_NAME'],
  ['a part in base64', `--b\r\n${FIELD}Content-Transfer-Encoding: base64\r\n\r\nMQ==\r\n--b--`, [], 'WEIR_MULTIPART_ENCODING'],
]

for (const [says, body, parts, outcome, open] of CASES) {
  test(`${outcome === 'whole' ? 'reads' : 'refuses'} ${says}, however it is split`, () => {
    const expected: Log = { parts: [...parts], open: open ?? null, outcome }
    assert.deepEqual(read(body), expected)
    assert.deepEqual(read(body, { cuts: eachByte(body) }), expected)
    for (const cut of eachByte(body)) assert.deepEqual(read(body, { cuts: [cut] }), expected)
    assert.deepEqual(read(body, { pauses: () => true }), expected)
  })
}

test('names are UTF-8', () => {
  const body = Buffer.from(`--b\r\nContent-Disposition: form-data; name="é"; filename="日本"\r\n\r\n1\r\n--b--`)
  assert.deepEqual(read(body).parts, ['é<日本>=1'])
})

test('a limit of N parts allows N and refuses N + 1 before its head is read', () => {
  const form = (count: number, last: string): string => `${`${HEAD}1\r\n`.repeat(count)}${last}`
  assert.equal(read(form(3, '--b--'), { limits: { maxParts: 3 } }).outcome, 'whole')
  assert.deepEqual(read(form(3, '--b\r\n'), { limits: { maxParts: 3 } }), { parts: ['a=1', 'a=1', 'a=1'], open: null, outcome: 'maxParts' })
  assert.equal(read('--b--', { limits: { maxParts: 0 } }).outcome, 'whole')
  assert.equal(read('--b\r\n', { limits: { maxParts: 0 } }).outcome, 'maxParts')
})

test('a limit of N header lines allows N and refuses N + 1, separately for each part', () => {
  const form = `--b\r\nX:\r\n${FIELD}\r\n1\r\n--b\r\nX:\r\n${FIELD}\r\n--b--`
  assert.equal(read(form, { limits: { maxPartHeaders: 2 } }).outcome, 'whole')
  assert.equal(read(form, { limits: { maxPartHeaders: 1 } }).outcome, 'maxPartHeaders')
})

test('a limit of N bytes of header lines allows N and refuses N + 1, separately for each part, as soon as it is exceeded', () => {
  const form = `--b\r\nX: 1\r\n${FIELD}\r\n1\r\n--b\r\nX: 1\r\n${FIELD}\r\n--b--`
  const size = `X: 1\r\n${FIELD}`.length
  assert.equal(read(form, { limits: { maxPartHeaderSize: size } }).outcome, 'whole')
  assert.equal(read(form, { limits: { maxPartHeaderSize: size - 1 } }).outcome, 'maxPartHeaderSize')
  const long = (length: number): string => `--b\r\n${FIELD}X: ${'x'.repeat(length)}`
  const room = 16 * 1024 - FIELD.length - 'X: \r\n'.length
  assert.equal(read(`${long(room)}\r\n\r\n1\r\n--b--`).outcome, 'whole')
  assert.equal(read(long(room)).outcome, 'WEIR_MULTIPART_TRUNCATED')
  assert.equal(read(long(room + 1)).outcome, 'maxPartHeaderSize')
})

test('a limit of N bytes before the first part allows N and refuses N + 1, however they are cut', () => {
  for (const start of ['x', '-', '--', '--b']) {
    const form = (length: number): string => `${start.padEnd(length - 2, 'x')}\r\n--bc\r\n${FIELD}\r\n1\r\n--bc--`
    for (const every of [1, 7, 1000]) {
      const way = { boundary: 'bc', cuts: Array.from({ length: Math.floor(100 / every) }, (_, i) => (i + 1) * every) }
      assert.equal(read(form(100), { ...way, limits: { maxPartHeaderSize: 100 } }).outcome, 'whole')
      assert.equal(read(form(101), { ...way, limits: { maxPartHeaderSize: 100 } }).outcome, 'maxPartHeaderSize')
      // Nothing behind the limit counts, such as a delimiter in the middle of a line.
      for (const length of [50, 150]) {
        const outcome = read(`${start.padEnd(length, 'x')}--bc`, { ...way, limits: { maxPartHeaderSize: 100 } }).outcome
        assert.equal(outcome, length < 100 ? 'WEIR_MULTIPART_DELIMITER' : 'maxPartHeaderSize')
      }
    }
  }
})

test('a limit of N blanks after a delimiter allows N and refuses N + 1, separately for each part, however they are cut', () => {
  for (const blank of [' ', '\t']) {
    const part = (blanks: number): string => `--b${blank.repeat(blanks)}\r\n${FIELD}\r\n1\r\n`
    for (const every of [1, 7, 1000]) {
      const way = { cuts: Array.from({ length: Math.floor(300 / every) }, (_, i) => (i + 1) * every), limits: { maxPartHeaderSize: 100 } }
      assert.equal(read(`${part(100)}${part(100)}--b--`, way).outcome, 'whole')
      assert.equal(read(`${part(100)}${part(101)}--b--`, way).outcome, 'maxPartHeaderSize')
    }
  }
  // As soon as it is exceeded, and also after a preamble.
  assert.equal(read(`--b${' '.repeat(100)}`, { limits: { maxPartHeaderSize: 100 } }).outcome, 'WEIR_MULTIPART_TRUNCATED')
  for (const before of ['', 'x'.repeat(90).concat('\r\n')])
    assert.equal(read(`${before}--b${' '.repeat(101)}`, { limits: { maxPartHeaderSize: 100 } }).outcome, 'maxPartHeaderSize')
})

test('heads are read as they were sent, form after form, although earlier ones are remembered', () => {
  const name = (i: number): string => `field ${i}`
  const received = Buffer.alloc(100) // used again for each form
  for (const i of Array.from({ length: 900 }, (_, i) => (i * i) % 300)) {
    const length = received.write(`--b\r\nContent-Disposition: form-data; name="${name(i)}"\r\n\r\n${i}\r\n--b--`)
    assert.deepEqual(read(received.subarray(0, length)).parts, [`${name(i)}=${i}`])
  }
})

test('a line that was a field in one form is refused where it is the delimiter', () => {
  const form = (boundary: string): string => `--${boundary}\r\n${FIELD}--c: 1\r\n\r\n1\r\n--${boundary}--`
  for (const _ of ['first', 'again']) assert.deepEqual(read(form('b')).parts, ['a=1'])
  assert.equal(read(form('c'), { boundary: 'c' }).outcome, 'WEIR_MULTIPART_DELIMITER')
})

test('data is delivered as a view of the chunk before its part is complete', () => {
  const chunk = Buffer.from(`${HEAD}data\r`)
  const given: unknown[] = []
  const parser = new MultipartParser('b', {
    partBegin: () => true,
    partData: (bytes, start, end) => given.push([bytes === chunk, Buffer.from(bytes).toString('latin1', start, end)]) > 0,
    partEnd: () => true,
  })
  parser.push(chunk)
  assert.deepEqual(given, [[true, 'data']])
  parser.push(Buffer.from('x'))
  assert.deepEqual(given[1], [false, '\r'])
})

test('after false, push returns how much it has consumed', () => {
  const body = Buffer.from(`${HEAD}12\r\n--b--`)
  const events: string[] = []
  const note = (event: string): boolean => events.push(event) < 0
  const parser = new MultipartParser('b', {
    partBegin: () => note('begin'),
    partData: (_, start, end) => note(`data ${start}-${end}`),
    partEnd: () => note('end'),
  })
  const first = parser.push(body)
  assert.deepEqual([first, events], [HEAD.length, ['begin']])
  assert.equal(parser.push(body, first), 2)
  assert.equal(parser.push(body, first + 2), '\r\n--b--'.length)
  assert.deepEqual(events, ['begin', `data ${HEAD.length}-${HEAD.length + 2}`, 'end'])
  assert.equal(parser.push(body), body.length)
  parser.finish()
})

test('an error of a callback ends the parse with that error', () => {
  const failure = new Error('no')
  const parser = new MultipartParser('b', {
    partBegin: () => {
      throw failure
    },
    partData: () => true,
    partEnd: () => true,
  })
  for (const call of [() => parser.push(Buffer.from(HEAD)), () => parser.push(Buffer.from('x')), () => parser.finish()])
    assert.throws(call, failure)
})

test('an invalid boundary is an error of the caller', () => {
  const handler = { partBegin: () => true, partData: () => true, partEnd: () => true }
  for (const boundary of ['', 'a ', 'a\r\n', 'é', 'x'.repeat(71)]) assert.throws(() => new MultipartParser(boundary, handler), RangeError)
})

/** Bodies that are almost forms, with long stretches now and then. */
function bodyOf(boundary: string): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.constantFrom(`--${boundary}\r\n`, `\r\n--${boundary}\r\n`, `\r\n--${boundary}--`, `\r\n--${boundary}`, FIELD, `${FIELD}\r\n`),
    fc.constantFrom('\r', '\n', '\r\n', '-', '--', ' ', '\t', ':', 'X: y\r\n', '\0', '\xff', 'Content-Transfer-Encoding: base64\r\n'),
    fc.nat(boundary.length).map((length) => `\r\n--${boundary.slice(0, length)}`),
    fc.nat(5000).map((length) => 'x'.repeat(length)),
    fc.string({ unit: 'binary-ascii', maxLength: 5 }),
  )
  return fc.array(piece, { maxLength: 14 }).map((pieces) => `--${boundary}\r\n${FIELD}\r\n${pieces.join('')}`)
}

test('any bytes lead to exactly one end, however they are split and paused', () => {
  const boundary = fc.constantFrom('b', '--', '----WebKitFormBoundary7MA4YWxkTrZu0gWq')
  const cases = boundary.chain((text) => fc.tuple(fc.constant(text), bodyOf(text), fc.array(fc.nat()), fc.infiniteStream(fc.boolean())))
  fc.assert(
    fc.property(cases, ([text, body, marks, pauses]) => {
      const limits = { maxParts: 3, maxPartHeaders: 3, maxPartHeaderSize: 120 }
      const cuts = marks.map((mark) => mark % body.length).sort((a, b) => a - b)
      const whole = read(body, { boundary: text, limits })
      assert.deepEqual(read(body, { boundary: text, limits, cuts, pauses: () => pauses.next().value }), whole)
    }),
    { numRuns: 1000 },
  )
})
