// Writes a response as frames of one stream of HTTP/2.

import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import type { FrameSender } from '../../wire/http2/frame-sender.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { shownLength, shownType } from '../cycle/response-head.ts'
import type { ResponseWriter } from '../cycle/response-sender.ts'
import type { Ticker } from '../time/ticker.ts'
import { LARGE_PIECE_BYTES } from './backlog.ts'
import { isTight, type Output, type Watched } from './output.ts'

const MOST_PIECE_BYTES = 64 * 1024
/** Smaller pieces would cost more to read than to hold. */
const LEAST_PIECE_BYTES = 8 * 1024

export class Http2Writer<T extends Watched> implements ResponseWriter {
  readonly #sender: FrameSender<T>
  readonly #output: Output<T>
  readonly #stream: Http2Stream<T>
  readonly #ticker: Ticker
  /** The promised length of a response in pieces; -1 for none. */
  #declared = -1

  constructor(sender: FrameSender<T>, output: Output<T>, stream: Http2Stream<T>, ticker: Ticker) {
    this.#sender = sender
    this.#output = output
    this.#stream = stream
    this.#ticker = ticker
  }

  get isGone(): boolean {
    return !this.#stream.isSending
  }

  head(response: OutgoingResponse, length: number): void {
    this.#sendHead(response, shownType(response), shownLength(response.statusCode, length), true)
  }

  text(response: OutgoingResponse, text: string, length: number): void {
    this.#sendHead(response, response.type, length, length === 0)
    if (length > 0) this.#sender.sendText(this.#stream, text, length)
  }

  bytes(response: OutgoingResponse, bytes: Uint8Array): void {
    this.#sendHead(response, response.type, bytes.length, bytes.length === 0)
    if (bytes.length > 0) this.#sender.sendData(this.#stream, bytes, true)
  }

  begin(response: OutgoingResponse): void {
    this.#declared = response.declaredLength
    this.#sendHead(response, response.type, this.#declared, false)
    this.#output.flushSoon()
  }

  piece(bytes: Uint8Array): boolean {
    this.#output.flushSoon()
    this.#sender.sendData(this.#stream, bytes, false, this.#output.isBusy)
    if (!this.mustWait && !this.#isFull) return true
    const owner = this.#stream.owner!
    // Later: whoever has made the piece waits for room by then.
    if (bytes.length > LARGE_PIECE_BYTES && this.#sender.queuedBytes > MOST_QUEUED_BYTES) queueMicrotask(() => owner.onBacklog())
    // The end of a source may be all that follows, and needs no window: END_STREAM.
    if (this.#declared === -1) this.#output.watch(owner)
    return false
  }

  end(last: Uint8Array | null, trailers: readonly string[] | null): void {
    if (last !== null) this.#sender.sendData(this.#stream, last, trailers === null)
    if (trailers !== null) this.#sender.sendEnd(this.#stream, trailers)
    else if (last === null) this.#sender.sendEnd(this.#stream)
  }

  flush(): void {
    this.#output.flushSoon()
  }

  /** With END_STREAM, no frame follows. */
  get keepsLast(): boolean {
    return true
  }

  get endsWithoutTrailers(): boolean {
    return true
  }

  /** What the client would not take now would wait in memory. */
  get mostPieceBytes(): number | undefined {
    if (this.#stream.queuedBytes > 0) return undefined // their memory is still needed
    const isMuch = isTight || this.#sender.queuedBytes > MOST_QUEUED_BYTES
    const most = isMuch ? LEAST_PIECE_BYTES : MOST_PIECE_BYTES
    return Math.max(LEAST_PIECE_BYTES, Math.min(most, this.#sender.roomFor(this.#stream)))
  }

  /** Whether frames that have been made wait for the client. */
  get mustWait(): boolean {
    return this.#stream.queuedBytes > 0 || this.#output.mustWait
  }

  /** Whether the client's windows are closed. If a length was promised, more than the end of the source follows, and has to wait for them. */
  get #isFull(): boolean {
    return this.#declared !== -1 && this.#sender.roomFor(this.#stream) === 0
  }

  /** @param type that it states; null for none @param length that it states; below 0 for none @param isWhole whether no body follows */
  #sendHead({ statusCode, fields }: OutgoingResponse, type: string | null, length: number, isWhole: boolean): void {
    this.#sender.sendHead(this.#stream, statusCode, type, fields, length, this.#ticker.date, isWhole)
  }
}
