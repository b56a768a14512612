// One client that speaks HTTP/1.1: it owns a transport, a wire connection, an outbox and the deadlines, and lets its requests have them one
// after the other. No parsing happens here, and no decision on what to answer but for what never became a request.
//
// Behind each answer the rest of the request is drained or the connection closed, then comes the next request. A client's fault has one
// exit, `#refuse`: one answer, then the connection ends.

import { type LimitError, WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { problemFor } from '../../http/answer/problem.ts'
import type { TakeOver } from '../../http/answer/response-content.ts'
import type { ClientCertificate } from '../../http/connection-info.ts'
import { CLOSED, DATA, END, HEAD, NEED_DATA, PAUSED, WireConnection } from '../../wire/http1/connection.ts'
import * as state from '../../wire/http1/states.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { connectionId, nextConnection } from '../connections/connection-id.ts'
import { sendWhole } from '../cycle/whole-answer.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { Outbox } from '../transport/outbox.ts'
import type { Transport, TransportOwner } from '../transport/transport.ts'
import { Http1Exchange, type Http1RequestConnection } from './exchange.ts'
import { UpgradedSocket } from './upgraded-socket.ts'

/** So many bytes of later requests are taken in while one is being answered; then the socket is left alone. */
const MAX_WAITING_BYTES = 64 * 1024
/** The last bytes of a body are sooner copied than given memory of their own. */
const KEPT_BYTES = 64 * 1024

export class Http1Connection implements Http1RequestConnection, TransportOwner, Timed {
  readonly host: ConnectionHost
  readonly clientCertificate: ClientCertificate | null
  readonly #transport: Transport
  readonly #wire: WireConnection
  readonly #deadlines: Deadlines
  readonly #outbox: Outbox
  readonly #exchange: Http1Exchange
  readonly #number = nextConnection()
  /** What still comes of an answered request is dropped. */
  #isDraining = false
  #drained = 0
  /** The last answer has been sent; what comes is thrown away until the client closes too. */
  #isLingering = false
  #isAborted = false
  #isRunning = false
  #isPaused = false
  /** A chunk that is ours to keep: bytes in it need no copy. */
  #ownChunk: Buffer | null = null

  constructor(host: ConnectionHost, transport: Transport, clientCertificate: ClientCertificate | null = null) {
    this.host = host
    this.clientCertificate = clientCertificate
    this.#transport = transport
    this.#wire = new WireConnection(host.limits)
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#outbox = new Outbox(transport)
    this.#exchange = new Http1Exchange(this, this.#wire, this.#outbox, this.#deadlines)
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
    return this.#exchange.isGone
  }

  /** Whether a request is being received or answered, or another protocol is spoken. */
  get isBusy(): boolean {
    return this.#exchange.isOpen || this.#wire.inHead || this.#wire.reading === state.SWITCHED
  }

  // What happens on the transport.

  onBytes(buffer: Buffer, length: number, borrowed: boolean): void {
    if (this.#isLingering) {
      this.#drop(length)
      return
    }
    this.#ownChunk = borrowed ? null : buffer
    this.#wire.receive(buffer, length)
    this.run()
  }

  onEnd(): void {
    if (this.#isLingering) return // both sides have ended: the transport closes once all is sent
    this.#wire.receiveEnd()
    this.#exchange.onEnd()
    this.run()
  }

  onDrain(): void {
    this.#exchange.onDrain()
    this.run()
  }

  onClose(): void {
    if (this.isGone) return
    this.host.ticker.delete(this)
    this.#exchange.leave()
    this.#wire.close()
    // `stop` waits for a handler that is still cleaning up, unless its time is up.
    if (this.#isAborted) this.host.forget(this)
  }

  // From one request to the next.

  run(): void {
    if (this.#isRunning || this.isGone) return
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
    const exchange = this.#exchange
    if (exchange.isGone || this.#wire.reading === state.SWITCHED) return
    exchange.ownBody()
    this.#wire.hold()
    this.#transport.keepsBytes = exchange.keepsBytes && this.#wire.remainingBytes >= KEPT_BYTES
    this.#ownChunk = null
    this.#outbox.flushSoon()
    const pauses = exchange.isBodyPaused || this.#wire.waitingBytes > MAX_WAITING_BYTES || this.#drained > this.host.limits.maxDrainSize
    if (pauses === this.#isPaused) return
    this.#isPaused = pauses
    if (pauses) this.#transport.pause()
    else this.#transport.resume()
  }

  /** @returns whether there may be more to do */
  #step(): boolean {
    const wire = this.#wire
    const exchange = this.#exchange
    if (exchange.isBodyPaused || this.#isLingering || exchange.isGone) return false
    // A client that does not read its answers gets no new ones made.
    if (!exchange.isOpen && this.#outbox.isBlocked) return false
    switch (wire.next()) {
      case HEAD:
        exchange.start(wire.head)
        return true
      case DATA:
        return this.#deliver()
      case END:
        this.#deadlines.enter(phase.NONE)
        if (this.#isDraining) this.#startNextCycle()
        else exchange.complete()
        return true
      case NEED_DATA:
        this.#wait()
        return false
      case CLOSED:
        if (!this.isBusy) this.#finish()
        return false
      case PAUSED:
        // The client has said that nothing more comes, and its last request is being answered.
        if (wire.peerEnded && wire.waitingBytes === 0) wire.head.keepAlive = false
        this.#deadlines.enter(phase.NONE)
    }
    return false
  }

  #wait(): void {
    if (this.#wire.reading === state.BODY) this.#deadlines.enter(this.#exchange.bodyPhase)
    else this.#deadlines.enter(this.#wire.inHead ? phase.HEAD : phase.IDLE)
  }

  #deliver(): boolean {
    const { buffer, dataStart, dataEnd } = this.#wire
    this.#deadlines.countBody(dataEnd - dataStart)
    if (this.#exchange.push(buffer, dataStart, dataEnd, buffer !== this.#ownChunk)) return true
    this.#drop(dataEnd - dataStart)
    return !this.#isLingering
  }

  endCycle(): void {
    if (this.#wire.reading === state.DONE) this.#startNextCycle()
    else if (!this.#wire.head.keepAlive) this.#finish()
    else {
      this.#isDraining = true
      this.#drained = 0
    }
  }

  #startNextCycle(): void {
    this.#wire.startNextCycle()
    this.#isDraining = false
    this.#drained = 0
    const mayEnd = this.host.isStopping && this.#wire.waitingBytes === 0
    if (mayEnd || this.#wire.reading === state.CLOSED) this.#finish()
    else this.#deadlines.enter(phase.IDLE)
  }

  /** Bytes that nobody wants: few are read over, many are not worth it. */
  #drop(bytes: number): void {
    this.#drained += bytes
    if (this.#drained <= this.host.limits.maxDrainSize) return
    if (!this.#isLingering) this.#finish()
    else this.#afterRun()
  }

  /** Another protocol has the connection: what was asked before is answered, and all that is left to do here is to wait for its end. */
  handOver(takeOver: TakeOver): void {
    this.#outbox.flush()
    const rest = this.#wire.switchProtocol()
    this.host.ticker.delete(this)
    this.#isPaused = false
    const socket = new UpgradedSocket(this.#transport, this.#wire.peerEnded, () => this.onClose())
    // An async one may fail later.
    const taken = async (): Promise<void> => takeOver(socket, rest)
    taken().catch((error: Error) => this.#exchange.crash(error))
  }

  // Time.

  tick(elapsedMs: number): void {
    try {
      this.#checkTime(elapsedMs)
    } catch (error) {
      this.#exchange.crash(error as Error)
    }
  }

  #checkTime(elapsedMs: number): void {
    const unsent = this.#transport.unsentBytes
    const deadlines = this.#deadlines
    if (unsent > 0) deadlines.postponeEnd()
    // A socket that is not read says nothing of a client that has left.
    if (this.#isPaused) this.#transport.probe()
    const late = deadlines.checkWrite(elapsedMs, unsent, this.#transport.sentBytes)
    if (late !== null) {
      this.host.report(late, this)
      this.abort(late)
    } else if (deadlines.isOver) {
      if (deadlines.phase === phase.LINGER) this.#transport.destroy()
      else this.#finish()
    } else {
      const slow = deadlines.checkPhase(elapsedMs)
      if (slow !== null) this.#expireReading(slow)
      else this.#exchange.tick(elapsedMs, unsent)
    }
  }

  #expireReading(error: LimitError): void {
    this.#wire.stopReading()
    this.#deadlines.enter(phase.NONE)
    this.#refuse(error)
    this.#afterRun()
  }

  // The end.

  /** The one exit for what cannot go on: the client's fault, a limit, or ours. */
  #refuse(error: Error): void {
    if (!(error instanceof WeirError)) this.#exchange.crash(error)
    else if (this.#exchange.isOpen) this.#exchange.refuse(error)
    else {
      this.#wire.stopReading()
      this.host.report(error, this)
      if (!this.#isDraining && this.#wire.writing === state.HEAD) this.#respondWithoutRequest(error)
      this.#finish()
    }
  }

  #respondWithoutRequest(error: WeirError): void {
    const response = new OutgoingResponse().sendProblem(problemFor(error, this.host.debug))
    sendWhole(null, this.#wire.isHead, response, this.#outbox, this.host.ticker.dateLine, null)
    this.#wire.beginAnswer(true)
  }

  /**
   * Closes in stages, so that the client sees the last answer and not a reset: send, end our side, throw away what still comes for a
   * moment, close (RFC 9112 §9.6).
   */
  #finish(): void {
    if (this.#isLingering || this.isGone) return
    this.#isLingering = true
    this.#isDraining = false
    this.#drained = 0
    this.#outbox.flush()
    this.#wire.close()
    this.#deadlines.enter(phase.LINGER)
    this.#transport.end()
  }

  /** The server stops: an idle connection ends now, a busy one after its answer. */
  drain(): void {
    if (!this.isBusy && !this.#isLingering && !this.#isDraining) this.#finish()
  }

  /** Ends the connection now, whatever is under way. */
  abort(error: Error): void {
    this.#isAborted = true
    if (this.isGone) {
      this.host.forget(this)
      return
    }
    this.#exchange.interrupt(error)
    // A client that has been sent everything, and is only slow to close, is not told that something is missing.
    if (this.#isLingering && this.#transport.unsentBytes === 0) this.#transport.destroy()
    else this.#transport.reset()
  }
}
