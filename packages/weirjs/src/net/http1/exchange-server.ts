// Serves the requests of an HTTP/1.1 connection one after another, each from its head to the last byte of its response (RFC 9112 §9.3).
//
// There is one object for all requests of a connection. It decides whether another request may follow, before the response states so. The
// connection does the rest: see the diagram there.

import { trimBlanks } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { TakeOver } from '../../http/answer/response-content.ts'
import { isTooLarge } from '../../http/body/body-mode.ts'
import { abortRequest } from '../../http/request/request.ts'
import type { Head } from '../../wire/head/head.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { CONTINUE, encodeInterim } from '../../wire/http1/encode.ts'
import { PAUSED as READING_PAUSED } from '../../wire/http1/states.ts'

import type { OpenConnection } from '../connections/connections.ts'
import { type RequestConnection, RequestCycle } from '../cycle/request-cycle.ts'
import type { ConnectionRecords } from '../observe/connection-records.ts'
import type { Recording } from '../observe/recording.ts'
import type { Deadlines } from '../time/deadlines.ts'
import * as phase from '../time/deadlines.ts'
import type { Outbox } from '../transport/outbox.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import { NOT_WHOLE, sendWhole } from './whole-answer.ts'

/** The connection, as its requests see it. */
export interface Http1RequestConnection extends RequestConnection, OpenConnection {
  /** Continues: there may be more to do. */
  run(): void
  /** The response has been handed over, and the request has expired. */
  endCycle(): void
  /** @param recording of the request that has switched to `protocol`; null if there are no observers */
  handOver(takeOver: TakeOver, protocol: string, recording: Recording | null): void
  /** What observers are told after a response has been handed over. */
  readonly records: ConnectionRecords
}

export class ExchangeServer extends RequestCycle<Http1RequestConnection, StreamedAnswer> {
  readonly #wire: WireConnection
  readonly #outbox: Outbox
  #requests = 0
  /** The client has ended its side in the middle of the body. */
  #isCut = false
  /** For how long the client has ended its side, and the rest of the body has not been asked for. */
  #unaskedMs = 0
  /** The rest of the body is handed on, whether it is asked for or not. */
  #isHandingOn = false

  constructor(connection: Http1RequestConnection, wire: WireConnection, outbox: Outbox, deadlines: Deadlines) {
    super(connection, deadlines)
    this.#wire = wire
    this.#outbox = outbox
  }

  /** Whether a request is in progress: its head is complete, and its response has not been handed over. */
  get isOpen(): boolean {
    return this.exchange !== null
  }

  /** Whether there has been a request. */
  get hasServed(): boolean {
    return this.#requests > 0
  }

  override get isGone(): boolean {
    return this.#wire.isOver
  }

  /** The phase that applies while its body is awaited. A client that has not been sent `100 Continue` is not slow. */
  get bodyPhase(): number {
    return this.owesContinue ? phase.NONE : phase.BODY
  }

  // The request.

  /** The head of the next request is complete. */
  start(head: Head): void {
    this.#requests++
    this.#isCut = false
    this.#unaskedMs = 0
    this.deadlines.enter(phase.NONE)
    this.open(head)
    // A body whose declared length is too large may still be small enough to be drained, and then the connection is kept.
    this.#wire.bodyLimit = isTooLarge(head, this.bodyLimit) ? null : this.bodyLimit
  }

  /** Bytes of the body. @returns false when they are not needed */
  push(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.body === null) return false
    if (!this.body.push(buffer, start, end, borrowed) && !this.#isHandingOn) this.#wire.pauseBody()
    return true
  }

  /** Whether the next bytes of the body are going to be kept. */
  get keepsBytes(): boolean {
    return this.body?.keepsBytes === true
  }

  /** Borrowed memory is about to be used again. */
  ownBody(): void {
    this.body?.own()
  }

