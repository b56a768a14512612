// One exchange, as a handler holds it: the request, the answer, and what goes with them.

import type { Head } from '../wire/head/head.ts'
import { HttpResponse } from './answer/response.ts'
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

/** What a handler holds: one for each exchange. */
export class HttpSession {
  readonly server: ServerHandle
  /** What the client sent. */
  readonly request: HttpRequest
  /** Who is asking, as an authenticating middleware found out; null until one has. */
  principal: unknown = null
  /** @internal */
  readonly head: Head
  /** @internal The route that was found. */
  readonly match: RouteMatch
  /** @internal `onError` has been asked: when its answer fails as well, it is not asked again. */
  hasAskedOnError = false
  /** @internal The error that is answered; null if none is. */
  failure: unknown = null
  /** @internal Methods that middleware answers at this path, beside those of its routes. */
  otherMethods: readonly string[] = NO_METHODS
  readonly #connection: ConnectionInfo
  readonly #serialize: Serialize
  #response: HttpResponse | null = null
  /** A response of the handler's own making, which is sent in place of `response`. */
  #other: HttpResponse | null = null
  #bag: Bag | null = null
  #requestId: string | null = null

  /** @internal */
  constructor(server: ServerHandle, head: Head, connection: ConnectionInfo, request: HttpRequest, match: RouteMatch, serialize: Serialize) {
    this.server = server
    this.head = head
    this.#connection = connection
    this.request = request
    this.match = match
    this.#serialize = serialize
  }

  /**
   * A session has no JSON form: it holds the server and all of the request.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a session', 'session.requestId')
  }

  /** @internal */
  get session(): this {
    return this
  }

  /** The answer to this request. */
  get response(): HttpResponse {
    this.#response ??= new HttpResponse(this.#serialize)
    return this.#response
  }

  /** @internal `response` is what will be sent; what another one holds that was meant to be sent is closed. @throws WEIR_RESPONSE_SENT */
  answerWith(response: HttpResponse): HttpResponse {
    if (response === this.#other) return response
    if (response === this.#response) {
      this.#other?.discard()
      this.#other = null
      return response
    }
    response.claim()
    this.#response?.discard()
    this.#other?.discard()
    this.#other = response
    return response
  }

  /** Address of the other end of the socket: of the last proxy, if there is one. Empty where there is no socket. */
  get clientAddress(): string {
    return this.#connection.clientAddress
  }

  /** Port of the other end of the socket, 0 where there is none. */
  get clientPort(): number {
    return this.#connection.clientPort
  }

  /** Whether the request came through TLS. */
  get isSecure(): boolean {
    return this.#connection.isSecure
  }

  /**
   * What the client has shown of itself over TLS; null where it was not asked to (`tls.requestCert`), or has shown nothing. With
   * `rejectUnauthorized: false` also certificates come here that nobody vouches for: look at `authorized`.
   */
  get clientCertificate(): ClientCertificate | null {
    return this.#connection.clientCertificate
  }

  /** Aborts when the client goes away or the server gives up on the request; the same as `request.signal`. */
  get signal(): AbortSignal {
    return this.request.signal
  }

  /** Values that middleware and handlers hand to one another along this request. */
  get bag(): Bag {
    this.#bag ??= new Bag()
    return this.#bag
  }

  /** What the matched route was declared with as `metadata`; empty without any, or when no route matched. */
  get metadata(): RouteMetadata {
    return this.match.route?.metadata ?? NO_METADATA
  }

  /** The template of the matched route with its method, `GET /users/:id`; null when no route matched. */
  get route(): string | null {
    return this.match.route?.label ?? null
  }

  /** Unique among the connections of this process. */
  get connectionId(): string {
    return this.#connection.connectionId
  }

  /** Unique among the requests of this process; begins with the connection's id. */
  get requestId(): string {
    this.#requestId ??= `${this.#connection.connectionId}-${(++requests).toString(36)}`
    return this.#requestId
  }
}
