// A form: the input is the value of Content-Type, a line feed, and the body.

import assert from 'node:assert/strict'

import { LF } from '../../../packages/weirjs/src/base/ascii.ts'
import { boundaryOf } from '../../../packages/weirjs/src/formats/boundary.ts'
import { MultipartParser, type PartHandler } from '../../../packages/weirjs/src/formats/multipart.ts'
import type { MultipartLimits } from '../../../packages/weirjs/src/formats/multipart-limits.ts'
import { type PartHead, readPartHead } from '../../../packages/weirjs/src/formats/part-head.ts'
import { readByBusboy } from '../../../packages/weirjs/test/support/busboy-reading.ts'
import type { Random } from '../random.ts'
import { assertSameWords, codeOf, cutRandomly, cutTwice, outcomeOf, type Target } from '../target.ts'

interface Part extends PartHead {
  /** latin1. */
  data: string
  isWhole: boolean
}

interface Form {
  readonly parts: readonly Part[]
  readonly error: string | null
}

const WIDE: MultipartLimits = { maxParts: 200, maxPartHeaderSize: 16_384, maxPartHeaders: 32 }
const LIMITS: readonly MultipartLimits[] = [WIDE, WIDE, { maxParts: 3, maxPartHeaderSize: 120, maxPartHeaders: 2 }]
const BUSBOY_IS_ASKED = 8
const MAX_BYTES = 12_000
const DISPOSITION = 'Content-Disposition: form-data; name='

export const multipartTarget: Target = {
  name: 'multipart',
  promise: 'the parts are what a second reader finds, however the body is cut and the receiver pauses; a refusal is final; busboy agrees',
  dictionary: [
    ...[
      '\r\n--b\r\n',
      '\r\n--b--',
      '--b',
      '--b--\r\n',
      '\r\n--',
      '--',
      '\r\n',
      '\r',
      '\n',
      '\r\n\r\n',
      '-',
      'b',
      ' ',
      '\t',
      '\0',
      '\xff',
      '\xc3\xa9',
    ],
    ...[
      `${DISPOSITION}"x"\r\n\r\n`,
      `\r\n--b\r\n${DISPOSITION}"y"; filename="f"\r\nContent-Type: a/b\r\n\r\n`,
      '; filename=""',
      '; filename="g"',
    ],
    ...[
      'Content-Type: text/plain\r\n',
      'X: y\r\n',
      'Content-Transfer-Encoding: binary\r\n',
      ': ',
      '"',
      'name=',
      '\r\n--b \t\r\n',
      '\r\n--bb\r\n',
    ],
    ...[
      '\r\r\n--b',
      '\n--b\r\n',
      'x--b\r\n',
      'multipart/form-data; boundary=b\n',
      'multipart/form-data; boundary=$*#-\n',
      '\r\n--b'.repeat(3),
      'x'.repeat(600),
      '\r\n-'.repeat(200),
    ],
  ],
  maxBytes: MAX_BYTES,
  seeds: () => [longForm(4200), longForm(9000)],
  quickCheck(bytes, choices) {
    const { boundary, bodyAt } = formOf(bytes)
    const limits = choices.pick(LIMITS)
    const whole = new FormWords(boundary, bytes, bodyAt, [bytes.length], limits, null)
    const ends = cutTwice(bytes.length - bodyAt, choices).map((end) => bodyAt + end)
    const cut = new FormWords(boundary, bytes, bodyAt, ends, limits, choices)
    assertSameWords(cut.words, whole.words, 'cut, with pauses')
    return whole.outcome
  },
  fullCheckOneIn: 32,
  fullCheck(bytes, choices) {
    const { boundary, bodyAt } = formOf(bytes)
    const body = bytes.subarray(bodyAt)
    const limits = choices.pick(LIMITS)
    const whole = readForm(boundary, [body], limits, null)
    assert.deepEqual(readForm(boundary, cutRandomly(body, choices), limits, null), whole, 'cut')
    assert.deepEqual(readForm(boundary, cutRandomly(body, choices), limits, choices), whole, 'cut, with pauses')
    if (body.length < 500)
      assert.deepEqual(
        readForm(
          boundary,
          [...body].map((byte) => Buffer.of(byte)),
          limits,
          choices,
        ),
        whole,
        'byte by byte',
      )
    assert.ok(whole.parts.length <= limits.maxParts)
    if (limits === WIDE) assert.deepEqual(whole, bySplitting(boundary, body, whole.error))
    return whole.error === null && choices.oneIn(BUSBOY_IS_ASKED) ? agreeWithBusboy(boundary, body, whole.parts) : undefined
  },
}

