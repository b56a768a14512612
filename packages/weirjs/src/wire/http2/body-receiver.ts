// How much a client may send of request bodies, and what is held of bodies that are not read for now (RFC 9113 §5.2, §6.9).
//
// The window of a stream opens again when its bytes have been taken and the body is not paused; the window of the connection opens when they
// have been taken or discarded. WINDOW_UPDATE is sent for half a window at a time, and the window of a stream grows while its reader keeps up: a
// small window makes the client wait, and each update is a write of ours. All bodies of a connection together therefore hold at most
// CONNECTION_WINDOW_BYTES, in memory that grows by doubling: a client that sends single bytes uses no more than one that sends large frames.

import { Buffer } from 'node:buffer'
import { Http2Error } from './errors.ts'
import type { FrameSender } from './frame-sender.ts'
import type { Http2Stream } from './stream.ts'

/** How much a client may send of one body before any of it has been taken. */
export const STREAM_WINDOW_BYTES: number = 256 * 1024
/** The same once the reader of a large body has kept up with its client. Less than the window of the connection: other bodies must not have to wait. */
const MOST_STREAM_WINDOW_BYTES = 768 * 1024
/** The same for all bodies of a connection together. */
export const CONNECTION_WINDOW_BYTES: number = 1024 * 1024

/** An update for a stream takes one for the connection along. */
const FAIR_CREDIT_BYTES = 64 * 1024

const NO_BYTES = Buffer.alloc(0)
const FIRST_HELD_BYTES = 1024

export class BodyReceiver<T> {
  readonly #sender: FrameSender<T>
  #window = CONNECTION_WINDOW_BYTES
  /** Bytes that were taken, and for which WINDOW_UPDATE has not been sent. */
  #creditBytes = 0
  /** Memory for bodies that are paused. */
  heldBodyBytes = 0
  /** Streams that were paused and resumed, and have something to pass on. */
  readonly resumed: Http2Stream<T>[] = []

  constructor(sender: FrameSender<T>) {
    this.#sender = sender
  }

  /** The reader of the body needs no more for now. What arrives is held, and the window of the stream does not open. */
  pauseBody(stream: Http2Stream<T>): void {
    stream.isPaused = true
  }

  /** The reader needs more. The next calls of `next` return what was held. */
  resumeBody(stream: Http2Stream<T>): void {
    if (!stream.isPaused || stream.isClosed) return
    stream.isPaused = false
    this.#giveCredit(stream)
    this.listResumed(stream)
  }

  listResumed(stream: Http2Stream<T>): void {
    if (stream.isResumed || (stream.heldBytes === 0 && !stream.owesEnd)) return
    stream.isResumed = true
    this.resumed.push(stream)
  }

  /** @returns a stream that is not paused and has something to pass on, or null */
  takeResumed(): Http2Stream<T> | null {
    for (let stream = this.resumed.shift(); stream !== undefined; stream = this.resumed.shift()) {
      stream.isResumed = false
      if (!stream.isPaused && !stream.isClosed) return stream
    }
    return null
  }

  /**
   * The client has sent bytes that count for flow control.
   * @param flowLeft how many more its frame has
   * @throws Http2Error if the frame is larger than the window
   */
  takeWindow(flowBytes: number, flowLeft: number): void {
    this.#window -= flowBytes
    if (this.#window < flowLeft) throw new Http2Error('WINDOW_EXCEEDED_CONNECTION')
  }

  /** Bytes have been taken or discarded. @param stream null if its window is no longer used */
  credit(stream: Http2Stream<T> | null, flowBytes: number): void {
    this.#creditBytes += flowBytes
    if (this.#creditBytes >= CONNECTION_WINDOW_BYTES / 2) this.#giveConnectionCredit()
    if (stream === null) return
    stream.creditBytes += flowBytes
    this.#giveCredit(stream)
  }

  #giveConnectionCredit(): void {
    this.#sender.writeWindowUpdate(0, this.#creditBytes)
    this.#window += this.#creditBytes
    this.#creditBytes = 0
  }

  #giveCredit(stream: Http2Stream<T>): void {
    const { windowBytes } = stream
    if (stream.creditBytes < windowBytes / 2 || stream.isPaused || !stream.isReceiving) return
    if (!stream.hasHeld) stream.windowBytes = Math.min(2 * windowBytes, MOST_STREAM_WINDOW_BYTES)
    stream.hasHeld = false
    const increment = stream.creditBytes + stream.windowBytes - windowBytes
    this.#sender.writeWindowUpdate(stream.id, increment)
    stream.receiveWindow += increment
    stream.creditBytes = 0
    if (this.#creditBytes >= FAIR_CREDIT_BYTES) this.#giveConnectionCredit()
  }

  /** Keeps a copy of bytes that are not passed on for now. */
  holdBytes(stream: Http2Stream<T>, buffer: Buffer, start: number, end: number, flowBytes: number): void {
    const needed = stream.heldBytes + end - start
    if (needed > stream.held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * stream.held.length, FIRST_HELD_BYTES))
      stream.held.copy(larger, 0, 0, stream.heldBytes)
      this.heldBodyBytes += larger.length - stream.held.length
      stream.held = larger
    }
    buffer.copy(stream.held, stream.heldBytes, start, end)
    stream.heldBytes = needed
    stream.hasHeld = true
    stream.heldFlowBytes += flowBytes
  }

  /** Releases the memory of what is held. The caller gives the client credit for it. */
  releaseHeld(stream: Http2Stream<T>): void {
    this.heldBodyBytes -= stream.held.length
    stream.held = NO_BYTES
    stream.heldBytes = stream.heldFlowBytes = 0
  }
}
