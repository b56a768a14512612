// The requests of an HTTP/1.1 connection, one after the other, each from its head to the last byte of its answer (RFC 9112 §9.3).
//
// One object serves all requests of a connection. Whether the connection lives on behind an answer is decided here, before the answer says
// so; what that takes is done there.

import { WeirError } from '../../base/errors.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { TakeOver } from '../../http/answer/response-content.ts'
import { isTooLarge } from '../../http/body/body-mode.ts'
import { abortRequest } from '../../http/request/request.ts'
import type { WireConnection } from '../../wire/http1/connection.ts'
import { CONTINUE } from '../../wire/http1/encode.ts'
import type { Head } from '../../wire/http1/head.ts'
import * as state from '../../wire/http1/states.ts'

import type { OpenConnection } from '../connections/connections.ts'
import { type RequestConnection, RequestCycle } from '../cycle/request-cycle.ts'
import { sendWhole } from '../cycle/whole-answer.ts'
import type { Deadlines } from '../time/deadlines.ts'
import * as phase from '../time/deadlines.ts'
import type { Outbox } from '../transport/outbox.ts'
import { StreamedAnswer } from './streamed-answer.ts'

/** The connection, as its requests see it. */
export interface Http1RequestConnection extends RequestConnection, OpenConnection {
  /** There may be more to do. */
  run(): void
  /** The answer has been handed over, and the request has expired. */
  endCycle(): void
  handOver(takeOver: TakeOver): void
}

export class Http1Exchange extends RequestCycle<Http1RequestConnection, StreamedAnswer> {
  readonly #wire: WireConnection
  readonly #outbox: Outbox
  #requests = 0
  #isBodyPaused = false

  constructor(connection: Http1RequestConnection, wire: WireConnection, outbox: Outbox, deadlines: Deadlines) {
    super(connection, deadlines)
    this.#wire = wire
    this.#outbox = outbox
  }

  /** Whether a request is under way: its head is here, and its answer has not been handed over. */
  get isOpen(): boolean {
    return this.exchange !== null
  }

  /** Nobody reads the body just now, so the socket is not read either. */
  get isBodyPaused(): boolean {
    return this.#isBodyPaused
  }

  /** How its body is waited for: a client that was not told to go on is not slow. */
  get bodyPhase(): number {
    return this.owesContinue ? phase.NONE : phase.BODY
  }

  // The request.

  /** The head of the next request is complete. */
  start(head: Head): void {
    this.#requests++
    this.deadlines.enter(phase.NONE)
    this.open(head)
    // Of a body that is too large by its head what is left may still be small enough to read over, and then the connection lives on.
    this.#wire.bodyLimit = isTooLarge(head, this.bodyLimit) ? null : this.bodyLimit
  }

  /** Bytes of the body. @returns false when they are not wanted */
  push(buffer: Buffer, start: number, end: number, borrowed: boolean): boolean {
    if (this.body === null) return false
    if (!this.body.push(buffer, start, end, borrowed)) {
      this.#isBodyPaused = true
      this.deadlines.enter(phase.NONE)
    }
    return true
  }

  /** Whether what comes of the body is going to be kept. */
  get keepsBytes(): boolean {
    return this.body?.keepsBytes === true
  }

  /** Borrowed memory is about to be used again. */
  ownBody(): void {
    this.body?.own()
  }

  /** All of the request is here. */
  complete(): void {
    this.body?.finish()
    if (!this.isHandling) this.handle()
  }

  /** The client has ended its side. */
  onEnd(): void {
    if (this.isHandling) abortRequest(this.exchange!.request, new WeirError('WEIR_CLIENT_GONE', 'it ended its side'))
  }

  override refuse(error: WeirError): void {
    this.#isBodyPaused = false
    super.refuse(error)
  }

  protected override demand(): void {
    if (this.owesContinue && this.answer?.hasBegun !== true) this.sendContinue()
    this.#isBodyPaused = false
    this.connection.run()
  }

  protected override sendContinue(): void {
    this.owesContinue = false
    this.#outbox.addText(CONTINUE)
    this.#outbox.flush()
  }

  protected override stopReading(): void {
    this.#wire.stopReading()
  }

  // The answer.

  protected override send(response: OutgoingResponse): void {
    const wire = this.#wire
    const { head } = wire
    head.keepAlive = this.#keepsAlive(head, response)
    const { debug, ticker } = this.host
    if (sendWhole(head, head.method === 'HEAD', response, this.#outbox, ticker.dateLine, debug ? this.body : null)) {
      wire.beginAnswer(true)
      this.#end()
    } else if (response.content.kind === 'upgrade') {
      this.expire()
      this.connection.handOver(response.content.takeOver)
    } else this.#beginStream(head, response)
  }

  #beginStream(head: Head, response: OutgoingResponse): void {
    const begin = () => this.#wire.beginAnswer(false)
    this.sendStream(new StreamedAnswer(head, response, this.#outbox, this.host.ticker.dateLine, begin))
  }

  #keepsAlive(head: Head, response: OutgoingResponse): boolean {
    const { limits, isStopping } = this.host
    if (!head.keepAlive || response.closes || isStopping || this.#wire.reading === state.CLOSED) return false
    if (limits.maxRequestsPerConnection !== null && this.#requests >= limits.maxRequestsPerConnection) return false
    const rest = this.#wire.remainingBytes
    if (rest === 0) return true
    // An answer that streams while the handler still reads, such as an echo, may well read to the end.
    if (response.content.kind === 'stream' && this.body?.isUnread === false) return true
    // A client that was not told to go on may send the body or not: nobody can tell where the next request begins.
    return !this.owesContinue && (rest === Number.POSITIVE_INFINITY || rest <= limits.maxDrainSize)
  }

  /** The client has read what waited. */
  onDrain(): void {
    this.answer?.onDrain()
  }

  protected override endAnswer(answer: StreamedAnswer): void {
    if (this.isGone) {
      this.expire()
      return
    }
    if (answer.hasBegun) this.#wire.endAnswer()
    else this.#wire.beginAnswer(true)
    this.#end()
    this.connection.run()
  }

  /** The answer has been handed over. */
  #end(): void {
    this.expire()
    this.answer = null
    this.#isBodyPaused = false
    this.connection.endCycle()
  }

  protected override proceed(): void {
    this.connection.run()
  }

  protected override breakOff(error: Error): void {
    this.connection.abort(error)
  }

  protected override forget(): void {
    this.host.forget(this.connection)
  }

  // Time.

  /** @param unsentBytes what waits for the client */
  tick(elapsedMs: number, unsentBytes: number): void {
    if (this.answer === null) this.checkRequest(elapsedMs)
    else if (this.#wire.peerEnded && unsentBytes === 0) this.#checkStream(this.answer, elapsedMs)
  }

  /**
   * A client that has ended its side may still read, and one that has left looks the same until something is sent to it. So a stream
   * that has nothing to say to such a client is not kept for long.
   */
  #checkStream(answer: StreamedAnswer, elapsedMs: number): void {
    if (answer.wait(elapsedMs) > this.host.timeouts.lingerTimeout) this.connection.abort(new WeirError('WEIR_CLIENT_GONE'))
  }
}
