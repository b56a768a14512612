// Messages in frames: a byte of flags, the length in four bytes, and the message.

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
const LEAST_LIST_BYTES = 1024

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

/** A smaller message that is kept gets its own memory: a view would keep the whole buffer that it arrived in. */
const OWN_BYTES = 4 * 1024
const NOTHING = Buffer.alloc(0)

/** The messages of a body that arrives in pieces. The pieces are gathered, so that the memory depends on the bytes and not on how they were cut. */
export class FrameQueue {
  #memory = NOTHING
  #start = 0
  #end = 0

  /** Bytes that have arrived and were not taken. */
  get size(): number {
    return this.#end - this.#start
  }

  /** The memory of `buffer` may change afterwards. */
  add(buffer: Buffer, start: number, end: number): void {
    const needed = this.size + end - start
    if (this.#end + end - start > this.#memory.length) this.#move(needed)
    buffer.copy(this.#memory, this.#end, start, end)
    this.#end += end - start
  }

  /** Makes room for so many bytes, and for later ones up to the end of the message. */
  #move(needed: number): void {
    const { size } = this
    const whole = size < HEAD_BYTES ? 0 : HEAD_BYTES + this.#lengthAt(this.#start)
    const room = Math.max(needed, whole > size ? Math.min(2 * size, whole) : 2 * size)
    const memory = room < OWN_BYTES ? Buffer.allocUnsafe(room) : Buffer.allocUnsafeSlow(room)
    this.#memory.copy(memory, 0, this.#start, this.#end)
    this.#memory = memory
    this.#start = 0
    this.#end = size
  }

  #lengthAt(start: number): number {
    return this.#memory.readUInt32BE(start + 1)
  }

  /** @returns null if no message is complete. @throws RpcError for one that is too large */
  take(maxSize: number): Frame | null {
    const { size } = this
    if (size < HEAD_BYTES) return null
    const length = this.#lengthAt(this.#start)
    checkSize(length, maxSize)
    if (size < HEAD_BYTES + length) return null
    const memory = this.#memory
    const start = this.#start + HEAD_BYTES
    const flags = memory[this.#start]!
    const view = memory.subarray(start, start + length)
    this.#start = start + length
    const isLast = this.#start === this.#end
    if (isLast) this.clear()
    return { flags, bytes: (isLast && 2 * length > memory.length) || length === 0 ? view : Buffer.from(view) }
  }

  clear(): void {
    this.#memory = NOTHING
    this.#start = this.#end = 0
  }

  /** The body has ended. @throws RpcError if a message is incomplete */
  end(): void {
    if (this.size > 0) throw new RpcError('invalid_argument', 'the body ends within a message')
  }
}

/** Messages in frames, one after the other. */
export class FrameList {
  #memory = NOTHING
  size = 0

  add(flags: number, bytes: Uint8Array): void {
    const start = this.size
    this.size += HEAD_BYTES + bytes.length
    if (this.size > this.#memory.length) {
      // Most pieces have a single message.
      const memory = Buffer.allocUnsafe(start === 0 ? this.size : Math.max(LEAST_LIST_BYTES, 2 * this.size))
      this.#memory.copy(memory, 0, 0, start)
      this.#memory = memory
    }
    this.#memory[start] = flags
    this.#memory.writeUInt32BE(bytes.length, start + 1)
    this.#memory.set(bytes, start + HEAD_BYTES)
  }

  take(): Buffer {
    const bytes = this.#memory.subarray(0, this.size)
    this.#memory = NOTHING
    this.size = 0
    return bytes
  }
}

/** The only message of a complete body. @throws RpcError for none, several or an incomplete one */
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
 * Base64 in parts that may each end with padding, as gRPC-Web sends it. A part may have a single byte, so parts do not become objects. @throws
 * RpcError
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
export class Base64Pieces {
  #rest = ''

  /** @throws RpcError */
  add(piece: Buffer): Buffer {
    const text = this.#rest + piece.toString('latin1')
    const whole = text.length - (text.length % 4)
    this.#rest = text.slice(whole)
    return fromBase64(text.slice(0, whole))
  }

  /** @throws RpcError */
  end(): Buffer {
    const rest = this.#rest
    this.#rest = ''
    return fromBase64(rest)
  }
}
