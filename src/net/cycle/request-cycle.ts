// How is one request answered, in either protocol? It is opened at the application, handled there or refused, answered once, and expires. How
// its bytes are received and those of its response are sent is the protocol's part: http1/exchange-server.ts, http2/exchange.ts.
//
// The order at the end is always: handler settled, response handed over, request expired. Nothing of a request is used after that.

import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { closeSource } from '../../http/answer/byte-source.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { RequestBody } from '../../http/body/body.ts'
import { bodyFor, bodyLimit, isTooLarge, streamsBody } from '../../http/body/body-mode.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import { abortRequest, causeOf, expireRequest, isEndedBy } from '../../http/request/request.ts'
import type { Exchange } from '../../http/session.ts'
import type { Head } from '../../wire/head/head.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Peer } from '../connections/peer.ts'
import type { Recording } from '../observe/recording.ts'
import type { Deadlines } from '../time/deadlines.ts'
import { misdirection } from './misdirection.ts'

/** The connection, as every request sees it. */
export interface RequestConnection extends ConnectionInfo {
  readonly host: ConnectionHost
  readonly peer: Peer
}

/** An answer that goes out piece by piece. */
export interface AnswerUnderWay {
  /** Whether bytes of it may have reached the client. */
  readonly hasBegun: boolean
  /** Bytes of the body that have been handed over. */
  readonly bodyBytes: number
  /** Sends all of it. @throws what its source throws */
  send(): Promise<void>
  /** The client is gone. */
  abandon(): void
}

export abstract class RequestCycle<C extends RequestConnection, A extends AnswerUnderWay> {
  protected readonly connection: C
  protected readonly host: ConnectionHost
  protected readonly deadlines: Deadlines
  /** The request at the application, until its answer has been handed over. */
  protected exchange: Exchange | null = null
  protected body: RequestBody | null = null
  /** Most bytes that the body may have, null for no limit. */
  protected bodyLimit: number | null = null
  protected answer: A | null = null
  /** The handler has been called, or somebody answers in its place. */
  protected isHandling = false
  /** Gates have been called and have not settled. Nothing of the body is read. */
  protected isGating = false
  /** What observers will be told of the exchange; null if nobody is told, or all has been said. */
  protected recording: Recording | null = null
  /** The client waits for `100 Continue`, which has not been sent. */
  protected owesContinue = false

  constructor(connection: C, deadlines: Deadlines) {
    this.connection = connection
    this.host = connection.host
    this.deadlines = deadlines
  }

  // The protocol's part.

  /** Whether nothing that is sent reaches the client any more: it has left, or is being cut off. */
  abstract get isGone(): boolean
  /** Bytes of the body that have been received. */
  protected abstract get receivedBytes(): number
  /** A reader of the body wants more. */
  protected abstract demand(): void
  protected abstract sendContinue(): void
  /** What has not arrived of the request is not waited for any more. HTTP/1.1 reads nothing after it. */
  protected abstract stopWaiting(): void
  /** Nothing of the body, if there is one, is read for now. */
  protected abstract holdBody(): void
  /** The gates have settled later. @param isWanted whether the body is going to be read; otherwise it is discarded after the response */
  protected abstract releaseBody(isWanted: boolean): void
  protected abstract send(response: OutgoingResponse): void
  /** All of a streamed answer has been handed over, or its client has left. */
  protected abstract endAnswer(answer: A): void
  /** Shows the client that something is missing. */
  protected abstract breakOff(error: Error): void
  /** What waited for an answer that came later may go on. */
  protected abstract proceed(): void
  /** The client has left, and its handler has settled. */
  protected abstract forget(): void

  // The road of a request.

