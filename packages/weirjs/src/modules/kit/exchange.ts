// What a module may see and change of the exchange behind a session. It hides the engine, so that the engine can change.

import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { type BagKey, bagKey } from '../../http/bag.ts'
import type { SocketPeer } from '../../http/connection-info.ts'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import { OTHER_METHODS, PERSONAL, SPAN, type TraceIds } from '../../http/notes.ts'
import { bodyOf, cookieOf, headerOf } from '../../http/request/request.ts'
import { HttpSession } from '../../http/session.ts'

/**
 * A request and its response, as modules see them: what a handler replaces or deletes on its session has no effect here. Valid as long as its
 * session.
 */
export interface ExchangeHandle {
  /** The server's source of time. A test client can move it, so modules use no other. */
  readonly clock: Clock
  /** The other end of the socket: the client, or the last proxy. */
  readonly peer: SocketPeer
  /** Whether `proxies.trust` lists the peer, so that what it states about its client is believed. */
  readonly isForwarded: boolean
  /** The host that the client requested, with its port if it named one; empty if it named none. */
  readonly host: string
  /** The host that the request names itself, whatever a trusted proxy states; empty if it names none. */
  readonly statedHost: string
  /** Whether the client speaks TLS, here or to a trusted proxy. */
  readonly isSecure: boolean
  /** The length of the request's body: 0 without one, null if it is not known before it has arrived. */
  readonly contentLength: number | null
  /** Whether `decompression` gives the program another body than the client has sent. */
  readonly isDecoded: boolean
  /** Whether a response has been chosen: it is too late for fields that a whole page depends on. */
  readonly isAnswered: boolean
  /** The error that the response answers; null without one. */
  readonly failure: unknown
  /**
   * The span that a tracing module has created for it; null without one. Logs name its trace. The ids are as W3C Trace Context writes them: 32 and 16
   * hexadecimal digits, in lower case.
   */
  span: { readonly traceId: string; readonly spanId: string } | null
  /**
   * What has made the response one for its client alone; null if nothing is known. With `session`, a cache keeps it only under a key that states
   * the client, with `nonce` not at all. `nonce` replaces `session`, and never the other way round.
   */
  readonly personal: 'nonce' | 'session' | null
  markPersonal(how: 'nonce' | 'session'): void
  /** Claims a decision about the exchange for the module that calls it, so that others leave it alone. @param what such as `principal` */
  claim(what: string): void
  /** Whether a module has claimed the decision. */
  isClaimed(what: string): boolean
  /** The path has these methods as well as those of its routes: they are in Allow, whatever produces the response. */
  offer(methods: readonly string[]): void
  /**
   * Calls `listener` once, when the exchange is over: its response has been sent or aborted, or the protocol that it has switched to has ended.
   * At once if it is too late for that. It must not throw.
   */
  onEnd(listener: () => void): void
  /** Removes what `onEnd` has added. */
  offEnd(listener: () => void): void
  /** The value of a request's field as it came, all of its lines joined; null without one. @param name in lower case */
  field(name: string): string | null
  /**
   * The field Cookie as it came; null without it. A cache takes a response for personal if its cookies were read by `field` or `cookie`, and not by this:
   * whoever reads it says by `markPersonal` what the response depends on.
   */
  readonly cookieField: string | null
  /** The value of the first cookie with this name; null without one. */
  cookie(name: string): string | null
  /**
   * Sends an interim response: 103 (RFC 8297) or 104 (resumable uploads).
   * @param fields name, value, name, value
   * @param overHttp1 whether also over HTTP/1.1, where some clients do not expect one
   * @returns whether it was sent
   * @throws WEIR_RESPONSE_SENT
   */
  interim(status: 103 | 104, fields: readonly string[], overHttp1: boolean): boolean
}

/** The key of each decision that modules claim. They are few, and written in the source of modules. */
const claims = new Map<string, BagKey<true>>()

function claimOf(what: string): BagKey<true> {
  let key = claims.get(what)
  if (key === undefined) claims.set(what, (key = bagKey(what)))
  return key
}

class Handle implements ExchangeHandle {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get clock(): Clock {
    return this.#exchange.connection.clock
  }

  get peer(): SocketPeer {
    return this.#exchange.connection.describePeer()
  }

  get isForwarded(): boolean {
    return this.#exchange.connection.forwarding !== null
  }

  get host(): string {
    return this.#exchange.forwardedClient?.host ?? this.#exchange.head.host
  }

  get statedHost(): string {
    return this.#exchange.head.host
  }

  get isSecure(): boolean {
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).isSecure
  }

  get contentLength(): number | null {
    const { contentLength } = this.#exchange.head
    return contentLength < 0 ? null : contentLength
  }

  get isDecoded(): boolean {
    return bodyOf(this.#exchange.request)?.isDecoded === true
  }

  get isAnswered(): boolean {
    return this.#exchange.sent !== null
  }

  get failure(): unknown {
    return this.#exchange.failure
  }

  get span(): TraceIds | null {
    return this.#exchange.note(SPAN) ?? null
  }

  set span(span: TraceIds | null) {
    this.#exchange.setNote(SPAN, span)
  }

  get personal(): 'nonce' | 'session' | null {
    return this.#exchange.note(PERSONAL) ?? null
  }

  markPersonal(how: 'nonce' | 'session'): void {
    if (how === 'nonce' || this.personal === null) this.#exchange.setNote(PERSONAL, how)
  }

  claim(what: string): void {
    this.#exchange.setNote(claimOf(what), true)
  }

  isClaimed(what: string): boolean {
    return this.#exchange.note(claimOf(what)) === true
  }

  offer(methods: readonly string[]): void {
    this.#exchange.setNote(OTHER_METHODS, methods)
  }

  onEnd(listener: () => void): void {
    this.#exchange.onEnd(listener)
  }

  offEnd(listener: () => void): void {
    this.#exchange.offEnd(listener)
  }

  field(name: string): string | null {
    if (name === 'cookie') this.#exchange.head.noteCookies()
    return headerOf(this.#exchange.request, name)
  }

  get cookieField(): string | null {
    return headerOf(this.#exchange.request, 'cookie')
  }

  cookie(name: string): string | null {
    return cookieOf(this.#exchange.request, name)
  }

  interim(status: 103 | 104, fields: readonly string[], overHttp1: boolean): boolean {
    return this.#exchange.sendInterim(status, fields, overHttp1)
  }
}

/**
 * What a module may see and change of a request beside its `HttpSession`. Costs one small object.
 * @param session of weir, hosted or not
 * @throws WEIR_SERVER_STATE for a session of another copy of weirjs, which npm installs beside this one if the versions of the packages differ
 */
export function exchange(session: HttpSession): ExchangeHandle {
  if (!(session instanceof HttpSession))
    throw new WeirError(
      'WEIR_SERVER_STATE',
      'the server and a module use two copies of weirjs: install the same version of all packages (npm ls weirjs)',
    )
  return new Handle(exchangeOf(session))
}