function formOf(bytes: Buffer): { boundary: string; bodyAt: number } {
  const bodyAt = bytes.indexOf(LF) + 1
  return { boundary: boundaryOf(bytes.toString('latin1', 0, Math.max(0, bodyAt - 1))) ?? 'b', bodyAt }
}

/** The memory in which the parser receives its bytes; it is overwritten afterwards. */
const lent = Buffer.alloc(MAX_BYTES)

/** How the parser reads a body, as a flat list. */
class FormWords implements PartHandler {
  /** Heads, data, ends and the refusal, in order. */
  readonly words: (string | null)[] = []
  readonly outcome: string
  readonly #choices: Random | null
  #data = ''
  #parts = 0
  #hasFile = false
  #hasEmpty = false

  /** @param ends where the pieces of the body end @param pauses whether the receiver stops from time to time */
  constructor(boundary: string, bytes: Buffer, bodyAt: number, ends: readonly number[], limits: MultipartLimits, pauses: Random | null) {
    this.#choices = pauses
    const parser = new MultipartParser(boundary, this, limits)
    let error = ''
    try {
      let start = bodyAt
      for (const end of ends) {
        bytes.copy(lent, 0, start, end)
        for (let at = 0; at < end - start; ) at += parser.push(lent, at, end - start)
        lent.fill(0xdd, 0, end - start)
        start = end
      }
      parser.finish()
    } catch (refusal) {
      error = codeOf(refusal)
    }
    this.words.push(this.#data, error)
    this.outcome = `${Math.min(this.#parts, 6)}${this.#hasFile ? ' file' : ''}${this.#hasEmpty ? ' empty' : ''} ${error}`
  }

  partBegin({ name, fileName, contentType }: PartHead): boolean {
    this.words.push(name, fileName, contentType)
    this.#parts++
    this.#hasFile ||= fileName !== null
    return this.#goesOn()
  }

  partData(bytes: Buffer, start: number, end: number): boolean {
    this.#data += bytes.toString('latin1', start, end)
    return this.#goesOn()
  }

  partEnd(): boolean {
    this.words.push(this.#data, 'end')
    this.#hasEmpty ||= this.#data === ''
    this.#data = ''
    return this.#goesOn()
  }

  #goesOn(): boolean {
    return this.#choices === null || !this.#choices.oneIn(3)
  }
}

/** Long enough for the search by words. */
function longForm(size: number): Buffer {
  const boundary = '----WebKitFormBoundary7MA4YWxkTrZu0gW'
  const file = `${DISPOSITION}"f"; filename="x.bin"\r\nContent-Type: application/octet-stream\r\n\r\n${'text\r\n'.repeat(size / 6)}`
  const body = `--${boundary}\r\n${DISPOSITION}"a"\r\n\r\n1\r\n--${boundary}\r\n${file}\r\n--${boundary}--\r\n`
  return Buffer.from(`multipart/form-data; boundary=${boundary}\n${body}`)
}

/** @param pauses whether the receiver stops from time to time */
function readForm(boundary: string, chunks: readonly Buffer[], limits: MultipartLimits, pauses: Random | null): Form {
  const parts: Part[] = []
  const goOn = (): boolean => pauses === null || !pauses.oneIn(3)
  const parser = new MultipartParser(
    boundary,
    {
      partBegin(head) {
        assert.ok(parts.at(-1)?.isWhole !== false, 'a part begins inside another')
        parts.push({ ...head, data: '', isWhole: false })
        return goOn()
      },
      partData(bytes, start, end) {
        const part = parts.at(-1)!
        assert.ok(!part.isWhole && start < end, 'data of a part')
        part.data += Buffer.from(bytes.subarray(start, end)).toString('latin1')
        return goOn()
      },
      partEnd() {
        assert.equal(parts.at(-1)!.isWhole, false)
        parts.at(-1)!.isWhole = true
        return goOn()
      },
    },
    limits,
  )
  let refusal: unknown = null
  for (const chunk of chunks) {
    try {
      feed(parser, chunk)
    } catch (error) {
      refusal = error
      break
    }
  }
  const finished = outcomeOf(() => parser.finish())
  if (refusal === null) return { parts, error: finished.error }
  assert.equal(finished.error, codeOf(refusal), 'a refusal is final')
  assert.throws(
    () => parser.push(Buffer.from('x')),
    (error) => error === refusal,
  )
  return { parts, error: finished.error }
}

/** The parser receives the bytes in memory that is immediately reused. */
function feed(parser: MultipartParser, chunk: Buffer): void {
  const lent = Buffer.from(chunk)
  const mostSteps = 4 * chunk.length + 16
  let at = 0
  for (let steps = 0; at < lent.length; steps++) {
    assert.ok(steps < mostSteps, 'it never ends')
    at += parser.push(lent, at, lent.length)
  }
  lent.fill(0xdd)
}

/**
 * The body as a whole, cut at its delimiters: lines that begin with the boundary.
 * @param error with which the parser refuses it: what follows is not checked
 */
function bySplitting(boundary: string, body: Buffer, error: string | null): Form {
  const delimiter = `\r\n--${boundary}`
  const text = `\r\n${body.toString('latin1')}`
  const parts: Part[] = []
  let at = text.indexOf(delimiter)
  const first = text.indexOf(`--${boundary}`)
  if (first !== -1 && first !== at + 2) return { parts, error: 'WEIR_MULTIPART_DELIMITER' }
  for (;;) {
    if (at === -1) return { parts, error: error ?? 'no delimiter' }
    at += delimiter.length
    if (text.startsWith('--', at)) return { parts, error: null }
    const padding = /^[ \t]*\r\n/.exec(text.slice(at, at + 400))
    if (padding === null || (error !== null && parts.length > 0 && !parts.at(-1)!.isWhole)) return { parts, error }
    if (parts.length === WIDE.maxParts) return { parts, error: error ?? 'too many parts' }
    at += padding[0].length
    // The empty line may follow immediately; its line end may be the beginning of a delimiter.
    const headEnd = text.startsWith('\r\n', at) ? at : text.indexOf('\r\n\r\n', at)
    if (headEnd === -1) return { parts, error: error ?? 'no head' }
    const lines = headEnd === at ? [] : text.slice(at, headEnd).split('\r\n')
    const dataAt = headEnd === at ? at + 2 : headEnd + 4
    if (lines.some((line) => line.startsWith(`--${boundary}`) || /^[ \t]|[\r\n\0]/.test(line))) return { parts, error }
    if (lines.length > WIDE.maxPartHeaders) return { parts, error: error ?? 'too many header lines' }
    const head = outcomeOf(() => readPartHead(lines.map((line) => Buffer.from(line, 'latin1').toString('utf8'))))
    if (head.value === null) return { parts, error: error ?? head.error }
    if (error === 'WEIR_MULTIPART_HEADER_SYNTAX' && lines.some((line) => Buffer.from(line, 'latin1').toString().includes('\ufffd')))
      return { parts, error }
    at = text.indexOf(delimiter, dataAt - 2)
    const data = text.slice(dataAt, at === -1 ? undefined : Math.max(dataAt, at))
    const part = {
      ...head.value,
      data,
      isWhole: at !== -1 && /^(?:--|[ \t]*\r\n)/.test(text.slice(at + delimiter.length, at + delimiter.length + 400)),
    }
    parts.push(part)
    if (!part.isWhole) part.data = at === -1 ? withoutTail(data, delimiter) : data
    if (!part.isWhole) return { parts, error: error ?? 'a part without an end' }
  }
}

/** What may be the beginning of a delimiter is not passed on. The line end before the data may belong to it. */
function withoutTail(data: string, delimiter: string): string {
  const text = `\r\n${data}`
  for (let length = Math.min(text.length, delimiter.length - 1); length > 0; length--) {
    if (text.endsWith(delimiter.slice(0, length))) return data.slice(0, Math.max(0, data.length - length))
  }
  return data
}

/** packages/weirjs/test/multipart-differential.test.ts lists the known and intended differences; what could be one is not compared. */
async function agreeWithBusboy(boundary: string, body: Buffer, parts: readonly Part[]): Promise<void> {
  const text = body.toString('latin1')
  if (text.includes(`\r\n\r\n--${boundary}`) || text.includes(`--${boundary} `) || text.includes(`--${boundary}\t`)) return
  if (/;[ \t]*(?:;|\r\n)|%|\*|\\/.test(text) || parts.some(({ name, fileName }) => name === '' || fileName === '')) return
  // busboy may continue after the close delimiter if others follow.
  const close = `\r\n${text}`.indexOf(`\r\n--${boundary}--`)
  if (close !== -1 && text.includes(`\r\n--${boundary}`, close)) return
  const theirs = await readByBusboy(boundary, [body])
  if (theirs === null) return
  const ours = parts.map(({ name, fileName, data }) => ({ name, fileName, data }))
  const inOrder = (list: readonly { fileName: string | null }[]): unknown[] => [
    ...list.filter(({ fileName }) => fileName === null),
    ...list.filter(({ fileName }) => fileName !== null),
  ]
  assert.deepEqual(inOrder(theirs), inOrder(ours), 'busboy reads a different form')
}