  /** All of the request has been received. */
  complete(): void {
    this.body?.finish(this.#wire.trailers)
    if (!this.isHandling && !this.isGating) this.handle()
  }

  /** The client has ended its side. */
  onEnd(): void {
    if (this.isHandling || this.isGating) abortRequest(this.exchange!.request, new WeirError('WEIR_CLIENT_GONE', 'it ended its side'))
  }

  override refuse(error: WeirError): void {
    this.#isCut = error.code === 'WEIR_BODY_TRUNCATED'
    super.refuse(error)
  }

  protected override demand(): void {
    this.#unaskedMs = 0
    if (this.owesContinue && this.answer?.hasBegun !== true) this.sendContinue()
    this.#wire.resumeBody()
    this.connection.run()
  }

  protected override sendContinue(): void {
    this.owesContinue = false
    this.#outbox.addText(CONTINUE)
    this.#outbox.flush()
  }

  protected override takesTrailers(head: Head, mustBeAsked: boolean): boolean {
    return head.minorVersion === 1 && (!mustBeAsked || listsTrailers(head.get('te')))
  }

  /** RFC 9110 §15.2: HTTP/1.0 has no interim responses. */
  protected override sendInterim(head: Head, status: number, fields: readonly string[]): boolean {
    if (head.minorVersion === 0) return false
    this.#outbox.addText(encodeInterim(status, fields))
    this.#outbox.flush()
    return true
  }

  protected override stopWaiting(): void {
    this.#wire.refuse()
  }

  protected override holdBody(): void {
    if (this.body !== null) this.#wire.pauseBody()
  }

  /** A body that is not needed stays paused until the response has been sent. */
  protected override releaseBody(isWanted: boolean): void {
    if (isWanted) this.#wire.resumeBody()
  }

  // The response.

  protected override send(response: OutgoingResponse): void {
    const wire = this.#wire
    const { debug, ticker } = this.host
    if (wire.keepsAlive && !this.#mayFollow(response)) wire.disableKeepAlive()
    const bodyBytes = sendWhole(wire, response, this.#outbox, ticker.dateLine, debug ? this.body : null)
    if (bodyBytes !== NOT_WHOLE) {
      wire.beginAnswer(true)
      if (this.recording !== null) this.recording.status = response.statusCode
      this.#end(bodyBytes)
    } else if (response.content.kind === 'upgrade') {
      const recording = this.takeRecording(0)
      this.expire()
      const { takeOver, protocol } = response.content
      this.connection.handOver(takeOver, protocol, recording)
    } else this.sendStream(new StreamedAnswer(wire, response, this.#outbox, ticker.dateLine, this.recording))
  }

  /** Whether the server lets another request follow. */
  #mayFollow(response: OutgoingResponse): boolean {
    const { limits, isStopping } = this.host
    if (response.closes || isStopping) return false
    if (limits.maxRequestsPerConnection !== null && this.#requests >= limits.maxRequestsPerConnection) return false
    const rest = this.#wire.remainingBytes
    if (rest === 0) return true
    // A handler that streams its response while it reads, such as an echo, is likely to read to the end.
    if (response.content.kind === 'stream' && this.body?.isUnread === false) return true
    // A client that has not been sent `100 Continue` may or may not send the body, so it is not known where the next request begins.
    return !this.owesContinue && (rest === Number.POSITIVE_INFINITY || rest <= limits.maxDrainSize)
  }

  /** The client has read what was waiting. */
  onDrain(): void {
    this.answer?.onDrain()
  }

  protected override endAnswer(answer: StreamedAnswer): void {
    if (this.isGone) {
      this.expire()
      return
    }
    this.#wire.endAnswer()
    this.recording?.markEnd()
    this.#end(answer.bodyBytes)
    this.connection.run()
  }

  protected override get receivedBytes(): number {
    return this.#wire.receivedBytes
  }

  /** The response has been handed over. @param bodyBytes of it */
  #end(bodyBytes: number): void {
    const recording = this.takeRecording(bodyBytes)
    if (recording !== null) this.connection.records.handOver(recording)
    this.expire()
    this.answer = null
    this.connection.endCycle()
  }

  protected override proceed(): void {
    this.connection.run()
  }

  protected override breakOff(error: Error): void {
    this.connection.abort(error)
  }

  protected override forget(): void {
    if (this.connection.isGone) this.host.forget(this.connection) // an aborted connection has yet to close
  }

  // Time.

  /** @param unsentBytes how many bytes are waiting for the client to read */
  tick(elapsedMs: number, unsentBytes: number): void {
    if (this.answer === null) {
      this.checkRequest(elapsedMs)
      if (this.#wire.peerEnded && this.isOpen) this.#checkRest(elapsedMs)
    } else if (this.#wire.peerEnded && unsentBytes === 0) this.#checkStream(this.answer, elapsedMs)
  }

  /**
   * A client that has ended its side in the middle of a body has left. Whether it has, only the rest of the body shows: if nobody asks for
   * what has arrived of it, it is handed on. A handler that has not answered a moment later has nobody to answer.
   */
  #checkRest(elapsedMs: number): void {
    const wire = this.#wire
    const isHeld = wire.reading === READING_PAUSED && !this.isGating
    if (!isHeld && !this.#isCut) return
    this.#unaskedMs += elapsedMs
    if (this.#unaskedMs <= this.host.timeouts.lingerTimeout) return
    if (this.#isCut) {
      this.connection.abort(new WeirError('WEIR_CLIENT_GONE'))
      return
    }
    this.#unaskedMs = 0
    this.#isHandingOn = true
    wire.resumeBody()
    this.connection.run()
    this.#isHandingOn = false
  }

  /**
   * A client that has ended its side may still read. A client that has left looks the same until something is sent to it, so a response
   * that sends nothing to such a client is aborted soon.
   */
  #checkStream(answer: StreamedAnswer, elapsedMs: number): void {
    if (answer.wait(elapsedMs) > this.host.timeouts.lingerTimeout) this.connection.abort(new WeirError('WEIR_CLIENT_GONE'))
  }
}

/** @param te the value of TE: transfer codings, which are not supported, and `trailers` */
function listsTrailers(te: string | null): boolean {
  return te?.split(',').some((one) => trimBlanks(one).toLowerCase() === 'trailers') === true
}