  /** The head says what is wanted. */
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
    else if (streams) this.handle()
    else if (this.owesContinue) this.sendContinue()
  }

  /** A gate has answered, or takes its time. */
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
    if (exchange !== this.exchange || !this.isGating) return // too late: it has been answered for
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

  /** A method of its own, as `#settleLater` is: where a function is made, V8 makes room for what it uses in every call, whether it is made or not. */
  #demander(): () => void {
    return () => this.demand()
  }

  protected handle(): void {
    const exchange = this.exchange!
    this.isHandling = true
    this.#settle(exchange, this.host.application.handle(exchange))
  }

  /** Answers for what cannot go on: the client's fault, or a limit. A handler that reads of it still answers itself. */
  refuse(error: WeirError): void {
    const exchange = this.exchange!
    this.body?.fail(error)
    if (!this.isHandling) this.#answerInstead(exchange, error)
    else if (error.fault === 'transport') abortRequest(exchange.request, error)
  }

  /** A handler that has had its time is answered for. @param elapsedMs since the last tick */
  protected checkRequest(elapsedMs: number): void {
    const exchange = this.exchange
    const error = exchange === null ? null : this.deadlines.checkRequest(elapsedMs, this.body?.isUnread === false)
    if (exchange === null || error === null) return
    this.deadlines.endRequest() // asked once: the answer may take its time
    this.stopWaiting()
    this.interrupt(error)
    this.#answerInstead(exchange, error)
    this.proceed()
  }

  #answerInstead(exchange: Exchange, error: Error): void {
    this.isGating = false
    this.isHandling = true
    this.#settle(exchange, this.host.application.refuse(exchange, error))
  }

  #settle(exchange: Exchange, result: OutgoingResponse | Promise<OutgoingResponse>): void {
    if (result instanceof OutgoingResponse) this.#respond(exchange, result)
    else this.#settleLater(exchange, result)
  }

  #settleLater(exchange: Exchange, result: Promise<OutgoingResponse>): void {
    // With `.catch()` behind it, each request would make one promise more.
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
    if (exchange !== this.exchange || this.answer !== null) return // too late: it has been answered for
    this.deadlines.endRequest()
    if (this.isGone) {
      discardAnswer(response)
      this.expire()
    } else this.send(response)
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

  /** The source of a streamed answer failed: before the first byte that is an answer of its own, later the client must see the break. */
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

  // What comes between.

  /** Whoever works on it learns that it is of no use any more. */
  interrupt(error: Error): void {
    this.body?.fail(error)
    if (this.exchange !== null) abortRequest(this.exchange.request, error)
  }

  /** The exchange is cut off. */
  cutOff(error: Error): void {
    this.interrupt(error)
    this.loseRecording(error)
  }

  /** The response is complete, or another one answers. @returns what observers have to be told, once the response has been sent */
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
    const { recording, answer } = this
    if (recording === null) return
    recording.breakOff(error)
    this.takeRecording(answer?.bodyBytes ?? 0)
    this.host.observers.end(recording)
  }

  /** Something that must not happen, or an answer that cannot be finished: the client sees a break, never a wrong answer. */
  crash(error: Error): void {
    // A source that stops because its client has left is no failure.
    const exchange = this.exchange
    if (exchange === null || !isEndedBy(exchange.request, error)) this.host.report(error, this.connection, exchange)
    this.loseRecording(exchange === null ? error : causeOf(exchange.request, error))
    this.breakOff(error)
  }

  /** Nothing more is received or sent: the end in order, or the client has left. Called once, when `isGone` is true. */
  leave(): void {
    // An error costs a connection more than its socket does, and most clients leave when nothing is under way.
    if (this.exchange !== null) this.cutOff(new WeirError('WEIR_CLIENT_GONE'))
    this.answer?.abandon()
    // A handler or a gate may still be cleaning up after a client that has left.
    if (this.exchange === null || !(this.isHandling || this.isGating)) this.expire()
  }
}

/** Closes what a response holds that will not be sent. */
function discardAnswer(response: OutgoingResponse): void {
  response.take()
  const { content } = response
  if (content.kind === 'stream') closeSource(content)
}
