// One client that speaks HTTP/1.1. Passes bytes from the transport to the wire machine and its events to the request cycle, and moves the
// connection from one request to the next, and to its end.
//
//   Transport ──bytes──▶ Http1Connection ──bytes──▶ WireConnection   what the bytes mean. Owns the state: reading, writing, life (states.ts)
//       ▲                      │      ◀──events──
//       │                      ├──▶ RequestCycle   the exchange with the application, as in HTTP/2: open, handle or refuse, respond, expire
//       │                      │      └─ Http1Carrier   what it means for the connection; one object for all requests, one after another
//     Outbox ◀── Http1Writer ──┤
//                              └──▶ Deadlines        how long the current phase may take
//
// Only methods of the wire machine change the state, and each of its three parts changes from one place:
//
//   reading   by the bytes that WireConnection reads. Http1Carrier pauses and resumes a body, and either class may refuse the rest.
//   writing   by Http1Carrier and its Http1Writer; by `#respondWithoutRequest` for what never became a request.
//   life      by the client's head, or by Http1Carrier before it responds: no request follows. The ends are here: `#finish` (linger), `abort`, `onClose`.
//
// A client's fault has one exit, `#refuse`: one response, then the connection ends.

import { clientGone, isInstance, type LimitError, WeirError } from '../../base/errors.ts'
import { linkTakerOf } from '../../http/response/byte-link.ts'
import { problemFor } from '../../http/response/error-problem.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { CLOSED, DATA, END, HEAD, NEED_DATA, PAUSED, WireConnection } from '../../wire/http1/connection.ts'
import * as state from '../../wire/http1/states.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { drainSoon } from '../connections/connections.ts'
import { type Peer, STRANGER } from '../connections/peer.ts'
import { RequestSource } from '../connections/request-source.ts'
import type { ConnectionTap } from '../connections/tap.ts'
import type { UpgradeContent } from '../cycle/carrier.ts'
import type { RequestCycle } from '../cycle/request-cycle.ts'
import { sendWhole } from '../cycle/response-sender.ts'
import { ConnectionRecords, type Sending, type SentRefusal } from '../observe/connection-records.ts'
import type { Recording } from '../observe/recording.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { Outbox } from '../transport/outbox.ts'
import { tapped } from '../transport/tapped-transport.ts'
import type { Transport, TransportOwner } from '../transport/transport.ts'
import { Http1Carrier, type Http1RequestConnection } from './carrier.ts'
import { SwitchedLink } from './switched-link.ts'
import { UnansweredUpgrade } from './unanswered-upgrade.ts'
import { UpgradedSocket } from './upgraded-socket.ts'

/** How many bytes of later requests are read while one is being answered. When exceeded, the socket is not read. */
const MAX_WAITING_BYTES = 64 * 1024
/** If less than this is missing of a body, it is copied: a buffer for it alone would cost more. */
const KEPT_BYTES = 64 * 1024

export class Http1Connection extends RequestSource implements Http1RequestConnection, TransportOwner, Timed, Sending {
  readonly #wire: WireConnection
  readonly #deadlines: Deadlines
  readonly #outbox: Outbox
  readonly #carrier: Http1Carrier
  readonly #cycle: RequestCycle
  /** Bytes that have been discarded since the last response. */
  #drained = 0
  /** Whether `run` is on the stack: the code that it calls may call it again. */
  #isRunning = false
  /** The chunk being read, if its memory is ours to keep: its bytes need not be copied. */
  #ownChunk: Buffer | null = null
  /** Created for the first record: most connections are not observed. */
  #records: ConnectionRecords | null = null
  /** Null unless the connection is recorded. */
  readonly #tap: ConnectionTap | null

  constructor(host: ConnectionHost, transport: Transport, peer: Peer = STRANGER) {
    const tap = host.tap === null ? null : host.tap(transport, peer)
    super(host, tap === null ? transport : tapped(transport, (bytes) => tap.sent(bytes)), peer)
    this.#tap = tap
    this.#wire = new WireConnection(host.limits)
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#outbox = new Outbox(this.transport)
    this.#carrier = new Http1Carrier(this, this.#wire, this.#outbox, this.#deadlines)
    this.#cycle = this.#carrier.cycle
    host.ticker.add(this)
  }

