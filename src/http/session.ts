// One exchange: the request, the response and what goes with them, as a handler holds it and as the engine knows it.

import type { Head } from '../wire/head/head.ts'
import { OutgoingResponse } from './answer/outgoing-response.ts'
import { HttpResponse, outgoingOf } from './answer/response.ts'
import type { ClientCertificate, ConnectionInfo } from './connection-info.ts'
import { noJsonForm, type Serialize } from './json-engine.ts'
import type { HttpRequest } from './request/request.ts'
import type { RouteMatch, RouteMetadata } from './route-info.ts'

/** A place where a server listens. */
export interface Endpoint {
  /** The bound address, or the path of the Unix socket. */
  readonly address: string
  /** The bound port, 0 for a Unix socket. */
  readonly port: number
  readonly isUnixSocket: boolean
  readonly isSecure: boolean
  /** Whether it speaks HTTP/2 as well. */
  readonly http2: boolean
}

/** What a handler may do with the server that it runs in. */
export interface ServerHandle {
  readonly address: string
  readonly port: number
  readonly isListening: boolean
  /** Aborts as soon as `stop` is called, with the time of grace still to come: what answers for long (events, sockets) ends itself here. Each start has a new one. */
  readonly stopping: AbortSignal
  /** Stops gracefully. Do not await it inside a handler: it waits for the handler. */
  stop(options?: { readonly graceMs?: number }): Promise<unknown>
}

/** Names a value in a `Bag` and its type. Make one with `bagKey`, once, where the value is at home. */
export interface BagKey<T> {
  readonly name: string
  /** Only there to carry the type. */
  readonly type?: T
}

/** A key of its own, equal to no other, whatever the name. */
export function bagKey<T>(name: string): BagKey<T> {
  return Object.freeze({ name })
}

/** Values that middleware and handlers hand to one another along one request. */
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
}

const NO_METHODS: readonly string[] = Object.freeze([])
const NO_METADATA: RouteMetadata = Object.freeze({})
let requests = 0

/** @internal The exchange that a session shows. */
export let exchangeOf: (session: HttpSession) => Exchange

/** What a handler holds: one for each exchange. */
export class HttpSession {
  static {
    exchangeOf = (session) => session.#exchange
  }

  /** Who is asking, as an authenticating middleware found out; null until one has. */
  principal: unknown = null
  readonly #exchange: Exchange
  #bag: Bag | null = null

  /** @internal */
  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get server(): ServerHandle {
    return this.#exchange.server
  }

  /** What the client sent. */
  get request(): HttpRequest {
    return this.#exchange.request
  }

  /**
   * A session has no JSON form: it holds the server and all of the request.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a session', 'session.requestId')
  }

  /** The answer to this request. */
  get response(): HttpResponse {
    return this.#exchange.response
  }

  /** Address of the other end of the socket: of the last proxy, if there is one. Empty where there is no socket. */
  get clientAddress(): string {
    return this.#exchange.connection.clientAddress
  }

  /** Port of the other end of the socket, 0 where there is none. */
  get clientPort(): number {
    return this.#exchange.connection.clientPort
  }

  /** Whether the request came through TLS. */
  get isSecure(): boolean {
    return this.#exchange.connection.isSecure
  }

  /**
   * What the client has shown of itself over TLS; null where it was not asked to (`tls.requestCert`), or has shown nothing. With
   * `rejectUnauthorized: false` also certificates come here that nobody vouches for: look at `authorized`.
   */
  get clientCertificate(): ClientCertificate | null {
    return this.#exchange.connection.clientCertificate
  }

  /** Aborts when the client goes away or the server gives up on the request; the same as `request.signal`. */
  get signal(): AbortSignal {
    return this.#exchange.request.signal
  }

  /** Values that middleware and handlers hand to one another along this request. */
  get bag(): Bag {
    this.#bag ??= new Bag()
    return this.#bag
  }

  /** What the matched route was declared with as `metadata`; empty without any, or when no route matched. */
  get metadata(): RouteMetadata {
    return this.#exchange.match.route?.metadata ?? NO_METADATA
  }

  /** The template of the matched route with its method, `GET /users/:id`; null when no route matched. */
  get route(): string | null {
    return this.#exchange.match.route?.label ?? null
  }

  /** Unique among the connections of this process. */
  get connectionId(): string {
    return this.#exchange.connection.connectionId
  }

  /** Unique among the requests of this process; begins with the connection's id. */
  get requestId(): string {
    return this.#exchange.requestId
  }
}

/**
 * One exchange as the engine knows it. No handler ever holds it, and no entry of the package exports it: what a handler shadows, replaces or
 * deletes on its session, or on the prototype, means nothing here.
 */
export class Exchange {
  readonly server: ServerHandle
  readonly head: Head
  readonly connection: ConnectionInfo
  readonly request: HttpRequest
  /** The route that was found. */
  readonly match: RouteMatch
  readonly session: HttpSession
  /** `onError` has been asked: when its answer fails as well, it is not asked again. */
  hasAskedOnError = false
  /** Methods that middleware answers at this path, beside those of its routes. */
  otherMethods: readonly string[] = NO_METHODS
  readonly #serialize: Serialize
  #own: OutgoingResponse | null = null
  #response: HttpResponse | null = null
  /** A response of the handler's own making, which is sent in place of `own`. */
  #other: HttpResponse | null = null
  #requestId: string | null = null

  constructor(server: ServerHandle, head: Head, connection: ConnectionInfo, request: HttpRequest, match: RouteMatch, serialize: Serialize) {
    this.server = server
    this.head = head
    this.connection = connection
    this.request = request
    this.match = match
    this.#serialize = serialize
    this.session = new HttpSession(this)
  }

  /** What `session.response` says. */
  get own(): OutgoingResponse {
    this.#own ??= new OutgoingResponse(this.#serialize)
    return this.#own
  }

  get response(): HttpResponse {
    this.#response ??= new HttpResponse(this.own)
    return this.#response
  }

  /** What is sent, as handlers see it. */
  faceOf(outgoing: OutgoingResponse): HttpResponse {
    return outgoing === this.#own || this.#other === null ? this.response : this.#other
  }

  /** `session.response` is what will be sent. What another one holds that was meant to be sent is closed. */
  answerWithOwn(): OutgoingResponse {
    if (this.#other !== null) outgoingOf(this.#other).discard()
    this.#other = null
    return this.own
  }

  /** `response` is what will be sent. What others hold that were meant to be sent is closed. @throws WEIR_RESPONSE_SENT */
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

  get requestId(): string {
    this.#requestId ??= `${this.connection.connectionId}-${(++requests).toString(36)}`
    return this.#requestId
  }
}
