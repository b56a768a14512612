// Wire fixtures of HTTP/2 (test/http2/*.frames): what a client sends and what the owner of a connection does, and the log that must come of it.
//
//   === what must hold -- RFC section
//   limits maxConcurrentStreams=2     optional
//   >>>
//   bare                              optional: nothing is sent before. Otherwise the preface, empty SETTINGS, and the ACK of ours
//   connect                           optional: extended CONNECT is offered
//   uncut                             optional: where frames are cut shows in the log (WINDOW_UPDATE of large bodies)
//   HEADERS 1 end                     type and stream. `end` is END_STREAM; END_HEADERS is set unless `more` is there. Also `ack`, `padded`, `priority`
//   GET /                             its fields: the four pseudo-header fields for this, with the authority `a`
//   x-a: 1                            one field
//   DATA 1 end "text"                 a payload as text, or as hexadecimal: x0000
//   WINDOW_UPDATE 1 +100              RST_STREAM 1 CANCEL, GOAWAY 0 last=1 NO_ERROR, SETTINGS 0 INITIAL_WINDOW_SIZE=10 …, PRIORITY_UPDATE 0 for=1 "u=1"
//   99 0 "text"                       a frame of any type
//   raw "text"                        bytes that are not a frame
//   repeat 1000                       repeats what follows. `$` in the place of a stream is the next one at HEADERS, and that one elsewhere
//   ! head 1 200 [length] [end]       what the owner does: sends a head, with fields in the lines after it
//   ! data 1 "text" [end]             also `! end 1`, `! trailers 1` and fields, `! interim 1 103`
//   ! pause 1, ! resume 1, ! release 1, ! reset 1 CANCEL
//   ! begin-end, ! end-connection, ! fail CODE, ! ping, ! tick 1000
//   ! flush [bytes]                   writes what is ready; otherwise that happens at the end
//   ! answer                          from now on each request is answered with 200 and released as soon as its head is there
//   ! see open=1 …                    values of the connection: open, unreleased, held, queued, life, begun, head
//   <<<
//   head 1 GET / body=none            events
//   < HEADERS 1 end :status=200       frames

import { Buffer } from 'node:buffer'

import { CODE_NAMES } from '../../src/wire/http2/errors.ts'
import * as frames from '../../src/wire/http2/frames/frame-types.ts'
import { encodeFields, encodeFrame } from './http2-client.ts'
import type { WireCase } from './wire-cases.ts'

export type Step =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'act'; readonly words: readonly string[]; readonly fields: readonly string[] }

export interface StepCase {
  readonly steps: readonly Step[]
  readonly offersConnect: boolean
  readonly isUncut: boolean
}

export const TYPES: Readonly<Record<string, number>> = {
  DATA: frames.DATA,
  HEADERS: frames.HEADERS,
  PRIORITY: frames.PRIORITY,
  RST_STREAM: frames.RST_STREAM,
  SETTINGS: frames.SETTINGS,
  PUSH_PROMISE: frames.PUSH_PROMISE,
  PING: frames.PING,
  GOAWAY: frames.GOAWAY,
  WINDOW_UPDATE: frames.WINDOW_UPDATE,
  CONTINUATION: frames.CONTINUATION,
  PRIORITY_UPDATE: frames.PRIORITY_UPDATE,
}
export const SETTING_NAMES: readonly string[] = [
  '',
  'HEADER_TABLE_SIZE',
  'ENABLE_PUSH',
  'MAX_CONCURRENT_STREAMS',
  'INITIAL_WINDOW_SIZE',
  'MAX_FRAME_SIZE',
  'MAX_HEADER_LIST_SIZE',
  '',
  'ENABLE_CONNECT_PROTOCOL',
  'NO_RFC7540_PRIORITIES',
]
const FLAGS: Readonly<Record<string, number>> = {
  end: frames.END_STREAM,
  ack: frames.ACK,
  padded: frames.PADDED,
  priority: frames.WITH_PRIORITY,
}

/** What a client sends before anything else. */
export const PROLOGUE: Buffer = Buffer.concat([
  frames.PREFACE,
  encodeFrame(frames.SETTINGS, 0, 0),
  encodeFrame(frames.SETTINGS, frames.ACK, 0),
])

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function codeOf(name: string): number {
  const code = (CODE_NAMES as readonly string[]).indexOf(name)
  if (code === -1) throw new Error(`no such code: ${name}`)
  return code
}

