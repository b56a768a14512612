// Responses that wait for a client which does not read them.
//
// It shows only after the handlers have made their responses that a client does not read. While it reads, however slowly, all responses may wait.
// If it does not, responses above the limit do not wait for `writeTimeout`: they would take the memory of a hundred responses for one client. While
// all such clients together keep too much, further responses for them are not kept.

import { WeirError } from '../../base/errors.ts'
import { MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import { ENHANCE_YOUR_CALM } from '../../wire/http2/errors.ts'

/** A client that takes less than `LEAST_BYTES` in this time does not read. */
const PATIENCE_MS = 10_000
const LEAST_BYTES = 64 * 1024
/** What all connections of the thread may keep above the limit of each. Then patience is shorter. */
const MOST_OF_ALL_BYTES = 128 * 1024 * 1024
const SHORT_PATIENCE_MS = 2_000

let allBytes = 0

/** A piece of a streamed response that is larger counts as a complete response does: its program made it whole. */
export const LARGE_PIECE_BYTES = 64 * 1024

/** The responses of one connection. */
interface Queue {
  readonly queuedBytes: number
  readonly sentDataBytes: number
}

/** One of the responses. */
interface Queued {
  readonly stream: { readonly isLast: boolean; readonly queuedBytes: number }
  abort(error: Error, code: number): void
}

/** A stream that speaks another protocol, such as a WebSocket. */
export interface WaitingLink {
  /** Bytes of its stream that wait for the client. */
  readonly waitingBytes: number
  /** How many bytes its engine keeps in addition. */
  readonly keptBytes: number
  abort(): void
}

export class Backlog {
  /** The links that have begun and not ended. */
  readonly links = new Set<WaitingLink>()
  /** How long too much has waited since the client has last taken enough. */
  #waitedMs = 0
  #sentBytes = 0
  /** Whether it has taken enough since the tick before the last one. */
  #hasTaken = false
  /** How much of `allBytes` belongs to this connection. */
  #countedBytes = 0

  /** Resets the streams of the latest requests, if more waits than may and the client does not read. */
  tick(elapsedMs: number, wire: Queue, exchanges: ReadonlySet<Queued>): void {
    this.#hasTaken = wire.sentDataBytes - this.#sentBytes >= LEAST_BYTES
    if (this.#hasTaken) {
      this.#waitedMs = 0
      this.#sentBytes = wire.sentDataBytes
    }
    this.#count(this.#bytesOf(wire))
    if (this.#bytesOf(wire) <= MOST_QUEUED_BYTES) return
    this.#waitedMs += elapsedMs
    if (this.#waitedMs <= (allBytes > MOST_OF_ALL_BYTES ? SHORT_PATIENCE_MS : PATIENCE_MS)) return
    for (const exchange of [...exchanges].reverse()) {
      if (this.#bytesOf(wire) <= MOST_QUEUED_BYTES) break
      const { isLast, queuedBytes } = exchange.stream
      if (queuedBytes > (isLast ? 0 : LARGE_PIECE_BYTES)) abort(exchange)
    }
    for (const link of [...this.links].reverse()) {
      if (this.#bytesOf(wire) <= MOST_QUEUED_BYTES) break
      if (link.waitingBytes + link.keptBytes > 0) link.abort()
    }
    this.#count(this.#bytesOf(wire))
  }

  /** Whether a link may keep so many more bytes: any number, unless the client does not read and all clients together keep too much. */
  hasRoomFor(bytes: number, wire: Queue): boolean {
    const all = this.#bytesOf(wire) + bytes
    if (all <= MOST_QUEUED_BYTES) return true
    this.#count(all)
    return allBytes <= MOST_OF_ALL_BYTES || this.#isReading(wire)
  }

  /** A response is complete, or a large piece of it is made, and more waits on its connection than may. Resets its stream, if the client does not read and all keep too much. */
  add(exchange: Queued, wire: Queue): void {
    this.#count(this.#bytesOf(wire))
    if (allBytes <= MOST_OF_ALL_BYTES || this.#isReading(wire)) return
    abort(exchange)
    this.#count(this.#bytesOf(wire))
  }

  /** The connection is over. */
  close(): void {
    this.#count(0)
  }

  #bytesOf({ queuedBytes }: Queue): number {
    let bytes = queuedBytes
    for (const { keptBytes } of this.links) bytes += keptBytes
    return bytes
  }

  #isReading(wire: Queue): boolean {
    return this.#hasTaken || wire.sentDataBytes - this.#sentBytes >= LEAST_BYTES
  }

  #count(queuedBytes: number): void {
    const bytes = Math.max(0, queuedBytes - MOST_QUEUED_BYTES)
    allBytes += bytes - this.#countedBytes
    this.#countedBytes = bytes
  }
}

function abort(exchange: Queued): void {
  exchange.abort(new WeirError('WEIR_CLIENT_GONE', 'it does not read'), ENHANCE_YOUR_CALM)
}
