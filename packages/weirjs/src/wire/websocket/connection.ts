// What a client sends over a WebSocket (RFC 6455 §5), without a socket: bytes in, events out. It has no timers and no promises; the same bytes,
// however they are split, produce the same events. Its base, `CloseState`, holds the state.
//
// Events are pulled: after `receive`, the caller calls `next` until it returns NEED_DATA or OVER. Not calling it is back-pressure. Bytes passed to
// `receive` are borrowed: those that remain are copied only when the caller stops (`hold`).
//
// Every rule is checked at the first byte that breaks it. Memory for a message grows with what has arrived of it, and fragments are joined as they
// arrive, so that a message takes its own size however it is cut.

import { Buffer, isAscii, isUtf8 } from 'node:buffer'
import { Assembly } from './assembly.ts'
import { checkLength, checkStart, LENGTH_16, LENGTH_64, lengthBytes } from './frame-rules.ts'
import {
  BINARY,
  CLOSE,
  COMPRESSED,
  CONTROL,
  FIN,
  INVALID_PAYLOAD,
  isCloseCode,
  LONGEST_HEAD,
  MASK_BYTES,
  MOST_CONTROL_BYTES,
  NO_STATUS,
  PROTOCOL_ERROR,
  TEXT,
  TOO_LARGE,
} from './frame-types.ts'
import { CloseState } from './states.ts'
import { maskByte, SCRATCH_BYTES, scratch, unmask, unmaskText } from './unmask.ts'

// What `next` returns, besides the opcodes of whole messages and control frames: TEXT, BINARY, CLOSE, PING, PONG.

/** More bytes are needed: call `receive`. */
export const NEED_DATA = -1
/** The client has broken a rule: the connection is to be closed with `code`. Nothing more is read. */
export const FAULT = -2
/** Nothing more is read. */
export const OVER = -3
/** There is no event: continue. */
const NOTHING = -4

const NO_BYTES = Buffer.alloc(0)
/** By how much a compressed message may exceed `maxMessageSize`: bytes that cannot be compressed become longer. */
const SLACK_BYTES = 1024

export class WireWebSocket extends CloseState {
  readonly #maxMessageSize: number
  readonly #compresses: boolean
  #input: Buffer = NO_BYTES
  #at = 0
  #end = 0
  /** The input is our own memory. */
  #isHeld = false
  #isOver = false

  /** A head that arrives in pieces. Null if none does. */
  #head: Buffer | null = null
  #headBytes = 0
  // The frame that is being read.
  #first = 0
  /** How much of its payload is missing; -1 while its head is read. */
  #left = -1
  #length = 0
  #mask = 0
  /** The payload of a control frame that arrives in pieces. */
  #control: Buffer | null = null
  /** The message that is being read, if it is not complete in one piece. */
  #message: Assembly | null = null

  /** TEXT: the message, unless it is compressed. CLOSE: the reason. FAULT: what is wrong. */
  text = ''
  /** BINARY, PING, PONG, and compressed messages: the payload. It is the caller's. */
  payload: Buffer = NO_BYTES
  /** TEXT, BINARY: whether `payload` is to be inflated. */
  isCompressed = false
  /** CLOSE: the client's code, or NO_STATUS. FAULT: the code to close the connection with. */
  code = 0

  /** @param compresses whether permessage-deflate has been negotiated */
  constructor(maxMessageSize: number, compresses = false) {
    super()
    this.#maxMessageSize = maxMessageSize
    this.#compresses = compresses
  }

