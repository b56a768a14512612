// The session that a handler holds: what it may know of one exchange. The exchange that the engine works with is in exchange.ts.

import { originOf } from '../base/authority.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import type { Head } from '../wire/head/head.ts'
import { Bag, type BagKey } from './bag.ts'
import type { ClientCertificate, ConnectionInfo, ForwardedClient, SocketPeer } from './connection-info.ts'
import { noJsonForm } from './json-engine.ts'
import { PERSONAL } from './notes.ts'
import type { HttpRequest } from './request/request.ts'
import type { HttpResponse } from './response/response.ts'
import type { RouteMatch, RouteMetadata } from './route-info.ts'
import { ServerTiming } from './server-timing.ts'
import type { StopOptions } from './stop-options.ts'

/**
 * An address on which a server listens.
 * @example
 * const shown = ({ address, port }: Endpoint) => `${address}:${port}`
 * console.log(server.endpoints.map(shown))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface Endpoint {
  /** Its `name` in `listen`, or the name that the parent process gave an inherited socket; null without one. */
  readonly name: string | null
  /** The bound address, or the path of the Unix socket. */
  readonly address: string
  /** The bound port; 0 for a Unix socket. */
  readonly port: number
  readonly isUnixSocket: boolean
  readonly isSecure: boolean
  /** Whether HTTP/2 is spoken: over TLS in addition to HTTP/1, without TLS in its place. */
  readonly http2: boolean
}

/**
 * The server, as a handler may use it.
 * @example
 * const isReady = (server: ServerHandle) => server.isReady
 * server.mapGet('/ready', (_, session) => isReady(session.server))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/lifecycle.md
 */
export interface ServerHandle {
  readonly address: string
  readonly port: number
  readonly isListening: boolean
  /** How many connections are open, at all endpoints together. */
  readonly connections: number
  /** The option `frontEnds`: the origins of the program's own pages that another server serves. */
  readonly frontEnds: readonly string[]
  /** The option `basePath`, such as `/app`; empty at the root, and where a proxy states it: `session.basePath` has the path of one request. */
  readonly basePath: string
  /** Whether a readiness check should succeed. False from the moment `stop` is called. */
  readonly isReady: boolean
  /** Aborts when a stop begins, before the grace period: events and sockets listen to it to end themselves. Each start has a new signal. */
  readonly stopping: AbortSignal
  /** Stops gracefully. Do not await it inside a handler: it waits for that handler. */
  stop(options?: StopOptions): Promise<unknown>
}

/** What a session shows. */
export interface SessionSource {
  readonly server: ServerHandle
  readonly head: Head
  readonly connection: ConnectionInfo
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly match: RouteMatch
  readonly requestId: string
  readonly forwardedClient: ForwardedClient | null
  timing: ServerTiming | null
  /** How often code has read who the client is by its address: what it responds then may be for this client only. */
  addressReads: number
  note<T>(key: BagKey<T>): T | undefined
  setNote<T>(key: BagKey<T>, value: T): void
  waitUntil(work: Promise<unknown>): void
}

const NO_METADATA: RouteMetadata = Object.freeze({})

/** @internal */
export let sourceOf: (session: HttpSession) => SessionSource

