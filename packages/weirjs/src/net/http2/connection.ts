// One client that speaks HTTP/2: moves bytes from the transport to the engine and its events to the exchanges, writes what the engine has made of
// their responses, and takes the connection to its end (RFC 9113).
//
//   Transport ──bytes──▶ Http2Connection ──bytes──▶ Http2WireConnection   frames, streams, flow control (wire/http2/connection.ts)
//       ▲                      │         ◀──events──        │
//       │                      ├──▶ Http2Exchange           │   one for each request
//       │                      │      └─ RequestCycle ──────┤   the exchange with the application, as in HTTP/1.1
//       └──────── frames of all of them, one write a turn ◀─┘

import { WeirError } from '../../base/errors.ts'
import { Http2WireConnection } from '../../wire/http2/connection.ts'
import { BAD_HEAD, CLOSED, DATA, END, GOAWAY, HEAD, NEED_DATA, PAUSED, PONG, REFUSED, RESET } from '../../wire/http2/connection-events.ts'
import { ENHANCE_YOUR_CALM, Http2Error, INTERNAL_ERROR, NO_ERROR, SETTINGS_TIMEOUT } from '../../wire/http2/errors.ts'
import * as state from '../../wire/http2/states.ts'
import type { Http2Stream } from '../../wire/http2/stream.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { drainSoon, type OpenConnection } from '../connections/connections.ts'
import { type Peer, STRANGER } from '../connections/peer.ts'
import { RequestSource } from '../connections/request-source.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import type { Transport, TransportOwner } from '../transport/transport.ts'
import { ArrivedData } from './arrived-data.ts'
import { Backlog } from './backlog.ts'
import * as debts from './debts.ts'
import { Debts } from './debts.ts'
import { Http2Exchange, type Http2RequestConnection } from './exchange.ts'
import { Output, type OutputOwner } from './output.ts'
import { isHttp1, SPEAK_HTTP2, tellOfStreams, violation } from './refusals.ts'
import { SentRecords } from './sent-records.ts'

/** When this many bytes wait for the transport, or have been received for the next turn, nothing more is read. */
const FULL_OUTPUT_BYTES = 256 * 1024
const MOST_UNREAD_BYTES = 64 * 1024

export class Http2Connection extends RequestSource implements OpenConnection, Http2RequestConnection, TransportOwner, Timed, OutputOwner {
  readonly wire: Http2WireConnection<Http2Exchange>
  readonly output: Output<Http2Exchange>
  readonly #deadlines: Deadlines
  readonly #debts: Debts
  readonly backlog: Backlog = new Backlog()
  /** Requests in progress, whose streams may be closed: a handler may still be cleaning up after a request that was cancelled. */
  readonly #exchanges = new Set<Http2Exchange>()
  /** The exchanges with bodies in borrowed memory. */
  readonly #borrowers: Http2Exchange[] = []
  #firstByte = -1
  #records: SentRecords | null = null
  /** The chunk being read, where it is ours to keep: bytes in it need no copy. */
  #ownChunk: Buffer | null = null
  /** The data of the last events, if they were DATA. */
  readonly #arrived = new ArrivedData<Http2Exchange>()
  /** `run` is on the stack: what it calls may call it again. */
  isRunning = false
  /** It has been called again while the last DATA was passed on: there may be more to read. */
  #runsAgain = false
  /** It is going to be called in the next turn of the event loop. */
  #runsSoon = false
  #sentBytes = 0
  /** When the last request ended; null before any has. */
  #lastEnd: number | null = null
  /** Whether the client will open no more streams. */
  #isLeft = false
  #drainedBytes = 0
  /** The client has broken the protocol, or flooded the connection. */
  #isFaulty = false

  constructor(host: ConnectionHost, transport: Transport, peer: Peer = STRANGER) {
    super(host, transport, peer)
    this.wire = new Http2WireConnection(host.limits, { offersConnect: true })
    this.output = new Output(this.wire, transport, this)
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#debts = new Debts(host.timeouts, host.ticker.periodMs)
    host.ticker.add(this)
    this.output.flush() // our settings: a client may wait for them
  }

  get isGone(): boolean {
    return this.wire.control.life === state.GONE
  }

