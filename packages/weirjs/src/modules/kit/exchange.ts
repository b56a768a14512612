// What a module may see and change of the exchange behind a session. It hides the engine, so that the engine can change.

import type { ModuleHost } from '../../app/module-host.ts'
import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import type { SocketPeer } from '../../http/connection-info.ts'
import { type Exchange, exchangeOf, type TraceIds } from '../../http/exchange.ts'
import { bodyOf, headerOf } from '../../http/request/request.ts'
import { HttpSession } from '../../http/session.ts'
import { Redaction } from '../log/redaction.ts'

/** A request and its response, as modules see them. Valid as long as its session. */
export interface ExchangeHandle {
  /** The server's source of time. A test client can move it, so modules use no other. */
  readonly clock: Clock
  /** The other end of the socket: the client, or the last proxy. */
  readonly peer: SocketPeer
  /** Whether `proxies.trust` lists the peer, so that what it states about its client is believed. */
  readonly isForwarded: boolean
  /** The host that the client requested, with its port if it named one; empty if it named none. */
  readonly host: string
  /** Whether the client speaks TLS, here or to a trusted proxy. */
  readonly isSecure: boolean
  /** The length of the request's body: 0 without one, null if it is not known before it has arrived. */
  readonly contentLength: number | null
  /** Whether `decompression` gives the program another body than the client has sent. */
  readonly isDecoded: boolean
  /** The span that a tracing module has created for it; null without one. Logs name its trace. */
  span: TraceIds | null
  /** The value of a request's field as it came, all of its lines joined; null without one. @param name in lower case */
  field(name: string): string | null
  /**
   * Sends an interim response: 103 (RFC 8297) or 104 (resumable uploads).
   * @param fields name, value, name, value
   * @param overHttp1 whether also over HTTP/1.1, where some clients do not expect one
   * @returns whether it was sent
   * @throws WEIR_RESPONSE_SENT
   */
  interim(status: 103 | 104, fields: readonly string[], overHttp1: boolean): boolean
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

  get span(): TraceIds | null {
    return this.#exchange.trace
  }

  set span(span: TraceIds | null) {
    this.#exchange.trace = span
  }

  field(name: string): string | null {
    if (name === 'cookie') this.#exchange.head.noteCookies()
    return headerOf(this.#exchange.request, name)
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

/** Reads requests without their secrets, for logs and traces: those of declared parameters, of usual fields and of query parameters. */
export interface RedactedReader {
  /** What the routes of a server declare secret is not shown where no route has read it either. */
  declare(host: Pick<ModuleHost, 'routes'>): void
  /** The target of the request, as it came. */
  urlOf(session: HttpSession): string
  /** @param name in lower case @returns null without the field */
  field(session: HttpSession, name: string): string | null
}

/**
 * Makes a reader for a module that writes requests down.
 * @param owner the module, for the error
 * @param option the option that names further query parameters, for its error
 * @param names its value; undefined for the usual ones
 * @throws WEIR_OPTION_INVALID
 */
export function redaction(owner: string, option: string, names: readonly string[] | undefined): RedactedReader {
  const hidden = new Redaction(owner, option, names)
  return {
    declare: (host) => hidden.declare(host),
    urlOf: (session) => hidden.urlOf(exchangeOf(session)),
    field: (session, name) => hidden.field(exchangeOf(session), name),
  }
}
