// One client that speaks HTTP/2: its connection, and the requests that are under way on it (RFC 9113).
//
// Frames, compression and flow control are Node's; what a request is, what it may cost and how long it may take is decided here and by its
// exchanges, as for HTTP/1.1. Loaded only by servers that are asked to speak HTTP/2.

import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream, type SessionOptions } from 'node:http2'
import type { TLSSocket } from 'node:tls'

import { WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import type { ClientCertificate, Forwarding, SocketPeer } from '../../http/connection-info.ts'
import type { Head } from '../../wire/head/head.ts'
import { readHttp2Head } from '../../wire/http2/head.ts'
import { fieldsOf } from '../../wire/http2/hpack/header-field.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import { connectionId, nextConnection } from '../connections/connection-id.ts'
import type { OpenConnection } from '../connections/connections.ts'
import { clientAddressOf, clientPortOf, type Peer, socketPeerOf } from '../connections/peer.ts'
import * as phase from '../time/deadlines.ts'
import { Deadlines } from '../time/deadlines.ts'
import type { Timed } from '../time/ticker.ts'
import { Http2Exchange, type Http2RequestConnection } from './exchange.ts'
import { OpenHead } from './open-head.ts'
import { type SessionEnds, takeEnds } from './session-end.ts'

const NO_ERROR = 0
const REFUSED_STREAM = 7
const ENHANCE_YOUR_CALM = 11
const FLAG_END_STREAM = 1
const LAST_STREAM = 2 ** 31 - 1

/** What a client may send of one body before the handler reads it. */
const STREAM_WINDOW_BYTES = 256 * 1024
/** What it may send of all bodies together before anything of it has arrived. */
const CONNECTION_WINDOW_BYTES = 1024 * 1024
/** What Node may hold for one connection, in MB: heads that are under way, and the windows of all streams. */
const SESSION_MEMORY_MB = 32
/** So much of its answers may wait for a client before no further request of it is begun: for who does not read, no more is made. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024
/** Frames that are against the rules, refused streams, settings in one frame, and pings without an answer: beyond it the connection ends. */
const MAX_INVALID_FRAMES = 100
const MAX_REJECTED_STREAMS = 100
const MAX_SETTINGS = 32
const MAX_PINGS = 10
/** A frame that asks whether the client is there (RFC 9113 §6.7). */
const PING_BYTES = 17
/** What each field costs beside its text (RFC 9113 §6.5.2). */
const FIELD_OVERHEAD = 32
/** `:method`, `:scheme`, `:authority` and `:path`. */
const PSEUDO_FIELDS = 4
/** Node resets a stream whose head is too large. So that a client is told 431 instead, Node's limit lies so much higher than ours. */
const ROOM_FOR_AN_ANSWER = 2
/** A request that the client has cancelled counts until its handler has settled: so many times the limit may be under way in all. */
const ROOM_FOR_CANCELLED = 2

/** The fourth argument is documented, but not in the types. */
type OnStream = (stream: ServerHttp2Stream, headers: unknown, flags: number, list: readonly string[]) => void

export class Http2Connection implements OpenConnection, Http2RequestConnection, Timed {
  readonly host: ConnectionHost
  readonly clientAddress: string
  readonly clientPort: number
  readonly isSecure = true
  readonly peer: Peer
  readonly clientCertificate: ClientCertificate | null
  readonly forwarding: Forwarding | null
  readonly #remoteAddress: string
  readonly #remotePort: number
  readonly #number = nextConnection()
  readonly #socket: TLSSocket
  readonly #session: ServerHttp2Session
  readonly #ends: SessionEnds
  readonly #deadlines: Deadlines
  readonly #openHead: OpenHead
  /** Not all are open: a handler may still be cleaning up behind a request that was cancelled. */
  readonly #exchanges = new Set<Http2Exchange>()
  /** Requests that wait until the client has read more of its answers, and what begins them. */
  readonly #waiting = new Map<Http2Exchange, () => void>()
  #requests = 0
  #pings = 0
  /** For how long nothing was heard of the client. */
  #silentMs = 0
  #isAsked = false
  /** When the last stream that was here ended; null before any has. */
  #lastEnd: number | null = null
  /** The server stops. */
  #isDraining = false
  /** No new request is taken. */
  #isFinishing = false
  /** Which request is the last has been said. Node sends that a turn later, and takes new streams until then. */
  #hasSaidLast = false
  #isGone = false
  #isAborted = false

  constructor(host: ConnectionHost, socket: TLSSocket, peer: Peer) {
    this.host = host
    this.#socket = socket
    this.#remoteAddress = socket.remoteAddress ?? ''
    this.#remotePort = socket.remotePort ?? 0
    this.clientAddress = clientAddressOf(peer, this.#remoteAddress)
    this.clientPort = clientPortOf(peer, this.#remotePort)
    this.peer = peer
    this.forwarding = peer.isTrustedProxy ? host.proxies : null
    this.clientCertificate = peer.clientCertificate
    this.#deadlines = new Deadlines(host.timeouts, host.ticker)
    this.#session = performServerHandshake(socket, sessionOptions(host.limits))
    this.#ends = takeEnds(this.#session, () => this.finish())
    this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
    this.#openHead = new OpenHead(socket, this.#session, (onAnswer) => this.#ping(onAnswer))
    const onStream: OnStream = (stream, _headers, flags, list) => this.#open(stream, flags, list)
    this.#session.on('stream', onStream as (stream: ServerHttp2Stream) => void)
    this.#session.on('error', ignore) // `close` follows
    this.#session.on('goaway', () => this.finish()) // the client will send no more
    this.#session.on('close', () => this.#onClose())
    // No client goes on reading behind that. The session alone would wait for an answer to its last word.
    socket.on('end', () => {
      this.#ends.destroy()
      socket.destroy()
    })
    host.ticker.add(this)
  }

  get connectionId(): string {
    return connectionId(this.#number)
  }

  get endpointName(): string | null {
    return this.peer.endpointName
  }

  get isTest(): boolean {
    return this.peer.isTest
  }

  describePeer(): SocketPeer {
    return socketPeerOf(this.peer, this.#remoteAddress, this.#remotePort, true)
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Not what was asked of the client unbidden: of that it need not read anything. */
  get writtenBytes(): number {
    return this.#socket.bytesWritten - PING_BYTES * this.#pings
  }

  get isBusy(): boolean {
    for (const exchange of this.#exchanges) if (exchange.isBusy) return true
    return false
  }

  #open(stream: ServerHttp2Stream, flags: number, list: readonly string[]): void {
    this.#openHead.end(stream.id ?? 0)
    const { maxConcurrentStreams, maxRequestsPerConnection } = this.host.limits
    // Node tells of a stream a moment after its head: it may be cancelled by now, or the connection gone, and nothing would say so.
    // And GOAWAY goes out a turn behind the last request: more of them may have come with it.
    const isLate = maxRequestsPerConnection !== null && this.#requests >= maxRequestsPerConnection
    if (stream.closed || isLate || this.#hasSaidLast || this.#exchanges.size >= ROOM_FOR_CANCELLED * maxConcurrentStreams) {
      stream.on('error', ignore)
      setImmediate(() => stream.close(REFUSED_STREAM)) // see session-end.ts
      return
    }
    const exchange = new Http2Exchange(this, stream)
    this.#exchanges.add(exchange)
    this.#deadlines.enter(phase.NONE)
    this.hear()
    if (++this.#requests === maxRequestsPerConnection) this.finish()
    const begin = (): void => this.#begin(exchange, list, (flags & FLAG_END_STREAM) !== 0)
    if (this.#isBlocked) this.#waiting.set(exchange, begin)
    else begin()
  }

  get #isBlocked(): boolean {
    let unsent = 0
    for (const exchange of this.#exchanges) unsent += exchange.unsentBytes
    return unsent > MAX_UNSENT_BYTES
  }

  #beginWaiting(): void {
    for (const [exchange, begin] of this.#waiting) {
      if (this.#isBlocked) return
      this.#waiting.delete(exchange)
      begin()
    }
  }

  #begin(exchange: Http2Exchange, list: readonly string[], isWhole: boolean): void {
    if (!exchange.isBusy) return // the client has cancelled it meanwhile
    try {
      this.#start(exchange, list, isWhole)
    } catch (error) {
      this.host.report(error as Error, this)
      exchange.breakOff(error as Error)
    }
  }

  #start(exchange: Http2Exchange, list: readonly string[], isWhole: boolean): void {
    let head: Head
    try {
      head = readHttp2Head(fieldsOf(list), isWhole, this.host.limits)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      exchange.refuseHead(error, list[list.indexOf(':method') + 1] === 'HEAD')
      return
    }
    exchange.start(head)
  }

  hear(): void {
    this.#silentMs = 0
    this.#isAsked = false
  }

  forget(exchange: Http2Exchange): void {
    this.#exchanges.delete(exchange)
    this.#waiting.delete(exchange)
    // Not at once: where many end together, it would be the turn of those whose end comes next.
    if (this.#waiting.size > 0) setImmediate(() => this.#beginWaiting())
    if (this.#exchanges.size > 0) return
    this.#lastEnd = this.host.ticker.now
    if (this.#isGone) this.host.forget(this)
    else {
      if (this.#isFinishing) {
        this.#deadlines.enter(phase.LINGER)
        this.#closeSoon()
      } else if (this.#deadlines.phase !== phase.HEAD) this.#deadlines.enter(phase.IDLE)
      if (this.#isDraining) this.finish() // behind the first word and without streams Node reads nothing more, the ping's answer neither
    }
  }

  /** Takes no new request. The client learns which was the last (GOAWAY, RFC 9113 §6.8), and the connection ends with its answer. */
  finish(): void {
    if (this.#isFinishing || this.#isGone) return
    this.#isFinishing = true
    setImmediate(() => {
      if (this.#session.destroyed) return
      this.#session.goaway()
      this.#hasSaidLast = true
    })
    if (this.#exchanges.size > 0) return
    this.#deadlines.enter(phase.LINGER)
    this.#closeSoon()
  }

  /** Two turns later: behind GOAWAY, which goes out in between, and after which nghttp2 takes no new stream. */
  #closeSoon(): void {
    const close = (): void => {
      if (this.#exchanges.size === 0 && !this.#session.destroyed) this.#ends.close()
    }
    setImmediate(() => setImmediate(close))
  }

  /**
   * A client whose request crosses the word that the server stops gets its answer: first it is told to send no more, then, when it has heard
   * that, from where on nothing is read.
   */
  drain(): void {
    this.#isDraining = true
    if (this.#exchanges.size === 0) this.finish()
    if (this.#isFinishing || this.#session.destroyed) return
    this.#session.goaway(NO_ERROR, LAST_STREAM)
    if (!this.#ping(() => this.finish())) this.finish()
  }

  /** @returns false when too many are without an answer */
  #ping(onAnswer: (error: Error | null) => void): boolean {
    const isSent = this.#session.ping(onAnswer)
    if (isSent) this.#pings++
    return isSent
  }

  abort(error: Error, code = NO_ERROR): void {
    this.#isAborted = true
    for (const exchange of this.#exchanges) exchange.breakOff(error)
    this.#ends.destroy(error, code)
    this.#socket.destroy()
    if (this.#isGone) this.host.forget(this)
  }

  #onClose(): void {
    this.#isGone = true
    this.host.ticker.delete(this)
    if (this.#exchanges.size === 0 || this.#isAborted) this.host.forget(this)
  }

  get isIdle(): boolean {
    return this.#deadlines.phase === phase.IDLE && this.#exchanges.size === 0
  }

  tick(elapsedMs: number): void {
    try {
      this.#checkTime(elapsedMs)
    } catch (error) {
      this.host.report(error as Error, this)
      this.abort(error as Error)
    }
  }

  #checkTime(elapsedMs: number): void {
    for (const exchange of this.#exchanges) exchange.tick(elapsedMs)
    this.#beginWaiting()
    this.#listen(elapsedMs)
    this.#checkHead(elapsedMs)
    if (this.#mayBeReading) this.#deadlines.postponeEnd()
    if (!this.#deadlines.isOver) return
    if (this.#deadlines.phase === phase.LINGER) this.#socket.destroy()
    else this.finish()
  }

  /**
   * Behind the last word an answer may be on its way for long yet, out of our sight. A client that reads it goes on sending frames
   * (WINDOW_UPDATE), and a socket that is closed would answer them with a reset: what has not arrived by then would be lost.
   */
  get #mayBeReading(): boolean {
    const { ticker, timeouts } = this.host
    if (this.#deadlines.phase !== phase.LINGER || this.#lastEnd === null) return false
    return timeouts.writeTimeout === null || ticker.now - this.#lastEnd <= timeouts.writeTimeout
  }

  /** Inside a head nothing else can be said (RFC 9113 §4.3): a client that does not end it has to go, with all that it has asked. */
  #checkHead(elapsedMs: number): void {
    const deadlines = this.#deadlines
    if (deadlines.phase === phase.LINGER) return
    if (this.#openHead.look()) deadlines.enter(phase.HEAD)
    else if (deadlines.phase === phase.HEAD) deadlines.enter(this.#exchanges.size > 0 ? phase.NONE : phase.IDLE)
    const late = deadlines.checkPhase(elapsedMs)
    if (late === null) return
    const { observers } = this.host
    this.host.report(late, this)
    if (observers.hears('head')) observers.end(observers.head(late, this, 'HTTP/2.0'))
    this.abort(late, ENHANCE_YOUR_CALM)
  }

  /**
   * Asks a client that says nothing whether it is still there. Once a client has broken the rules Node reads nothing more, and would not notice
   * that it has left; no handler would end, and its connection would stay.
   */
  #listen(elapsedMs: number): void {
    const { writeTimeout } = this.host.timeouts
    this.#silentMs += elapsedMs
    if (writeTimeout === null || this.#silentMs <= writeTimeout || this.#session.destroyed) return
    if (this.#silentMs > 2 * writeTimeout) this.abort(new WeirError('WEIR_CLIENT_GONE', 'it does not answer'))
    else if (!this.#isAsked) {
      this.#isAsked = true
      this.#ping(() => this.hear())
    }
  }
}

/** The types of Node 20 lack these. */
interface NewerOptions {
  readonly maxSessionInvalidFrames: number
  readonly maxSessionRejectedStreams: number
  readonly strictFieldWhitespaceValidation: boolean
}

function sessionOptions(limits: Limits): SessionOptions & NewerOptions {
  const fields = limits.maxRequestHeaders + PSEUDO_FIELDS
  return {
    maxSessionMemory: SESSION_MEMORY_MB,
    maxHeaderListPairs: ROOM_FOR_AN_ANSWER * fields,
    maxOutstandingPings: MAX_PINGS,
    maxSessionInvalidFrames: MAX_INVALID_FRAMES,
    maxSessionRejectedStreams: MAX_REJECTED_STREAMS,
    maxSettings: MAX_SETTINGS,
    // Strict, Node drops a field with blanks around its value and says nothing. readHttp2Head refuses the request. (Node 20 has no choice.)
    strictFieldWhitespaceValidation: false,
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: ROOM_FOR_AN_ANSWER * (limits.maxRequestHeaderSize + FIELD_OVERHEAD * fields),
    },
  }
}

function ignore(): void {}
