// Messages in frames: a byte of flags, the length in four bytes, and the message.

import { setImmediate as nextTurn } from 'node:timers/promises'

import { PieceList } from 'weirjs/kit'

import { RpcError } from './rpc-error.ts'

/** The message is compressed. */
export const COMPRESSED = 0x01
/** The last frame of a stream of Connect: it holds the outcome as JSON. */
export const END_STREAM = 0x02
/** The last frame of gRPC-Web: it holds the trailers. */
export const TRAILERS = 0x80

const HEAD_BYTES = 5
const ONE_PART = /^[A-Za-z0-9+/]*={0,2}$/
const PADDING = '='.charCodeAt(0)
const NO_DIGIT = 255
/** The values of the digits of base64, by their codes. */
const VALUES = new Uint8Array(128).fill(NO_DIGIT)
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  VALUES[digit.charCodeAt(0)] = value
/** How many messages are read in a row, from however many pieces, before other connections have their turn. */
const IN_A_ROW = 64

export interface Frame {
  readonly flags: number
  readonly bytes: Buffer
}

export function frame(flags: number, bytes: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + bytes.length)
  framed[0] = flags
  framed.writeUInt32BE(bytes.length, 1)
  framed.set(bytes, HEAD_BYTES)
  return framed
}

/** @throws RpcError `resource_exhausted` */
export function checkSize(size: number, maxSize: number): void {
  if (size > maxSize) throw new RpcError('resource_exhausted', `a message may have at most ${maxSize} bytes (maxMessageSize), not ${size}`)
}

/**
 * The messages of a body that arrives in any pieces. A message is gathered, so that it costs what has arrived of it, however it was cut.
 * @throws RpcError for a message that is too large or incomplete
 */
export async function* framesOf(pieces: AsyncIterable<Uint8Array>, maxSize: number): AsyncGenerator<Frame, void, undefined> {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  let headBytes = 0
  let length = 0
  let gathered = new PieceList()
  let inARow = 0
  for await (const piece of pieces) {
    let at = 0
    while (at < piece.length || (headBytes === HEAD_BYTES && length === 0)) {
      if (headBytes < HEAD_BYTES) {
        const taken = Math.min(HEAD_BYTES - headBytes, piece.length - at)
        head.set(piece.subarray(at, at + taken), headBytes)
        headBytes += taken
        at += taken
        if (headBytes < HEAD_BYTES) break
        length = head.readUInt32BE(1)
        checkSize(length, maxSize)
      }
      const taken = Math.min(length - gathered.size, piece.length - at)
      if (taken > 0) gathered.add(piece.subarray(at, at + taken), true)
      at += taken
      if (gathered.size < length) break
      const bytes = length === 0 ? Buffer.alloc(0) : gathered.takeWhole()
      gathered = new PieceList()
      headBytes = 0
      length = 0
      yield { flags: head[0]!, bytes }
      if (++inARow % IN_A_ROW === 0) await nextTurn()
    }
  }
  if (headBytes > 0) throw new RpcError('invalid_argument', 'the body ends within a message')
}

/** The only message of a body that has arrived. @throws RpcError for none, several or parts of one */
export function onlyFrame(body: Uint8Array, maxSize: number): Frame {
  if (body.length === 0) throw new RpcError('unimplemented', 'the body has no message, and this method takes one')
  if (body.length < HEAD_BYTES) throw new RpcError('invalid_argument', 'the body ends within a message')
  const length = Buffer.from(body.buffer, body.byteOffset, HEAD_BYTES).readUInt32BE(1)
  checkSize(length, maxSize)
  if (body.length < HEAD_BYTES + length) throw new RpcError('invalid_argument', 'the body ends within a message')
  if (body.length > HEAD_BYTES + length)
    throw new RpcError('unimplemented', 'the body has more than one message, and this method takes one')
  return { flags: body[0]!, bytes: Buffer.from(body.buffer, body.byteOffset + HEAD_BYTES, length) }
}

/**
 * Base64 in parts that may each end with padding, as gRPC-Web sends it. A part may have a single byte, so none becomes an object.
 * @throws RpcError
 */
export function fromBase64(text: string): Buffer {
  if (ONE_PART.test(text)) return Buffer.from(text, 'base64')
  const bytes = Buffer.allocUnsafe(Math.ceil(text.length / 4) * 3)
  let size = 0
  for (let at = 0; at < text.length; at += 4) {
    let bits = 0
    let digits = 0
    for (; digits < 4 && text.charCodeAt(at + digits) !== PADDING && at + digits < text.length; digits++)
      bits |= valueAt(text, at + digits) << (18 - 6 * digits)
    for (let i = digits; i < 4; i++) if (digits < 2 || (at + i < text.length && text.charCodeAt(at + i) !== PADDING)) throw notBase64()
    for (let i = 1; i < digits; i++) bytes[size++] = bits >> (24 - 8 * i)
  }
  return bytes.subarray(0, size)
}
function valueAt(text: string, at: number): number {
  const value = VALUES[text.charCodeAt(at)] ?? NO_DIGIT
  if (value === NO_DIGIT) throw notBase64()
  return value
}

function notBase64(): RpcError {
  return new RpcError('invalid_argument', 'the body is not base64')
}

/** The same for a body that arrives in pieces. */
export async function* decodedPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let rest = ''
  for await (const piece of pieces) {
    const text = rest + Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1')
    const whole = text.length - (text.length % 4)
    rest = text.slice(whole)
    if (whole > 0) yield fromBase64(text.slice(0, whole))
  }
  if (rest !== '') yield fromBase64(rest)
}
