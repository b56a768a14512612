// How is one request answered, in either protocol? The application opens it, then handles or refuses it; it is answered once, and expires.
// Each protocol receives its bytes and sends those of the response in its own way: http1/exchange-server.ts, http2/exchange.ts.
//
// It always ends in the same order: the handler settles, the response is handed over, the request expires. Nothing of a request is used
// after that.

import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { closeSource } from '../../http/answer/byte-source.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'
import { bodyFor, bodyLimit, isTooLarge, streamsBody } from '../../http/body/body-mode.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import { abortRequest, causeOf, expireRequest, isEndedBy } from '../../http/request/request.ts'
import type { ServerTiming } from '../../http/server-timing.ts'
import type { Exchange, ExchangeCarrier } from '../../http/session.ts'
import type { Head } from '../../wire/head/head.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Peer } from '../connections/peer.ts'
import type { Recording } from '../observe/recording.ts'
import type { Deadlines } from '../time/deadlines.ts'
import { mayHaveBody } from './answer-head.ts'
import { misdirection } from './misdirection.ts'

/** The connection, as every request sees it. */
export interface RequestConnection extends ConnectionInfo {
  readonly host: ConnectionHost
  readonly peer: Peer
}

/** A response that is sent piece by piece. */
export interface AnswerUnderWay {
  /** Whether some of its bytes may have reached the client. */
  readonly hasBegun: boolean
  /** Bytes of the body that have been handed over. */
  readonly bodyBytes: number
  /** Sends all of it. @throws what its source throws */
  send(): Promise<void>
  /** The client is gone. */
  abandon(): void
}

export abstract class RequestCycle<C extends RequestConnection, A extends AnswerUnderWay> implements ExchangeCarrier {
  protected readonly connection: C
  protected readonly host: ConnectionHost
  protected readonly deadlines: Deadlines
  /** The exchange with the application, until its response has been handed over. */
  protected exchange: Exchange | null = null
  protected body: RequestBody | null = null
  /** The most bytes that the body may have; null for no limit. */
  protected bodyLimit: number | null = null
  protected answer: A | null = null
  /** Whether the handler has been called, or the server answers in its place. */
  protected isHandling = false
  /** Whether gates have been called and have not settled. The body is not read in that time. */
  protected isGating = false
  /** What observers will be told about the exchange; null if there are none, or if they have been told everything. */
  protected recording: Recording | null = null
  /** Whether the client is waiting for `100 Continue`, which has not been sent. */
  protected owesContinue = false

  constructor(connection: C, deadlines: Deadlines) {
    this.connection = connection
    this.host = connection.host
    this.deadlines = deadlines
  }

  // What each protocol implements.

  /** Whether nothing more can be sent to the client: it has left, or is being cut off. */
  abstract get isGone(): boolean
  /** Bytes of the body that have been received. */
  protected abstract get receivedBytes(): number
  /** A reader of the body needs more of it. */
  protected abstract demand(): void
  protected abstract sendContinue(): void
  /**
   * Whether the client can receive trailers after the response.
   * @param mustBeAsked whether a client of HTTP/1.1 has to say that it reads them (RFC 9110 §10.1.4)
   */
  protected abstract takesTrailers(head: Head, mustBeAsked: boolean): boolean
  /** Sends an interim response: 103 or 104. @returns whether the client can receive it */
  protected abstract sendInterim(head: Head, status: number, fields: readonly string[]): boolean
  /** Stops waiting for the rest of the request. HTTP/1.1 reads nothing more after that. */
  protected abstract stopWaiting(): void
  /** Reads nothing of the body, if there is one, for now. */
  protected abstract holdBody(): void
  /**
   * Gates that took time have settled. @param isWanted whether the body is going to be read; otherwise it is discarded after the response
   */
  protected abstract releaseBody(isWanted: boolean): void
  protected abstract send(response: OutgoingResponse): void
  /** All of a streamed response has been handed over, or its client has left. */
  protected abstract endAnswer(answer: A): void
  /** Shows the client that something is missing. */
  protected abstract breakOff(error: Error): void
  /** Continues what had to wait for a response that took time. */
  protected abstract proceed(): void
  /** The client has left, and its handler has settled. */
  protected abstract forget(): void

  // From the head to the response.

