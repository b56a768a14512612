// The conformance table for HTTP/2: what RFC 9113 requires of a server, as frames and the required outcome.
//
// Files of test/conformance/http2/*.frames are written like those of packages/weirjs/test/conformance (see cases.ts), with frames instead of bytes:
//
//   === PSF-02 no :method -- RFC 9113 §8.3.1 MUST
//   >>>
//   bare                                   optional: the test sends no preface for the client
//   HEADERS 1 end                          type and stream. `end` is END_STREAM; END_HEADERS is set unless `more` is there
//   GET /                                  its fields: the four pseudo-header fields for this, with the authority `a`
//   x-a: 1                                 one field
//   DATA 1 end "text"                      payload as text; x0000 is hexadecimal. Also `padded` and `ack`
//   raw "text"                             bytes that are not a frame
//   answered 1                             waits until stream 1 has an outcome
//   repeat 1000                            repeats everything after it. `HEADERS $` opens a new stream, `$` is the last one
//   <<<
//   1: 200 GET / "body"                    a status, and the request that the handler saw
//   ~ x-a: 1                               a field of that request; `~ x-a` without a colon: the handler saw none
//   1: 431 WEIR_HEAD_TOO_LARGE             a refusal. `1: 100, 200 POST /`: statuses in order
//   1: 400 WEIR_X or reset PROTOCOL_ERROR  either of them
//   any GET /                              any number of such requests; streams that are not listed may have any outcome
//   open | goaway CODE | closed            whether a request after all this is answered, or the connection ends, with or without GOAWAY.
//                                          `open or closed` if that is up to the server
//
// What is not listed must never happen: no other stream is answered, and no other request is handled.

import { ERRORS, type ErrorCode } from '../../src/base/error-codes.ts'
import type { Limits } from '../../src/base/limits.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  GOAWAY,
  HEADERS,
  PADDED,
  PING,
  PRIORITY,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../support/http2-client.ts'
import { loadWireCases, type WireCase, wireTopics } from '../support/wire-cases.ts'
import type { Level } from './cases.ts'

const FOLDER = 'packages/weirjs/test/conformance/http2'

/** RFC 9113 §7, by number. */
export const CODES: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
]

const TYPES: Readonly<Record<string, number>> = {
  DATA,
  HEADERS,
  PRIORITY,
  RST_STREAM,
  SETTINGS,
  PUSH_PROMISE,
  PING,
  GOAWAY,
  WINDOW_UPDATE,
  CONTINUATION,
}

/** One thing that the client does. `last` is the stream that `$` meant; the result has the one that it means next. */
export type Step = (last: number) => { readonly bytes: Buffer; readonly last: number } | { readonly awaits: number }

/** The outcome of a stream. */
export interface StreamOutcome {
  /** As written in the case, with the code of the problem. */
  readonly text: string
  /** Method, url and body that the handler must have seen, or null. */
  readonly handled: string | null
}

export interface StreamExpected {
  readonly stream: number
  readonly either: readonly StreamOutcome[]
  /** Fields of the request. null: the field must be absent. */
  readonly sees: readonly (readonly [name: string, value: string | null])[]
}

export interface Http2Case {
  readonly id: string
  readonly title: string
  readonly section: string
  readonly level: Level
  readonly limits: Limits
  readonly isBare: boolean
  /** Performed once; the repeated steps are performed `rounds` times. */
  readonly first: readonly Step[]
  readonly repeated: readonly Step[]
  readonly rounds: number
  readonly streams: readonly StreamExpected[]
  /** Requests that may be handled any number of times. */
  readonly any: readonly string[]
  /** `open`, `closed`, `goaway CODE`. */
  readonly ends: readonly string[]
}

export function loadHttp2Cases(): Http2Case[] {
  const cases = wireTopics(FOLDER, '.frames').flatMap((topic) => loadWireCases(`${FOLDER}/${topic}.frames`).map(readCase))
  const ids = cases.map(({ id }) => id)
  const repeated = ids.filter((id, i) => ids.indexOf(id) !== i)
  if (repeated.length > 0) throw new Error(`ids are used twice: ${repeated.join(', ')}`)
  return cases
}

/** The codes with which weir refuses a case. */
export function refusalsOf({ streams }: Http2Case): string[] {
  return streams.flatMap(({ either }) => either.flatMap(({ text }) => /WEIR_\w+/.exec(text) ?? []))
}

function readCase({ name, see, where, lines, log, limits }: WireCase): Http2Case {
  const [, id, title] = /^([A-Z]+-\d\d) (.+)$/.exec(name) ?? fail(where, 'a heading begins with an id such as PSF-02')
  const [, section, level] = /^(.+) (MUST|SHOULD|MAY)$/.exec(see) ?? fail(where, 'a heading ends with MUST, SHOULD or MAY')
  const isBare = lines[0] === 'bare'
  const repeatAt = lines.findIndex((line) => line.startsWith('repeat '))
  const end = repeatAt < 0 ? lines.length : repeatAt
  return {
    ...{ id: id!, title: title!, section: section!, level: level as Level, limits, isBare },
    first: readSteps(lines.slice(isBare ? 1 : 0, end), where),
    repeated: readSteps(lines.slice(end + 1), where),
    rounds: repeatAt < 0 ? 0 : Number(lines[repeatAt]!.slice('repeat '.length)),
    ...readOutcome(log.split('\n'), where),
  }
}