  get isGone(): boolean {
    return this.#wire.life === state.GONE
  }

  get isBusy(): boolean {
    return this.#wire.isBusy || this.isHeldUp
  }

  get isIdle(): boolean {
    return this.#deadlines.phase === phase.IDLE && !this.isBusy && this.transport.unsentBytes === 0
  }

  get hasSentAll(): boolean {
    return this.#outbox.text === '' && this.transport.unsentBytes === 0 && !this.hasFailed
  }

  get awaitsResult(): boolean {
    return this.transport.awaitsResult
  }

  get hasFailed(): boolean {
    return this.transport.isDestroyed
  }

  get writesSoon(): boolean {
    return this.#outbox.text !== ''
  }

  get records(): ConnectionRecords {
    this.#records ??= new ConnectionRecords(this.host.observers, this)
    return this.#records
  }

  protected get hasMore(): boolean {
    return this.#wire.waitingBytes > 0
  }

  // Events of the transport.

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    if (this.#wire.life === state.LINGERING) {
      this.#drop(length)
      return
    }
    this.#ownChunk = borrowed ? null : buffer
    if (this.#tap !== null) this.#tap.received(buffer, length)
    // Most reads are the only one of their turn: Node reads on at once only if it has filled the buffer, and under TLS record by record.
    if (!this.isAtRest && !this.transport.isSecure) this.workInARow = 0
    this.#wire.receive(buffer, length)
    this.run()
  }

