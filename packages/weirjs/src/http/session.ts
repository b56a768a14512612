// One exchange in two forms: the session that a handler holds, and the exchange that the engine works with.

import { originOf } from '../base/authority.ts'
import { WeirError } from '../base/errors.ts'
import type { Head } from '../wire/head/head.ts'
import { OutgoingResponse } from './answer/outgoing-response.ts'
import { HttpResponse, outgoingOf } from './answer/response.ts'
import type { ClientCertificate, ConnectionInfo, ForwardedClient, SocketPeer } from './connection-info.ts'
import { noJsonForm, type Serialize } from './json-engine.ts'
import type { HttpRequest } from './request/request.ts'
import type { RouteMatch, RouteMetadata } from './route-info.ts'
import { ServerTiming } from './server-timing.ts'
import type { StopOptions } from './stop-options.ts'

/** An address on which a server listens. */
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

/** The server, as a handler may use it. */
export interface ServerHandle {
  readonly address: string
  readonly port: number
  readonly isListening: boolean
  /** How many connections are open, at all endpoints together. */
  readonly connections: number
  /** The answer to a readiness check. False from the moment `stop` is called. */
  readonly isReady: boolean
  /** Aborts when a stop begins, before the grace period: events and sockets listen to it to end themselves. Each start has a new signal. */
  readonly stopping: AbortSignal
  /** Stops gracefully. Do not await it inside a handler: it waits for that handler. */
  stop(options?: StopOptions): Promise<unknown>
}

/** The ids of a span, as W3C Trace Context writes them: 32 and 16 hexadecimal digits, in lower case. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** Identifies a value in a `Bag` and carries its type. Create it once with `bagKey`, in the module that owns the value. */
export interface BagKey<T> {
  readonly name: string
  /** Never set: it only carries the type. */
  readonly type?: T
}

/** Creates a unique key: two keys with the same name are different keys. The name is for debugging only. */
export function bagKey<T>(name: string): BagKey<T> {
  return Object.freeze({ name })
}

/** Values that middleware and handlers share during one request. */
export class Bag {
  readonly #values = new Map<unknown, unknown>()

  get<T>(key: BagKey<T>): T | undefined {
    return this.#values.get(key) as T | undefined
  }

  set<T>(key: BagKey<T>, value: T): this {
    this.#values.set(key, value)
    return this
  }

  has(key: BagKey<unknown>): boolean {
    return this.#values.has(key)
  }

  delete(key: BagKey<unknown>): boolean {
    return this.#values.delete(key)
  }

  /**
   * Always throws: a bag has no JSON form. `{}` would be useless in a response, and its values are not meant for clients.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a bag', 'session.bag.get(key)')
  }
}

const NO_METHODS: readonly string[] = Object.freeze([])
const NO_METADATA: RouteMetadata = Object.freeze({})
let requests = 0
const LAST_DIGITS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, '0'))
let firstDigits = ''

/** The number of the next request in base 36. Converting the whole number costs as much as everything else that observers of a request need. */
function nextNumber(): string {
  const last = ++requests % LAST_DIGITS.length
  if (last === 0 || firstDigits === '') firstDigits = Math.floor(requests / LAST_DIGITS.length).toString(36)
  return firstDigits + LAST_DIGITS[last]!
}

/** @internal The exchange that a session belongs to. */
export let exchangeOf: (session: HttpSession) => Exchange

/**
 * @internal Calls `listener` once, when an exchange is over: its response has been sent or aborted, or the protocol that it has switched to
 * has ended. Immediately if it is too late for that. For gates, middleware and handlers of modules.
 */
export let onEnd: (session: HttpSession, listener: () => void) => void
/** @internal Removes what `onEnd` has added. */
export let offEnd: (session: HttpSession, listener: () => void) => void

/** Everything a handler needs to know about one exchange: the request, the response, and their context. Each exchange has its own. */
export class HttpSession {
  static {
    exchangeOf = (session) => session.#exchange
    onEnd = (session, listener) => session.#exchange.onEnd(listener)
    offEnd = (session, listener) => session.#exchange.offEnd(listener)
  }

  /** The authenticated user or client, set by your middleware. Null until it is set. */
  principal: unknown = null
  readonly #exchange: Exchange
  #bag: Bag | null = null

