// One exchange, as the engine sees it. Handlers see it as an `HttpSession`.

import type { AsyncResource } from 'node:async_hooks'
import { WeirError } from '../base/errors.ts'
import type { Head } from '../wire/head/head.ts'
import type { BagKey } from './bag.ts'
import type { ConnectionInfo, ForwardedClient } from './connection-info.ts'
import type { Serialize } from './json-engine.ts'
import { ON_GRACE_OVER } from './notes.ts'
import { abortRequest, type HttpRequest } from './request/request.ts'
import { OutgoingResponse } from './response/outgoing-response.ts'
import { HttpResponse, outgoingOf } from './response/response.ts'
import type { RouteMatch } from './route-info.ts'
import type { ServerTiming } from './server-timing.ts'
import { HttpSession, type ServerHandle, type SessionSource, sourceOf } from './session.ts'

const NOBODY: (() => void)[] = []
let requests = 0
const LAST_DIGITS: readonly string[] = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, '0'))
let firstDigits = ''

/** The number of the next request in base 36. Converting the whole number costs as much as everything else that observers of a request need. */
function nextNumber(): string {
  const last = ++requests % LAST_DIGITS.length
  if (last === 0 || firstDigits === '') firstDigits = Math.floor(requests / LAST_DIGITS.length).toString(36)
  return firstDigits + LAST_DIGITS[last]!
}

/** A linked list, because an exchange has few notes and usually none. */
interface Note {
  readonly key: BagKey<unknown>
  readonly value: unknown
  readonly before: Note | null
}

/** Returns another list and does not change a note, because a request that runs again begins with the same notes. */
function without(notes: Note | null, key: BagKey<unknown>): Note | null {
  if (notes === null) return null
  return notes.key === key ? notes.before : { ...notes, before: without(notes.before, key) }
}

/** The exchange that a session belongs to. Only an `Exchange` creates sessions. */
export function exchangeOf(session: HttpSession): Exchange {
  return sourceOf(session) as Exchange
}

/**
 * Calls `listener` once, when an exchange is over: its response has been sent or aborted, or the protocol that it has switched to
 * has ended. Immediately if it is too late for that. For gates, middleware and handlers of modules.
 */
export function onEnd(session: HttpSession, listener: () => void): void {
  exchangeOf(session).onEnd(listener)
}

/** Removes what `onEnd` has added. */
export function offEnd(session: HttpSession, listener: () => void): void {
  exchangeOf(session).offEnd(listener)
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
  readonly connection: {
    /** Lets the server wait for work of an exchange, even after its end. */
    readonly host: { waitUntil(exchange: Exchange, work: Promise<unknown>): void }
  }
}

/**
 * One exchange, as the engine works with it. Handlers never hold it, and no entry of the package exports it, so whatever a handler shadows,
 * replaces or deletes on its session, or on the prototype, has no effect here.
 */
