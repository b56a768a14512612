// One client: it owns a transport, a wire connection, an outbox and the deadlines, and takes one request after the other from its first
// byte to the last byte of its answer. No parsing happens here, and no decision on what to answer but for refusals.
//
// The order at the end of a request is always: handler settled, answer handed over, request expired, rest of the body drained or the
// connection closed, next request. A client's fault has one exit, `#refuse`: one answer, then the connection ends.

import { type LimitError, PayloadTooLargeError, WeirError } from '../base/errors.ts'
import type { Limits, Timeouts } from '../base/limits.ts'
import type { Application, Exchange } from '../http/application.ts'
import type { RequestBody } from '../http/body.ts'
import { bodyFor, bodyLimit, isTooLarge, streamsBody } from '../http/body-mode.ts'
import type { ClientCertificate, ConnectionInfo } from '../http/connection-info.ts'
import { problemFor } from '../http/problem.ts'
import { HttpResponse, type TakeOver } from '../http/response.ts'
import { CLOSED, Connection, DATA, END, HEAD, NEED_DATA, PAUSED } from '../wire/connection.ts'
import { CONTINUE } from '../wire/encode.ts'
import type { Head } from '../wire/head.ts'
import * as state from '../wire/states.ts'

import { connectionId, nextConnection } from './connection-id.ts'
import * as phase from './deadlines.ts'
import { Deadlines } from './deadlines.ts'
import type { Guest } from './guests.ts'
import { Outbox } from './outbox.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import type { Ticker, Timed } from './ticker.ts'
import type { Transport, TransportListener } from './transport.ts'
import { UpgradedSocket } from './upgraded-socket.ts'
import { discardAnswer, sendWhole } from './whole-answer.ts'

/** So many bytes of later requests are taken in while one is being answered; then the socket is left alone. */
const MAX_WAITING_BYTES = 64 * 1024

/** What all peers of a server share. */
export interface PeerHost {
  readonly limits: Limits
  readonly timeouts: Timeouts
  readonly ticker: Ticker
  readonly application: Application
  readonly debug: boolean
  /** Whether the server is about to stop: answers say so. */
  readonly isStopping: boolean
  /** A request was refused before it reached the application, or the engine itself failed. */
  report(error: Error, peer: ConnectionInfo): void
  /** A client could not be let in (`EMFILE`); the next one may. */
  reportAccept(error: Error): void
  /** The peer is gone, and so is its handler. May be said twice. */
  forget(guest: Guest): void
}

export class Peer implements Guest, TransportListener, ConnectionInfo, Timed {
  readonly clientCertificate: ClientCertificate | null
  readonly #host: PeerHost
  readonly #transport: Transport
  readonly #connection: Connection
  readonly #deadlines: Deadlines
  readonly #outbox: Outbox
  readonly #number = nextConnection()
  /** The request that is under way, until its answer has been handed over. */
  #exchange: Exchange | null = null
  #body: RequestBody | null = null
  /** A streamed answer that is under way. */
  #answer: StreamedAnswer | null = null
  #requests = 0
  /** The handler has been called for the current exchange. */
  #isHandling = false
  /** Nobody reads the body just now, so the socket is not read either. */
  #isBodyPaused = false
  /** The client waits for `100 Continue`, which has not been sent. */
  #owesContinue = false
  /** What still comes of an answered request is dropped. */
  #isDraining = false
  #drained = 0
  /** The last answer has been sent; what comes is thrown away until the client closes too. */
  #isLingering = false
  #isGone = false
  #isAborted = false
  #isRunning = false
  #isPaused = false
  /** A chunk that is ours to keep: bytes in it need no copy. */
  #ownChunk: Buffer | null = null

  constructor(host: PeerHost, transport: Transport, clientCertificate: ClientCertificate | null = null) {
    this.clientCertificate = clientCertificate
    this.#host = host
    this.#transport = transport
    this.#connection = new Connection(host.limits)
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#outbox = new Outbox(transport)
    host.ticker.add(this)
  }

  get clientAddress(): string {
    return this.#transport.remoteAddress
  }

  get clientPort(): number {
    return this.#transport.remotePort
  }

  get isSecure(): boolean {
    return this.#transport.isSecure
  }

