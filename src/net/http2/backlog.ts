// Responses that wait for a client which does not read them.
//
// Nobody knows that a client does not read before the handlers have made their responses. While it reads, however slowly, all of them may wait.
// If it does not, what is above the limit does not wait for `writeTimeout`: it would be the memory of a hundred responses for one client.

import { WeirError } from '../../base/errors.ts'
import { type Http2WireConnection, MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import { ENHANCE_YOUR_CALM } from '../../wire/http2/errors.ts'
import type { Http2Exchange } from './exchange.ts'

/** A client that takes less than `LEAST_BYTES` in this time does not read. */
const PATIENCE_MS = 10_000
const LEAST_BYTES = 64 * 1024

export class Backlog {
  /** How long too much has waited since the client has last taken enough. */
  #waitedMs = 0
  #sentBytes = 0

  /** Resets the streams of the latest requests, if more waits than may and the client does not read. */
  tick(elapsedMs: number, wire: Http2WireConnection<Http2Exchange>, exchanges: ReadonlySet<Http2Exchange>): void {
    if (wire.sender.sentDataBytes - this.#sentBytes >= LEAST_BYTES) {
      this.#waitedMs = 0
      this.#sentBytes = wire.sender.sentDataBytes
    }
    if (wire.sender.queuedBytes <= MOST_QUEUED_BYTES) return
    this.#waitedMs += elapsedMs
    if (this.#waitedMs <= PATIENCE_MS) return
    const error = new WeirError('WEIR_CLIENT_GONE', 'it does not read')
    for (const exchange of [...exchanges].reverse()) {
      if (wire.sender.queuedBytes <= MOST_QUEUED_BYTES) break
      if (exchange.stream.isLast && exchange.stream.queuedBytes > 0) exchange.breakOff(error, ENHANCE_YOUR_CALM)
    }
  }
}