  /** Size of the memory that is kept between two calls of `receive`. */
  get heldBytes(): number {
    return (this.#isHeld ? this.#input.length : 0) + (this.#message?.memory.bytes.length ?? 0)
  }

  /** Bytes received and not yet used. */
  get waitingBytes(): number {
    return this.#end - this.#at
  }

  /** Passes in `bytes[start, end)`, borrowed until `next` returns NEED_DATA or OVER, or until `hold`. */
  receive(bytes: Buffer, start: number, end: number): void {
    if (this.#isOver) return
    if (this.#at === this.#end) {
      this.#input = bytes
      this.#isHeld = false
      this.#at = start
      this.#end = end
      return
    }
    const waiting = this.#end - this.#at
    const joined = Buffer.allocUnsafeSlow(waiting + end - start)
    this.#input.copy(joined, 0, this.#at, this.#end)
    bytes.copy(joined, waiting, start, end)
    this.#hold(joined)
  }

  /** Copies borrowed bytes that were not used yet, so that the caller can reuse its buffer. */
  hold(): void {
    if (this.#isHeld && this.#at < this.#end) return
    if (this.#at === this.#end) this.#forgetInput()
    else this.#hold(Buffer.from(this.#input.subarray(this.#at, this.#end)))
  }

  #hold(own: Buffer): void {
    this.#input = own
    this.#isHeld = true
    this.#at = 0
    this.#end = own.length
  }

  #forgetInput(): void {
    this.#input = NO_BYTES
    this.#isHeld = false
    this.#at = this.#end = 0
  }

  /** Discards everything that was received and not read. */
  drop(): void {
    this.#isOver = true
    this.#forgetInput()
    this.#message = this.#head = this.#control = null
  }

  override abort(): void {
    super.abort()
    this.drop()
  }

  /** @returns TEXT, BINARY, CLOSE, PING, PONG, NEED_DATA, FAULT or OVER */
  next(): number {
    if (this.#isOver) return OVER
    for (;;) {
      const event = this.#left < 0 ? this.#readHead() : this.#readPayload()
      if (event !== NOTHING) return event
    }
  }

  #fault(code: number, what: string): number {
    this.drop()
    this.code = code
    this.text = what
    return FAULT
  }

  #needData(): number {
    this.#forgetInput()
    return NEED_DATA
  }

  // The head (§5.2).

  #readHead(): number {
    const waiting = this.#end - this.#at
    const bytes = this.#input
    const at = this.#at
    if (this.#headBytes > 0 || waiting < 2 || waiting < 2 + lengthBytes(bytes[at + 1]!) + MASK_BYTES) return this.#gatherHead()
    const wrong = this.#checkStart(bytes[at]!, bytes[at + 1]!) ?? this.#checkLength(bytes, at)
    if (wrong !== null) return wrong
    this.#at = this.#beginPayload(bytes, at)
    return NOTHING
  }

  /** A head that arrives in pieces. */
  #gatherHead(): number {
    this.#head ??= Buffer.allocUnsafe(LONGEST_HEAD)
    const head = this.#head
    while (this.#at < this.#end) {
      head[this.#headBytes++] = this.#input[this.#at++]!
      const count = this.#headBytes
      if (count < 2) continue
      const behindLength = 2 + lengthBytes(head[1]!)
      const wrong =
        (count === 2 ? this.#checkStart(head[0]!, head[1]!) : null) ?? (count === behindLength ? this.#checkLength(head, 0) : null)
      if (wrong !== null) return wrong
      if (count < behindLength + MASK_BYTES) continue
      this.#beginPayload(head, 0)
      this.#headBytes = 0
      this.#head = null
      return NOTHING
    }
    return this.#needData()
  }

  #checkStart(first: number, second: number): number | null {
    const wrong = checkStart(first, second, this.#compresses, this.#message !== null)
    return wrong === null ? null : this.#fault(PROTOCOL_ERROR, wrong)
  }

  /** @returns null if the length, which is complete, may be */
  #checkLength(bytes: Buffer, at: number): number | null {
    const short = bytes[at + 1]! & 0x7f
    let length = short
    if (short >= LENGTH_16) {
      length = short === LENGTH_16 ? bytes.readUInt16BE(at + 2) : bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6)
      const wrong = checkLength(short === LENGTH_64, bytes[at + 2]!, length)
      if (wrong !== null) return this.#fault(PROTOCOL_ERROR, wrong)
    }
    this.#length = length
    const first = bytes[at]!
    if ((first & CONTROL) !== 0) return null
    const message = this.#message
    const isCompressed = message === null ? (first & COMPRESSED) !== 0 : message.isCompressed
    const most = this.#maxMessageSize + (isCompressed ? SLACK_BYTES + (this.#maxMessageSize >> 8) : 0)
    return (message?.memory.size ?? 0) + length > most ? this.#fault(TOO_LARGE, 'the message is too large') : null
  }