  get connectionId(): string {
    return connectionId(this.#number)
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether a request is being received or answered, or another protocol is spoken. */
  get isBusy(): boolean {
    return this.#exchange !== null || this.#connection.inHead || this.#connection.reading === state.SWITCHED
  }

  // What happens on the transport.

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    if (this.#isLingering) {
      this.#drop(length)
      return
    }
    this.#ownChunk = borrowed ? null : buffer
    this.#connection.receive(buffer, length)
    this.#run()
  }

  onEnd(): void {
    if (this.#isLingering) return // both sides have ended: the transport closes once all is sent
    this.#connection.receiveEnd()
    if (this.#exchange !== null && this.#isHandling)
      this.#exchange.request.fireAbort(new WeirError('WEIR_CLIENT_GONE', 'it ended its side'))
    this.#run()
  }

  onDrain(): void {
    this.#answer?.onDrain()
    this.#run()
  }

  onClose(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#host.ticker.delete(this)
    const gone = new WeirError('WEIR_CLIENT_GONE')
    this.#body?.fail(gone)
    this.#exchange?.request.fireAbort(gone)
    this.#answer?.abandon()
    if (this.#exchange !== null && !this.#isHandling) this.#expire()
    this.#connection.close()
    // A handler may still be cleaning up behind a client that has left: `stop` waits for it, unless its time is up.
    if (this.#exchange === null || this.#isAborted) this.#host.forget(this)
  }

  // Time.

  tick(elapsedMs: number): void {
    try {
      this.#checkTime(elapsedMs)
    } catch (error) {
      this.#crash(error as Error)
    }
  }

  #checkTime(elapsedMs: number): void {
    const unsent = this.#transport.unsentBytes
    const deadlines = this.#deadlines
    if (unsent > 0) deadlines.postponeEnd()
    // A socket that is not read says nothing of a client that has left.
    if (this.#isPaused) this.#transport.probe()
    const late = deadlines.checkWrite(elapsedMs, unsent)
    if (late !== null) {
      this.#host.report(late, this)
      this.abort(late)
    } else if (deadlines.isOver) {
      if (deadlines.phase === phase.LINGER) this.#transport.destroy()
      else this.#finish()
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) this.#expireReading(slow)
      else if (this.#answer !== null) this.#checkStream(this.#answer, elapsedMs, unsent)
      else if (this.#exchange !== null) this.#checkRequestTime()
    }
  }

  #expireReading(error: LimitError): void {
    this.#connection.stopReading()
    this.#deadlines.enter(phase.NONE)
    this.#refuse(error)
    this.#afterRun()
  }

  /**
   * A client that has ended its side may still read, and one that has left looks the same until something is sent to it. So a stream
   * that has nothing to say to such a client is not kept for long.
   */
  #checkStream(answer: StreamedAnswer, elapsedMs: number, unsent: number): void {
    if (!this.#connection.peerEnded || unsent > 0) return
    if (answer.wait(elapsedMs) > this.#host.timeouts.lingerTimeout) this.abort(new WeirError('WEIR_CLIENT_GONE'))
  }

  #checkRequestTime(): void {
    const error = this.#deadlines.checkRequest()
    if (error === null) return
    this.#deadlines.endRequest()
    const exchange = this.#exchange!
    this.#connection.stopReading()
    this.#isHandling = true
    this.#body?.fail(error)
    exchange.request.fireAbort(error)
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
    this.#run()
  }

  // The end of the server.

  /** The server stops: an idle connection ends now, a busy one after its answer. */
  drain(): void {
    if (!this.isBusy && !this.#isLingering && !this.#isDraining) this.#finish()
  }

  /** Ends the connection now, whatever is under way. */
  abort(error: Error): void {
    this.#isAborted = true
    if (this.#isGone) {
      this.#host.forget(this)
      return
    }
    this.#exchange?.request.fireAbort(error)
    this.#body?.fail(error)
    // A client that has been sent everything, and is only slow to close, is not told that something is missing.
    if (this.#isLingering && this.#transport.unsentBytes === 0) this.#transport.destroy()
    else this.#transport.reset()
  }

  // The road of a request.

  #run(): void {
    if (this.#isRunning || this.#isGone) return
    this.#isRunning = true
    try {
      while (this.#step());
    } catch (error) {
      this.#refuse(error as Error)
    }
    this.#isRunning = false
    this.#afterRun()
  }

  /** What was borrowed is copied, what was answered is sent, and the socket is read or left alone. */
  #afterRun(): void {
    if (this.#isGone) return
    this.#body?.own()
    this.#connection.hold()
    this.#ownChunk = null
    this.#outbox.flush()
    const pauses = this.#isBodyPaused || this.#connection.waitingBytes > MAX_WAITING_BYTES || this.#drained > this.#host.limits.maxDrainSize
    if (pauses === this.#isPaused) return
    this.#isPaused = pauses
    if (pauses) this.#transport.pause()
    else this.#transport.resume()
  }

  /** @returns whether there may be more to do */
  #step(): boolean {
    if (this.#isBodyPaused || this.#isLingering || this.#isGone) return false
    // A client that does not read its answers gets no new ones made.
    if (this.#exchange === null && this.#outbox.isBlocked) return false
    switch (this.#connection.next()) {
      case HEAD:
        this.#open(this.#connection.head)
        return true
      case DATA:
        return this.#deliver()
      case END:
        this.#complete()
        return true
      case NEED_DATA:
        this.#wait()
        return false
      case CLOSED:
        if (!this.isBusy) this.#finish()
        return false
      case PAUSED:
        // The client has said that nothing more comes, and its last request is being answered.
        if (this.#connection.peerEnded && this.#connection.waitingBytes === 0) this.#connection.head.keepAlive = false
        this.#deadlines.enter(phase.NONE)
    }
    return false
  }

  #wait(): void {
    const reading = this.#connection.reading
    // A client that was not told to go on is not slow.
    if (reading === state.BODY) this.#deadlines.enter(this.#owesContinue ? phase.NONE : phase.BODY)
    else this.#deadlines.enter(this.#connection.inHead ? phase.HEAD : phase.IDLE)
  }

  #open(head: Head): void {
    const { application, limits } = this.#host
    const match = application.match(head)
    const limit = bodyLimit(match, limits)
    this.#requests++
    this.#deadlines.enter(phase.NONE)
    this.#deadlines.startRequest()
    const streams = streamsBody(head, match, limit)
    this.#body = bodyFor(head, match, streams ? () => this.#demand() : null)
    this.#owesContinue = head.expectsContinue
    this.#exchange = application.open(head, this.#body, this, match)
    if (isTooLarge(head, limit)) {
      // The head alone decides. What is left may still be small enough to read over, and then the connection lives on.
      this.#connection.bodyLimit = null
      const error = new PayloadTooLargeError('maxRequestBodySize', limit, head.contentLength)
      this.#body?.fail(error)
      this.#isHandling = true
      this.#settle(this.#exchange, application.refuse(this.#exchange, error))
      return
    }
    this.#connection.bodyLimit = limit
    if (streams) this.#handle()
    else if (this.#owesContinue) this.#sendContinue()
  }

  #deliver(): boolean {
    const { buffer, dataStart, dataEnd } = this.#connection
    this.#deadlines.countBody(dataEnd - dataStart)
    if (this.#isDraining || this.#body === null) {
      this.#drop(dataEnd - dataStart)
      return !this.#isLingering
    }
    if (!this.#body.push(buffer, dataStart, dataEnd, buffer !== this.#ownChunk)) {
      this.#isBodyPaused = true
      this.#deadlines.enter(phase.NONE)
    }
    return true
  }

  #complete(): void {
    this.#deadlines.enter(phase.NONE)
    if (this.#isDraining) {
      this.#isDraining = false
      this.#startNextCycle()
      return
    }
    this.#body?.finish()
    if (!this.#isHandling) this.#handle()
  }

  #handle(): void {
    const exchange = this.#exchange!
    this.#isHandling = true
    this.#settle(exchange, this.#host.application.handle(exchange))
  }

  #settle(exchange: Exchange, result: HttpResponse | Promise<HttpResponse>): void {
    if (result instanceof HttpResponse) {
      this.#respond(exchange, result)
      return
    }
    result
      .then((response) => {
        this.#respond(exchange, response)
        this.#run()
      })
      .catch((error: Error) => this.#crash(error))
  }

  /** A reader of the body wants more. */
  #demand(): void {
    if (this.#owesContinue && this.#answer?.hasBegun !== true) this.#sendContinue()
    this.#isBodyPaused = false
    this.#run()
  }

  #sendContinue(): void {
    this.#owesContinue = false
    this.#outbox.addText(CONTINUE)
    this.#outbox.flush()
  }

  #respond(exchange: Exchange, response: HttpResponse): void {
    if (exchange !== this.#exchange || this.#answer !== null) return // too late: it has been answered for
    this.#deadlines.endRequest()
    if (this.#isGone) {
      discardAnswer(response)
      this.#expire()
      return
    }
    const head = this.#connection.head
    head.keepAlive = this.#keepsAlive(head, response)
    const { debug, ticker } = this.#host
    if (sendWhole(head, head.method === 'HEAD', response, this.#outbox, ticker.dateLine, debug ? this.#body : null)) {
      this.#connection.beginAnswer(true)
      this.#endExchange()
      return
    }
    if (response.content.kind === 'upgrade') {
      this.#handOver(response.content.takeOver)
      return
    }
    const answer = new StreamedAnswer(head, response, this.#outbox, ticker.dateLine, () => this.#connection.beginAnswer(false))
    this.#answer = answer
    answer
      .send()
      .then(
        () => this.#endStream(answer),
        (error: Error) => this.#failStream(exchange, answer, error),
      )
      .catch((error: Error) => this.#crash(error))
  }

  /** Another protocol has the connection: what was asked before is answered, and all that is left to do here is to wait for its end. */
  #handOver(takeOver: TakeOver): void {
    this.#outbox.flush()
    const rest = this.#connection.switchProtocol()
    this.#host.ticker.delete(this)
    this.#expire()
    this.#isPaused = false
    try {
      takeOver(new UpgradedSocket(this.#transport, this.#connection.peerEnded, () => this.onClose()), rest)
    } catch (error) {
      this.#crash(error as Error)
    }
  }

  #endStream(answer: StreamedAnswer): void {
    this.#answer = null
    if (this.#isGone) {
      this.#expire()
      return
    }
    if (answer.hasBegun) this.#connection.endAnswer()
    else this.#connection.beginAnswer(true)
    this.#endExchange()
    this.#run()
  }

  /** The source of a streamed answer failed: before the first byte that is an answer of its own, later the client must see the break. */
  #failStream(exchange: Exchange, answer: StreamedAnswer, error: Error): void {
    this.#answer = null
    if (this.#isGone) {
      this.#expire()
      return
    }
    if (answer.hasBegun) {
      // A source that stops because its client has left is no failure.
      if (exchange.request.isEndedBy(error)) this.abort(error)
      else this.#crash(error)
      this.#expire()
      return
    }
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
    this.#run()
  }

  #keepsAlive(head: Head, response: HttpResponse): boolean {
    const { limits, isStopping } = this.#host
    if (!head.keepAlive || response.closes || isStopping || this.#connection.reading === state.CLOSED) return false
    if (limits.maxRequestsPerConnection !== null && this.#requests >= limits.maxRequestsPerConnection) return false
    const rest = this.#connection.remainingBytes
    if (rest === 0) return true
    // An answer that streams while the handler still reads, such as an echo, may well read to the end.
    if (response.content.kind === 'stream' && this.#body?.isUnread === false) return true
    // A client that was not told to go on may send the body or not: nobody can tell where the next request begins.
    return !this.#owesContinue && (rest === Number.POSITIVE_INFINITY || rest <= limits.maxDrainSize)
  }

  /** The answer has been handed over. */
  #endExchange(): void {
    this.#expire()
    if (this.#connection.reading === state.DONE) {
      this.#startNextCycle()
      return
    }
    if (!this.#connection.head.keepAlive) {
      this.#finish()
      return
    }
    this.#isDraining = true
    this.#isBodyPaused = false
    this.#drained = 0
  }

  #expire(): void {
    this.#exchange?.request.expire(this.#host.debug)
    this.#exchange = null
    this.#body = null
    this.#isHandling = false
    this.#isBodyPaused = false
    if (this.#isGone) this.#host.forget(this)
  }

  #startNextCycle(): void {
    this.#connection.startNextCycle()
    this.#drained = 0
    const mayEnd = this.#host.isStopping && this.#connection.waitingBytes === 0
    if (mayEnd || this.#connection.reading === state.CLOSED) this.#finish()
    else this.#deadlines.enter(phase.IDLE)
  }

  /** Bytes that nobody wants: few are read over, many are not worth it. */
  #drop(bytes: number): void {
    this.#drained += bytes
    if (this.#drained <= this.#host.limits.maxDrainSize) return
    if (!this.#isLingering) this.#finish()
    else this.#afterRun()
  }

  /** The one exit for what cannot go on: the client's fault, a limit, or ours. */
  #refuse(error: Error): void {
    if (!(error instanceof WeirError)) {
      this.#crash(error)
      return
    }
    const exchange = this.#exchange
    if (exchange === null) {
      this.#connection.stopReading()
      this.#host.report(error, this)
      if (this.#isDraining || this.#connection.writing !== state.HEAD) {
        this.#finish()
        return
      }
      this.#respondWithoutRequest(error)
      return
    }
    this.#body?.fail(error)
    this.#isBodyPaused = false
    if (this.#isHandling) {
      // The handler reads of it, and still answers.
      if (error.fault === 'transport') exchange.request.fireAbort(error)
      return
    }
    this.#isHandling = true
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
  }

  /** Something that must not happen, or an answer that cannot be finished: the client sees a break, never a wrong answer. */
  #crash(error: Error): void {
    this.#host.report(error, this)
    this.abort(error)
  }

  #respondWithoutRequest(error: WeirError): void {
    const response = new HttpResponse().sendProblem(problemFor(error, this.#host.debug))
    sendWhole(null, this.#connection.isHead, response, this.#outbox, this.#host.ticker.dateLine, null)
    this.#connection.beginAnswer(true)
    this.#finish()
  }

  /**
   * Closes in stages, so that the client sees the last answer and not a reset: send, end our side, throw away what still comes for a
   * moment, close (RFC 9112 §9.6).
   */
  #finish(): void {
    if (this.#isLingering || this.#isGone) return
    this.#isLingering = true
    this.#isDraining = false
    this.#drained = 0
    this.#outbox.flush()
    this.#connection.close()
    this.#deadlines.enter(phase.LINGER)
    this.#transport.end()
  }
}
