// Reads the frames of a server strictly, and writes the frames of a client (RFC 6455 §5).

import { Buffer, isUtf8 } from 'node:buffer'
import {
  BINARY,
  CONTINUATION,
  CONTROL,
  FIN,
  MASK_BYTES,
  MASKED,
  MOST_CONTROL_BYTES,
  PONG,
  RESERVED_BITS,
  TEXT,
} from '../wire/websocket/frame-types.ts'
import { headBytes, writeHead } from '../wire/websocket/frame-writer.ts'

/** A whole message, or a control frame. */
interface ServerFrame {
  /** TEXT, BINARY, CLOSE, PING, PONG. */
  readonly opcode: number
  readonly payload: Buffer
}

/** The same mask in every run, so that a run can be repeated byte by byte. No proxy is in between that the mask would have to protect. */
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d])
const NO_BYTES = Buffer.alloc(0)
const LENGTH_16 = 126

/** A frame as a client sends it. */
export function maskedFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload
  const frame = Buffer.allocUnsafeSlow(headBytes(length) + MASK_BYTES + length)
  const at = writeHead(frame, 0, FIN | opcode, length)
  frame[1] = frame[1]! | MASKED
  MASK.copy(frame, at)
  for (let i = 0; i < length; i++) frame[at + MASK_BYTES + i] = payload[i]! ^ MASK[i & 3]!
  return frame
}

export class ServerFrames {
  #pieces: Buffer[] = []
  #size = 0
  /** How many bytes have to be there before it is worth looking again. */
  #needed = 2
  /** The fragments of a message that has begun. */
  #fragments: Buffer[] | null = null
  #opcode = 0

  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  /** The next whole message or control frame; null while none is complete. @throws Error for a frame that no server may send */
  next(): ServerFrame | null {
    for (;;) {
      const frame = this.#takeFrame()
      if (frame === null) return null
      const { first, payload } = frame
      const opcode = first & 0x0f
      if ((opcode & CONTROL) !== 0) return { opcode, payload }
      if ((opcode === CONTINUATION) !== (this.#fragments !== null)) refuse('a fragment out of order')
      if (opcode !== CONTINUATION) this.#opcode = opcode
      this.#fragments ??= []
      this.#fragments.push(payload)
      if ((first & FIN) === 0) continue
      const message = this.#fragments.length === 1 ? payload : Buffer.concat(this.#fragments)
      this.#fragments = null
      if (this.#opcode === TEXT && !isUtf8(message)) refuse('a text that is not UTF-8')
      return { opcode: this.#opcode, payload: message }
    }
  }

  #takeFrame(): { readonly first: number; readonly payload: Buffer } | null {
    if (this.#size < this.#needed) return null
    const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    this.#pieces = [bytes]
    const first = bytes[0]!
    const second = bytes[1]!
    checkHead(first, second)
    const start = second < LENGTH_16 ? 2 : second === LENGTH_16 ? 4 : 10
    if (bytes.length < start) return this.#wait(start)
    const length = start === 2 ? second : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    if (headBytes(length) !== start) refuse('a length that is not in its shortest form')
    const end = start + length
    if (bytes.length < end) return this.#wait(end)
    this.#pieces = end === bytes.length ? [NO_BYTES] : [bytes.subarray(end)]
    this.#size = bytes.length - end
    this.#needed = 2
    return { first, payload: bytes.subarray(start, end) }
  }

  #wait(needed: number): null {
    this.#needed = needed
    return null
  }
}

function checkHead(first: number, second: number): void {
  const opcode = first & 0x0f
  if ((first & RESERVED_BITS) !== 0) refuse('a reserved bit, or compression that was not asked for')
  if ((second & MASKED) !== 0) refuse('a mask')
  if ((opcode & CONTROL) === 0) {
    if (opcode > BINARY) refuse(`the opcode ${opcode}`)
  } else if (opcode > PONG || (first & FIN) === 0 || second > MOST_CONTROL_BYTES) refuse('a malformed control frame')
}

function refuse(what: string): never {
  throw new Error(`no server may send this over a WebSocket: ${what}`)
}