export function readSteps({ lines, where }: WireCase): StepCase {
  const options = new Set<string>()
  let at = 0
  for (; ['bare', 'connect', 'uncut'].includes(lines[at] ?? ''); at++) options.add(lines[at]!)
  const steps: Step[] = options.has('bare') ? [] : [{ kind: 'bytes', bytes: PROLOGUE }]
  const repeatAt = lines.findIndex((line) => line.startsWith('repeat '))
  const end = repeatAt === -1 ? lines.length : repeatAt
  let last = -1
  const add = (from: number, to: number): void => {
    for (let line = from; line < to; ) {
      const fieldsFrom = line + 1
      let next = fieldsFrom
      while (next < to && isField(lines[next]!)) next++
      const text = lines[line]!
      const fields = lines.slice(fieldsFrom, next).flatMap((field) => fieldsOf(field, where))
      if (text.includes('$') && text.startsWith('HEADERS')) last += 2
      const filled = text.replaceAll(' $', ` ${last}`)
      steps.push(filled.startsWith('! ') ? actOf(filled, fields) : { kind: 'bytes', bytes: bytesOf(filled, fields, where) })
      line = next
    }
  }
  add(at, end)
  const rounds = repeatAt === -1 ? 0 : Number(lines[repeatAt]!.slice('repeat '.length))
  for (let round = 0; round < rounds; round++) add(end + 1, lines.length)
  return { steps, offersConnect: options.has('connect'), isUncut: options.has('uncut') }
}

const isField = (line: string): boolean => !/^(?:! |raw |\d+ [\d$]|repeat )/.test(line) && TYPES[line.split(' ')[0]!] === undefined

function fieldsOf(line: string, where: string): string[] {
  const request = /^([A-Z]+) (\S*)$/.exec(line)
  if (request !== null) return [':method', request[1]!, ':scheme', 'https', ':authority', 'a', ':path', request[2]!]
  const at = line.indexOf(': ', 1)
  if (at === -1) throw new Error(`${where}: no field: ${line}`)
  return [line.slice(0, at), line.slice(at + 2)]
}

function actOf(line: string, fields: readonly string[]): Step {
  const words = line.slice(2).match(/"(?:[^"]|\n)*"|\S+/g) ?? []
  return { kind: 'act', words: words.map((word) => (word.startsWith('"') ? word.slice(1, -1) : word)), fields }
}

function bytesOf(line: string, fields: readonly string[], where: string): Buffer {
  if (line.startsWith('raw ')) return textOf(line.slice('raw '.length))
  const [, name, stream, rest] = /^([A-Z_]+|\d+) (\d+)(?: (.*))?$/s.exec(line) ?? []
  if (name === undefined) throw new Error(`${where}: no frame: ${line}`)
  const type = TYPES[name] ?? Number(name)
  const hasBlock = type === frames.HEADERS || type === frames.CONTINUATION
  let flags = hasBlock ? frames.END_HEADERS : 0
  let payload: Buffer = hasBlock ? encodeFields(pairsOf(fields)) : Buffer.alloc(0)
  for (const word of (rest ?? '').match(/(?:"(?:[^"]|\n)*"|\S+)/g) ?? []) {
    if (word === 'more') flags &= ~frames.END_HEADERS
    else if (FLAGS[word] !== undefined) flags |= FLAGS[word]
    else payload = Buffer.concat([payload, pieceOf(word)])
  }
  return encodeFrame(type, flags, Number(stream), payload)
}

/** Part of a payload. */
function pieceOf(word: string): Buffer {
  if (word.startsWith('"') || word.startsWith('x')) return textOf(word)
  if (word.startsWith('+')) return uint32(Number(word))
  const [name, value] = word.split('=')
  if (value === undefined) return uint32(codeOf(word))
  if (name === 'last' || name === 'for') return uint32(Number(value))
  const id = SETTING_NAMES.indexOf(name!)
  if (id < 1) throw new Error(`no such setting: ${word}`)
  return Buffer.concat([Buffer.of(0, id), uint32(Number(value))])
}

const textOf = (word: string): Buffer =>
  word.startsWith('x') ? Buffer.from(word.slice(1), 'hex') : Buffer.from(word.slice(1, -1), 'latin1')

const pairsOf = (list: readonly string[]): (readonly [string, string])[] =>
  Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i]!, list[2 * i + 1]!])
