// One request of an HTTP/2 connection, from its head to the last byte of its answer (RFC 9113 §8.1).
//
// Behind the answer the rest of its body is drained or refused, as for HTTP/1.1. But a client's fault ends the stream alone, and the
// connection goes on.

import type { ServerHttp2Stream } from 'node:http2'

import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { problemFor } from '../../http/answer/problem.ts'
import { CHUNKED } from '../../wire/head/framing.ts'
import type { Head } from '../../wire/head/head.ts'
import { type RequestConnection, RequestCycle } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import { type AnswerWire, Http2Answer } from './answer.ts'

/** RFC 9113 §7. */
const NO_ERROR = 0

/** The connection, as its requests see it. */
export interface Http2RequestConnection extends RequestConnection, AnswerWire {
  /** The client has sent something, or taken something of an answer. */
  hear(): void
  /** An answer asks for the connection's end. */
  finish(): void
  /** The stream is closed, and its handler has settled. */
  forget(exchange: Http2Exchange): void
}

export class Http2Exchange extends RequestCycle<Http2RequestConnection, Http2Answer> {
  readonly #stream: ServerHttp2Stream
  #head: Head | null = null
  #isHead = false
  /** Of the last tick. */
  #unread = 0
  #receivedBytes = 0
  #drainedBytes = 0
  /** All of the request is here. */
  #hasEnded = false
  /** The answer has been handed over, or there will be none. What still comes is dropped. */
  #isDone = false
  /** The stream is closed. */
  #isGone = false
  /** What observers are told once the response has been sent. */
  #sending: Recording | null = null
  /** The stream is to be closed once the client has been sent its answer. */
  #isClosing = false

  constructor(connection: Http2RequestConnection, stream: ServerHttp2Stream) {
    super(connection, new Deadlines(connection.host.timeouts, connection.host.ticker))
    this.#stream = stream
    this.deadlines.enter(phase.NONE)
    stream.on('error', ignore) // `close` follows
    stream.on('aborted', () => this.leave())
    stream.on('close', () => this.leave())
  }

  /** The head is complete. */
  start(head: Head): void {
    this.#head = head
    this.#isHead = head.method === 'HEAD'
    this.open(head)
    if (head.contentLength === 0) this.#complete()
    else if (!this.isGone) this.#read()
  }

  /** The head is none that could be answered for. */
  refuseHead(error: WeirError, isHead: boolean): void {
    this.#isHead = isHead
    const { host, connection } = this
    host.report(error, connection)
    if (host.observers.hears('head')) this.recording = host.observers.head(error, connection, 'HTTP/2.0')
    this.send(new OutgoingResponse().sendProblem(problemFor(error, host.debug)))
    if (!this.isGone) this.#read()
  }

  // The body.

