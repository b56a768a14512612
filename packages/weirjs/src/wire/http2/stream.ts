// One stream: the small record that a connection keeps of a request and its response (RFC 9113 §5).
//
// It moves through the states of states.ts, and knows what its peer may send and what waits to be sent. Everything that happens to it is decided
// by connection.ts (what is received) and frame-sender.ts (what is sent).

import { Buffer } from 'node:buffer'
import type { WeirError } from '../../base/errors.ts'
import { illegalMove } from '../../base/moves.ts'
import { CHUNKED } from '../head/framing.ts'
import type { Head } from '../head/head.ts'
import { NO_HEAD } from '../head/head.ts'
import * as state from './states.ts'

export const NO_BYTES = Buffer.alloc(0)
const NO_FIELDS: readonly (readonly [name: string, value: string])[] = []

/** Fields as name, value, name, value; names in lower case. */
export type FieldPairs = readonly string[]

/** @typeParam T what the owner keeps of the stream */
export class Http2Stream<T> {
  readonly id: number
  /** The owner's own record. The engine never looks at it. */
  owner: T | null = null
  /** The request. `NO_HEAD` if its head was refused. */
  head: Head = NO_HEAD
  /** Whether the response has no body because the method is HEAD. Known even if the rest of the head was refused. */
  isHead = false
  /** Why the head was refused; null if it was not. */
  refusal: WeirError | null = null
  /** Whether the request ends with its head. */
  isWhole = false
  /** Trailer fields of the request, once END has been returned. */
  trailers: readonly (readonly [name: string, value: string])[] = NO_FIELDS
  // Fields and not getters, because they are read many times for each request. Only `moveTo` changes them.

  /** One of the states of states.ts. */
  readonly state: number = state.IDLE
  /** Whether the client may still send parts of the request. */
  readonly isReceiving: boolean = false
  /** Whether parts of the response may still be sent: it has neither ended nor been reset. */
  readonly isSending: boolean = false
  /** Whether nothing more is received or sent. */
  readonly isClosed: boolean = false

  // The request.

  /** @internal How many bytes the client may still send before it must wait (RFC 9113 §6.9). */
  receiveWindow: number
  /** @internal The value of `receiveWindow` after a WINDOW_UPDATE if everything received has been taken. */
  windowBytes: number
  /** @internal Something has been held since the last WINDOW_UPDATE: the reader has not kept up. */
  hasHeld = false
  /** @internal Bytes that were taken, and for which WINDOW_UPDATE has not been sent. */
  creditBytes = 0
  /** Bytes of the body that have been received, without padding. */
  receivedBytes = 0
  /** @internal The owner needs no more for now, so arriving bytes are held. */
  isPaused = false
  /** @internal All has been received, but END has not been returned. */
  owesEnd = false
  /** @internal What has been received and not passed on. */
  held: Buffer = NO_BYTES
  /** @internal How much of `held` is used. */
  heldBytes = 0
  /** @internal How much of the window the held bytes have used, with their padding. */
  heldFlowBytes = 0
  /** @internal It is in the list of streams that have something to pass on. */
  isResumed = false
  /** @internal HEAD has not been returned. */
  isWaiting = false
  /** Its owner is done with it. */
  isReleased = false

  // The response.

  /** @internal How many bytes we may still send (RFC 9113 §6.9). Below zero when the client has lowered its initial window. */
  sendWindow: number
  /** Whether the response has begun: its head has been sent. */
  hasHead = false
  /** @internal Pieces of the body that wait, the first one from `pieceAt` on. */
  pieces: Uint8Array[] | null = null
  pieceAt = 0
  /** Bytes of the body that wait for the client to open a window, or for room in the output. */
  queuedBytes = 0
  /** Bytes of the body that have been put into frames. Rises while the client reads. */
  sentBytes = 0
  /** @internal No further piece follows. */
  isLast = false
  /** @internal Trailers that follow the last piece. */
  trailersOut: FieldPairs | null = null
  /** @internal The code of a RST_STREAM that follows the end of the response; -1 for none. */
  resetAfterEnd = -1
  /** @internal All its pieces are in frames, and `nextHungry` has not returned it since. */
  isDry = false
  /** @internal It is in the list of `nextHungry`. */
  isListed = false

  // Its place among the streams that wait to send (scheduler.ts).

  /** RFC 9218 §4.1, from 0 (the most urgent) to 7. */
  urgency = 3
  /** RFC 9218 §4.2: parts of it are of use before the rest. Without any signal from the client, streams take turns too. */
  isIncremental = true
  /** @internal Its priority has been read. */
  hasPriority = false
  /** @internal The queue that it is in, or -1. */
  place = -1
  /** @internal */
  previous: Http2Stream<T> | null = null
  /** @internal */
  next: Http2Stream<T> | null = null

  constructor(id: number, receiveWindow: number, sendWindow: number) {
    this.id = id
    this.receiveWindow = this.windowBytes = receiveWindow
    this.sendWindow = sendWindow
  }

  /** @internal Whether the body may have `bytes` more than have been received. @param isLast whether those are the last ones */
  mayReceive(bytes: number, isLast: boolean): boolean {
    const { contentLength } = this.head
    if (contentLength === CHUNKED || this.refusal !== null || this.head.upgrade) return true
    const total = this.receivedBytes + bytes
    return isLast ? total === contentLength : total <= contentLength
  }

  /** @internal @throws Error for a move that is not in §5.1 */
  moveTo(to: number): void {
    if (((state.STREAM_MASKS[this.state]! >> to) & 1) === 0) throw illegalMove('stream', state.STREAM_STATE_NAMES, this.state, to)
    const own = this as { state: number; isReceiving: boolean; isSending: boolean; isClosed: boolean }
    own.state = to
    own.isReceiving = to === state.OPEN || to === state.HALF_CLOSED_LOCAL
    own.isSending = to === state.OPEN || to === state.HALF_CLOSED_REMOTE
    own.isClosed = to >= state.CLOSED
  }
}