/**
 * Everything a handler needs to know about one exchange: the request, the response, and their context. Each exchange has its own.
 * @example
 * server.mapGet('/', (_, session: HttpSession) => session.clientAddress)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export class HttpSession {
  static {
    sourceOf = (session) => session.#exchange
  }

  /** The authenticated user or client, set by your middleware. Null until it is set. */
  principal: unknown = null
  readonly #exchange: SessionSource
  #bag: Bag | null = null

  /** @internal @param before the session whose place it takes: its principal and its bag are kept */
  constructor(exchange: SessionSource, before: HttpSession | null = null) {
    this.#exchange = exchange
    if (before === null) return
    this.principal = before.principal
    this.#bag = before.bag
  }

  /** The server that received the request. */
  get server(): ServerHandle {
    return this.#exchange.server
  }

  /** The request, as the client sent it. */
  get request(): HttpRequest {
    return this.#exchange.request
  }

  /**
   * Always throws: a session has no JSON form, because it holds the server and the whole request.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a session', 'session.requestId')
  }

  /** The response to this request. */
  get response(): HttpResponse {
    return this.#exchange.response
  }

  /**
   * Address of the client. For a request that a trusted proxy forwarded (`proxies`), the address that the proxy states; if it states none,
   * `unknown` or a name that begins with `_`. Otherwise the IP address of the peer, empty without an IP socket (Unix socket, `inject`).
   */
  get clientAddress(): string {
    this.#exchange.addressReads++
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).clientAddress
  }

  /** Port of the client, likewise; 0 if it is not known. */
  get clientPort(): number {
    this.#exchange.addressReads++
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).clientPort
  }

  /** Whether the client sent the request over TLS. For forwarded requests, a trusted proxy has to state it. */
  get isSecure(): boolean {
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).isSecure
  }

  /**
   * Scheme and host that the client requested, such as `https://example.org:8443`: the beginning of links to this server. The host is that
   * of the request, which clients choose, or one that a trusted proxy states and `proxies.hosts` allows; `localhost` if the request has
   * none.
   */
  get origin(): string {
    return originOf(this.#exchange.forwardedClient?.host ?? this.#exchange.head.host, this.isSecure)
  }

  /**
   * The path below which the whole application is (`basePath`), such as `/app`; empty at the root. Links in pages begin with it:
   * `session.basePath + href('/users/:id', { id })`. `Location`, `Link` and the paths of cookies get it by themselves.
   */
  get basePath(): string {
    return this.#exchange.head.basePath
  }

  /** The other end of the socket: the client or the last proxy. `isTrusted` states whether `proxies.trust` lists it. */
  get peer(): SocketPeer {
    const peer = this.#exchange.connection.describePeer()
    if (!peer.isTrusted) this.#exchange.addressReads++ // the address of a proxy tells nothing of the client
    const { clientTls } = peer
    if (clientTls === null) return peer
    const notePersonal = (): void => this.#notePersonal()
    // It may name the client, as its certificate does.
    return {
      ...peer,
      get clientTls() {
        notePersonal()
        return clientTls
      },
    }
  }

  /** Name of the endpoint at which the request arrived; null if it has none. */
  get endpoint(): string | null {
    return this.#exchange.connection.endpointName
  }

  /**
   * The certificate that the client presented over TLS. Null when the server did not request one (`tls.requestCert`) or the client sent
   * none. With `rejectUnauthorized: false` it may be a certificate that no trusted CA has signed: check `authorized`.
   */
  get clientCertificate(): ClientCertificate | null {
    this.#notePersonal()
    return this.#exchange.connection.clientCertificate
  }

  #notePersonal(): void {
    if (this.#exchange.note(PERSONAL) === undefined) this.#exchange.setNote(PERSONAL, 'session')
  }

  /** Aborts when the client disconnects or the server gives up on the request. The same as `request.signal`. */
  get signal(): AbortSignal {
    return this.#exchange.request.signal
  }

  /** Values that middleware and handlers share during this request. */
  get bag(): Bag {
    this.#bag ??= new Bag()
    return this.#bag
  }

  /**
   * Runs `work`, returns what it returns, and states how long it took in the field Server-Timing of the response, which browsers show to
   * developers. If it returns a promise, the time until that settles counts. Times of the same name are added up. Work that has not ended when the
   * response begins is left out, and so are names after the first 32. The client sees the names and times.
   *
   * @param name a token such as `db`
   * @throws WEIR_OPTION_INVALID for another name; what `work` throws
   */
  get time(): <T>(name: string, work: () => T) => T {
    // A function of its own, here and below: handlers take it out of their second argument.
    return (name, work) => {
      this.#exchange.timing ??= new ServerTiming()
      return this.#exchange.timing.time(name, work)
    }
  }

  /**
   * Lets `work` continue after the response: `session.waitUntil(sendReceipt(order))`. The response does not wait for it, but `stop` does, within
   * its `grace`. A failure is logged. The request, its signal and its streams still end with the response: copy what the work needs. Where a
   * platform calls `server.fetch` with a `waitUntil` of its own, the work is passed on to it.
   *
   * @throws WEIR_OPTION_INVALID for anything but a promise
   */
  get waitUntil(): (work: Promise<unknown>) => void {
    return (work) => {
      if (!isPromise(work)) throw invalid('waitUntil()', `the work is ${kindOf(work)}, not a promise: call the function`)
      this.#exchange.waitUntil(work)
    }
  }

  /** The `metadata` of the matched route's declaration. Empty when the route has none, or when no route matched. */
  get metadata(): RouteMetadata {
    return this.#exchange.match.route?.metadata ?? NO_METADATA
  }

  /** Method and template of the matched route, such as `GET /users/:id`. Null when no route matched. */
  get route(): string | null {
    return this.#exchange.match.route?.label ?? null
  }

  /** Unique among the connections of this process. */
  get connectionId(): string {
    return this.#exchange.connection.connectionId
  }

  /** Unique among the requests of this process. It starts with `connectionId`. */
  get requestId(): string {
    return this.#exchange.requestId
  }
}
