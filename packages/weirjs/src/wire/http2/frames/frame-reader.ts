// Reads the frames of a client, without a socket: bytes in, events out (RFC 9113 §3.4, §4, §6). The same bytes, however they are split, produce
// the same events.
//
// What can be checked in a single frame is checked here: its size, its padding, whether it belongs to a stream, and that nothing interrupts a field
// block. The owner, who reads the events, decides what a frame means for its stream.
//
// Events are pulled: after `receive`, `next` is called until it returns NEED_DATA. Not calling it is back-pressure. Bytes are borrowed until then.
// At most one incomplete frame is kept, and only as much of it as has arrived. DATA is not gathered, but passed on as it arrives. A field block is
// passed on whole, after its last CONTINUATION.

import { Buffer } from 'node:buffer'
import { type FaultName, Http2Error } from '../errors.ts'
import { checkFrameHead, prefixBytes } from './frame-rules.ts'
import {
  ACK,
  CONTINUATION,
  DATA,
  DEFAULT_FRAME_BYTES,
  END_HEADERS,
  END_STREAM,
  FRAME_HEAD_BYTES,
  GOAWAY,
  GOAWAY_BYTES,
  HEADERS,
  MOST_31_BITS,
  PADDED,
  PREFACE,
  PRIORITY,
  PRIORITY_BYTES,
  PRIORITY_UPDATE,
  PRIORITY_UPDATE_BYTES,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './frame-types.ts'

// What `next` returns, besides the types of frames: DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, PRIORITY_UPDATE.

/** More bytes are needed: call `receive`. */
export const NEED_DATA = -1
/** `stream` must be reset for `fault`. */
export const STREAM_FAULT = -2
/** A frame of an unknown type. It is ignored (RFC 9113 §4.1), but counted. */
export const UNKNOWN = -3
/** There is no event: continue with the next frame. */
const NOTHING = -4

// What comes next: the head of a frame, the length of the padding of DATA, what else there is of DATA, or a payload that is skipped.
const FRAMES = 0
const PADDED_DATA = 1
const PLAIN_DATA = 2
const SKIPPED = 3

const NO_BYTES = Buffer.alloc(0)
/** Memory for an incomplete frame grows with what has arrived of it, from this size on. */
const FIRST_HELD_BYTES = 64

export class FrameReader {
  readonly #maxBlockBytes: number
  readonly #maxFrameBytes: number

  // The part of the input that has not been read.
  #input: Buffer = NO_BYTES
  #at = 0
  #inputEnd = 0
  /** The bytes of an incomplete frame, including its head. */
  #held: Buffer = NO_BYTES
  #heldBytes = 0
  /** What is being read is in our own memory. */
  #isHeld = true

  /** Bytes of the preface that have arrived. */
  #prefaceBytes = 0
  /** Whether the preface is complete, with the SETTINGS that belong to it. */
  hasBegun = false

  // The frame that is being read.
  #type = 0
  #flags = 0
  #length = 0
  /** The head of a frame has been read and checked. Its payload is not complete. */
  #hasHead = false
  /** What is missing of a payload that is passed on as it arrives, or skipped. */
  #left = 0
  /** How much of that is padding, once its length is known. */
  #padding = 0
  #mode = FRAMES
  /** A piece of the DATA frame has been passed on. */
  #isInData = false
  /** Bytes of the DATA frame that count for flow control and have not been reported. */
  #untoldBytes = 0

  /** Stream of the field block that is being gathered; 0 if there is none. */
  #blockStream = 0
  #blockEnds = false
  #block: Buffer = NO_BYTES
  #blockBytes = 0
  /** `#blockBytes` plus the heads of the frames, so that their number is limited too. */
  #blockCost = 0

  /** The stream of the event, 0 for the connection. PRIORITY_UPDATE: the stream whose priority it is. */
  stream = 0
  /** DATA, HEADERS: the client sends nothing more on the stream. */
  isEnd = false
  /** SETTINGS, PING */
  isAck = false
  /** RST_STREAM, GOAWAY */
  code = 0
  /** GOAWAY: our last stream that the client may have processed. WINDOW_UPDATE: how much the window grows. */
  value = 0
  /** STREAM_FAULT */
  fault: FaultName = 'PRIORITY_LENGTH'
  /** DATA: this is the first piece of its frame. */
  isFirst = false
  /** DATA: how much data is still missing of the frame, and how much that counts for flow control. */
  dataLeft = 0
  flowLeft = 0
  /** DATA: the client sends nothing more on the stream after this frame. */
  isLastFrame = false
  /** DATA: what counts for flow control, padding and its length included. */
  flowBytes = 0
  /**
   * Where the payload is, from `start` to `end`: data, the field block, settings, the 8 bytes of PING, the text of GOAWAY, the field value of
   * PRIORITY_UPDATE. Borrowed until `next` is called again.
   */
  buffer: Buffer = NO_BYTES
  start = 0
  end = 0

  /**
   * @param maxBlockBytes of a compressed field block, including the heads of its frames after the first
   * @param maxFrameBytes our SETTINGS_MAX_FRAME_SIZE
   */
  constructor(maxBlockBytes: number, maxFrameBytes: number = DEFAULT_FRAME_BYTES) {
    this.#maxBlockBytes = maxBlockBytes
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Whether a field block has begun and has not ended. Its timeout is running. */
  get inBlock(): boolean {
    return this.#blockStream !== 0 || (this.#hasHead && this.#type === HEADERS)
  }

  /** Size of the memory held between two calls of `receive`. */
  get heldBytes(): number {
    return this.#held.length + this.#block.length
  }

  /** Passes in `bytes[0, length)`, borrowed until `next` returns NEED_DATA, or until `hold`. */
  receive(bytes: Buffer, length: number): void {
    if (this.#at === this.#inputEnd) {
      this.#input = bytes
      this.#inputEnd = length
      this.#isHeld = false
    } else {
      this.#input = Buffer.concat([this.#input.subarray(this.#at, this.#inputEnd), bytes.subarray(0, length)])
      this.#inputEnd = this.#input.length
      this.#isHeld = true
    }
    this.#at = 0
  }

  /** Bytes that were received and have not been read. */
  get unreadBytes(): number {
    return this.#inputEnd - this.#at
  }

  /** Copies what has not been read, for a caller that stops before NEED_DATA and needs its buffer again. */
  hold(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#input = Buffer.from(this.#input.subarray(this.#at, this.#inputEnd))
    this.#at = 0
    this.#inputEnd = this.#input.length
  }

  /** Releases what is held: `next` is not called again. */
  drop(): void {
    this.#needData()
    this.#held = this.#block = NO_BYTES
  }

  /**
   * Continues reading.
   * @returns an event
   * @throws Http2Error when the connection must end: do not call `next` again
   */
  next(): number {
    if (this.#prefaceBytes < PREFACE.length && !this.#readPreface()) return this.#needData()
    for (;;) {
      let event: number
      if (this.#mode !== FRAMES) event = this.#mode === SKIPPED ? this.#skip() : this.#readData()
      else if (this.#at === this.#inputEnd && !this.#hasHead) event = NEED_DATA
      else if (this.#hasHead || this.#heldBytes > 0 || this.#inputEnd - this.#at < FRAME_HEAD_BYTES) event = this.#readHeld()
      else event = this.#readWhole()
      if (event === NEED_DATA) return this.#needData()
      if (event !== NOTHING) return event
    }
  }

  #needData(): number {
    this.#input = this.buffer = NO_BYTES // what was borrowed
    this.#at = this.#inputEnd = 0
    return NEED_DATA
  }

  #readPreface(): boolean {
    while (this.#prefaceBytes < PREFACE.length && this.#at < this.#inputEnd) {
      if (this.#input[this.#at++] !== PREFACE[this.#prefaceBytes++]) throw new Http2Error('PREFACE')
    }
    return this.#prefaceBytes === PREFACE.length
  }

  // Complete and incomplete frames.

  /** A frame whose head is in the input, and perhaps its payload. */
  #readWhole(): number {
    const at = this.#at
    this.#readHead(this.#input, at)
    if (this.#mode !== FRAMES) {
      this.#at = at + FRAME_HEAD_BYTES
      return NOTHING
    }
    const start = at + FRAME_HEAD_BYTES
    if (start + this.#length > this.#inputEnd) {
      this.#hasHead = true
      return this.#readHeld()
    }
    this.#at = start + this.#length
    return this.#read(this.#input, start)
  }

  /** A frame that arrives in pieces. */
  #readHeld(): number {
    if (!this.#hasHead) {
      if (!this.#fill(FRAME_HEAD_BYTES)) return NEED_DATA
      this.#readHead(this.#held, 0)
      if (this.#mode !== FRAMES) {
        this.#heldBytes = 0
        return NOTHING
      }
      this.#hasHead = true
    }
    if (!this.#fill(FRAME_HEAD_BYTES + this.#length)) return NEED_DATA
    const frame = this.#held
    this.#held = NO_BYTES
    this.#heldBytes = 0
    this.#hasHead = false
    return this.#read(frame, FRAME_HEAD_BYTES)
  }

  /** Gathers the first `needed` bytes of a frame. @returns whether they are there */
  #fill(needed: number): boolean {
    const bytes = Math.min(needed - this.#heldBytes, this.#inputEnd - this.#at)
    this.#held = withRoom(this.#held, this.#heldBytes, this.#heldBytes + bytes, needed)
    this.#input.copy(this.#held, this.#heldBytes, this.#at, this.#at + bytes)
    this.#at += bytes
    this.#heldBytes += bytes
    return this.#heldBytes === needed
  }

  /** Reads and checks the head of a frame, so that nothing is kept of a frame that will be refused. */
  #readHead(bytes: Buffer, at: number): void {
    const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
    const type = bytes[at + 3]!
    const flags = bytes[at + 4]!
    const stream = ((bytes[at + 5]! & 0x7f) << 24) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 8) | bytes[at + 8]!
    if (!this.hasBegun && (type !== SETTINGS || (flags & ACK) !== 0)) throw new Http2Error('PREFACE_SETTINGS')
    if (length > this.#maxFrameBytes) throw new Http2Error('FRAME_TOO_LARGE')
    if (this.#blockStream !== 0 && (type !== CONTINUATION || stream !== this.#blockStream)) throw new Http2Error('BLOCK_INTERRUPTED')
    this.#type = type
    this.#flags = flags
    this.#length = length
    this.stream = stream
    checkFrameHead(type, flags, length, stream)
    switch (type) {
      case DATA:
        this.#mode = (flags & PADDED) !== 0 ? PADDED_DATA : PLAIN_DATA
        this.#left = length
        this.#padding = this.#untoldBytes = 0
        this.#isInData = false
        break
      case HEADERS:
        this.#blockCost = length
        break
      case CONTINUATION:
        if (this.#blockStream === 0) throw new Http2Error('BLOCK_MISSING')
        this.#blockCost += FRAME_HEAD_BYTES + length
        break
      case PRIORITY:
        if (length !== PRIORITY_BYTES) this.#beginSkipping()
        break
      default:
        if (type > CONTINUATION && type !== PRIORITY_UPDATE) this.#beginSkipping()
    }
    if (this.#blockCost > this.#maxBlockBytes) throw new Http2Error('BLOCK_TOO_LARGE')
  }

  /** A complete frame, whose payload is at `start`. */
  #read(bytes: Buffer, start: number): number {
    const end = start + this.#length
    this.buffer = bytes
    this.start = start
    this.end = end
    this.isAck = (this.#flags & ACK) !== 0
    switch (this.#type) {
      case HEADERS:
        return this.#readHeaders()
      case CONTINUATION:
        return this.#readContinuation()
      case SETTINGS:
        this.hasBegun = true
        break
      case RST_STREAM:
        this.code = bytes.readUInt32BE(start)
        break
      case GOAWAY:
        this.value = uint31(bytes, start)
        this.code = bytes.readUInt32BE(start + 4)
        this.start = start + GOAWAY_BYTES
        break
      case WINDOW_UPDATE:
        return this.#readWindowUpdate(uint31(bytes, start))
      case PRIORITY_UPDATE:
        this.stream = uint31(bytes, start)
        if (this.stream === 0) throw new Http2Error('PRIORITY_UPDATE_STREAM')
        this.start = start + PRIORITY_UPDATE_BYTES
    }
    return this.#type
  }

  #readWindowUpdate(increment: number): number {
    this.value = increment
    if (increment > 0) return WINDOW_UPDATE
    if (this.stream === 0) throw new Http2Error('WINDOW_INCREMENT_CONNECTION')
    this.fault = 'WINDOW_INCREMENT'
    return STREAM_FAULT
  }

  // Frames whose payload is skipped.

  #beginSkipping(): void {
    this.#mode = SKIPPED
    this.#left = this.#length
  }

  #skip(): number {
    const bytes = Math.min(this.#left, this.#inputEnd - this.#at)
    this.#at += bytes
    this.#left -= bytes
    if (this.#left > 0) return NEED_DATA
    this.#mode = FRAMES
    if (this.#type !== PRIORITY) return UNKNOWN
    this.fault = 'PRIORITY_LENGTH'
    return STREAM_FAULT
  }

  // DATA (§6.1)

  #readData(): number {
    if (this.#mode === PADDED_DATA) {
      if (this.#at === this.#inputEnd) return NEED_DATA
      this.#padding = this.#input[this.#at++]!
      this.#left--
      if (this.#padding > this.#left) throw new Http2Error('PADDING')
      this.#untoldBytes = 1
      this.#mode = PLAIN_DATA
    }
    const waiting = this.#inputEnd - this.#at
    if (this.#left > 0 && waiting === 0) return NEED_DATA
    const taken = Math.min(this.#left, waiting)
    const data = Math.min(taken, this.#left - this.#padding)
    this.buffer = this.#input
    this.start = this.#at
    this.end = this.#at + data
    this.flowBytes = taken + this.#untoldBytes
    this.#untoldBytes = 0
    this.#at += taken
    this.#left -= taken
    this.#padding = Math.min(this.#padding, this.#left)
    this.isFirst = !this.#isInData
    this.#isInData = this.#left > 0
    this.flowLeft = this.#left
    this.dataLeft = this.#left - this.#padding
    this.isLastFrame = (this.#flags & END_STREAM) !== 0
    this.isEnd = this.#left === 0 && this.isLastFrame
    if (this.#left === 0) this.#mode = FRAMES
    return DATA
  }

  // Field blocks (§4.3)

  #readHeaders(): number {
    if ((this.#flags & PADDED) !== 0) this.end -= this.buffer[this.start]!
    this.start += prefixBytes(HEADERS, this.#flags) // with the priority, which is deprecated (§5.3.2) and not read
    if (this.start > this.end) throw new Http2Error('PADDING')
    this.isEnd = (this.#flags & END_STREAM) !== 0
    if ((this.#flags & END_HEADERS) !== 0) return HEADERS
    this.#blockStream = this.stream
    this.#blockEnds = this.isEnd
    this.#gather()
    return NOTHING
  }

  #readContinuation(): number {
    this.#gather()
    if ((this.#flags & END_HEADERS) === 0) return NOTHING
    this.buffer = this.#block
    this.start = 0
    this.end = this.#blockBytes
    this.isEnd = this.#blockEnds
    this.#block = NO_BYTES
    this.#blockStream = this.#blockBytes = 0
    return HEADERS
  }

  #gather(): void {
    const bytes = this.end - this.start
    this.#block = withRoom(this.#block, this.#blockBytes, this.#blockBytes + bytes, this.#maxBlockBytes)
    this.buffer.copy(this.#block, this.#blockBytes, this.start, this.end)
    this.#blockBytes += bytes
  }
}

/** Returns `bytes`, or a copy of its first `used` bytes with room for `needed`. Memory doubles each time, up to `most`. */
function withRoom(bytes: Buffer, used: number, needed: number, most: number): Buffer {
  if (needed <= bytes.length) return bytes
  const larger = Buffer.allocUnsafeSlow(Math.min(most, Math.max(needed, 2 * bytes.length, FIRST_HELD_BYTES)))
  bytes.copy(larger, 0, 0, used)
  return larger
}

/** The lower 31 bits. The highest bit is reserved. */
function uint31(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) & MOST_31_BITS
}
