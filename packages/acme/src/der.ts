// DER (X.690): the few forms that requests for certificates and certificates consist of.

import { Buffer } from 'node:buffer'

const SEQUENCE = 0x30
const SET = 0x31
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OBJECT_IDENTIFIER = 0x06
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18
const CONTEXT = 0x80
const CONSTRUCTED = 0x20

/** The first year that UTCTime cannot express (RFC 5280 §4.1.2.5). */
const FIRST_LONG_YEAR = 2050

function value(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff)
  return Buffer.concat([Buffer.of(tag, 0x80 | bytes.length, ...bytes), content])
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => value(SEQUENCE, ...contents)
export const set = (...contents: readonly Uint8Array[]): Buffer => value(SET, ...contents)
export const octets = (content: Uint8Array): Buffer => value(OCTET_STRING, content)
export const bits = (content: Uint8Array): Buffer => value(BIT_STRING, Buffer.of(0), content)
export const utf8 = (text: string): Buffer => value(UTF8_STRING, Buffer.from(text))
export const yes = (): Buffer => Buffer.of(0x01, 0x01, 0xff)
/** `[number]`: a value inside. */
export const explicit = (number: number, ...contents: readonly Uint8Array[]): Buffer => value(CONTEXT | CONSTRUCTED | number, ...contents)
/** `[number]` in place of the tag of a simple value. */
export const implicit = (number: number, content: Uint8Array): Buffer => value(CONTEXT | number, content)

/** @param content a number of at least 0, the highest byte first */
export function integer(content: Uint8Array): Buffer {
  return value(INTEGER, content[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), content]) : content)
}

/** @param dotted such as `2.5.29.17` */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const digits = [part & 0x7f]
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) digits.unshift((left & 0x7f) | 0x80)
    bytes.push(...digits)
  }
  return value(OBJECT_IDENTIFIER, Buffer.from(bytes))
}

/** @param ms since 1970 */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')}`
  return Number(digits.slice(0, 4)) < FIRST_LONG_YEAR
    ? value(UTC_TIME, Buffer.from(digits.slice(2)))
    : value(GENERALIZED_TIME, Buffer.from(digits))
}

interface Piece {
  readonly tag: number
  readonly content: Buffer
  /** Everything after it. */
  readonly rest: Buffer
}

/** Null if no value begins here. */
function read(bytes: Buffer): Piece | null {
  if (bytes.length < 2) return null
  let length = bytes[1]!
  let at = 2
  if (length >= 0x80) {
    const count = length & 0x7f
    if (count === 0 || count > 4 || bytes.length < 2 + count) return null
    length = bytes.readUIntBE(2, count)
    at += count
  }
  if (bytes.length < at + length) return null
  return { tag: bytes[0]!, content: bytes.subarray(at, at + length), rest: bytes.subarray(at + length) }
}

/** The values inside a value. */
export function piecesOf(content: Buffer): Piece[] {
  const pieces: Piece[] = []
  for (let piece = read(content); piece !== null; piece = read(piece.rest)) pieces.push(piece)
  return pieces
}