  /** @returns where the payload begins */
  #beginPayload(bytes: Buffer, at: number): number {
    const maskAt = at + 2 + lengthBytes(bytes[at + 1]!)
    this.#first = bytes[at]!
    this.#mask = (bytes[maskAt]! << 24) | (bytes[maskAt + 1]! << 16) | (bytes[maskAt + 2]! << 8) | bytes[maskAt + 3]!
    this.#left = this.#length
    return maskAt + MASK_BYTES
  }

  // Payloads.

  #readPayload(): number {
    if ((this.#first & CONTROL) !== 0) return this.#readControl()
    const isFinal = (this.#first & FIN) !== 0
    const left = this.#left
    const waiting = this.#end - this.#at
    if (this.#message === null) {
      if (isFinal && left <= waiting) return this.#readWhole(left)
      this.#message = new Assembly(this.#first)
    }
    const message = this.#message
    const taken = Math.min(left, waiting)
    if (taken > 0) {
      const most = isFinal ? message.memory.size + left : this.#maxMessageSize
      message.add(this.#input, this.#at, taken, this.#mask, this.#length - left, Math.min(most, this.#maxMessageSize))
      this.#at += taken
      this.#left = left - taken
      if (!message.isValid) return this.#faultyText()
    }
    if (this.#left > 0) return this.#needData()
    this.#left = -1
    return isFinal ? this.#endMessage(message) : NOTHING
  }

  /** A message that is complete in the input. */
  #readWhole(length: number): number {
    const at = this.#at
    this.#at = at + length
    this.#left = -1
    const opcode = this.#first & 0x0f
    this.isCompressed = (this.#first & COMPRESSED) !== 0
    if (opcode === TEXT && !this.isCompressed && length <= SCRATCH_BYTES) {
      if (!unmaskText(this.#input, at, length, this.#mask)) return this.#endText(scratch, length)
      this.text = scratch.toString('latin1', 0, length)
      return TEXT
    }
    const own = Buffer.allocUnsafe(length)
    unmask(this.#input, at, length, own, 0, this.#mask, 0)
    if (opcode === TEXT && !this.isCompressed) return this.#endText(own, length)
    this.payload = own
    return opcode
  }

  #endText(bytes: Buffer, length: number): number {
    const view = bytes.subarray(0, length)
    if (isAscii(view)) this.text = bytes.toString('latin1', 0, length)
    else if (isUtf8(view)) this.text = bytes.toString('utf8', 0, length)
    else return this.#faultyText()
    return TEXT
  }

  #endMessage(message: Assembly): number {
    this.#message = null
    this.isCompressed = message.isCompressed
    if (message.isText && !message.isCompressed) {
      if (!message.isComplete) return this.#faultyText()
      this.text = message.memory.bytes.toString(message.isAscii ? 'latin1' : 'utf8', 0, message.memory.size)
      return TEXT
    }
    this.payload = message.memory.take()
    return message.isText ? TEXT : BINARY
  }

  #faultyText(): number {
    return this.#fault(INVALID_PAYLOAD, 'the text is not UTF-8')
  }

  // Control frames (§5.5).

  #readControl(): number {
    const length = this.#length
    const waiting = this.#end - this.#at
    if (this.#control === null && length <= waiting) {
      const at = this.#at
      this.#at = at + length
      return this.#endControl(this.#input, at)
    }
    this.#control ??= Buffer.allocUnsafe(MOST_CONTROL_BYTES)
    const taken = Math.min(this.#left, waiting)
    this.#input.copy(this.#control, length - this.#left, this.#at, this.#at + taken)
    this.#at += taken
    this.#left -= taken
    if (this.#left > 0) return this.#needData()
    const control = this.#control
    this.#control = null
    return this.#endControl(control, 0)
  }

  #endControl(bytes: Buffer, at: number): number {
    const length = this.#length
    this.#left = -1
    const payload = length === 0 ? NO_BYTES : Buffer.allocUnsafe(length)
    for (let i = 0; i < length; i++) payload[i] = bytes[at + i]! ^ maskByte(this.#mask, i)
    this.payload = payload
    const opcode = this.#first & 0x0f
    return opcode === CLOSE ? this.#readClose(payload) : opcode
  }

  #readClose(payload: Buffer): number {
    const code = payload.length === 0 ? NO_STATUS : payload.readUInt16BE(0)
    if (code !== NO_STATUS || payload.length > 0) {
      if (!isCloseCode(code)) return this.#fault(PROTOCOL_ERROR, 'the close code is not one to be sent')
      if (!isUtf8(payload.subarray(2))) return this.#fault(INVALID_PAYLOAD, 'the reason of the close is not UTF-8')
    }
    this.drop()
    this.closedByThem()
    this.code = code
    this.text = payload.toString('utf8', 2)
    return CLOSE
  }
}
