// Everything that is sent on one HTTP/2 connection: heads, bodies no faster than the client opens its windows, and control frames.
//
// Frames gather in one output, which the owner writes once in each turn: `fill`, `output.take`. Heads and control frames are written to it
// immediately, because the order of heads matters (RFC 7541 §2.2). Bodies wait as references to the owner's bytes, and are copied once, into a
// frame, when the client's windows allow it and the output has room. A client that does not read therefore keeps one output in memory, and of
// each response the pieces that its owner passed in before `nextHungry` returned the stream again.

import { Buffer } from 'node:buffer'
import type { Allowances } from './allowances.ts'
import { Http2Error, NO_ERROR } from './errors.ts'
import { FrameOutput } from './frame-output.ts'
import {
  DATA,
  DEFAULT_FRAME_BYTES,
  END_STREAM,
  FRAME_HEAD_BYTES,
  GOAWAY_BYTES,
  MOST_31_BITS,
  PING_BYTES,
  RST_STREAM_BYTES,
  SETTING_BYTES,
  WINDOW_UPDATE_BYTES,
} from './frames/frame-types.ts'
import {
  writeFrameHead,
  writeGoaway,
  writePing,
  writeRstStream,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from './frames/frame-writer.ts'
import { DEFAULT_WINDOW_BYTES } from './frames/settings.ts'
import { HeadWriter } from './head-writer.ts'
import { writeLatin1 } from './hpack/encoder.ts'
import { type Priority, readPriority } from './priority.ts'
import { Scheduler } from './scheduler.ts'
import * as state from './states.ts'
import type { FieldPairs, Http2Stream } from './stream.ts'

/** The largest payload of a frame: what every client accepts, and enough for streams to take turns. */
const MOST_DATA_BYTES = DEFAULT_FRAME_BYTES
/** With less room than this in the output, no frame is begun. */
const LEAST_ROOM_BYTES = 1024
/** Up to this size the output takes a body without waiting for `fill`. */
const DIRECT_OUTPUT_BYTES = 64 * 1024

export class FrameSender<T> {
  readonly #allowances: Allowances
  /** Both sides of the stream have ended it, or one of them has reset it. */
  readonly #forget: (stream: Http2Stream<T>) => void
  /** The frames that are ready to be written. */
  readonly output: FrameOutput = new FrameOutput()
  readonly #heads = new HeadWriter(this.output)
  readonly #scheduler = new Scheduler<T>()
  /** What we may still send on all streams together. */
  #sendWindow = DEFAULT_WINDOW_BYTES
  /** Bytes of bodies that wait, of all streams together. */
  queuedBytes = 0
  /** Bytes of bodies that have been put into frames. */
  sentDataBytes = 0
  /** Streams whose owners may send more, for `nextHungry`. */
  readonly dry: Http2Stream<T>[] = []

  /** @param forget called with each stream that both sides have ended, or that one of them has reset */
  constructor(allowances: Allowances, forget: (stream: Http2Stream<T>) => void) {
    this.#allowances = allowances
    this.#forget = forget
  }

  // Responses. On a stream that is closed these do nothing: the client has left, and an event has told the owner.

  /**
   * Sends an interim response (RFC 9110 §15.2): 100 or 103.
   * @param fields name, value, name, value
   */
  sendInterim(stream: Http2Stream<T>, status: number, fields: FieldPairs | null = null): void {
    if (stream.isSending && !stream.hasHead) this.#heads.writeHead(stream.id, status, null, fields, -1, '', false)
  }

  /**
   * Sends the head of the response.
   * @param type Content-Type; null for none
   * @param fields name, value, name, value, in any case; those of HTTP/1.1 connections are left out. Their content was checked when it was set
   * @param length Content-Length; below 0 for none
   * @param date left out where `fields` has a Date; empty for none
   * @param isWhole whether the response ends with it
   */
  sendHead(
    stream: Http2Stream<T>,
    status: number,
    type: string | null,
    fields: FieldPairs | null,
    length: number,
    date: string,
    isWhole: boolean,
  ): void {
    if (!stream.isSending) return
    if (stream.hasHead) throw new Error('weir: a response has one head')
    stream.hasHead = true
    this.#heads.writeHead(stream.id, status, type, fields, length, date, isWhole)
    if (isWhole) this.#endSending(stream)
  }

  /**
   * Sends a piece of the body, which must not change until `queuedBytes` of the stream is 0.
   * @param isLast whether the response ends with it
   * @param waits whether it should wait for `fill` even if the output has room for it: because nothing can be written for now
   */
  sendData(stream: Http2Stream<T>, bytes: Uint8Array, isLast: boolean, waits = false): void {
    if (!this.#mayQueue(stream)) return
    const { length } = bytes
    if (length === 0) {
      if (isLast) this.sendEnd(stream)
      return
    }
    if (!waits && this.#fits(stream, length)) {
      const at = this.#writeDataHead(stream, length, isLast)
      this.output.bytes.set(bytes, at)
      this.output.end = at + length
      this.#allowances.earnFrame()
      if (isLast) this.#endSending(stream)
      else this.#markDry(stream)
      return
    }
    stream.pieces ??= []
    stream.pieces.push(bytes)
    stream.queuedBytes += length
    stream.isLast = isLast
    this.queuedBytes += length
    this.#enqueue(stream)
  }

  /** Sends all of a body that is text, as UTF-8. @param byteLength its length in bytes, above 0 */
  sendText(stream: Http2Stream<T>, text: string, byteLength: number): void {
    if (!this.#mayQueue(stream)) return
    if (!this.#fits(stream, byteLength)) {
      this.sendData(stream, Buffer.from(text), true)
      return
    }
    const at = this.#writeDataHead(stream, byteLength, true)
    if (byteLength === text.length) writeLatin1(this.output.bytes, at, text)
    else this.output.bytes.write(text, at, 'utf8')
    this.output.end = at + byteLength
    this.#endSending(stream)
  }

  /**
   * Ends a response after all that was sent of its body.
   * @param trailers name, value, name, value
   */
  sendEnd(stream: Http2Stream<T>, trailers: FieldPairs | null = null): void {
    if (!this.#mayQueue(stream)) return
    stream.trailersOut = trailers
    stream.isLast = true
    if (stream.queuedBytes === 0) this.#writeEnd(stream)
  }

  /**
   * Ends the stream with RST_STREAM; what waits on it is discarded. After NO_ERROR the client knows that its response is complete, and that the rest of
   * its request is not needed (RFC 9113 §8.1): such a RST_STREAM follows the end of the response.
   */
  reset(stream: Http2Stream<T>, code: number): void {
    if (stream.isClosed) return
    if (code === NO_ERROR && stream.isSending) stream.resetAfterEnd = code
    else this.abandon(stream, code)
  }

  // The output.

  /**
   * Puts bodies into frames, as far as the client's windows allow, until `maxBytes` are ready to be written.
   * @param maxBytes at least some KiB: streams take turns within them
   * @returns whether there is more that could be sent as soon as the output has been taken
   */
  fill(maxBytes: number): boolean {
    const scheduler = this.#scheduler
    const output = this.output
    const bytes = Math.min(maxBytes - output.end, this.queuedBytes, this.#sendWindow)
    if (scheduler.mask === 0 || bytes <= 0) return scheduler.mask !== 0 && this.#sendWindow > 0
    output.reserve(bytes + FRAME_HEAD_BYTES * Math.ceil(bytes / MOST_DATA_BYTES))
    while (this.#sendWindow > 0) {
      const room = maxBytes - output.end - FRAME_HEAD_BYTES
      if (room < LEAST_ROOM_BYTES) return scheduler.mask !== 0
      const stream = scheduler.next()
      if (stream === null) return false
      this.#writeFrame(stream, room)
    }
    return false
  }

  /** What the client's windows allow on a stream now. */
  roomFor(stream: Http2Stream<T>): number {
    return Math.max(0, Math.min(stream.sendWindow, this.#sendWindow))
  }

  /**
   * A stream whose response is not complete, while nothing of it waits and the client's windows are open: its source may produce more. A stream
   * is returned once after everything that was sent on it is in frames.
   */
  nextHungry(): Http2Stream<T> | null {
    const { dry } = this
    while (this.#sendWindow > 0 && dry.length > 0) {
      const stream = dry.shift()!
      stream.isListed = false
      // A piece that did not fit into a frame may have been queued since the stream was listed.
      if (!stream.isDry || stream.queuedBytes > 0 || !stream.isSending || stream.sendWindow <= 0) continue
      stream.isDry = false
      return stream
    }
    return null
  }

  // For what is received.

  /** The client lets us send more. @param stream null for the connection @returns false if the window would be too large */
  openWindow(stream: Http2Stream<T> | null, bytes: number): boolean {
    if (stream === null) {
      this.#sendWindow += bytes
      return this.#sendWindow <= MOST_31_BITS
    }
    stream.sendWindow += bytes
    if (stream.sendWindow > MOST_31_BITS) return false
    if (stream.sendWindow > 0) {
      if (stream.queuedBytes > 0) this.#enqueue(stream)
      else if (stream.isDry) this.#list(stream)
    } else this.#scheduler.remove(stream)
    return true
  }

  /** The client has changed its initial window, and so the windows of all streams (RFC 9113 §6.9.2). @throws Http2Error if one would be too large */
  changeWindows(streams: Iterable<Http2Stream<T>>, delta: number): void {
    if (delta === 0) return
    for (const stream of streams) if (!this.openWindow(stream, delta)) throw new Http2Error('WINDOW_OVERFLOW_SETTINGS')
  }

  setTableLimit(bytes: number): void {
    this.#heads.setTableLimit(bytes)
  }

  prioritize(stream: Http2Stream<T>, { urgency, isIncremental }: Priority): void {
    stream.hasPriority = true
    this.#scheduler.prioritize(stream, urgency, isIncremental)
  }

  /** Ends a stream with RST_STREAM immediately. */
  abandon(stream: Http2Stream<T>, code: number): void {
    this.writeReset(stream.id, code)
    stream.moveTo(state.RESET)
    this.#leave(stream)
  }

  /** The client has reset the stream. */
  leaveReset(stream: Http2Stream<T>): void {
    stream.moveTo(state.CLOSED)
    this.#leave(stream)
  }

  // Control frames.

  writeReset(id: number, code: number): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + RST_STREAM_BYTES)
    this.output.end = writeRstStream(bytes, this.output.end, id, code)
  }

  /** @param pairs id, value, id, value */
  writeSettings(pairs: readonly number[]): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + (pairs.length / 2) * SETTING_BYTES)
    this.output.end = writeSettings(bytes, this.output.end, pairs)
  }

  writeSettingsAck(): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES)
    this.output.end = writeSettingsAck(bytes, this.output.end)
  }

  writePing(payload: Buffer, from: number, isAck: boolean): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + PING_BYTES)
    this.output.end = writePing(bytes, this.output.end, payload, from, isAck)
  }

  writeGoaway(lastStream: number, code: number): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + GOAWAY_BYTES)
    this.output.end = writeGoaway(bytes, this.output.end, lastStream, code)
  }

  /** @param id 0 for the connection */
  writeWindowUpdate(id: number, increment: number): void {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + WINDOW_UPDATE_BYTES)
    this.output.end = writeWindowUpdate(bytes, this.output.end, id, increment)
  }

  // Bodies.

  #mayQueue(stream: Http2Stream<T>): boolean {
    if (!stream.isSending) return false
    if (!stream.hasHead || stream.isLast) throw new Error('weir: the body of a response follows its head, and ends once')
    return true
  }

  /** Whether a piece can become a frame now: no other stream waits, and there is room. */
  #fits(stream: Http2Stream<T>, length: number): boolean {
    return (
      this.#scheduler.mask === 0 &&
      stream.queuedBytes === 0 &&
      length <= MOST_DATA_BYTES &&
      length <= stream.sendWindow &&
      length <= this.#sendWindow &&
      this.output.end + length <= DIRECT_OUTPUT_BYTES
    )
  }

  /** The payload follows, and counts as sent. @returns where it goes: there is room for it */
  #writeDataHead(stream: Http2Stream<T>, length: number, isEnd: boolean): number {
    const bytes = this.output.reserve(FRAME_HEAD_BYTES + length)
    stream.sendWindow -= length
    stream.sentBytes += length
    this.sentDataBytes += length
    this.#sendWindow -= length
    return writeFrameHead(bytes, this.output.end, length, DATA, isEnd ? END_STREAM : 0, stream.id)
  }

  #enqueue(stream: Http2Stream<T>): void {
    if (stream.place !== -1 || stream.sendWindow <= 0) return
    if (!stream.hasPriority) this.#readPriority(stream)
    this.#scheduler.add(stream)
  }

  /** Only for streams that have to wait: most responses never need it. */
  #readPriority(stream: Http2Stream<T>): void {
    stream.hasPriority = true
    const value = stream.head.get('priority')
    const priority = value === null ? null : readPriority(value)
    if (priority !== null) this.prioritize(stream, priority)
  }

  /** The next frame of a stream that has something to send. @param room for its payload */
  #writeFrame(stream: Http2Stream<T>, room: number): void {
    const wanted = Math.min(MOST_DATA_BYTES, room, stream.queuedBytes)
    const length = Math.min(wanted, stream.sendWindow, this.#sendWindow)
    const isAll = length === stream.queuedBytes
    const isEnd = isAll && stream.isLast && stream.trailersOut === null
    const at = this.#writeDataHead(stream, length, isEnd)
    takePieces(stream, this.output.bytes, at, length)
    this.output.end = at + length
    stream.queuedBytes -= length
    this.queuedBytes -= length
    if (length === wanted) this.#allowances.earnFrame()
    else this.#allowances.earnPart(length)
    if (isAll || stream.sendWindow <= 0) this.#scheduler.remove(stream)
    if (isEnd) this.#endSending(stream)
    else if (isAll && stream.isLast) this.#writeEnd(stream)
    else if (isAll) this.#markDry(stream)
  }

  /** Ends a response of which nothing waits. This needs no window (RFC 9113 §6.9.1). */
  #writeEnd(stream: Http2Stream<T>): void {
    if (stream.trailersOut === null) this.output.end = this.#writeDataHead(stream, 0, true)
    else this.#heads.writeTrailers(stream.id, stream.trailersOut)
    this.#endSending(stream)
  }

  #endSending(stream: Http2Stream<T>): void {
    stream.isLast = true
    stream.moveTo(stream.state === state.HALF_CLOSED_REMOTE ? state.CLOSED : state.HALF_CLOSED_LOCAL)
    this.#allowances.earnRequest()
    if (!stream.isClosed && stream.resetAfterEnd >= 0) this.abandon(stream, stream.resetAfterEnd)
    else if (stream.isClosed) this.#leave(stream)
  }

  #markDry(stream: Http2Stream<T>): void {
    stream.isDry = true
    this.#list(stream)
  }

  #list(stream: Http2Stream<T>): void {
    if (stream.isListed) return
    stream.isListed = true
    this.dry.push(stream)
  }

  #leave(stream: Http2Stream<T>): void {
    if (stream.place !== -1) this.#scheduler.remove(stream)
    this.queuedBytes -= stream.queuedBytes
    stream.queuedBytes = 0
    stream.pieces = null
    this.#forget(stream)
  }
}

/** Copies the next `length` bytes of the body to `at`, and lets go of the pieces that are used up. */
function takePieces<T>(stream: Http2Stream<T>, target: Buffer, at: number, length: number): void {
  const pieces = stream.pieces!
  let to = at
  for (let left = length; left > 0; ) {
    const piece = pieces[0]!
    const from = stream.pieceAt
    const bytes = Math.min(left, piece.length - from)
    target.set(from === 0 && bytes === piece.length ? piece : piece.subarray(from, from + bytes), to)
    to += bytes
    left -= bytes
    stream.pieceAt = from + bytes
    if (stream.pieceAt < piece.length) return
    pieces.shift()
    stream.pieceAt = 0
  }
}
