// One request of an HTTP/2 connection, from its head to the last byte of its response (RFC 9113 §8.1).
//
// After the response, the rest of its body is discarded or refused, as in HTTP/1.1. But a client's fault ends the stream alone, and the
// connection continues.

import { Buffer } from 'node:buffer'
import { clientGone, ProtocolError, WeirError } from '../../base/errors.ts'
import { linkTakerOf } from '../../http/response/byte-link.ts'
import { problemFor } from '../../http/response/error-problem.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { Head } from '../../wire/head/head.ts'
import { type Http2WireConnection, MOST_QUEUED_BYTES } from '../../wire/http2/connection.ts'
import { type FaultName, INTERNAL_ERROR, NO_ERROR } from '../../wire/http2/errors.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import { inContext } from '../connections/in-context.ts'
import type { Carrier, RequestConnection, UpgradeContent } from '../cycle/carrier.ts'
import * as state from '../cycle/exchange-states.ts'
import { isCut } from '../cycle/exchange-states.ts'
import { RequestCycle } from '../cycle/request-cycle.ts'
import type { Recording } from '../observe/recording.ts'
import { UpgradeRecord } from '../observe/upgrade-record.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Backlog } from './backlog.ts'
import type { Output, Watched } from './output.ts'
import type { SentRecords } from './sent-records.ts'
import { STREAM_EVENTS, type StreamEvents, type StreamUser, Tunnel, type TunnelOwner } from './tunnel.ts'
import { TunnelLink } from './tunnel-link.ts'
import { Http2Writer } from './writer.ts'

/** The status for an accepted extended CONNECT (RFC 8441 §5). */
const TUNNEL_STATUS = 200
const NOTHING = Buffer.alloc(0)

/** The connection, as its requests see it. */
export interface Http2RequestConnection extends RequestConnection {
  readonly wire: Http2WireConnection<Http2Exchange>
  readonly output: Output<Http2Exchange>
  /** The responses that wait for the client. */
  readonly backlog: Backlog
  /** What observers are told after a response has been handed over. */
  readonly records: SentRecords
  countResponse(response: OutgoingResponse): void
  /** There may be more to read. */
  run(): void
  /** What has been received is read in a later turn. */
  readonly isHeldUp: boolean
  /** A response asks for the connection's end. */
  finish(): void
  /** The stream is closed, and its handler has settled. */
  forget(exchange: Http2Exchange): void
}

/** How long after a response its client is told, with RST_STREAM, that the rest of its request is not needed. */
const RESET_DELAY_MS = 20

/** The client may send the rest of its request, which is discarded. */
const DRAINED = 0
/** It is to be told that the rest is not needed. */
const REFUSED = 1
/** It has been told, or is about to be. */
const RESET = 2

export class Http2Exchange implements Carrier, Watched, TunnelOwner {
  readonly isPulled = false
  readonly countsBody = false
  readonly stream: Http2Stream<Http2Exchange>
  readonly cycle: RequestCycle
  readonly writer: Http2Writer<Http2Exchange>
  readonly #connection: Http2RequestConnection
  #drainedBytes = 0
  /** How the rest of the request is handled once it is not needed: DRAINED, REFUSED or RESET. */
  #rest = DRAINED
  /** The stream speaks another protocol. */
  #tunnel: StreamEvents | null = null
  #upgrade: UpgradeRecord | null = null
  /** Why the stream has ended before its time. */
  #failure: Error | null = null
  /** What observers are told once the response has been sent. */
  #sending: Recording | null = null

  constructor(connection: Http2RequestConnection, stream: Http2Stream<Http2Exchange>) {
    const { timeouts, ticker } = connection.host
    this.#connection = connection
    this.stream = stream
    this.writer = new Http2Writer(connection.wire.sender, connection.output, stream, ticker)
    this.cycle = new RequestCycle(this, connection, new Deadlines(timeouts, ticker, phase.NONE))
  }

  /** The head is complete. */
  start(): void {
    const { cycle, stream } = this
    const { head, isWhole } = stream
    if (!isWhole && head.contentLength === 0 && !head.upgrade) {
      // No body was declared: the request begins with its end. A body may follow that must not be (RFC 9113 §8.1.1).
      cycle.deadlines.enter(phase.BODY)
      return
    }
    if (head.upgrade) this.#connection.wire.bodies.pauseBody(stream) // until the client's protocol is known
    cycle.open(head)
    if (isWhole || head.contentLength === 0) this.complete()
    // A client that was not told to continue, or whose body is not read for now, is not slow.
    else if (cycle.work !== state.EXPIRED && !cycle.owesContinue && !stream.isPaused) cycle.deadlines.enter(phase.BODY)
  }

  /** The head is refused. */
  refuseHead(error: WeirError): void {
    this.cycle.refuseHead(error, 'HTTP/2.0', this.stream.isHead)
  }

  // The body.

  get receivedBytes(): number {
    return this.stream.receivedBytes
  }

