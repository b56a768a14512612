// Wire fixtures (test/wire/*.http): the bytes that a client sends, the log that the parser must produce for them, and all ways to cut the
// bytes.
//
//   # a comment, between cases
//   === what must hold -- RFC section
//   limits maxRequestHeaders=2        optional: the limits of this case
//   half-close                        optional: the client ends its side after the last byte
//   only | skip -- reason | todo -- reason   optional marks; a todo runs and may fail
//   >>>
//   GET / HTTP/1.1                    each line ends with CRLF, unless its last character is a single backslash
//   <<<
//   error WEIR_HOST_MISSING           the log, as wire-reading.ts prints it
//
// Unusual bytes are written as \x00, \r, \n, \t and \\. Repeated text, in bytes and in the log, is {{'text' * 70000}}.

import { readdirSync, readFileSync } from 'node:fs'

import { type Limits, resolveLimits } from '../../src/base/limits.ts'

export interface WireCase {
  readonly name: string
  /** The source of the rule. */
  readonly see: string
  /** `file:line` of the case's heading. */
  readonly where: string
  readonly bytes: Buffer
  /** The lines between `>>>` and `<<<`, with their escapes decoded and without their line ends. */
  readonly lines: readonly string[]
  readonly log: string
  readonly limits: Limits
  readonly halfClose: boolean
  readonly only: boolean
  /** Why the case does not run, or null. */
  readonly skip: string | null
  /** What must be done before the case can pass, or null. */
  readonly todo: string | null
}

/** One way to pass in the same bytes. */
export interface Cut {
  readonly name: string
  readonly parts: readonly Buffer[]
}

/** Names of the fixture files in `folder`, without their extension. */
export function wireTopics(folder: string, end = '.http'): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(end))
    .map((file) => file.slice(0, -end.length))
    .sort()
}

export function loadWireCases(path: string): WireCase[] {
  return parseWireCases(path, readFileSync(path, 'utf8'))
}

/**
 * The cases of one fixture file. A malformed case throws with `file:line`, because a case that is silently skipped would prove nothing.
 */
export function parseWireCases(path: string, text: string): WireCase[] {
  const lines = text.split('\n')
  const cases: WireCase[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at]!
    if (line.startsWith('=== ')) at = readCase(path, lines, at, cases)
    else if (line === '' || line.startsWith('#')) at++
    else throw new Error(`${path}:${at + 1}: neither a heading nor a comment: ${line}`)
  }
  return cases
}

function readCase(path: string, lines: readonly string[], headingAt: number, cases: WireCase[]): number {
  const where = `${path}:${headingAt + 1}`
  const [name, see] = lines[headingAt]!.slice('=== '.length).split(' -- ')
  if (name === undefined || see === undefined) throw new Error(`${where}: a heading is "=== name -- RFC section"`)
  let limits: Record<string, number | null> = {}
  let halfClose = false
  let only = false
  let skip: string | null = null
  let todo: string | null = null
  let at = headingAt + 1
  for (; lines[at] !== '>>>'; at++) {
    const line = lines[at]
    if (line?.startsWith('limits ')) limits = readLimits(line)
    else if (line === 'half-close') halfClose = true
    else if (line === 'only') only = true
    else if (line?.startsWith('skip -- ')) skip = line.slice('skip -- '.length)
    else if (line?.startsWith('todo -- ')) todo = line.slice('todo -- '.length)
    else throw new Error(`${path}:${at + 1}: not an option of a case: ${line}`)
  }
  const sent: string[] = []
  for (at++; lines[at] !== '<<<'; at++) {
    if (lines[at] === undefined || lines[at] === '>>>' || lines[at]!.startsWith('=== ')) throw new Error(`${where}: ">>>" without "<<<"`)
    sent.push(readLine(lines[at]!, `${path}:${at + 1}`))
  }
  const log: string[] = []
  for (at++; at < lines.length && !lines[at]!.startsWith('=== '); at++) {
    if (!lines[at]!.startsWith('#')) log.push(expand(lines[at]!))
  }
  while (log.at(-1) === '') log.pop()
  cases.push({
    name,
    see,
    where,
    bytes: Buffer.from(sent.join(''), 'latin1'),
    lines: sent.map((line) => line.replace(/\r\n$/, '')),
    log: log.join('\n'),
    limits: resolveLimits(limits),
    halfClose,
    only,
    skip,
    todo,
  })
  return at
}

function readLimits(line: string): Record<string, number | null> {
  const pairs = line.slice('limits '.length).split(' ')
  return Object.fromEntries(pairs.map((pair) => [pair.split('=')[0]!, pair.endsWith('=null') ? null : Number(pair.split('=')[1])]))
}

/** One line of a `>>>` block with its line end, as latin1 text. */
function readLine(line: string, where: string): string {
  const expanded = expand(line)
  const text = expanded.replace(/\\(?:x([0-9a-fA-F]{2})|([rnt\\])|$|.)|[^ -~]/g, (found, hex?: string, letter?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    if (letter !== undefined) return { r: '\r', n: '\n', t: '\t', '\\': '\\' }[letter]!
    if (found === '\\') return ''
    throw new Error(`${where}: write ${JSON.stringify(found)} as an escape`)
  })
  const isJoined = (/\\*$/.exec(expanded)?.[0].length ?? 0) % 2 === 1
  return isJoined ? text : `${text}\r\n`
}

function expand(line: string): string {
  return line.replace(/\{\{'(.*?)' \* (\d+)\}\}/g, (_, text: string, count: string) => text.repeat(Number(count)))
}

/** A longer message is cut near its ends and at some places between: trying every place would take minutes. */
const EVERY_CUT_BYTES = 1000
const END_BYTES = 60

/** Whole, byte by byte, three bytes at a time, and in two pieces at every place. */
export function* cuts(bytes: Buffer): Generator<Cut> {
  yield { name: 'whole', parts: [bytes] }
  if (bytes.length < 2) return
  yield { name: 'byte by byte', parts: pieces(bytes, 1) }
  yield { name: 'three bytes at a time', parts: pieces(bytes, 3) }
  const step = bytes.length > EVERY_CUT_BYTES ? Math.ceil(bytes.length / 40) : 1
  for (let at = 1; at < bytes.length; at++) {
    if (at % step !== 0 && at > END_BYTES && at < bytes.length - END_BYTES) continue
    yield { name: `cut at ${at}`, parts: [bytes.subarray(0, at), bytes.subarray(at)] }
  }
}

/** `bytes` in pieces of `size`; the last one may be shorter. */
export function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

/** `bytes` cut at these places, given in any order. A place after the end wraps around to the start. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end)).filter((part) => part.length > 0)
}