  /** The head is complete. */
  protected open(head: Head): void {
    const { application, limits, observers } = this.host
    const match = application.match(head, this.connection.peer.endpointName)
    const limit = bodyLimit(match, limits)
    const streams = streamsBody(head, match, limit)
    this.bodyLimit = limit
    this.owesContinue = head.expectsContinue
    this.deadlines.startRequest(match.route)
    this.body = bodyFor(head, match, streams ? this.#demander() : null)
    const exchange = application.open(head, this.body, this.connection, match)
    this.exchange = exchange
    exchange.carrier = this
    if (observers.hears('request')) this.#begin(exchange)
    const misdirected = misdirection(head, this.connection)
    if (misdirected !== null) {
      this.stopWaiting()
      this.refuse(misdirected)
      return
    }
    const held = application.gate(this.exchange, this.body)
    if (held === null) this.#admit(head, streams)
    else this.#hold(this.exchange, held, head, streams)
  }

  /** Observers run before the gates and, like them, cannot read the body. */
  #begin(exchange: Exchange): void {
    this.body?.hold()
    this.recording = this.host.observers.begin(exchange, this.connection)
    this.body?.admit()
  }

  /** The gates have let the request pass. */
  #admit(head: Head, streams: boolean): void {
    const { bodyLimit } = this
    if (isTooLarge(head, bodyLimit)) this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit, head.contentLength))
    else if (streams || this.#mustStream()) this.handle()
    else if (this.owesContinue) this.sendContinue()
  }

  /** Whether a gate has decided that the body, which would be gathered first, is decoded while the handler waits for it. */
  #mustStream(): boolean {
    if (this.body?.mustStream !== true) return false
    this.body.stream(this.#demander())
    return true
  }

  /** A gate has answered, or will settle later. */
  #hold(exchange: Exchange, held: OutgoingResponse | Promise<OutgoingResponse | null>, head: Head, streams: boolean): void {
    this.holdBody()
    if (held instanceof OutgoingResponse) {
      this.#answerFromGate(exchange, held)
      return
    }
    this.isGating = true
    held.then(
      (response) => {
        try {
          this.#leaveGates(exchange, response, head, streams)
        } catch (error) {
          this.crash(error as Error)
        }
      },
      (error: Error) => this.crash(error),
    )
  }

  /** @param response null: the request may pass */
  #leaveGates(exchange: Exchange, response: OutgoingResponse | null, head: Head, streams: boolean): void {
    if (exchange !== this.exchange || !this.isGating) return // too late: another response was sent
    this.isGating = false
    if (response !== null) {
      if (!this.isGone) this.releaseBody(false)
      this.#answerFromGate(exchange, response)
    } else if (this.isGone) this.expire()
    else {
      this.#admit(head, streams)
      if (head.contentLength === 0) this.handle()
      else this.releaseBody(true)
    }
    this.proceed()
  }

  #answerFromGate(exchange: Exchange, response: OutgoingResponse): void {
    this.isHandling = true
    this.body?.fail(new WeirError('WEIR_BODY_IN_GATE'))
    this.#respond(exchange, response)
  }

  /**
   * A separate method, like `#settleLater`: V8 makes room for the variables of a closure in every call of the method around it, even if no
   * closure is created.
   */
  #demander(): () => void {
    return () => this.demand()
  }

  protected handle(): void {
    const exchange = this.exchange!
    this.isHandling = true
    this.#settle(exchange, this.host.application.handle(exchange))
  }

  /**
   * Responds to a request that cannot continue, through the client's fault or because of a limit. A handler that is running still answers
   * it itself, once a read of the body has failed.
   */
  refuse(error: WeirError): void {
    const exchange = this.exchange!
    this.body?.fail(error)
    if (!this.isHandling) this.#answerInstead(exchange, error)
    else if (error.fault === 'transport') abortRequest(exchange.request, error)
  }

  /** Answers in place of a handler whose time is over. @param elapsedMs since the last tick */
  protected checkRequest(elapsedMs: number): void {
    const exchange = this.exchange
    const error = exchange === null ? null : this.deadlines.checkRequest(elapsedMs, this.body?.isUnread === false)
    if (exchange === null || error === null) return
    this.deadlines.endRequest() // checked only once: the response may take time
    this.stopWaiting()
    const next = this.#supersede(exchange)
    this.interrupt(error)
    this.#refuse(next, error)
    this.proceed()
  }

  #answerInstead(exchange: Exchange, error: Error): void {
    this.#refuse(this.#supersede(exchange), error)
  }

  /** Gates, a handler or hooks may still be at work: nothing that they do from now on counts. */
  #supersede(exchange: Exchange): Exchange {
    if (!this.isHandling && !this.isGating) return exchange
    const next = exchange.renew()
    this.exchange = next
    return next
  }

  #refuse(exchange: Exchange, error: Error): void {
    this.isGating = false
    this.isHandling = true
    this.#settle(exchange, this.host.application.refuse(exchange, error))
  }

  #settle(exchange: Exchange, result: OutgoingResponse | Promise<OutgoingResponse>): void {
    if (result instanceof OutgoingResponse) this.#respond(exchange, result)
    else this.#settleLater(exchange, result)
  }

  #settleLater(exchange: Exchange, result: Promise<OutgoingResponse>): void {
    // A `.catch()` after it would create another promise for each request.
    result.then(
      (response) => {
        try {
          this.#respond(exchange, response)
          this.proceed()
        } catch (error) {
          this.crash(error as Error)
        }
      },
      (error: Error) => this.crash(error),
    )
  }

  #respond(exchange: Exchange, response: OutgoingResponse): void {
    if (exchange !== this.exchange || this.answer !== null) return // too late: another response was sent
    this.deadlines.endRequest()
    const isAwaited = exchange.settleListeners()
    if (this.isGone) {
      discardAnswer(response)
      this.expire()
      return
    }
    const { trailers } = response
    if (trailers !== null) {
      const { head } = exchange
      response.settleTrailers(mayHaveBody(response, head.method === 'HEAD') && this.takesTrailers(head, trailers.mustBeAsked))
    }
    if (isAwaited && this.recording === null) this.recording = this.host.observers.beginUnheard(exchange, this.connection)
    if (exchange.timing !== null) sendTiming(exchange.timing, response)
    this.send(response)
  }

  protected sendStream(answer: A): void {
    this.answer = answer
    answer
      .send()
      .then(
        () => this.endAnswer(answer),
        (error: Error) => this.#failAnswer(answer, error),
      )
      .catch((error: Error) => this.crash(error))
  }

  /**
   * The source of a streamed response has failed. Before the first byte, another response is sent instead; later, the client must see that
   * the response is incomplete.
   */
  #failAnswer(answer: A, error: Error): void {
    const exchange = this.exchange
    if (!this.isGone && exchange !== null) {
      if (!answer.hasBegun) {
        this.answer = null
        this.#answerInstead(exchange, error)
        this.proceed()
        return
      }
      this.crash(error)
    }
    this.expire()
  }

  protected expire(): void {
    if (this.exchange !== null) expireRequest(this.exchange.request, this.host.debug)
    this.exchange = null
    this.body = null
    this.isGating = false
    this.isHandling = false
    if (this.isGone) this.forget()
  }

  interim(exchange: Exchange, status: number, fields: readonly string[]): boolean {
    return exchange === this.exchange && !this.isGone && this.sendInterim(exchange.head, status, fields)
  }

  cut(exchange: Exchange, error: Error): void {
    if (exchange !== this.exchange || this.isGone) return
    this.loseRecording(error)
    this.breakOff(error)
  }

  // What interrupts it.

  /** Tells the code that works on the request that its result is no longer needed. */
  interrupt(error: Error): void {
    this.body?.fail(error)
    if (this.exchange !== null) abortRequest(this.exchange.request, error)
  }

  /** The exchange is cut off. */
  cutOff(error: Error): void {
    this.interrupt(error)
    this.loseRecording(error)
  }

  /** The response is complete, or another protocol has taken over. @returns what to tell observers once the response has been sent */
  protected takeRecording(bodyBytes: number): Recording | null {
    const { recording } = this
    if (recording === null) return null
    this.recording = null
    recording.bytesIn = this.receivedBytes
    recording.bytesOut = bodyBytes
    const failure = this.exchange?.failure ?? null
    if (failure !== null) recording.answers(failure)
    return recording
  }

  /** The exchange has ended before its response was complete. */
  protected loseRecording(error: unknown): void {
    const { recording, answer, exchange } = this
    if (recording === null) {
      exchange?.end()
      return
    }
    recording.breakOff(error)
    this.takeRecording(answer?.bodyBytes ?? 0)
    this.host.observers.end(recording)
  }

  /** Something happened that must not happen, or a response cannot be completed: the client sees an aborted response, never a wrong one. */
  crash(error: Error): void {
    // A source that stops because its client has left has not failed.
    const exchange = this.exchange
    if (exchange === null || !isEndedBy(exchange.request, error)) this.host.report(error, this.connection, exchange)
    this.loseRecording(exchange === null ? error : causeOf(exchange.request, error))
    this.breakOff(error)
  }

  /** Nothing more is received or sent: the connection has closed, or the client has left. Called once, when `isGone` is true. */
  leave(): void {
    // Creating an error costs more than the socket of the connection, and most clients leave while no request is in progress.
    if (this.exchange !== null) this.cutOff(new WeirError('WEIR_CLIENT_GONE'))
    this.answer?.abandon()
    // A handler or a gate may still be cleaning up after a client that has left.
    if (this.exchange === null || !(this.isHandling || this.isGating)) this.expire()
  }
}

/** Adds what has been measured. An empty field would not be valid. */
function sendTiming({ field }: ServerTiming, response: OutgoingResponse): void {
  if (field !== '') response.appendHeader('Server-Timing', field)
}

/** Closes the source of a response that will not be sent. */
function discardAnswer(response: OutgoingResponse): void {
  response.take()
  const { content } = response
  if (content.kind === 'stream') closeSource(content)
}
