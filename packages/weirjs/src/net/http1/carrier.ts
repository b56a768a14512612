// Carries the requests of an HTTP/1.1 connection one after another, each from its head to the last byte of its response (RFC 9112 §9.3).
//
// There is one object for all requests of a connection. It decides whether another request may follow, before the response states so. The
// connection does the rest: see the diagram there.

import { trimBlanks } from '../../base/ascii.ts'
import { clientGone, type WeirError } from '../../base/errors.ts'
import { isTooLarge } from '../../http/body/body-mode.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { Head } from '../../wire/head/head.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { CONTINUE, encodeInterim } from '../../wire/http1/encode.ts'
import * as state from '../../wire/http1/states.ts'

import type { OpenConnection } from '../connections/connections.ts'
import type { Carrier, RequestConnection, UpgradeContent } from '../cycle/carrier.ts'
import { isAtWork } from '../cycle/exchange-states.ts'
import { RequestCycle } from '../cycle/request-cycle.ts'
import type { ConnectionRecords } from '../observe/connection-records.ts'
import type { Recording } from '../observe/recording.ts'
import type { Deadlines } from '../time/deadlines.ts'
import * as phase from '../time/deadlines.ts'
import type { Outbox } from '../transport/outbox.ts'
import { Http1Writer } from './writer.ts'

/** The connection, as its requests see it. */
export interface Http1RequestConnection extends RequestConnection, OpenConnection {
  /** Continues: there may be more to do. */
  run(): void
  /** The response has been handed over, and the request has expired. */
  endCycle(): void
  /** @param recording of the request that has switched to another protocol; null if there are no observers */
  handOver(content: UpgradeContent, recording: Recording | null): void
  /** How many requests there have been, with the current one. */
  readonly requests: number
  countResponse(response: OutgoingResponse): void
  /** What observers are told after a response has been handed over. */
  readonly records: ConnectionRecords
}

export class Http1Carrier implements Carrier {
  readonly isPulled = false
  /** The wire machine refuses a chunk by its size, before its first byte. */
  readonly countsBody = true
  readonly cycle: RequestCycle
  readonly writer: Http1Writer
  readonly #connection: Http1RequestConnection
  readonly #wire: WireConnection
  readonly #outbox: Outbox
  /** The client has ended its side in the middle of the body. */
  #isCut = false
  /** How long the client has ended its side without the rest of the body being asked for. */
  #unaskedMs = 0

  constructor(connection: Http1RequestConnection, wire: WireConnection, outbox: Outbox, deadlines: Deadlines) {
    this.#connection = connection
    this.#wire = wire
    this.#outbox = outbox
    this.writer = new Http1Writer(wire, outbox, connection.host.ticker)
    this.cycle = new RequestCycle(this, connection, deadlines)
  }

  // The request.

  /** The head of the next request is complete. */
  start(head: Head): void {
    const { cycle } = this
    this.#isCut = false
    this.#unaskedMs = 0
    cycle.deadlines.enter(phase.NONE)
    cycle.open(head)
    // A body whose declared length is too large may still be small enough to be drained, and then the connection is kept.
    if (head.contentLength !== 0) this.#wire.bodyLimit = isTooLarge(head, cycle.bodyLimit) ? null : cycle.bodyLimit
  }

  /** The client has ended its side. */
  onEnd(): void {
    const { cycle } = this
    if (isAtWork(cycle)) cycle.exchange!.abort(clientGone('it ended its side'))
  }

  /** The request cannot be read to its end. */
  refuse(error: WeirError): void {
    this.#isCut = error.code === 'WEIR_BODY_TRUNCATED'
    this.cycle.refuse(error)
  }

  get receivedBytes(): number {
    return this.#wire.receivedBytes
  }

  pause(): void {
    this.#wire.pauseBody()
  }

  resume(): void {
    this.#unaskedMs = 0
    this.#wire.resumeBody()
    this.#connection.run()
  }

  refuseRest(): void {
    this.#wire.refuse()
  }

  // The response.