function readSteps(lines: readonly string[], where: string): Step[] {
  const steps: Step[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++]!
    const [, awaited] = /^answered (\d+)$/.exec(line) ?? []
    const frame = /^([A-Z_]+|\d+) (\d+|\$)((?: (?:end|more|ack|padded))*)(?: (".*"|x[0-9a-f]*))?$/s.exec(line)
    if (awaited !== undefined) steps.push(() => ({ awaits: Number(awaited) }))
    else if (line.startsWith('raw ')) {
      const bytes = payloadOf(line.slice('raw '.length))
      steps.push((last) => ({ bytes, last }))
    } else if (frame !== null) {
      const fields: (readonly [string, string])[] = []
      while (at < lines.length && !isStep(lines[at]!)) fields.push(...readFields(lines[at++]!, where))
      steps.push(frameStep(frame, fields, where))
    } else fail(where, `no frame: ${line}`)
  }
  return steps
}

const isStep = (line: string): boolean =>
  /^(?:answered|raw) /.test(line) || TYPES[line.split(' ')[0]!] !== undefined || /^\d+ \d/.test(line)

function frameStep([, name, stream, words, written]: RegExpExecArray, fields: readonly (readonly [string, string])[], where: string): Step {
  const type = TYPES[name!] ?? (/^\d+$/.test(name!) ? Number(name) : fail(where, `unknown type of frame: ${name}`))
  const says = (word: string): boolean => words!.includes(` ${word}`)
  const hasBlock = type === HEADERS || type === CONTINUATION
  const flags =
    (says('end') ? END_STREAM : 0) | (hasBlock && !says('more') ? END_HEADERS : 0) | (says('ack') ? ACK : 0) | (says('padded') ? PADDED : 0)
  const payload = written === undefined ? encodeFields(fields) : payloadOf(written)
  return (last) => {
    const own = stream !== '$' ? Number(stream) : type === HEADERS ? last + 2 : last
    return { bytes: encodeFrame(type, flags, own, payload), last: Math.max(last, own) }
  }
}

function readFields(line: string, where: string): (readonly [string, string])[] {
  const [, method, path] = /^([A-Z]+) (\S+)$/.exec(line) ?? []
  if (method !== undefined)
    return [
      [':method', method],
      [':scheme', 'https'],
      [':authority', 'a'],
      [':path', path!],
    ]
  const at = line.indexOf(': ')
  return [at < 0 ? fail(where, `no field: ${line}`) : [line.slice(0, at), line.slice(at + 2)]]
}

function payloadOf(written: string): Buffer {
  return written.startsWith('x') ? Buffer.from(written.slice(1), 'hex') : Buffer.from(written.slice(1, -1), 'latin1')
}

function readOutcome(lines: readonly string[], where: string): Pick<Http2Case, 'streams' | 'any' | 'ends'> {
  const streams: { -readonly [K in keyof StreamExpected]: StreamExpected[K] }[] = []
  const any: string[] = []
  for (const line of lines.slice(0, -1)) {
    const [, stream, outcomes] = /^(\d+): (.+)$/.exec(line) ?? []
    const [, name, value] = /^~ ([^\s:]+)(?:: (.*))?$/.exec(line) ?? []
    if (stream !== undefined)
      streams.push({ stream: Number(stream), either: outcomes!.split(' or ').map((one) => readEnd(one, where)), sees: [] })
    else if (name !== undefined && streams.length > 0) {
      const last = streams.at(-1)!
      last.sees = [...last.sees, [name, value ?? null]]
    } else if (line.startsWith('any ')) any.push(line.slice('any '.length))
    else fail(where, `not a line of an outcome: ${line}`)
  }
  const ends = lines.at(-1)!.split(' or ')
  for (const end of ends) {
    const isEnd = end === 'open' || end === 'closed' || (end.startsWith('goaway ') && CODES.includes(end.slice('goaway '.length)))
    if (!isEnd) fail(where, `the last line must state how the connection ends: ${end}`)
  }
  return { streams, any, ends }
}

function readEnd(text: string, where: string): StreamOutcome {
  const [, code] = /^reset (\w+)$/.exec(text) ?? []
  const [, problem] = /^\d\d\d (WEIR_\w+)$/.exec(text) ?? []
  const [, handled] = /^(?:100, )?\d\d\d (\S+ \S+(?: ".*")?)$/.exec(text) ?? []
  const isKnown =
    code !== undefined
      ? CODES.includes(code)
      : problem !== undefined
        ? Object.hasOwn(ERRORS, problem as ErrorCode)
        : /^(?:nothing|\d\d\d)/.test(text)
  if (!isKnown) fail(where, `this is not an outcome of a stream: ${text}`)
  return { text, handled: handled ?? null }
}

function fail(where: string, why: string): never {
  throw new Error(`${where}: ${why}`)
}
