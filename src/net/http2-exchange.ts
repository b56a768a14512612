// One request of an HTTP/2 connection, from its head to the last byte of its answer (RFC 9113 §8.1).
//
// The order at its end is that of HTTP/1.1: handler settled, answer handed over, request expired, rest of the body drained or refused. But a
// client's fault ends the stream alone, and the connection goes on.

import type { ServerHttp2Stream } from 'node:http2'

import { PayloadTooLargeError, WeirError } from '../base/errors.ts'
import type { Exchange } from '../http/application.ts'
import type { RequestBody } from '../http/body.ts'
import { bodyFor, bodyLimit, isTooLarge, streamsBody } from '../http/body-mode.ts'
import type { ConnectionInfo } from '../http/connection-info.ts'
import { problemFor } from '../http/problem.ts'
import { HttpResponse } from '../http/response.ts'
import { CHUNKED } from '../wire/framing.ts'
import type { Head } from '../wire/head.ts'

import * as phase from './deadlines.ts'
import { Deadlines } from './deadlines.ts'
import { Http2Answer } from './http2-answer.ts'
import type { PeerHost } from './peer.ts'
import type { Timed } from './ticker.ts'
import { discardAnswer } from './whole-answer.ts'

/** RFC 9113 §7. */
const NO_ERROR = 0

/** The connection, as its requests see it. */
export interface Http2Connection extends ConnectionInfo {
  readonly host: PeerHost
  /** The client has sent something, or taken something of an answer. */
  hear(): void
  /** An answer asks for the connection's end. */
  finish(): void
  abort(error: Error): void
  /** The stream is closed, and its handler has settled. */
  forget(exchange: Http2Exchange): void
}

export class Http2Exchange implements Timed {
  readonly #connection: Http2Connection
  readonly #host: PeerHost
  readonly #stream: ServerHttp2Stream
  readonly #deadlines: Deadlines
  #head: Head | null = null
  #isHead = false
  #limit: number | null = null
  #exchange: Exchange | null = null
  #body: RequestBody | null = null
  #answer: Http2Answer | null = null
  /** Of the last tick. */
  #unread = 0
  #receivedBytes = 0
  #drainedBytes = 0
  /** All of the request is here. */
  #hasEnded = false
  /** The handler has been called. */
  #isHandling = false
  #owesContinue = false
  /** The answer has been handed over, or there will be none. What still comes is dropped. */
  #isDone = false
  #isGone = false