  /** RFC 9110 §15.2: HTTP/1.0 has no interim responses. It is not asked to continue either. */
  interim(head: Head, status: number, fields: readonly string[] | null): boolean {
    if (head.minorVersion === 0) return false
    this.#outbox.addText(fields === null ? CONTINUE : encodeInterim(status, fields))
    this.#outbox.flush()
    return true
  }

  takesTrailers(head: Head, mustBeAsked: boolean): boolean {
    return head.minorVersion === 1 && (!mustBeAsked || listsTrailers(head.get('te')))
  }

  /** Decides whether the server lets another request follow. */
  prepare(response: OutgoingResponse): OutgoingResponse {
    this.#connection.countResponse(response)
    const { host, requests } = this.#connection
    const { limits, isStopping } = host
    const rest = this.#wire.remainingBytes
    if (response.closes || isStopping || requests >= (limits.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY))
      this.#wire.disableKeepAlive()
    else if (rest > 0 && !this.#mayDrain(response, rest)) this.#wire.disableKeepAlive()
    return response
  }

  /** Whether the rest of the request may be read, so that another one follows it. */
  #mayDrain(response: OutgoingResponse, rest: number): boolean {
    const { body, owesContinue } = this.cycle
    // A handler that streams its response while it reads, such as an echo, is likely to read to the end.
    if (response.content.kind === 'stream' && body?.isUnread === false) return true
    // A client that has not been sent `100 Continue` may or may not send the body, so the start of the next request is unknown.
    return !owesContinue && (rest === Number.POSITIVE_INFINITY || rest <= this.#connection.host.limits.maxDrainSize)
  }

  handedOver(recording: Recording | null): void {
    this.#wire.endResponse()
    if (recording !== null) {
      if (recording.firstByteMs !== null) recording.markEnd()
      this.#connection.records.handOver(recording)
    }
    this.#connection.endCycle()
  }

  switchOver(content: UpgradeContent, recording: Recording | null): void {
    this.#connection.handOver(content, recording)
  }

  proceed(): void {
    this.#connection.run()
  }

  cut(error: Error): void {
    this.#connection.abort(error)
  }

  /** The aborted connection still has to close. */
  closed(): void {
    if (this.#connection.isGone) this.#connection.host.forget(this.#connection)
  }

  // Time.

  /** @param unsentBytes how many bytes are waiting for the client to read */
  tick(elapsedMs: number, unsentBytes: number): void {
    const { streamed } = this.cycle
    if (streamed === null) {
      this.cycle.checkRequest(elapsedMs)
      if (this.#wire.peerEnded && isAtWork(this.cycle)) this.#checkRest(elapsedMs)
    } else if (this.#wire.peerEnded && unsentBytes === 0) {
      // A client that has ended its side may still read. A client that has left looks the same until something is sent to it, so a response
      // that sends nothing to such a client is aborted soon.
      const { lingerTimeout } = this.#connection.host.timeouts
      if (streamed.wait(elapsedMs) > lingerTimeout) this.#connection.abort(clientGone())
    }
  }

  /**
   * A client that has ended its side in the middle of a body has left. Only the rest of the body shows whether it has: what
   * has arrived of it is handed on, even if the handler has not asked for it. A handler that has not responded a moment later has no client.
   */
  #checkRest(elapsedMs: number): void {
    const wire = this.#wire
    if (!this.#isCut && (wire.reading !== state.PAUSED || this.cycle.isGating)) return
    this.#unaskedMs += elapsedMs
    if (this.#unaskedMs <= this.#connection.host.timeouts.lingerTimeout) return
    if (this.#isCut) {
      this.#connection.abort(clientGone())
      return
    }
    this.#unaskedMs = 0
    wire.resumeBody() // the body stays held, so it is not paused again
    this.#connection.run()
  }
}

/** @param te the value of TE: transfer codings, which are not supported, and `trailers` */
function listsTrailers(te: string | null): boolean {
  return te?.split(',').some((one) => trimBlanks(one).toLowerCase() === 'trailers') === true
}
