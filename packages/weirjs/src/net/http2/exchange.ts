// One request of an HTTP/2 connection, from its head to the last byte of its response (RFC 9113 §8.1).
//
// After the response, the rest of its body is discarded or refused, as in HTTP/1.1. But a client's fault ends the stream alone, and the
// connection continues.

import { Buffer } from 'node:buffer'
import { PayloadTooLargeError, ProtocolError, WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { problemFor } from '../../http/answer/problem.ts'
import type { ResponseContent } from '../../http/answer/response-content.ts'
import type { Head } from '../../wire/head/head.ts'
import { type Http2WireConnection, MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import { type FaultName, INTERNAL_ERROR, NO_ERROR } from '../../wire/http2/errors.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { type RequestConnection, RequestCycle } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import { UpgradeRecord } from '../observe/upgrade-record.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import { dateOf } from './answer-head.ts'
import type { Backlog } from './backlog.ts'
import type { Output, Watched } from './output.ts'
import type { SentRecords } from './sent-records.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import { Tunnel, type TunnelOwner } from './tunnel.ts'
import { NOT_WHOLE, sendWhole } from './whole-answer.ts'

/** What a client gets whose extended CONNECT is accepted (RFC 8441 §5). */
const TUNNEL_STATUS = 200
const NOTHING = Buffer.alloc(0)

type UpgradeContent = ResponseContent & { readonly kind: 'upgrade' }

/** The connection, as its requests see it. */
export interface Http2RequestConnection extends RequestConnection {
  readonly wire: Http2WireConnection<Http2Exchange>
  readonly output: Output<Http2Exchange>
  /** What waits for the client. */
  readonly backlog: Backlog
  /** What observers are told after a response has been handed over. */
  readonly records: SentRecords
  /** There may be more to read. */
  run(): void
  /** A response asks for the connection's end. */
  finish(): void
  /** The stream is closed, and its handler has settled. */
  forget(exchange: Http2Exchange): void
}

/** How long after a response its client is told, with RST_STREAM, that the rest of its request is not needed. */
const RESET_DELAY_MS = 20

export class Http2Exchange extends RequestCycle<Http2RequestConnection, StreamedAnswer<Http2Exchange>> implements Watched, TunnelOwner {
  readonly #stream: Http2Stream<Http2Exchange>
  #drainedBytes = 0
  /** No body was declared, and the request has not ended. It begins with its end: a body may follow that must not be (RFC 9113 §8.1.1). */
  #awaitsEnd = false
  /** All of the request has been received. */
  #hasEnded = false
  /** The response has been handed over, or there will be none. What still arrives is discarded. */
  #isDone = false
  /** The stream is closed. */
  #isGone = false
  /** Its handler has settled as well. */
  #isForgotten = false
  /** The client is to be told that the rest of its request is not needed, or has been. */
  #refusesRest = false
  #isReset = false
  /** The stream speaks another protocol. */
  #tunnel: Tunnel<Http2Exchange> | null = null
  #upgrade: UpgradeRecord | null = null
  /** Why the stream has ended before its time. */
  #failure: Error | null = null
  /** What observers are told once the response has been sent. */
  #sending: Recording | null = null

  constructor(connection: Http2RequestConnection, stream: Http2Stream<Http2Exchange>) {
    super(connection, new Deadlines(connection.host.timeouts, connection.host.ticker))
    this.#stream = stream
    this.deadlines.enter(phase.NONE)
  }

  /** The head is complete. */
  start(): void {
    const { head, isWhole, isTunnel } = this.#stream
    if (!isWhole && head.contentLength === 0 && !isTunnel) {
      this.#awaitsEnd = true
      this.deadlines.enter(phase.BODY)
      return
    }
    if (isTunnel) this.connection.wire.pauseBody(this.#stream) // until it is known who speaks
    this.open(head)
    if (isWhole || head.contentLength === 0) this.complete()
    else if (!this.#isDone) this.#awaitBody()
  }

  /** The head is refused. */
  refuseHead(error: WeirError): void {
    const { host, connection } = this
    host.report(error, connection)
    if (host.observers.hears('head')) this.recording = host.observers.head(error, connection, 'HTTP/2.0')
    this.send(new OutgoingResponse().sendProblem(problemFor(error, host.debug)))
  }

  // The body.

  /** A client that was not told to continue, or whose body nobody reads for now, is not slow. */
  #awaitBody(): void {
    if (!this.owesContinue && !this.#stream.isPaused) this.deadlines.enter(phase.BODY)
  }

  /** Bytes of the body. @returns whether they may be kept where they are, so that `ownBody` must follow */
  push(buffer: Buffer, start: number, end: number, isBorrowed: boolean): boolean {
    if (this.#tunnel !== null) {
      this.#tunnel.onData(buffer, start, end, isBorrowed)
      return false
    }
    this.deadlines.countBody(end - start)
    const { body, bodyLimit } = this
    if (body === null) {
      this.#drop(end - start)
      return false
    }
    if (bodyLimit !== null && this.receivedBytes > bodyLimit) {
      this.#pauseBody()
      this.refuse(new PayloadTooLargeError('maxRequestBodySize', bodyLimit))
      return false
    }
    if (!body.push(buffer, start, end, isBorrowed)) this.#pauseBody()
    return isBorrowed
  }

  /** Borrowed memory is about to be used again. */
  ownBody(): void {
    this.body?.own()
  }

  /** All of the request has been received. */
  complete(): void {
    if (this.#tunnel !== null) this.#tunnel.onEnd()
    if (this.#awaitsEnd) {
      this.#awaitsEnd = false
      this.open(this.#stream.head)
    }
    if (!this.#hasEnded) {
      this.#hasEnded = true
      if (!this.#isDone) this.deadlines.enter(phase.NONE)
      this.body?.finish(this.#stream.trailers)
      if (!this.isHandling && !this.isGating && !this.#isDone) this.handle()
    }
    this.settle()
  }

  /** Nobody reads the body for now, so flow control makes the client wait. */
  #pauseBody(): void {
    this.connection.wire.pauseBody(this.#stream)
    this.deadlines.enter(phase.NONE)
  }

  #resumeBody(): void {
    this.connection.wire.resumeBody(this.#stream)
    this.connection.run()
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
      this.#resumeBody()
    } else if (!this.isHandling) this.handle()
  }

  protected override demand(): void {
    if (this.isGone || this.#isDone) return
    if (this.owesContinue && this.answer?.hasBegun !== true) this.sendContinue()
    if (this.#hasEnded) return
    this.deadlines.enter(phase.BODY)
    this.#resumeBody()
  }

  protected override sendContinue(): void {
    this.owesContinue = false
    this.connection.wire.sendInterim(this.#stream, 100)
    this.connection.output.flushSoon()
  }

  protected override takesTrailers(): boolean {
    return true
  }

  protected override sendInterim(_: Head, status: number, fields: readonly string[]): boolean {
    this.connection.wire.sendInterim(this.#stream, status, fields)
    this.connection.output.flushSoon()
    return true
  }

  /** Bytes that nobody wants: a few are discarded. For many the client is told that they are not needed (RFC 9113 §8.1). */
  #drop(bytes: number): void {
    this.#drainedBytes += bytes
    if (this.#drainedBytes > this.host.limits.maxDrainSize) this.#refuseRest()
  }

  // The response.

  protected override send(response: OutgoingResponse): void {
    const { connection, host } = this
    const stream = this.#stream
    const { dateLine } = host.ticker
    if (stream.isTunnel && response.content.kind !== 'upgrade' && response.statusCode < 300) {
      this.#refuseTunnel(response)
      return
    }
    const bodyBytes = sendWhole(connection.wire, stream, response, dateLine, host.debug ? this.body : null)
    if (bodyBytes !== NOT_WHOLE) {
      this.recording?.markFirstByte(response.statusCode)
      this.#end(bodyBytes, response.closes)
      if (connection.wire.queuedBytes > MOST_QUEUED_BYTES) connection.backlog.add(this, connection.wire)
    } else if (response.content.kind === 'upgrade') this.#openTunnel(response.content)
    else this.sendStream(new StreamedAnswer(connection.wire, connection.output, stream, response, dateLine, this.recording))
    connection.output.flushSoon()
  }

  /** Another protocol takes over. The server's timeouts no longer apply. */
  #openTunnel({ protocol, takeOver }: UpgradeContent): void {
    const { connection, host } = this
    const recording = this.takeRecording(0)
    this.expire()
    const tunnel = new Tunnel(connection.wire, this.#stream, this, dateOf(host.ticker.dateLine))
    this.#tunnel = tunnel
    if (recording !== null) this.#upgrade = new UpgradeRecord(host.observers, recording, TUNNEL_STATUS, protocol, tunnel)
    // An async one may fail later.
    const taken = async (): Promise<void> => takeOver(tunnel, NOTHING)
    taken().catch((error: Error) => this.crash(error))
  }

  /** A success would open the tunnel (RFC 9113 §8.5), and nobody is there who speaks in it. */
  #refuseTunnel(response: OutgoingResponse): void {
    response.discard()
    this.answer = null
    this.send(new OutgoingResponse().sendProblem(problemFor(new ProtocolError('WEIR_METHOD_NOT_IMPLEMENTED'), this.host.debug)))
  }

  onRead(): void {
    this.connection.run()
  }

  onWritten(): void {
    if (this.settle()) this.connection.output.watch(this)
    this.connection.output.flushSoon()
  }

  protected override endAnswer(answer: StreamedAnswer<Http2Exchange>): void {
    if (this.isGone) this.expire()
    else this.#end(answer.bodyBytes, answer.closes)
  }

  /** The response has been handed over. */
  #end(bodyBytes: number, closes: boolean): void {
    this.#sending = this.takeRecording(bodyBytes)
    this.expire()
    if (closes) this.connection.finish()
    this.#drainRest()
    this.settle()
    if (this.#stream.isSending) this.connection.output.watch(this)
  }

  #drainRest(): void {
    const stream = this.#stream
    if (!stream.isReceiving) return
    this.deadlines.enter(phase.LINGER)
    if (this.owesContinue || stream.isTunnel || stream.head.contentLength - stream.receivedBytes > this.host.limits.maxDrainSize)
      this.#refuseRest()
    else this.#resumeBody()
  }

  /** The client need not send the rest. It is told so after the response (RFC 9113 §8.1). */
  #refuseRest(): void {
    if (this.#refusesRest) return
    this.#refusesRest = true
    this.settle()
    this.connection.output.watch(this)
  }

  /** Later, so that it is not read together with the response: a client may then discard the response (curl 7.88 does). */
  #resetSoon(): void {
    const reset = (): void => {
      this.connection.wire.reset(this.#stream, NO_ERROR)
      this.connection.output.flushSoon()
      this.settle()
    }
    // What has been written by then is read first, even if the timer is late.
    setTimeout(() => setImmediate(reset), RESET_DELAY_MS)
  }

  /** The other requests have not waited. */
  protected override proceed(): void {}

  /** Ends the stream so that the client sees that something is missing. */
  override breakOff(error: Error, code: number = INTERNAL_ERROR): void {
    this.cutOff(error)
    this.#endSending(error)
    this.connection.wire.reset(this.#stream, code)
    this.connection.output.flushSoon()
    this.leave()
  }

  /** @param error null: all frames of the response have been made */
  #endSending(error: Error | null): void {
    const sending = this.#sending
    if (sending === null) return
    this.#sending = null
    if (error === null) this.connection.records.handOver(sending)
    else {
      sending.breakOff(error)
      this.host.observers.end(sending)
    }
  }

  protected override get receivedBytes(): number {
    return this.#stream.receivedBytes
  }

  protected override expire(): void {
    this.#isDone = true
    super.expire()
    this.answer = null
  }

  protected override forget(): void {
    if (this.#isForgotten) return
    this.#isForgotten = true
    this.connection.forget(this)
  }

  // The end of the stream.

  override get isGone(): boolean {
    return this.#isGone
  }

  get isForgotten(): boolean {
    return this.#isForgotten
  }

  get stream(): Http2Stream<Http2Exchange> {
    return this.#stream
  }

  /** Frames have been made, or received: the response may be complete, and so may the stream. @returns whether it waits for more frames */
  settle(): boolean {
    if (this.#isGone) return false
    if (!this.#isDone) return this.answer?.settle() === true
    const { isSending, isClosed } = this.#stream
    if (!isSending) this.#endSending(null)
    if (isClosed) this.leave()
    if (this.#tunnel !== null) return this.#tunnel.settle()
    if (isSending || isClosed || !this.#refusesRest || this.#isReset) return isSending
    this.#isReset = this.connection.output.isEmpty // so the response has been written
    if (this.#isReset) this.#resetSoon()
    return !this.#isReset
  }

  /** The stream has been reset. @param fault the rule that the client broke; null if the client itself reset it */
  reset(fault: FaultName | null): void {
    this.fail(fault === 'BODY_LENGTH' ? new WeirError('WEIR_BODY_TRUNCATED') : new WeirError('WEIR_CLIENT_GONE', fault ?? undefined))
  }

  /** The stream has been reset, or its connection is gone. */
  fail(error: Error): void {
    if (this.#isGone) return
    this.#endSending(error)
    this.#failure = error
    this.cutOff(error)
    const { observers } = this.host
    if (this.#awaitsEnd && observers.hears('head')) observers.end(observers.head(error, this.connection, 'HTTP/2.0'))
    this.leave()
  }

  /** The stream is closed. */
  override leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#tunnel?.onClose()
    this.#upgrade?.end(this.#failure)
    super.leave()
  }

  // Time.

  #refuseSlow(error: WeirError): void {
    if (this.#awaitsEnd) {
      this.#awaitsEnd = false
      this.refuseHead(error)
    } else {
      this.#pauseBody()
      this.refuse(error)
    }
  }

  /** The request is in progress. */
  get isBusy(): boolean {
    return !this.#isDone || this.#tunnel !== null
  }

  /** All that was sent of the response has been taken by the client's windows: its source may go on. */
  onDry(): void {
    this.answer?.onDry()
  }

  /**
   * @param unsentBytes how many bytes of the connection wait for the network
   * @param sentBytes how many it has taken
   */
  tick(elapsedMs: number, unsentBytes: number, sentBytes: number): void {
    if (this.isGone || this.#tunnel !== null) return
    const { deadlines } = this
    const { queuedBytes, sendWindow, sentBytes: ownBytes, hasHead } = this.#stream
    const waits = queuedBytes > 0 || (hasHead && unsentBytes > 0)
    if (waits) deadlines.postponeEnd()
    // A stream whose own window is closed does not live by what the client reads of others.
    const progress = queuedBytes > 0 && sendWindow <= 0 ? ownBytes : ownBytes + sentBytes
    const late = deadlines.checkWrite(elapsedMs, waits, progress)
    if (late !== null) {
      this.host.report(late, this.connection, this.exchange)
      this.breakOff(late)
    } else if (deadlines.phase === phase.LINGER) {
      if (deadlines.isOver) this.#refuseRest()
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) this.#refuseSlow(slow)
      else if (this.answer === null) this.checkRequest(elapsedMs)
    }
  }
}