export class Exchange implements SessionSource {
  readonly server: ServerHandle
  readonly head: Head
  readonly connection: ConnectionInfo
  readonly request: HttpRequest
  readonly match: RouteMatch
  readonly session: HttpSession
  /** Null if there is no engine, as in tests. */
  carrier: ExchangeCarrier | null = null
  /** The error that led to the response, for observers; null if there is none. `onError` is not called for a second one. */
  failure: unknown = null
  /** While the handler is at work, a second response is a mistake. What code around it sends is not. */
  handler: 'due' | 'at work' | 'settled' = 'due'
  /** What `precondition` has decided: 0 if it was not called, 200 if the handler does its work, otherwise 304 or 412. */
  decision = 0
  /** What `session.time` has measured; null if it has not been called. */
  timing: ServerTiming | null = null
  addressReads = 0
  /** Called when it is over; null without any, and `NOBODY` if it is over, or will end without a listener. */
  #endListeners: (() => void)[] | null = null
  /** The exchange that this one continues, whose end is the end of both; null for most. */
  #first: Exchange | null = null
  /** Whether the connection speaks another protocol now. It is over when that has ended. */
  hasSwitched = false
  /** The asynchronous context of the program's code. Other requests of the connection, which may be those of other clients, have one each. */
  context: AsyncResource
  /** What modules have noted about it; null if nothing, as usual. */
  #notes: Note | null = null
  readonly #serialize: Serialize
  /** The response that `session.response` builds. */
  readonly own: OutgoingResponse
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
    context: AsyncResource,
    before: Exchange | null = null,
  ) {
    this.server = server
    this.head = head
    this.connection = connection
    this.request = request
    this.match = match
    this.#serialize = serialize
    this.context = context
    this.own = new OutgoingResponse(serialize)
    this.session = before === null ? new HttpSession(this) : new HttpSession(this, before.session)
  }

  /**
   * Continues the exchange with another session and response while code of the program still works on it, so that nothing that this code does from
   * now on reaches the client. Fields that have been set are kept, except those that describe a body.
   */
  renew(): Exchange {
    const { server, head, connection, request, match } = this
    const next = new Exchange(server, head, connection, request, match, this.#serialize, this.context, this)
    next.failure = this.failure
    next.#notes = this.#notes
    next.carrier = this.carrier
    next.timing = this.timing?.copy() ?? null
    next.#first = this.#first ?? this
    next.#requestId = this.requestId
    next.#client = this.#client
    const other = this.#other
    const own = this.answerWithOwn()
    next.own.begin(own.fields ?? [])
    if (own.closes) next.own.header('Connection', 'close')
    next.own.clearRepresentation()
    own.discard()
    own.isTaken = true
    if (other !== null) outgoingOf(other).isTaken = true
    return next
  }

  /** Tells code of the program, in its own context: other code may have ended the request, such as a timer for all requests. */
  abort(reason: Error): void {
    this.context.runInAsyncScope(abortRequest, null, this.request, reason)
  }

  /** The grace of `stop` is over. @returns whether the response is going to say so itself */
  hasten(): boolean {
    const work = this.note(ON_GRACE_OVER)
    work?.()
    return work !== undefined
  }

  /** What has been noted about it under a key; undefined if nothing has. See notes.ts. */
  note<T>(key: BagKey<T>): T | undefined {
    let one = this.#notes
    while (one !== null && one.key !== key) one = one.before
    return one?.value as T | undefined
  }

  setNote<T>(key: BagKey<T>, value: T): void {
    const noted = this.note(key)
    if (noted !== value) this.#notes = { key, value, before: noted === undefined ? this.#notes : without(this.#notes, key) }
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

  /** Returns the `HttpResponse` through which handlers see the response that is sent. */
  faceOf(outgoing: OutgoingResponse): HttpResponse {
    return outgoing === this.own || this.#other === null ? this.response : this.#other
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
    if (outgoing === this.own) return this.answerWithOwn()
    if (response === this.#other) return outgoing
    outgoing.claim()
    this.own.discard()
    if (this.#other !== null) outgoingOf(this.#other).discard()
    this.#other = response
    return outgoing
  }

  /** The response that is being sent or has been sent; null before. From then on, no other response can be sent. */
  get sent(): OutgoingResponse | null {
    const response = this.#other === null ? this.own : outgoingOf(this.#other)
    return response.isTaken ? response : null
  }

  /** What a trusted proxy states about the client; null if no proxy does. Read on demand. */
  get forwardedClient(): ForwardedClient | null {
    const { forwarding } = this.connection
    if (forwarding !== null) this.#client ??= forwarding.clientOf(this.head, this.connection)
    return this.#client
  }

  /** Whether all middleware has let it reach its route. Until then, no handler has had an effect. */
  get hasReachedRoute(): boolean {
    return this.handler !== 'due'
  }

  waitUntil(work: Promise<unknown>): void {
    this.carrier?.connection.host.waitUntil(this, work)
  }

  onEnd(listener: () => void): void {
    if (this.#first !== null) this.#first.onEnd(listener)
    else if (this.#endListeners === NOBODY) listener()
    else if (this.#endListeners === null) this.#endListeners = [listener]
    else this.#endListeners.push(listener)
  }

  offEnd(listener: () => void): void {
    if (this.#first !== null) {
      this.#first.offEnd(listener)
      return
    }
    if (this.#endListeners === NOBODY) return
    const others = this.#endListeners?.filter((one) => one !== listener) ?? []
    this.#endListeners = others.length === 0 ? null : others
  }

  /** The response is about to be sent. @returns whether a listener is told about its end */
  settleListeners(): boolean {
    if (this.#first !== null) return this.#first.settleListeners()
    this.#endListeners ??= NOBODY
    return this.#endListeners !== NOBODY
  }

  /** It is over. */
  end(): void {
    if (this.#first !== null) {
      this.#first.end()
      return
    }
    const listeners = this.#endListeners
    this.#endListeners = NOBODY
    if (listeners !== null) for (const listener of listeners) listener()
  }

  get requestId(): string {
    this.#requestId ??= `${this.connection.connectionId}-${nextNumber()}`
    return this.#requestId
  }
}