  /** @internal @param before the session whose place it takes: its principal and its bag are kept */
  constructor(exchange: Exchange, before: HttpSession | null = null) {
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
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).clientAddress
  }

  /** Port of the client, likewise; 0 if it is not known. */
  get clientPort(): number {
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

  /** The other end of the socket: the client or the last proxy. `isTrusted` states whether `proxies.trust` lists it. */
  get peer(): SocketPeer {
    return this.#exchange.connection.describePeer()
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
    this.#exchange.personal ??= 'session'
    return this.#exchange.connection.clientCertificate
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
   * Runs `work`, and states how long it took in the field Server-Timing of the response, which browsers show to developers. Returns what
   * `work` returns; of a promise, the time until it settles counts. Times of the same name are added up. What has not ended when the
   * response begins is not in the field, nor are names after the first 32. The client sees the names and times.
   *
   * @param name a token such as `db`
   * @throws WEIR_OPTION_INVALID for another name; what `work` throws
   */
  time<T>(name: string, work: () => T): T {
    this.#exchange.timing ??= new ServerTiming()
    return this.#exchange.timing.time(name, work)
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

/** The engine's side of an exchange. */
export interface ExchangeCarrier {
  /** Sends an interim response: 103 or 104. @param fields name, value, name, value @returns whether it was sent */
  interim(exchange: Exchange, status: number, fields: readonly string[]): boolean
  /**
   * Ends the exchange as if the client had left: the connection, or the stream of HTTP/2, is reset. Does nothing if another exchange has
   * taken its place.
   * @param error for observers
   */
  cut(exchange: Exchange, error: Error): void
}

/**
 * One exchange, as the engine works with it. Handlers never hold it, and no entry of the package exports it, so whatever a handler shadows,
 * replaces or deletes on its session, or on the prototype, has no effect here.
 */
export class Exchange {
  readonly server: ServerHandle
  readonly head: Head
  readonly connection: ConnectionInfo
  readonly request: HttpRequest
  readonly match: RouteMatch
  readonly session: HttpSession
  /** Whether `onError` has been called. If its response fails as well, it is not called again. */
  hasAskedOnError = false
  /** Null if there is no engine, as in tests. */
  carrier: ExchangeCarrier | null = null
  /** The error that the response answers, for observers; null if there is none. */
  failure: unknown = null
  /** Whether an `auth` has decided who has sent the request. Other modules no longer set `session.principal` themselves. */
  hasDecidedPrincipal = false
  /** What has made the response personal; null if nothing is known. `nonce` replaces `session`, because no cache at all may keep a nonce. */
  personal: 'nonce' | 'session' | null = null
  /** The span that a module has created for it; null without one. */
  trace: TraceIds | null = null
  /** What `session.time` has measured; null if it has not been called. */
  timing: ServerTiming | null = null
  /** Called when it is over; null without any. */
  #endListeners: (() => void)[] | null = null
  /** Whether it is over, or will end without anybody being told. */
  #endsUnheard = false
  /** The exchange that this one continues, which tells of the end of both; null for most. */
  #first: Exchange | null = null
  /** Whether the connection speaks another protocol now. It is over when that has ended. */
  hasSwitched = false
  /** Methods that middleware answers at this path, in addition to those of its routes. */
  otherMethods: readonly string[] = NO_METHODS
  readonly #serialize: Serialize
  #own: OutgoingResponse | null = null
  #response: HttpResponse | null = null
  /** A response that the handler created itself. It is sent instead of `own`. */
  #other: HttpResponse | null = null
  #requestId: string | null = null
  #client: ForwardedClient | null = null

  /** @param before the exchange that it continues: see `renew` */
  constructor(
    server: ServerHandle,
    head: Head,
    connection: ConnectionInfo,
    request: HttpRequest,
    match: RouteMatch,
    serialize: Serialize,
    before: Exchange | null = null,
  ) {
    this.server = server
    this.head = head
    this.connection = connection
    this.request = request
    this.match = match
    this.#serialize = serialize
    this.session = before === null ? new HttpSession(this) : new HttpSession(this, before.session)
  }

  /**
   * Continues the exchange while code of the program still works on it: with another session and response, so that nothing which that code
   * does from now on can reach the client. Fields that have been set are kept, except those that describe a body.
   */
  renew(): Exchange {
    const { server, head, connection, request, match } = this
    const next = new Exchange(server, head, connection, request, match, this.#serialize, this)
    next.hasAskedOnError = this.hasAskedOnError
    next.failure = this.failure
    next.personal = this.personal
    next.otherMethods = this.otherMethods
    next.carrier = this.carrier
    next.timing = this.timing?.copy() ?? null
    next.#first = this.#first ?? this
    next.trace = this.trace
    next.#requestId = this.requestId
    next.#client = this.#client
    const other = this.#other
    const own = this.answerWithOwn()
    next.own.begin(own.fields ?? [])
    if (own.closes) next.own.header('Connection', 'close')
    next.own.clearRepresentation()
    own.discard()
    own.take()
    if (other !== null) outgoingOf(other).take()
    return next
  }

  /** The response that `session.response` builds. */
  get own(): OutgoingResponse {
    this.#own ??= new OutgoingResponse(this.#serialize)
    return this.#own
  }

  get response(): HttpResponse {
    this.#response ??= new HttpResponse(this.own, this)
    return this.#response
  }

  /** Sends 103 or 104. @param fields name, value, name, value @param overHttp1 whether also over HTTP/1.1 @throws WEIR_RESPONSE_SENT */
  sendInterim(status: 103 | 104, fields: readonly string[], overHttp1: boolean): boolean {
    if (this.sent !== null) throw new WeirError('WEIR_RESPONSE_SENT')
    return (this.head.isHttp2 || overHttp1) && this.carrier?.interim(this, status, fields) === true
  }

  /** The object through which handlers see the response that is sent. */
  faceOf(outgoing: OutgoingResponse): HttpResponse {
    return outgoing === this.#own || this.#other === null ? this.response : this.#other
  }

  /** Sends `session.response`. A response that was to be sent instead is discarded, and its stream closed. */
  answerWithOwn(): OutgoingResponse {
    if (this.#other !== null) outgoingOf(this.#other).discard()
    this.#other = null
    return this.own
  }

  /** Sends `response`. Responses that were to be sent instead are discarded, and their streams closed. @throws WEIR_RESPONSE_SENT */
  answerWith(response: HttpResponse): OutgoingResponse {
    const outgoing = outgoingOf(response)
    if (outgoing === this.#own) return this.answerWithOwn()
    if (response === this.#other) return outgoing
    outgoing.claim()
    this.#own?.discard()
    if (this.#other !== null) outgoingOf(this.#other).discard()
    this.#other = response
    return outgoing
  }

  /** The response that is being sent or has been sent; null before. What comes after it is too late. */
  get sent(): OutgoingResponse | null {
    const response = this.#other === null ? this.#own : outgoingOf(this.#other)
    return response?.isTaken === true ? response : null
  }

  /** What a trusted proxy states about the client; null if no proxy does. Read on demand. */
  get forwardedClient(): ForwardedClient | null {
    const { forwarding } = this.connection
    if (forwarding !== null) this.#client ??= forwarding.clientOf(this.head, this.connection)
    return this.#client
  }

  onEnd(listener: () => void): void {
    if (this.#first !== null) this.#first.onEnd(listener)
    else if (this.#endsUnheard) listener()
    else if (this.#endListeners === null) this.#endListeners = [listener]
    else this.#endListeners.push(listener)
  }

  offEnd(listener: () => void): void {
    if (this.#first !== null) {
      this.#first.offEnd(listener)
      return
    }
    const others = this.#endListeners?.filter((one) => one !== listener) ?? []
    this.#endListeners = others.length === 0 ? null : others
  }

  /** The response is about to be sent. @returns whether anybody is told about its end */
  settleListeners(): boolean {
    if (this.#first !== null) return this.#first.settleListeners()
    if (this.#endListeners !== null) return true
    this.#endsUnheard = true
    return false
  }

  /** It is over. */
  end(): void {
    if (this.#first !== null) {
      this.#first.end()
      return
    }
    const listeners = this.#endListeners
    this.#endsUnheard = true
    this.#endListeners = null
    if (listeners !== null) for (const listener of listeners) listener()
  }

  get requestId(): string {
    this.#requestId ??= `${this.connection.connectionId}-${nextNumber()}`
    return this.#requestId
  }
}