  onEnd(): void {
    if (!this.#wire.isServing) return // when both sides have ended, the transport closes once everything has been sent
    this.#tap?.receivedEnd()
    this.#wire.receiveEnd()
    this.#carrier.onEnd()
    this.run()
  }

  onDrain(): void {
    this.#cycle.streamed?.goOn()
    this.run()
  }

  onClose(): void {
    if (this.isGone) return
    const wasAborted = this.#wire.life === state.ABORTED
    this.host.ticker.delete(this)
    this.#wire.leave()
    this.#recordCutHead(null)
    this.#records?.close(null)
    this.#cycle.leave()
    // `stop` waits for a handler that is still cleaning up, unless the connection was aborted.
    if (wasAborted) this.host.forget(this)
    this.#tap?.closed()
  }

  // From one request to the next.

  run(): void {
    if (this.#isRunning || this.#wire.isOver) return
    this.#isRunning = true
    try {
      while (this.#step());
    } catch (error) {
      this.#refuse(error as Error)
    }
    this.#isRunning = false
    this.#afterRun()
  }

  /** Copies what was borrowed, sends what was answered, and pauses or resumes the socket. */
  #afterRun(): void {
    const { body } = this.#cycle
    const wire = this.#wire
    if (wire.isOver || wire.life === state.SWITCHED) return
    if (body !== null) body.own()
    wire.hold()
    this.transport.keepsBytes = body?.keepsBytes === true && wire.remainingBytes >= KEPT_BYTES
    this.#ownChunk = null
    if (this.#outbox.text !== '') this.transport.flushSoon(this.#outbox) // under load with those of other connections: write-batch.ts
    this.#records?.settle()
    // An incomplete head has a limit of its own, and nothing else would ever complete it.
    const isAhead = wire.reading !== state.HEAD && wire.waitingBytes > MAX_WAITING_BYTES
    const hasEnough = isAhead || this.#drained > this.host.limits.maxDrainSize
    // If the body has arrived completely, the socket is not paused while the body waits for its reader: pausing would cost two system calls.
    const pauses = hasEnough || (wire.reading === state.PAUSED && wire.remainingBytes > 0)
    if (pauses === this.transport.isPaused) return
    if (pauses) this.transport.pause()
    else this.transport.resume()
  }

  /** @returns whether there may be more to do */
  #step(): boolean {
    const wire = this.#wire
    const cycle = this.#cycle
    if (!wire.isServing) return false
    // While a client does not read, no more responses are produced for it.
    if (cycle.exchange === null && this.#outbox.relieve()) return false
    const mayRest = cycle.exchange === null || this.isBodyAtRest
    if (this.isAtRest && mayRest && (this.hasMore || wire.peerEnded)) {
      this.#deadlines.enter(phase.NONE)
      return this.holdUp()
    }
    switch (wire.next()) {
      case HEAD:
        if (this.#tap !== null) this.#tap.requestBegun(wire.head)
        this.countRequest(wire.head.size)
        this.#carrier.start(wire.head)
        return true
      case DATA:
        return this.#deliver()
      case END:
        if (this.#tap !== null) this.#tap.requestEnded(wire.waitingBytes)
        if (wire.life === state.DRAINING) {
          this.#deadlines.enter(phase.NONE)
          this.endCycle()
        } else cycle.complete(cycle.body === null ? undefined : wire.trailers)
        return true
      case NEED_DATA:
        if (wire.reading !== state.BODY) this.#deadlines.enter(wire.inHead ? phase.HEAD : phase.IDLE)
        else this.#deadlines.enter(cycle.owesContinue ? phase.NONE : phase.BODY) // a client that was not told to continue is not slow
        return false
      case CLOSED:
        this.#recordCutHead(null)
        if (!wire.isBusy) this.#finish()
        return false
      case PAUSED:
        this.#deadlines.enter(phase.NONE)
    }
    return false
  }

  #deliver(): boolean {
    const { buffer, dataStart, dataEnd, remainingBytes } = this.#wire
    if (remainingBytes > 0) this.countPiece() // the last piece was counted with the request, or counts when it is complete
    if (this.#cycle.body === null) {
      this.#deadlines.countBody(dataEnd - dataStart)
      this.#drop(dataEnd - dataStart)
      return this.#wire.isServing
    }
    this.#cycle.receive(buffer, dataStart, dataEnd, buffer !== this.#ownChunk)
    return true
  }

  endCycle(): void {
    const life = this.#wire.endCycle()
    this.#drained = 0
    if (life === state.DRAINING) this.#deadlines.endRoute()
    else if (life === state.OPEN) {
      this.#deadlines.enter(phase.IDLE)
      // This response began before the stop, and announced that the connection stays open.
      if (this.host.isStopping) drainSoon(this)
    } else this.#finish()
  }

  /** Bytes that are not needed: a few are discarded, but many are not worth reading. */
  #drop(bytes: number): void {
    this.#drained += bytes
    if (this.#drained <= this.host.limits.maxDrainSize) return
    if (this.#wire.isServing) this.#finish()
    else this.#afterRun()
  }

  /** Another protocol takes over. Earlier requests have been answered, so this class only waits for the end of the connection. */
  handOver({ protocol, takeOver, context }: UpgradeContent, recording: Recording | null): void {
    this.#outbox.flush()
    this.#records?.settle()
    const { transport } = this
    const rest = this.#wire.switchProtocol()
    this.host.ticker.delete(this)
    const onGone = (): void => this.onClose()
    const takeLink = linkTakerOf(takeOver)
    if (takeLink !== null) {
      const link = new SwitchedLink(transport, this.#wire.peerEnded, onGone, context)
      if (recording !== null) this.records.switchOver(recording, protocol, link)
      context.runInAsyncScope(takeLink, null, link, rest)
      return
    }
    const socket = new UpgradedSocket(transport, this.#wire.peerEnded, onGone, context)
    if (recording !== null) this.records.switchOver(recording, protocol, socket)
    // An async function may fail later.
    const taken = async (): Promise<void> => takeOver(socket, rest)
    context.runInAsyncScope(taken).catch((error: Error) => this.#cycle.crash(error))
    if (socket.isAbandonable) new UnansweredUpgrade(this.host, transport, socket)
  }

  // Time.

  tick(elapsedMs: number): void {
    try {
      this.#checkTime(elapsedMs)
    } catch (error) {
      this.#cycle.crash(error as Error)
    }
  }

  #checkTime(elapsedMs: number): void {
    if (this.#wire.isOver) return
    this.#records?.settle()
    const unsent = this.transport.unsentBytes
    const deadlines = this.#deadlines
    if (unsent > 0) deadlines.postponeEnd()
    this.#lookForEnd()
    const late = deadlines.checkWrite(elapsedMs, unsent > 0, this.transport.sentBytes)
    if (late !== null) {
      this.host.report(late, this)
      this.abort(late)
    } else if (deadlines.isOver) {
      if (deadlines.phase === phase.LINGER) this.transport.destroy()
      else this.#finish()
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) this.#expireReading(slow)
      else this.#carrier.tick(elapsedMs, unsent)
    }
  }

  /**
   * A paused socket does not notice that the client has left, and a socket whose client has ended its side does not notice whether the client still
   * reads. A body that waits for its reader is read further from time to time, because the end of the client may be behind it.
   */
  #lookForEnd(): void {
    const { transport } = this
    const wire = this.#wire
    if (!transport.isPaused && !wire.peerEnded) return
    transport.probe()
    if (wire.reading === state.PAUSED && !wire.peerEnded && wire.waitingBytes <= MAX_WAITING_BYTES) transport.resume()
  }

  #expireReading(error: LimitError): void {
    this.#wire.refuse()
    this.#deadlines.enter(phase.NONE)
    this.#refuse(error)
    this.#afterRun()
  }

  // The end.

  /** The one exit for what cannot continue: the client's fault, a limit, or a bug. */
  #refuse(error: Error): void {
    if (!isInstance(error, WeirError)) this.#cycle.crash(error)
    else if (this.#cycle.exchange !== null) this.#carrier.refuse(error)
    else {
      this.#wire.refuse()
      this.host.report(error, this)
      if (this.#wire.writing === state.HEAD) this.#respondWithoutRequest(error)
      this.#finish()
    }
  }

  #respondWithoutRequest(error: WeirError): void {
    const response = new OutgoingResponse().sendProblem(problemFor(error, this.host.debug))
    const bodyBytes = sendWhole(this.#carrier.writer, response, this.#wire.isHead, null)
    this.#wire.endResponse()
    this.#recordHead(error, { status: error.status, bodyBytes }, this.#wire.takeHeadExcerpt())
  }

  /** The connection is ending, and may be in the middle of a head. @param error null if the client has left */
  #recordCutHead(error: Error | null): void {
    const excerpt = this.#wire.takeHeadExcerpt()
    if (excerpt !== null) this.#recordHead(error ?? clientGone(), null, excerpt)
  }

  #recordHead(error: Error, sent: SentRefusal | null, excerpt: Buffer | null): void {
    if (this.host.observers.hears('head')) this.records.refuseHead(error, sent, excerpt, this)
  }

  /**
   * Closes in stages, so that the client sees the last response and not a reset: send what is waiting, end our side, discard what arrives
   * in the next moment, close (RFC 9112 §9.6).
   */
  #finish(): void {
    if (!this.#wire.isServing) return
    this.#wire.linger()
    this.#drained = 0
    this.#outbox.flush()
    this.#records?.settle() // before the end: once the transport is destroyed, it does not tell what was sent
    this.#deadlines.enter(phase.LINGER)
    this.transport.end()
  }

  drain(isOver = false): void {
    if (this.isBusy || this.#wire.life === state.DRAINING || !this.#wire.isServing) return
    if (isOver || this.requests > 0) this.#finish()
    else this.#deadlines.enter(phase.FIRST)
  }

  hasten(): boolean {
    return this.#cycle.exchange?.hasten() === true
  }

  /** Ends the connection now, whatever is in progress. */
  abort(error: Error): void {
    if (this.isGone) this.host.forget(this)
    if (this.#wire.isOver) return
    // After a reset, a client that was sent everything and is only slow to close would believe that something is missing.
    const hasAll = this.#wire.life === state.LINGERING && this.transport.unsentBytes === 0
    this.#records?.settle()
    this.#wire.abort()
    this.#recordCutHead(error)
    this.#records?.close(error)
    this.#cycle.cutOff(error)
    if (hasAll) this.transport.destroy()
    else this.transport.reset()
  }
}
