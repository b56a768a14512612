// permessage-deflate (RFC 7692): messages are inflated and deflated whole, each by a call of zlib that keeps nothing.
//
// What a stream of zlib would keep between two messages is the window: the last bytes before compression. We keep them ourselves, as far as there
// are any, and give them to zlib each time. So no (de)compressor outlives a message, at most one is at work, and an idle connection has only
// the window. decisions/058-own-websocket-engine.md has the figures.

import { Buffer, isUtf8 } from 'node:buffer'
import type * as Zlib from 'node:zlib'

import { workTurns } from '../../http/work-turns.ts'
import type { DeflateParameters } from '../../wire/websocket/deflate-offer.ts'
import { INVALID_PAYLOAD, TOO_LARGE } from '../../wire/websocket/frame-types.ts'
import type { WebSocketData } from './data.ts'
import { TextWindow } from './text-window.ts'

/** The end of a block, which the sender has cut off (§7.2.2), and a last block, without which it is not known whether the end was reached. */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff, 0x01, 0x00, 0x00, 0xff, 0xff])
const CUT_OFF_BYTES = 4
const NO_BYTES = Buffer.alloc(0)
/** A sender may end its stream within a message, and begin another (§7.2.3.4). No client does so often. */
const MOST_STREAMS = 16
/** Small chunks for small messages: zlib fills one before it makes the next. */
const SMALLEST_CHUNK = 1024
const LARGEST_CHUNK = 64 * 1024
const STORED_HEAD_BYTES = 5
/** For the largest window and a message of some KiB. */
const GATHERED_BYTES = 40 * 1024
/** We do not look further back for repetitions: that would cost more time than it saves bytes. */
const OWN_WINDOW_BITS = 12
const LEAST_BITS = 9
const LEVEL = 6
/** Larger messages are compressed with less effort, because all clients wait for them. */
const LARGE_BYTES = 64 * 1024
const LARGE_LEVEL = 1
const LEAST_MEMORY = 4
const MOST_MEMORY = 8

/** A call of zlib counts as this many small uncompressed messages, plus one for each KiB. */
const WORK_OF_CALL = 16
const BYTES_OF_WORK = 1024
/** Compressing takes as long as decompressing this many times the bytes, except with less effort. */
const COMPRESSION = 4

let loaded: typeof Zlib | null = null
/** Loaded with the first compressed message, because loading it takes some milliseconds. */
const zlib = (): typeof Zlib => (loaded ??= process.getBuiltinModule('node:zlib'))

/** `inflate` has failed. */
export const NOT_DEFLATE = -1
export const INFLATES_TOO_LARGE = -2

interface Inflated {
  readonly output: Buffer
  /** How many bytes of the input it took. */
  readonly taken: number
}

export class PerMessageDeflate {
  /** The window of received messages; null if each message is independent. */
  readonly #received: TextWindow | null
  /** The window of sent messages. */
  readonly #sent: TextWindow | null
  /** The size of the client's window, which limits what it can inflate from `deflateAlone`. */
  readonly sendBits: number
  /** How many small messages the last inflated message counts as. A thousand bytes of a client may become a mebibyte. */
  work = 0

  constructor(parameters: DeflateParameters) {
    const { clientKeeps, serverKeeps, clientBits, serverBits } = parameters
    this.sendBits = serverBits
    this.#received = clientKeeps ? new TextWindow(clientBits) : null
    this.#sent = serverKeeps ? new TextWindow(Math.min(serverBits, OWN_WINDOW_BITS)) : null
  }