  #read(): void {
    const stream = this.#stream
    // A client that was not told to continue, or whose body nobody wants, is not slow.
    if (!this.#isDone && !this.owesContinue && !stream.isPaused()) this.deadlines.enter(phase.BODY)
    stream.on('data', (chunk: Buffer) => this.#onData(chunk))
    // A stream that breaks off ends too, but it is closed by then.
    stream.on('end', () => {
      if (!stream.closed) this.#complete()
    })
  }

  #onData(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    this.deadlines.countBody(chunk.length)
    this.connection.hear()
    const { body, bodyLimit } = this
    if (body === null) this.#drop(chunk.length)
    else if (bodyLimit !== null && this.#receivedBytes > bodyLimit) {
      this.#pauseBody()
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit))
    } else if (!body.push(chunk, 0, chunk.length, false)) this.#pauseBody()
  }

  #complete(): void {
    this.#hasEnded = true
    this.deadlines.enter(phase.NONE)
    const expected = this.#head?.contentLength ?? CHUNKED
    if (expected !== CHUNKED && expected !== this.#receivedBytes) this.body?.fail(new WeirError('WEIR_BODY_TRUNCATED'))
    this.body?.finish()
    if (!this.isHandling && !this.isGating && !this.#isDone) this.handle()
  }

  /** Nobody wants more of the body for now, so flow control makes the client wait. */
  #pauseBody(): void {
    this.#stream.pause()
    this.deadlines.enter(phase.NONE)
  }

  protected override stopWaiting(): void {
    this.#pauseBody()
  }

  protected override holdBody(): void {
    if (this.body !== null) this.#pauseBody()
  }

  protected override releaseBody(isWanted: boolean): void {
    if (!isWanted || this.#isDone) return
    if (!this.#hasEnded) {
      if (!this.owesContinue) this.deadlines.enter(phase.BODY)
      this.#stream.resume()
    } else if (!this.isHandling) this.handle()
  }

  protected override demand(): void {
    if (this.isGone) return
    if (this.owesContinue && this.answer?.hasBegun !== true) this.sendContinue()
    if (this.#hasEnded) return
    this.deadlines.enter(phase.BODY)
    this.#stream.resume()
  }

  protected override sendContinue(): void {
    this.owesContinue = false
    this.#stream.additionalHeaders({ ':status': 100 })
  }

  /** Bytes that nobody wants: few are read over, for many the client is told that they are not needed (RFC 9113 §8.1). */
  #drop(bytes: number): void {
    this.#drainedBytes += bytes
    if (this.#drainedBytes > this.host.limits.maxDrainSize) this.#close()
  }

  // The answer.

  protected override send(response: OutgoingResponse): void {
    const { ticker, debug } = this.host
    const overwritten = debug ? this.body : null
    const answer = new Http2Answer(this.connection, this.#stream, response, ticker.dateLine, this.#isHead, overwritten, this.recording)
    this.answer = answer
    try {
      if (answer.sendWhole()) this.endAnswer(answer)
      else {
        // A stream that nobody has read, paused or resumed is reset by Node when the last piece of the response has gone, even if END_STREAM
        // still waits for the client's window. The client would not know that the response is complete.
        if (this.#hasEnded) this.#stream.pause()
        this.sendStream(answer)
      }
    } catch (error) {
      this.crash(error as Error) // a field that Node does not send
    }
  }

  protected override endAnswer(answer: Http2Answer): void {
    const rest = this.#hasEnded ? 0 : this.#head === null ? 0 : this.#head.contentLength - this.#receivedBytes
    if (this.isGone) this.loseRecording(new WeirError('WEIR_CLIENT_GONE'))
    else this.#sending = this.takeRecording(answer.bodyBytes)
    this.expire()
    if (this.isGone) return
    if (answer.closes) this.connection.finish()
    if (this.#hasEnded) return
    this.deadlines.enter(phase.LINGER)
    if (rest > this.host.limits.maxDrainSize || this.owesContinue) this.#close()
    else this.#stream.resume()
  }

  /** The other requests have not waited. */
  protected override proceed(): void {}

  /** Ends the stream in a way that shows the client that something is missing: INTERNAL_ERROR. */
  override breakOff(error: Error): void {
    this.cutOff(error)
    this.#endSending(error)
    this.deadlines.enter(phase.LINGER)
    this.answer?.abandon()
    if (this.answer !== null) this.expire()
    // Not `close`: with that Node sends END_STREAM before the error, and the client would take what it has for the whole.
    // With an error of our own: Node looks at its stack, and that of a handler may throw.
    if (!this.isGone) setImmediate(() => this.#stream.destroy(new WeirError('WEIR_HANDLER_FAILED'))) // see session-end.ts
  }

  /** @param error null: all of the response has been sent */
  #endSending(error: Error | null): void {
    const sending = this.#sending
    if (sending === null) return
    this.#sending = null
    if (error === null) sending.markEnd()
    else sending.breakOff(error)
    this.host.observers.end(sending)
  }

  protected override get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** The client need not send the rest (RFC 9113 §8.1). It is told so after END_STREAM: before it, the answer would be incomplete. */
  #close(): void {
    if (!this.#isClosing) this.#stream.once('finish', () => this.#closeSoon())
    this.#isClosing = true
    this.#closeSoon()
  }

  /** A turn later: see session-end.ts. Where END_STREAM has not been sent by then, `finish` or the next tick tries again. */
  #closeSoon(): void {
    setImmediate(() => {
      if (this.answer?.isSent !== false) this.#stream.close(NO_ERROR)
    })
  }

  protected override expire(): void {
    this.#isDone = true
    super.expire()
  }

  protected override forget(): void {
    this.connection.forget(this)
  }

  override get isGone(): boolean {
    return this.#isGone
  }

  /** The stream is closed: in order, or because the client has left. */
  override leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    const { writableFinished, rstCode, aborted } = this.#stream
    this.#endSending(writableFinished || (rstCode === NO_ERROR && !aborted) ? null : new WeirError('WEIR_CLIENT_GONE'))
    super.leave()
    this.#stream.resume() // what nobody reads would keep it open
  }

  // Time.

  /** What of its answer waits for the client. */
  get unsentBytes(): number {
    return this.isGone ? 0 : (this.answer?.unsentBytes ?? 0)
  }

  /** The request is still under way. */
  get isBusy(): boolean {
    return !this.#isDone
  }

  tick(elapsedMs: number): void {
    if (this.isGone) return
    const deadlines = this.deadlines
    const unread = this.answer?.unread ?? 0
    if (unread > 0) deadlines.postponeEnd()
    if (unread < this.#unread) this.connection.hear()
    this.#unread = unread
    const late = deadlines.checkWrite(elapsedMs, unread > 0, -unread) // `unread` falls when the client reads
    if (late !== null) {
      this.host.report(late, this.connection, this.exchange)
      this.breakOff(late)
    } else if (deadlines.phase === phase.LINGER) {
      if (this.#isClosing || deadlines.isOver) this.#close()
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) {
        this.#pauseBody()
        this.refuse(slow)
      } else if (this.answer === null) this.checkRequest(elapsedMs)
    }
  }
}

function ignore(): void {}
