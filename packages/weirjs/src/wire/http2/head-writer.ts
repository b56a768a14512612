// Writes the heads and trailers of responses as frames: HPACK, and CONTINUATION where a block is larger than a frame (RFC 9113 §4.3, §8.3.2).

import type { Buffer } from 'node:buffer'
import { trimBlanks } from '../../base/ascii.ts'
import type { FrameOutput } from './frame-output.ts'
import { DEFAULT_FRAME_BYTES, FRAME_HEAD_BYTES } from './frames/frame-types.ts'
import { finishHeaders, headersBytes } from './frames/frame-writer.ts'
import { HpackEncoder, INDEX, indexingOf, MOST_UPDATE_BYTES, mostFieldBytes } from './hpack/encoder.ts'
import { STATIC_NAMES } from './hpack/static-table.ts'
import type { FieldPairs } from './stream.ts'

/** Fields of an HTTP/1.1 connection: they are never sent (RFC 9113 §8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'])

const CONTENT_LENGTH = STATIC_NAMES.get('content-length')!.first
/** What the own fields of a head take, without the date and the type. */
const MOST_OWN_BYTES =
  mostFieldBytes(':status', '200') +
  mostFieldBytes('date', '') +
  mostFieldBytes('content-type', '') +
  mostFieldBytes('content-length', String(Number.MAX_SAFE_INTEGER))
/** A longer start of a block is not kept. Usually it is three indices. */
const MOST_START_BYTES = 8

export class HeadWriter {
  readonly #encoder = new HpackEncoder()
  readonly #output: FrameOutput
  // How the last block began that changed nothing in the table: most responses of a second begin alike.
  readonly #start: number[] = []
  #status = 0
  #date = ''
  #type: string | null = null
  /** What the table was like. */
  #added = -1
  #count = -1

  constructor(output: FrameOutput) {
    this.#output = output
  }

  /** The client's SETTINGS_HEADER_TABLE_SIZE. */
  setTableLimit(bytes: number): void {
    this.#encoder.setPeerLimit(bytes)
  }

  /** @param fields name, value, name, value; names in any case */
  writeHead(
    stream: number,
    status: number,
    type: string | null,
    fields: FieldPairs | null,
    length: number,
    date: string,
    isEnd: boolean,
  ): void {
    const most = MOST_OWN_BYTES + date.length + (type === null ? 0 : type.length)
    let at = this.#begin(fields === null ? most : most + mostBytes(fields))
    const output = this.#output
    const { bytes } = output
    const { table } = this.#encoder
    const shownDate = fields !== null && hasField(fields, 'date') ? '' : date
    const isAgain =
      status === this.#status &&
      shownDate === this.#date &&
      type === this.#type &&
      table.added === this.#added &&
      table.count === this.#count
    if (isAgain) for (const byte of this.#start) bytes[at++] = byte
    else at = this.#writeStart(bytes, at, status, shownDate, type)
    if (length >= 0) at = this.#encoder.writePlain(bytes, at, CONTENT_LENGTH, String(length))
    if (fields !== null) at = this.#writeFields(bytes, at, fields)
    output.end = finishHeaders(bytes, output.end, at, stream, isEnd, DEFAULT_FRAME_BYTES)
  }

  writeTrailers(stream: number, fields: FieldPairs): void {
    const start = this.#begin(mostBytes(fields))
    const output = this.#output
    const end = this.#writeFields(output.bytes, start, fields)
    output.end = finishHeaders(output.bytes, output.end, end, stream, true, DEFAULT_FRAME_BYTES)
  }

  /** The fields that most responses of a second have in common. @param date empty for none */
  #writeStart(bytes: Buffer, start: number, status: number, date: string, type: string | null): number {
    const encoder = this.#encoder
    const { added } = encoder.table
    let at = encoder.write(bytes, start, ':status', String(status), INDEX)
    if (date !== '') at = encoder.write(bytes, at, 'date', date, INDEX)
    if (type !== null) at = encoder.write(bytes, at, 'content-type', type, INDEX)
    if (encoder.table.added > added || at - start > MOST_START_BYTES) return at
    this.#status = status
    this.#date = date
    this.#type = type
    this.#added = added
    this.#count = encoder.table.count
    this.#start.length = 0
    for (let i = start; i < at; i++) this.#start.push(bytes[i]!)
    return at
  }

  #begin(mostBlockBytes: number): number {
    const most = MOST_UPDATE_BYTES + mostBlockBytes
    const bytes = this.#output.reserve(headersBytes(most, DEFAULT_FRAME_BYTES))
    return this.#encoder.begin(bytes, this.#output.end + FRAME_HEAD_BYTES)
  }

  #writeFields(bytes: Buffer, from: number, fields: FieldPairs): number {
    let at = from
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i]!.toLowerCase()
      if (OF_CONNECTIONS.has(name)) continue
      // A value with blanks around it would make the response malformed (RFC 9113 §8.2.1).
      at = this.#encoder.write(bytes, at, name, trimBlanks(fields[i + 1]!), indexingOf(name))
    }
    return at
  }
}

function mostBytes(fields: FieldPairs): number {
  let most = 0
  for (let i = 0; i < fields.length; i += 2) most += mostFieldBytes(fields[i]!, fields[i + 1]!)
  return most
}

function hasField(fields: FieldPairs, name: string): boolean {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]!.length === name.length && fields[i]!.toLowerCase() === name) return true
  return false
}