  /** Size of the memory between two messages. */
  get heldBytes(): number {
    return (this.#received?.heldBytes ?? 0) + (this.#sent?.heldBytes ?? 0)
  }

  /** @returns the message; NOT_DEFLATE, or INFLATES_TOO_LARGE as soon as it has more than `most` bytes */
  inflate(payload: Buffer, most: number): Buffer | typeof NOT_DEFLATE | typeof INFLATES_TOO_LARGE {
    this.work = 0
    if (payload.length === 0) return payload // not a block, but what some clients send for an empty message
    let input: Buffer = Buffer.concat([payload, TAIL])
    let message: Buffer | null = null
    for (let streams = 0; input.length > 0; streams++) {
      const room = most - (message?.length ?? 0)
      let inflated: Inflated
      try {
        inflated = inflateOnce(input, this.#received?.bytes, Math.max(1, room))
      } catch (error) {
        return (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE' ? INFLATES_TOO_LARGE : NOT_DEFLATE
      }
      const { output, taken } = inflated
      this.#count(taken + output.length)
      if (output.length > room) return INFLATES_TOO_LARGE
      if (streams === MOST_STREAMS || this.#isCutInBlock(input, output)) return NOT_DEFLATE
      this.#received?.add(output)
      message = message === null ? output : Buffer.concat([message, output])
      input = input.subarray(taken)
    }
    return message ?? Buffer.alloc(0)
  }

  #count(bytes: number): void {
    this.work += WORK_OF_CALL + Math.floor(bytes / BYTES_OF_WORK)
  }

  /** A block of plain bytes that lacks its last four takes four bytes of the tail in their place, and all seems well. */
  #isCutInBlock(input: Buffer, output: Buffer): boolean {
    const { length } = output
    if (length < CUT_OFF_BYTES || output.readUInt32BE(length - CUT_OFF_BYTES) !== TAIL.readUInt32BE(0)) return false
    this.#count(input.length + length)
    const without = inflateOnce(input.subarray(0, -TAIL.length), this.#received?.bytes, length, zlib().constants.Z_SYNC_FLUSH)
    return without.output.length < length
  }

  /** The payload of a compressed message. */
  deflate(message: Uint8Array): Buffer {
    const payload = deflateOnce(message, this.#sent?.bytes, this.sendBits)
    this.#sent?.add(message)
    return payload
  }

  /** The result of `deflateAlone` for the message is sent. */
  sentShared(message: Uint8Array): void {
    this.#sent?.add(message)
  }
}

/** The payload of a compressed message that refers to no other. */
export function deflateAlone(message: Uint8Array, bits: number): Buffer {
  return deflateOnce(message, undefined, bits)
}

function deflateOnce(message: Uint8Array, window: Buffer | undefined, mostBits: number): Buffer {
  // A smaller window needs less memory, which zlib clears each time; the receiver does not notice.
  const bits = Math.max(LEAST_BITS, Math.min(mostBits, bitsFor(message.length + (window?.length ?? 0))))
  const isLarge = message.length > LARGE_BYTES
  // A client may ask for a thousand replies in a few KiB.
  workTurns.spend(WORK_OF_CALL + (message.length / BYTES_OF_WORK) * (isLarge ? 1 : COMPRESSION))
  const deflated = zlib().deflateRawSync(message, {
    ...dictionary(window),
    level: isLarge ? LARGE_LEVEL : LEVEL,
    windowBits: bits,
    memLevel: Math.max(LEAST_MEMORY, Math.min(MOST_MEMORY, bits - 7)),
    chunkSize: chunkFor(message.length),
    finishFlush: zlib().constants.Z_SYNC_FLUSH,
  })
  return deflated.subarray(0, -CUT_OFF_BYTES)
}

/**
 * The window goes before the input, as a block that is not compressed (RFC 1951 §3.2.4). As a dictionary it would take as much memory again, which
 * Node keeps until the next collection, and of which V8 knows nothing: small messages could take a gibibyte.
 */
function inflateOnce(input: Buffer, window: Buffer = NO_BYTES, most: number, finishFlush: number = zlib().constants.Z_FINISH): Inflated {
  const { length } = window
  const whole = length === 0 ? input : behind(window, input)
  const options = { chunkSize: chunkFor(length + 2 * input.length), maxOutputLength: length + most, finishFlush, info: true }
  const { buffer, engine } = zlib().inflateRawSync(whole, options) as unknown as {
    readonly buffer: Buffer
    readonly engine: Zlib.InflateRaw
  }
  const output = buffer.subarray(length)
  // A short message must not keep the memory of the window.
  return { output: output.length > 4 * length ? output : Buffer.from(output), taken: engine.bytesWritten - whole.length + input.length }
}

/** Zlib has read its input when its call returns. So one piece of memory serves all small messages, in place of one for each that the collector has to find. */
let gathered: Buffer | null = null

/** The input after a block of plain bytes, the window. */
function behind(window: Buffer, input: Buffer): Buffer {
  const { length } = window
  const size = STORED_HEAD_BYTES + length + input.length
  const whole =
    size > GATHERED_BYTES ? Buffer.allocUnsafeSlow(size) : (gathered ??= Buffer.allocUnsafeSlow(GATHERED_BYTES)).subarray(0, size)
  whole[0] = 0
  whole.writeUInt16LE(length, 1)
  whole.writeUInt16LE(length ^ 0xffff, 3)
  whole.set(window, STORED_HEAD_BYTES)
  whole.set(input, STORED_HEAD_BYTES + length)
  return whole
}

function dictionary(window: Buffer | undefined): { readonly dictionary?: Buffer } {
  return window === undefined || window.length === 0 ? {} : { dictionary: window }
}

function chunkFor(bytes: number): number {
  return Math.max(SMALLEST_CHUNK, Math.min(LARGEST_CHUNK, bytes))
}

/** How many bits a window of so many bytes needs. */
function bitsFor(bytes: number): number {
  return 32 - Math.clz32(bytes)
}

/**
 * A message that has arrived compressed, as the handler gets it.
 *
 * @returns the code to close the connection with, or 0
 */
export function inflatedMessage(
  deflate: PerMessageDeflate,
  payload: Buffer,
  isText: boolean,
  most: number,
): { code: number; data: WebSocketData } {
  const message = deflate.inflate(payload, most)
  workTurns.spend(deflate.work)
  if (message === INFLATES_TOO_LARGE) return { code: TOO_LARGE, data: '' }
  if (message === NOT_DEFLATE || (isText && !isUtf8(message))) return { code: INVALID_PAYLOAD, data: '' }
  return { code: 0, data: isText ? message.toString() : message }
}