  constructor(connection: Http2Connection, stream: ServerHttp2Stream) {
    this.#connection = connection
    this.#host = connection.host
    this.#stream = stream
    this.#deadlines = new Deadlines(this.#host.timeouts, this.#host.ticker)
    this.#deadlines.enter(phase.NONE)
    stream.on('error', ignore) // `close` follows
    stream.on('aborted', () => this.#leave())
    stream.on('close', () => this.#leave())
  }

  /** The head says what is wanted. */
  start(head: Head): void {
    const { application, limits } = this.#host
    const match = application.match(head)
    const limit = bodyLimit(match, limits)
    const streams = streamsBody(head, match, limit)
    this.#head = head
    this.#isHead = head.method === 'HEAD'
    this.#limit = limit
    this.#owesContinue = head.expectsContinue
    this.#deadlines.startRequest()
    this.#body = bodyFor(head, match, streams ? () => this.#demand() : null)
    this.#exchange = application.open(head, this.#body, this.#connection, match)
    if (head.contentLength === 0) this.#complete()
    else if (isTooLarge(head, limit)) this.#refuse(new PayloadTooLargeError('maxRequestBodySize', limit, head.contentLength))
    else if (streams) this.#handle()
    else if (this.#owesContinue) this.#sendContinue()
    if (head.contentLength !== 0 && !this.#isGone) this.#read()
  }

  /** The head is none that could be answered for. */
  refuseHead(error: WeirError, isHead: boolean): void {
    this.#isHead = isHead
    this.#host.report(error, this.#connection)
    this.#send(new HttpResponse().sendProblem(problemFor(error, this.#host.debug)))
    if (!this.#isGone) this.#read()
  }

  // The body.

  #read(): void {
    const stream = this.#stream
    // A client that was not told to go on is not slow.
    if (!this.#isDone && !this.#owesContinue) this.#deadlines.enter(phase.BODY)
    stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    // A stream that breaks off ends too, but it is closed by then.
    stream.on('end', () => {
      if (!stream.closed) this.#complete()
    })
  }

  #onData(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    this.#deadlines.countBody(chunk.length)
    this.#connection.hear()
    const body = this.#body
    if (body === null) {
      this.#drop(chunk.length)
      return
    }
    if (this.#limit !== null && this.#receivedBytes > this.#limit) {
      this.#pause()
      this.#refuse(new PayloadTooLargeError('maxRequestBodySize', this.#limit))
      return
    }
    if (!body.push(chunk, 0, chunk.length, false)) this.#pause()
  }

  #complete(): void {
    this.#hasEnded = true
    this.#deadlines.enter(phase.NONE)
    const expected = this.#head?.contentLength ?? CHUNKED
    if (expected !== CHUNKED && expected !== this.#receivedBytes) this.#body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    this.#body?.finish()
    if (!this.#isHandling && !this.#isDone) this.#handle()
  }

  /** Nobody reads the body just now, and so the client is told to wait (flow control). */
  #pause(): void {
    this.#stream.pause()
    this.#deadlines.enter(phase.NONE)
  }

  /** A reader of the body wants more. */
  #demand(): void {
    if (this.#isGone) return
    if (this.#owesContinue && this.#answer?.hasBegun !== true) this.#sendContinue()
    if (this.#hasEnded) return
    this.#deadlines.enter(phase.BODY)
    this.#stream.resume()
  }

  #sendContinue(): void {
    this.#owesContinue = false
    this.#stream.additionalHeaders({ ':status': 100 })
  }

  /** Bytes that nobody wants: few are read over, for many the client is told that they are not needed (RFC 9113 §8.1). */
  #drop(bytes: number): void {
    this.#drainedBytes += bytes
    if (this.#drainedBytes > this.#host.limits.maxDrainSize) this.#stream.close(NO_ERROR)
  }

  // The answer.

  #handle(): void {
    const exchange = this.#exchange!
    this.#isHandling = true
    this.#settle(exchange, this.#host.application.handle(exchange))
  }

  /** Answers for what cannot go on: the client's fault, or a limit. A handler that reads of it still answers itself. */
  #refuse(error: WeirError): void {
    const exchange = this.#exchange!
    this.#body?.fail(error)
    if (this.#isHandling) return
    this.#isHandling = true
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
  }

  #settle(exchange: Exchange, result: HttpResponse | Promise<HttpResponse>): void {
    if (result instanceof HttpResponse) this.#respond(exchange, result)
    else result.then((response) => this.#respond(exchange, response)).catch((error: Error) => this.#crash(error))
  }

  #respond(exchange: Exchange, response: HttpResponse): void {
    if (exchange !== this.#exchange || this.#answer !== null) return // too late: it has been answered for
    this.#deadlines.endRequest()
    if (this.#isGone) {
      discardAnswer(response)
      this.#expire()
    } else this.#send(response)
  }

  #send(response: HttpResponse): void {
    const { ticker, debug } = this.#host
    const answer = new Http2Answer(this.#stream, response, ticker.dateLine, this.#isHead, debug ? this.#body : null)
    this.#answer = answer
    try {
      if (answer.sendWhole()) {
        this.#endAnswer(response)
        return
      }
    } catch (error) {
      this.#crash(error as Error) // a field that Node does not send
      return
    }
    answer
      .sendStream()
      .then(
        () => this.#endAnswer(response),
        (error: Error) => this.#failAnswer(answer, error),
      )
      .catch((error: Error) => this.#crash(error))
  }

  /** The answer has been handed over. */
  #endAnswer(response: HttpResponse): void {
    const rest = this.#hasEnded ? 0 : this.#head === null ? 0 : this.#head.contentLength - this.#receivedBytes
    this.#expire()
    if (this.#isGone) return
    if (response.closes) this.#connection.finish()
    if (this.#hasEnded) return
    this.#deadlines.enter(phase.LINGER)
    if (rest > this.#host.limits.maxDrainSize || this.#owesContinue) this.#stream.close(NO_ERROR)
    else this.#stream.resume()
  }

  /** The source of a streamed answer failed: before the first byte that is an answer of its own, later the client must see the break. */
  #failAnswer(answer: Http2Answer, error: Error): void {
    const exchange = this.#exchange
    if (this.#isGone || exchange === null) {
      this.#expire()
      return
    }
    if (answer.hasBegun) {
      this.#crash(error)
      return
    }
    this.#answer = null
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
  }

  /** Something that must not happen, or an answer that cannot be finished. */
  #crash(error: Error): void {
    // A source that stops because its client has left is no failure.
    if (this.#exchange?.request.isEndedBy(error) !== true) this.#host.report(error, this.#connection)
    this.break(error)
  }

  /** Ends the stream in a way that shows the client that something is missing: INTERNAL_ERROR. */
  break(error: Error): void {
    this.#exchange?.request.fireAbort(error)
    this.#body?.fail(error)
    this.#deadlines.enter(phase.LINGER)
    this.#answer?.abandon()
    if (this.#answer !== null) this.#expire()
    // Not `close`: with that Node sends END_STREAM before the error, and the client would take what it has for the whole.
    if (!this.#isGone) this.#stream.destroy(error)
  }

  #expire(): void {
    this.#exchange?.request.expire(this.#host.debug)
    this.#exchange = null
    this.#body = null
    this.#isDone = true
    if (this.#isGone) this.#connection.forget(this)
  }

  /** The stream is closed: in order, or because the client has left. */
  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    if (!this.#isDone) {
      const gone = new WeirError('WEIR_CLIENT_GONE')
      this.#body?.fail(gone)
      this.#exchange?.request.fireAbort(gone)
      this.#answer?.abandon()
    }
    this.#stream.resume() // what nobody reads would keep it open
    // A handler may still be cleaning up behind a client that has left.
    if (this.#exchange === null || !this.#isHandling) this.#expire()
  }

  // Time.

  /** What of its answer waits for the client. */
  get unsentBytes(): number {
    return this.#isGone ? 0 : (this.#answer?.unsentBytes ?? 0)
  }

  /** The request is still under way. */
  get isBusy(): boolean {
    return !this.#isDone
  }

  tick(elapsedMs: number): void {
    if (this.#isGone) return
    const deadlines = this.#deadlines
    const unread = this.#answer?.unread ?? 0
    if (unread > 0) deadlines.postponeEnd()
    if (unread < this.#unread) this.#connection.hear()
    this.#unread = unread
    const late = deadlines.checkWrite(elapsedMs, unread)
    if (late !== null) {
      this.#host.report(late, this.#connection)
      this.break(late)
    } else if (deadlines.phase === phase.LINGER) {
      if (deadlines.isOver) this.#stream.close(NO_ERROR)
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) {
        this.#pause()
        this.#refuse(slow)
      } else if (this.#answer === null) this.#checkRequest()
    }
  }

  /** Whether the handler has had its time. */
  #checkRequest(): void {
    const exchange = this.#exchange
    const error = exchange === null ? null : this.#deadlines.checkRequest()
    if (exchange === null || error === null) return
    this.#deadlines.endRequest()
    this.#isHandling = true
    this.#pause()
    this.#body?.fail(error)
    exchange.request.fireAbort(error)
    this.#settle(exchange, this.#host.application.refuse(exchange, error))
  }
}

function ignore(): void {}