  get isBusy(): boolean {
    for (const exchange of this.#exchanges) if (exchange.isBusy) return true
    return false
  }

  get isIdle(): boolean {
    return this.#deadlines.phase === phase.IDLE && this.#exchanges.size === 0 && !this.isAtRest && this.transport.unsentBytes === 0
  }

  protected get hasMore(): boolean {
    return this.wire.frames.unreadBytes > 0 || this.wire.mayBegin
  }

  get records(): SentRecords {
    this.#records ??= new SentRecords(this.host.observers, this.output)
    return this.#records
  }

  // Events of the transport.

  onBytes(buffer: Buffer, length: number, isBorrowed: boolean): void {
    this.#debts.hear()
    if (this.wire.control.life >= state.LINGERING) {
      this.#drainedBytes += length
      if (this.#drainedBytes > this.host.limits.maxDrainSize) this.transport.pause() // it still gets the bytes that wait for it
      return
    }
    if (this.#firstByte === -1) {
      this.#firstByte = buffer[0]!
      if (this.#deadlines.phase === phase.FIRST) drainSoon(this)
    }
    this.#ownChunk = isBorrowed ? null : buffer
    this.wire.receive(buffer, length)
    this.run()
    this.#ownChunk = null
  }

  /** No client reads after that. */
  onEnd(): void {
    this.#records?.settle() // once the transport is destroyed, it does not tell what was sent
    if (this.wire.control.life >= state.LINGERING) return // the transport closes once all has been sent
    if (this.#exchanges.size > 0) this.#leave(new WeirError('WEIR_CLIENT_GONE', 'it ended its side'))
    this.wire.control.fail(NO_ERROR)
    this.#linger()
  }

  onDrain(): void {
    if (this.output.isBusy) return // it calls this once its write is complete
    this.#records?.settle()
    this.output.flush()
    if (this.transport.isPaused) this.run()
  }

  onClose(): void {
    if (this.isGone) return
    const wasAborted = this.wire.control.life === state.ABORTED
    this.host.ticker.delete(this)
    this.wire.control.leave()
    this.output.close()
    this.backlog.close()
    this.#records?.close(null)
    // An error costs a connection more than all the rest of its end.
    if (this.#exchanges.size > 0) this.#leave(new WeirError('WEIR_CLIENT_GONE'))
    if (this.#exchanges.size === 0 || wasAborted) this.host.forget(this)
  }

  // Events.

  run(): void {
    if (this.isRunning) this.#runsAgain = true
    if (this.isRunning || this.wire.control.life >= state.LINGERING) return
    this.isRunning = true
    try {
      while (this.#step());
    } catch (error) {
      this.#passOn()
      this.#fail(error as Error)
    }
    this.isRunning = false
    this.#afterRun()
  }

  /** @returns whether there may be more to do */
  #step(): boolean {
    const { wire } = this
    if (this.isAtRest && this.hasMore) {
      this.#passOn()
      wire.rest()
      return this.holdUp()
    }
    const event = wire.next()
    const { stream } = wire // passing on may release it
    if (event === DATA) return this.#gather(stream)
    this.#runsAgain = false
    if (this.#arrived.reader !== null) this.#passOn()
    switch (event) {
      case NEED_DATA:
      case CLOSED:
        return this.#runsAgain
      case PONG:
      case REFUSED:
        this.countEnd()
        return true
      case PAUSED:
        this.output.flush()
        return wire.sender.output.end === 0
      case GOAWAY:
        this.#isLeft = true
        if (wire.code !== NO_ERROR) this.onEnd() // the connection has failed
        return true
      default:
        this.#handle(event, stream)
        return true
    }
  }

  #handle(event: number, stream: Http2Stream<Http2Exchange>): void {
    const isNew = event === HEAD || event === BAD_HEAD
    if (isNew) {
      this.countRequest(this.wire.listBytes)
      stream.owner = new Http2Exchange(this, stream)
      this.#deadlines.enter(phase.NONE)
      if (this.requests === this.host.limits.maxRequestsPerConnection) this.finish()
    } else if (event === END) this.countBody(stream.receivedBytes)
    else this.countEnd()
    const exchange = stream.owner!
    try {
      if (event === HEAD) exchange.start()
      else if (event === END) exchange.complete()
      else if (event === RESET) exchange.reset(this.wire.fault)
      else exchange.refuseHead(this.wire.error!)
    } catch (error) {
      exchange.cycle.crash(error as Error)
    }
    // Most requests are over by now.
    if (isNew && !stream.isReleased) this.#exchanges.add(exchange)
  }

  /** DATA has been read. The next event may be more of the same body. */
  #gather(stream: Http2Stream<Http2Exchange>): true {
    this.countPiece()
    const { buffer, dataStart, dataEnd, isBorrowed } = this.wire
    if (this.#arrived.join(stream.owner!, buffer, dataStart, dataEnd)) return true
    this.#passOn()
    if (stream.isPaused) this.wire.holdData(stream)
    else this.#arrived.set(stream.owner!, buffer, dataStart, dataEnd, isBorrowed && buffer !== this.#ownChunk)
    return true
  }

  #passOn(): void {
    const { reader, buffer, start, end, isBorrowed } = this.#arrived
    this.#runsAgain = false
    if (reader === null) return
    this.#arrived.clear()
    try {
      if (reader.push(buffer, start, end, isBorrowed)) this.#borrowers.push(reader)
    } catch (error) {
      reader.cycle.crash(error as Error)
    }
  }

  /** Copies what was borrowed, sends what was answered, and pauses or resumes the transport. */
  #afterRun(): void {
    for (const exchange of this.#borrowers) exchange.ownBody()
    this.#borrowers.length = 0
    if (this.wire.refusedStreams > 0) tellOfStreams(this.host, this, this.wire.refusedStreams)
    this.wire.refusedStreams = 0
    if (this.wire.control.life >= state.LINGERING) return
    this.#enterPhase()
    if (this.#isLeft && this.wire.openStreams === 0) this.finish()
    this.output.flushTurn()
    const { sender, frames } = this.wire
    const pauses = sender.output.end >= FULL_OUTPUT_BYTES || (this.isAtRest && frames.unreadBytes > MOST_UNREAD_BYTES)
    if (pauses === this.transport.isPaused) return
    if (pauses) this.transport.pause()
    else this.transport.resume()
  }

  #enterPhase(): void {
    if (this.#deadlines.phase === phase.LINGER) return
    const { frames } = this.wire
    const isBeginning = frames.inBlock || !frames.hasBegun
    this.#deadlines.enter(isBeginning ? phase.HEAD : this.#exchanges.size > 0 || this.isHeldUp ? phase.NONE : phase.IDLE)
  }

  /** Frames may have been written. */
  onFlushed(): void {
    const { wire } = this
    this.#records?.settle()
    // While so much waits for the transport, `run` would read nothing: it is called again after a write.
    if (wire.mayBegin && wire.sender.output.end < FULL_OUTPUT_BYTES) this.#runSoon()
    if (wire.control.life === state.LAST && wire.openStreams === 0 && this.output.isEmpty) this.#linger()
  }

  /** Requests that have waited may begin, in a turn of their own. */
  #runSoon(): void {
    if (this.#runsSoon) return
    this.#runsSoon = true
    setImmediate(() => {
      this.#runsSoon = false
      this.run()
    })
  }

  // The end.

  forget(exchange: Http2Exchange): void {
    this.wire.release(exchange.stream)
    this.#exchanges.delete(exchange)
    this.#lastEnd = this.host.ticker.now
    if (this.#exchanges.size > 0) return
    const { life } = this.wire.control
    if (life === state.GONE) this.host.forget(this)
    else if (!this.isRunning && life < state.LINGERING) {
      this.#enterPhase()
      if (this.#isLeft) this.finish()
      this.output.flushSoon()
    }
  }

  /** Takes no new request. The client learns which was the last (RFC 9113 §6.8), and the connection ends with its response. */
  finish(): void {
    const { wire, output } = this
    if (wire.control.life >= state.LAST) return
    wire.control.end()
    if (output.isAgreed) output.flushSoon()
    else {
      wire.sender.output.take() // nothing has been said on either side
      this.#linger()
    }
  }

  /** The server stops. A client whose request crosses this news gets its response: it is told to open no more streams, and later which was the last. */
  drain(isOver = false): void {
    if (this.#firstByte !== -1 || this.output.isAgreed || isOver) {
      this.wire.control.beginEnd()
      this.output.flushSoon()
    } else this.#deadlines.enter(phase.FIRST)
  }

  hasten(): boolean {
    return [...this.#exchanges].filter(({ cycle }) => cycle.exchange?.hasten()).length > 0
  }

  /** The one exit for what cannot continue: the client has broken the protocol, or weir has failed. */
  #fail(error: Error): void {
    const { host, wire, transport } = this
    if (error instanceof Http2Error) {
      this.#isFaulty = true
      const speaksHttp1 = isHttp1(error, this.#firstByte, transport.isSecure)
      if (speaksHttp1) {
        wire.sender.output.take()
        transport.writeText(SPEAK_HTTP2)
      }
      this.#leave(violation(host, this, error, speaksHttp1))
    } else {
      host.report(error, this)
      this.#leave(error)
      wire.control.fail(INTERNAL_ERROR)
    }
    this.#linger()
  }

  /** Sends what is ready, ends our side, and discards what still arrives for a moment, so that the client sees the last frames and not a reset. */
  #linger(): void {
    if (this.wire.control.life >= state.LINGERING) return
    this.wire.control.linger()
    this.#deadlines.enter(phase.LINGER)
    this.output.write()
    this.transport.end()
    if (this.transport.isPaused) this.transport.resume()
  }

  /** Ends the connection now, whatever is in progress. */
  abort(error: Error, code: number = NO_ERROR): void {
    if (this.isGone) this.host.forget(this)
    if (this.isGone) return
    for (const exchange of this.#exchanges) exchange.abort(error)
    const hadEnded = this.wire.control.life >= state.LINGERING
    this.wire.control.abort(code)
    this.#records?.settle()
    this.#records?.close(error)
    if (!hadEnded) this.output.write()
    if (hadEnded && this.transport.unsentBytes === 0) this.transport.destroy()
    else this.transport.reset()
  }

  /** No stream continues. */
  #leave(error: Error): void {
    for (const exchange of this.#exchanges) exchange.fail(error)
  }

  // Time.

  get load(): number {
    return this.#exchanges.size
  }

  tick(elapsedMs: number): void {
    try {
      this.#checkTime(elapsedMs)
    } catch (error) {
      this.host.report(error as Error, this)
      this.abort(error as Error, INTERNAL_ERROR)
    }
  }

  #checkTime(elapsedMs: number): void {
    if (this.isGone) return
    const transport = this.transport
    const deadlines = this.#deadlines
    this.wire.control.tick(elapsedMs)
    this.#records?.settle()
    const { unsentBytes, sentBytes } = transport
    if (!this.#isFaulty && (unsentBytes > 0 || this.#mayBeReading)) deadlines.postponeEnd()
    // A socket that is not being read does not notice that the client has left.
    if (transport.isPaused) transport.probe()
    if (sentBytes > this.#sentBytes && unsentBytes > 0) this.#debts.hear()
    this.#sentBytes = sentBytes
    for (const exchange of this.#exchanges) exchange.tick(elapsedMs, unsentBytes, sentBytes)
    this.backlog.tick(elapsedMs, this.wire.sender, this.#exchanges)
    const late = deadlines.checkWrite(elapsedMs, unsentBytes > 0 && this.#exchanges.size === 0, sentBytes)
    if (late !== null) {
      this.host.report(late, this)
      this.abort(late)
    } else if (deadlines.isOver) {
      if (deadlines.phase === phase.LINGER) transport.destroy()
      else this.finish()
    } else if (this.wire.control.life < state.LINGERING) this.#checkClient(this.isHeldUp ? 0 : elapsedMs)
  }

  /** Checks what a client owes that belongs to no request. It may be in what waits to be read. */
  #checkClient(elapsedMs: number): void {
    const { host, wire } = this
    const late = this.#deadlines.checkPhase(elapsedMs)
    if (late !== null) {
      host.report(late, this)
      if (host.observers.hears('head')) host.observers.end(host.observers.head(late, this, 'HTTP/2.0'))
      this.abort(late, ENHANCE_YOUR_CALM)
      return
    }
    switch (this.#debts.tick(elapsedMs, wire.frames.hasBegun && wire.control.awaitsSettingsAck, wire.control.life === state.ENDING)) {
      case debts.ASK:
        wire.control.ping()
        this.output.flushSoon()
        break
      case debts.SILENT:
        this.abort(new WeirError('WEIR_CLIENT_GONE', 'it does not answer'))
        break
      case debts.UNSETTLED:
        this.abort(new WeirError('WEIR_CLIENT_GONE', 'it does not acknowledge our settings'), SETTINGS_TIMEOUT)
        break
      case debts.NOT_ENDING:
        this.finish()
    }
  }

  /**
   * After the last frame, a response may still be on its way for long. A client that reads it continues to send frames (WINDOW_UPDATE), and a socket
   * that is closed would answer them with a reset: what has not arrived by then would be lost.
   */
  get #mayBeReading(): boolean {
    const { ticker, timeouts } = this.host
    if (this.#deadlines.phase !== phase.LINGER || this.#lastEnd === null) return false
    return timeouts.writeTimeout === null || ticker.now - this.#lastEnd <= timeouts.writeTimeout
  }
}