  /** Passes on bytes of the body. @returns whether they may be kept in borrowed memory, so that `ownBody` must follow */
  push(buffer: Buffer, start: number, end: number, isBorrowed: boolean): boolean {
    if (this.#tunnel !== null) {
      this.#tunnel.onData(buffer, start, end, isBorrowed)
      return false
    }
    const { cycle } = this
    if (cycle.body !== null) {
      cycle.receive(buffer, start, end, isBorrowed)
      return isBorrowed
    }
    // Bytes without a reader: a few are discarded. For many, the client is told that they are not needed (RFC 9113 §8.1).
    cycle.deadlines.countBody(end - start)
    this.#drainedBytes += end - start
    if (this.#drainedBytes > this.#connection.host.limits.maxDrainSize) this.#refuseRest()
    return false
  }

  /** Borrowed memory is about to be used again. */
  ownBody(): void {
    this.cycle.body?.own()
  }

  /** All of the request has been received. */
  complete(): void {
    const { cycle } = this
    if (this.#tunnel !== null) this.#tunnel.onEnd()
    if (cycle.response === state.NONE) cycle.open(this.stream.head)
    const isLate = cycle.work === state.EXPIRED
    cycle.complete(this.stream.trailers)
    if (isLate) this.settle() // otherwise the response does so when it has been handed over
  }

  /** Flow control makes the client wait. */
  pause(): void {
    this.#connection.wire.bodies.pauseBody(this.stream)
  }

  resume(): void {
    this.#connection.wire.bodies.resumeBody(this.stream)
    this.#connection.run()
  }

  refuseRest(): void {
    this.pause()
  }

  interim(_: Head, status: number, fields: readonly string[] | null): boolean {
    this.#connection.wire.sender.sendInterim(this.stream, status, fields)
    this.#connection.output.flushSoon()
    return true
  }

  takesTrailers(): boolean {
    return true
  }

  // The response.

  /** A success would open a tunnel (RFC 9113 §8.5), and nothing here speaks its protocol. */
  prepare(response: OutgoingResponse): OutgoingResponse {
    this.#connection.countResponse(response)
    if (!this.stream.head.upgrade || response.content.kind === 'upgrade' || response.statusCode >= 300) return response
    response.discard()
    const error = new ProtocolError('WEIR_METHOD_NOT_IMPLEMENTED')
    return new OutgoingResponse().sendProblem(problemFor(error, this.#connection.host.debug))
  }

  handedOver(recording: Recording | null, response: OutgoingResponse): void {
    const { stream } = this
    if (recording !== null && recording.firstByteMs === null) recording.markFirstByte(recording.status)
    this.#sending = recording
    if (response.closes) this.#connection.finish()
    if (stream.isReceiving) this.#drainRest()
    this.settle()
    if (stream.isSending) this.#connection.output.watch(this)
    if (this.#connection.wire.sender.queuedBytes > MOST_QUEUED_BYTES) this.onBacklog()
    this.#connection.output.flushSoon()
  }

  #drainRest(): void {
    const { stream, cycle } = this
    cycle.deadlines.enter(phase.LINGER)
    if (
      cycle.owesContinue ||
      stream.head.upgrade ||
      stream.head.contentLength - stream.receivedBytes > this.#connection.host.limits.maxDrainSize
    )
      this.#refuseRest()
    else this.resume()
  }

  /** The client need not send the rest. It is told so after the response (RFC 9113 §8.1). */
  #refuseRest(): void {
    if (this.#rest !== DRAINED) return
    this.#rest = REFUSED
    this.settle()
    this.#connection.output.watch(this)
  }

  /** Later, so that it is not read together with the response: a client may then discard the response (curl 7.88 does). */
  #resetSoon(): void {
    const reset = (): void => {
      this.#connection.wire.sender.reset(this.stream, NO_ERROR)
      this.#connection.output.flushSoon()
      this.settle()
    }
    // What has been written by then is read first, even if the timer is late.
    setTimeout(() => setImmediate(reset), RESET_DELAY_MS)
  }

  /** Another protocol takes over. The server's timeouts no longer apply. */
  switchOver(content: UpgradeContent, recording: Recording | null): void {
    const { takeOver, context } = content
    const { wire, host, output, backlog } = this.#connection
    const { date } = host.ticker
    const takeLink = linkTakerOf(takeOver)
    if (takeLink !== null) {
      const link = new TunnelLink(wire, this.stream, this, backlog, date)
      this.#switchTo(link, content, recording)
      context.runInAsyncScope(takeLink, null, link, NOTHING)
      if (!this.stream.isReceiving) this.#tunnel!.onEnd()
    } else {
      const tunnel = new Tunnel(wire, this.stream, this, date)
      this.#switchTo(tunnel, content, recording)
      // An async one may fail later.
      const taken = async (): Promise<void> => takeOver(tunnel, NOTHING)
      context.runInAsyncScope(taken).catch((error: Error) => this.cycle.crash(error))
    }
    output.flushSoon()
  }

  #switchTo(tunnel: StreamUser, { protocol, context }: UpgradeContent, recording: Recording | null): void {
    this.#tunnel = inContext(context, tunnel, STREAM_EVENTS)
    if (recording !== null) this.#upgrade = new UpgradeRecord(this.#connection.host.observers, recording, TUNNEL_STATUS, protocol, tunnel)
  }

  onRead(): void {
    this.#connection.run()
  }

  onWritten(): void {
    if (this.settle()) this.#connection.output.watch(this)
    this.#connection.output.flushSoon()
  }

  /** Other requests have not waited. */
  proceed(): void {}

  cut(error: Error): void {
    this.abort(error, INTERNAL_ERROR)
  }

  /** Ends the stream so that the client sees that something is missing. */
  abort(error: Error, code: number = INTERNAL_ERROR): void {
    const wasGone = isCut(this.cycle)
    this.cycle.cutOff(error)
    this.#endSending(error)
    this.#connection.wire.sender.reset(this.stream, code)
    this.#connection.output.flushSoon()
    if (!wasGone) this.#leave()
  }

  /** @param error null: all frames of the response have been made */
  #endSending(error: Error | null): void {
    const sending = this.#sending
    if (sending === null) return
    this.#sending = null
    if (error === null) this.#connection.records.handOver(sending)
    else {
      sending.abort(error)
      this.#connection.host.observers.end(sending)
    }
  }

  closed(): void {
    this.#connection.forget(this)
  }

  // The end of the stream.

  /** Frames have been made, or received: the response may be complete, and so may the stream. @returns whether it waits for more frames */
  settle(): boolean {
    const { cycle, stream } = this
    if (isCut(cycle)) return false
    if (cycle.work !== state.EXPIRED) return this.#settleStream()
    const { isSending, isClosed } = stream
    if (!isSending && this.#sending !== null) this.#endSending(null)
    if (this.#tunnel !== null) return this.#settleTunnel(this.#tunnel)
    if (isClosed) {
      cycle.end()
      return false
    }
    if (isSending || this.#rest !== REFUSED) return isSending
    if (!this.#connection.output.isEmpty) return true // the response has not been written yet
    this.#rest = RESET
    this.#resetSoon()
    return false
  }

  #settleStream(): boolean {
    const { streamed } = this.cycle
    if (streamed === null) return false
    if (!this.writer.mustWait) streamed.goOn()
    return streamed.isWaiting
  }

  #settleTunnel(tunnel: StreamEvents): boolean {
    if (this.stream.isClosed) {
      this.cycle.end() // first: the tunnel reports its end, which leads here again
      tunnel.onClose()
      this.#upgrade?.end(this.#failure)
    }
    return tunnel.settle()
  }

  /** The stream has been reset. @param fault the rule that the client broke; null if the client itself reset it */
  reset(fault: FaultName | null): void {
    this.fail(fault === 'BODY_LENGTH' ? new WeirError('WEIR_BODY_TRUNCATED') : clientGone(fault ?? undefined))
  }

  /** The stream has been reset, or its connection is gone. */
  fail(error: Error): void {
    const { cycle } = this
    if (isCut(cycle)) return
    const hasOpened = cycle.response !== state.NONE
    this.#endSending(error)
    this.#failure = error
    cycle.cutOff(error)
    const { observers } = this.#connection.host
    if (!hasOpened && observers.hears('head')) observers.end(observers.head(error, this.#connection, 'HTTP/2.0'))
    this.#leave()
  }

  #leave(): void {
    this.#tunnel?.onClose()
    this.#upgrade?.end(this.#failure)
    this.cycle.leave()
  }

  // Time.

  /** The request is in progress. */
  get isBusy(): boolean {
    return this.cycle.work !== state.EXPIRED || this.#tunnel !== null
  }

  onBacklog(): void {
    const { backlog, wire } = this.#connection
    backlog.add(this, wire.sender)
  }

  /** The client's windows have taken everything that was sent of the response: its source may continue. */
  onDry(): void {
    this.cycle.streamed?.goOn()
  }

  /**
   * @param unsentBytes how many bytes of the connection wait for the network
   * @param sentBytes how many it has taken
   */
  tick(elapsedMs: number, unsentBytes: number, sentBytes: number): void {
    const { cycle } = this
    const { deadlines } = cycle
    if (isCut(cycle) || this.#tunnel !== null) return
    const clientMs = this.#connection.isHeldUp ? 0 : elapsedMs
    if (cycle.response === state.NONE) {
      const slow = deadlines.checkPhase(clientMs)
      if (slow !== null) this.refuseHead(slow)
      return
    }
    const { queuedBytes, sendWindow, sentBytes: ownBytes, hasHead } = this.stream
    const waits = queuedBytes > 0 || (hasHead && unsentBytes > 0)
    if (waits) deadlines.postponeEnd()
    // If the stream's own window is closed, its progress does not depend on what the client reads of other streams.
    cycle.tick(elapsedMs, waits, queuedBytes > 0 && sendWindow <= 0 ? ownBytes : ownBytes + sentBytes, clientMs)
    if (!isCut(cycle) && deadlines.phase === phase.LINGER && deadlines.isOver) this.#refuseRest()
  }
}
