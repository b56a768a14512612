// Writes the heads and trailers of responses as frames: HPACK, and CONTINUATION where a block is larger than a frame (RFC 9113 §4.3, §8.3.2).

import type { Buffer } from 'node:buffer'
import { trimBlanks } from '../../base/ascii.ts'
import type { FrameOutput } from './frame-output.ts'
import { DEFAULT_FRAME_BYTES, FRAME_HEAD_BYTES } from './frames/frame-types.ts'
import { finishHeaders, headersBytes } from './frames/frame-writer.ts'
import { HpackEncoder, INDEX, indexingOf, MOST_UPDATE_BYTES, mostFieldBytes } from './hpack/encoder.ts'
import type { FieldPairs } from './stream.ts'

/** Fields of an HTTP/1.1 connection: they are never sent (RFC 9113 §8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'])

export class HeadWriter {
  readonly #encoder = new HpackEncoder()
  readonly #output: FrameOutput

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
    const statusText = String(status)
    const lengthText = length < 0 ? '' : String(length)
    let most = mostFieldBytes(':status', statusText) + mostFieldBytes('content-length', lengthText) + mostFieldBytes('date', date)
    if (type !== null) most += mostFieldBytes('content-type', type)
    let at = this.#begin(most + mostBytes(fields))
    const bytes = this.#output.bytes
    const encoder = this.#encoder
    at = encoder.write(bytes, at, ':status', statusText, INDEX)
    const hasDate = fields !== null && hasField(fields, 'date')
    if (date !== '' && !hasDate) at = encoder.write(bytes, at, 'date', date, INDEX)
    if (type !== null) at = encoder.write(bytes, at, 'content-type', type, INDEX)
    if (length >= 0) at = encoder.write(bytes, at, 'content-length', lengthText, indexingOf('content-length'))
    if (fields !== null) at = this.#writeFields(bytes, at, fields)
    this.#finish(at, stream, isEnd)
  }

  writeTrailers(stream: number, fields: FieldPairs): void {
    let at = this.#begin(mostBytes(fields))
    at = this.#writeFields(this.#output.bytes, at, fields)
    this.#finish(at, stream, true)
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

  #finish(end: number, stream: number, isEnd: boolean): void {
    const output = this.#output
    output.end = finishHeaders(output.bytes, output.end, end, stream, isEnd, DEFAULT_FRAME_BYTES)
  }
}

function mostBytes(fields: FieldPairs | null): number {
  let most = 0
  if (fields !== null) for (let i = 0; i < fields.length; i += 2) most += mostFieldBytes(fields[i]!, fields[i + 1]!)
  return most
}

function hasField(fields: FieldPairs, name: string): boolean {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]!.length === name.length && fields[i]!.toLowerCase() === name) return true
  return false
}
