// Encodes responses: status line, fields and framing (RFC 9112 §4, §6, §7.1). Their content was checked when it was set.

import { Buffer } from 'node:buffer'
import { STATUS_CODES } from '../../base/status-codes.ts'
import { CHUNKED } from '../head/framing.ts'

export const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
export const LAST_CHUNK = '0\r\n\r\n'
/** Interim responses with fields: RFC 8297, and draft-ietf-httpbis-resumable-upload. */
const INTERIM_REASONS: Readonly<Record<number, string>> = { 103: 'Early Hints', 104: 'Upload Resumption Supported' }

/** Values for the Connection field of a response. */
export const CONNECTION_DEFAULT = ''
export const CONNECTION_CLOSE = 'Connection: close\r\n'
/** For HTTP/1.0, where it is not the default. */
export const CONNECTION_KEEP_ALIVE = 'Connection: keep-alive\r\n'

const STATUS_LINES = new Map<number, string>()

/**
 * The head of a response, as Latin-1 text.
 * @param fields name, value, name, value
 * @param length length of the body in bytes, `CHUNKED`, or `NO_LENGTH`
 * @param dateLine `Date: …` with its line end; omitted when `fields` has a Date
 */
export function encodeHead(
  status: number,
  reason: string,
  type: string | null,
  fields: readonly string[] | null,
  length: number,
  connection: string,
  dateLine: string,
): string {
  if (status === 200 && fields === null && length >= 0 && type !== null && reason === '') {
    if (dateLine !== lastDateLine || type !== lastType) keepStart(type, dateLine)
    if (connection !== CONNECTION_DEFAULT || length >= SHORT) return `${lastStart + length}\r\n${connection}\r\n`
    return lastStart + (LENGTH_ENDS[length] ??= `${length}\r\n\r\n`)
  }
  let head = reason === '' ? statusLine(status) : `HTTP/1.1 ${status} ${reason}\r\n`
  let date = dateLine
  if (fields !== null) {
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i]!
      if (name.length === 4 && name.toLowerCase() === 'date') date = ''
      head += `${name}: ${fields[i + 1]!}\r\n`
    }
  }
  head += date
  if (type !== null) head += `Content-Type: ${type}\r\n`
  if (length >= 0) head += `Content-Length: ${length}\r\n`
  else if (length === CHUNKED) head += 'Transfer-Encoding: chunked\r\n'
  return `${head + connection}\r\n`
}

let lastType = ''
let lastDateLine = ''
/** The beginning of a response without fields. It is the same for a second, and a flat string is cheaper to join and to send. */
let lastStart = ''

function keepStart(type: string, dateLine: string): void {
  lastType = type
  lastDateLine = dateLine
  lastStart = Buffer.from(`${statusLine(200)}${dateLine}Content-Type: ${type}\r\nContent-Length: `, 'latin1').toString('latin1')
}

/** For shorter bodies the end of the head is cached: one string to join instead of four. */
const SHORT = 1024
const LENGTH_ENDS: (string | undefined)[] = new Array(SHORT)

function statusLine(status: number): string {
  let line = STATUS_LINES.get(status)
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
    STATUS_LINES.set(status, line)
  }
  return line
}

/** An interim response (RFC 9110 §15.2). @param fields name, value, name, value */
export function encodeInterim(status: number, fields: readonly string[]): string {
  return `HTTP/1.1 ${status} ${INTERIM_REASONS[status] ?? ''}\r\n${fieldLines(fields)}\r\n`
}

/** The last chunk, with the trailers after it (RFC 9112 §7.1.2). @param trailers name, value, name, value */
export function lastChunk(trailers: readonly string[]): string {
  return `0\r\n${fieldLines(trailers)}\r\n`
}

function fieldLines(fields: readonly string[]): string {
  let lines = ''
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]!}: ${fields[i + 1]!}\r\n`
  return lines
}

/** What precedes the data of a chunk. CRLF follows the data. */
export function chunkHead(size: number): string {
  return `${size.toString(16)}\r\n`
}
