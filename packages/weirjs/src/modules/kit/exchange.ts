// What a module may see and change of the exchange behind a session. It hides the engine, so that the engine can change.

import type { UsedPolicy } from '../../app/policies/policy.ts'
import type { Binding } from '../../app/routes/binding.ts'
import type { Route } from '../../app/routes/route.ts'
import type { Clock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { invalid, isExchange } from '../../base/options.ts'
import { isLocalName, isLoopback } from '../../base/this-machine.ts'
import { networkOf } from '../../formats/client-network.ts'
import { parseCookies } from '../../formats/cookie.ts'
import { DECODED } from '../../http/body/body.ts'
import type { SocketPeer } from '../../http/connection-info.ts'
import { type Exchange, exchangeOf } from '../../http/exchange.ts'
import { ANSWERED_BY, claimOf, ON_GRACE_OVER, OTHER_METHODS, PERSONAL, RPC, type RpcNote, SPAN } from '../../http/notes.ts'
import { noteShown } from '../../http/request/headers.ts'
import { prefersHtml } from '../../http/request/prefers-html.ts'
import { bodyOf, cookieOf, cookieUse, onAbort } from '../../http/request/request.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { HttpSession } from '../../http/session.ts'
import { turnAfterWait, workWhileReading } from '../../http/work-turns.ts'
import { settleConditions, validatorsOf } from './conditions.ts'
import { type BodyDecoder, type CodedBody, DecodedBody } from './decoded-body.ts'
import type { ResponseHandle } from './response.ts'
import { bindingsOf, policiesOf } from './route-facts.ts'
import { runMarks } from './run-marks.ts'

/** A request and its response, as modules see them: what a handler replaces or deletes on its session has no effect. Valid as long as its session. */
export interface ExchangeHandle {
  readonly session: HttpSession
  /** The mark that was passed to `rerun`; null for a request of a client. */
  readonly mark: object | null
  /** The server's source of time. A test client can move it, so modules use no other. */
  readonly clock: Clock
  /** The other end of the socket: the client, or the last proxy. */
  readonly peer: SocketPeer
  /** Asks the system whether it still knows the other end of the socket: a reset that was not read yet shows here alone. True without a socket. */
  readonly isConnected: boolean
  /** Whether `proxies.trust` lists the peer, so that its statements about its client are trusted. */
  readonly isForwarded: boolean
  /** The host that the client requested, with its port if it named one; empty if it named none. */
  readonly host: string
  /** The host that the request itself names, whatever a trusted proxy states; empty if it names none. */
  readonly statedHost: string
  /** Whether the client is on this machine, and has asked for it by a name that no other machine can have. */
  readonly isLocal: boolean
  /** Whether the client speaks TLS, here or to a trusted proxy. */
  readonly isSecure: boolean
  /** The length of the request's body: 0 without one, null if it is not known before it has arrived. */
  readonly contentLength: number | null
  /** Whether `decompression` gives the program another body than the client has sent. */
  readonly isDecoded: boolean
  /** Whether a route was found for it. */
  readonly isRouted: boolean
  /** Whether all middleware has let it reach its route. Until then, no handler has had an effect. */
  readonly hasReachedRoute: boolean
  /** The endpoint that its route is bound to: another one may have a route with the same label. Null: any, or there is no route. */
  readonly boundEndpoint: string | null
  /** What the handler of its route gets as parameters; empty without a route. The same list for each request of a route. */
  readonly bindings: readonly Binding[]
  /** The policies that apply to it, the outermost first. The same list for each request of a route: it can be the key of a `WeakMap`. */
  readonly policies: readonly UsedPolicy[]
  readonly method: string
  /** Path and query as sent. */
  readonly url: string
  /** The path, decoded as in `request.path`. */
  readonly path: string
  /** Whether the request has a body. */
  readonly hasBody: boolean
  /** For a gate whose module will decode the body: the decoder receives the bytes as they arrive, even if the handler gets the body whole. */
  requireStream(): void
  /**
   * Replaces the body by a decoded one, so that all readers see it without its coding. For middleware.
   * @param owner who reads the bytes, for errors
   * @returns null; if `requireStream` was called and the handler gets the body whole, a promise that resolves when it is complete, and may reject
   */
  decodeBody(owner: string, make: (body: CodedBody) => BodyDecoder): Promise<void> | null
  /**
   * Passes the body to `reader` as it arrives, like `bodyStream`, but without the memory of a Node stream. For handlers.
   * @param owner who reads the bytes, for errors
   * @returns a function that asks for more after `data` has returned false; null without a body
   * @throws BodyAlreadyReadError when the body is already being read
   */
  readBody(owner: string, reader: Omit<BodyDecoder, 'demand' | 'release'>): { demand(): void } | null
  /** Whether all of the request's body has arrived and is in memory. True without one. */
  readonly isBodyWhole: boolean
  /** The response that `session.response` builds. */
  readonly response: ResponseHandle
  /** Whether the client would rather have a page than data, by Accept. */
  readonly prefersHtml: boolean
  /** Whether the client wants to switch to another protocol. */
  readonly wantsUpgrade: boolean
  /** `clientAddress` of the session, for modules: does not count as read by the program. */
  readonly clientAddress: string
  /** How often the program has read the address of the client, or that of the peer. */
  readonly addressReads: number
  /** Whether code has read the cookies of the request, or was shown all fields, as mounted applications are, and may have read them. */
  readonly cookieUse: 'read' | 'shown' | 'none'
  /** Handlers and inner middleware see these fields in place of the client's, and do not see fields with null. Null: as the client sent them. */
  showFields(fields: ReadonlyMap<string, string | null> | null): void
  /** Drops what a handler has chosen, to send another response. @param fields those that are set then: name, value, name, value */
  startOver(fields: readonly string[]): void
  /**
   * Makes a complete response with status 200 a 304 if the client has it: by ETag, Last-Modified and the client's conditions.
   * @param now milliseconds since 1970
   * @returns whether it is one
   */
  settleConditions(response: ResponseHandle, now: number): boolean
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
   * Why the response is only for its client; null if no reason is known. With `session`, a cache keeps it only under a key that states the client;
   * with `nonce`, not at all. `nonce` replaces `session`, and never the other way round.
   */
  readonly personal: 'nonce' | 'session' | null
  markPersonal(how: 'nonce' | 'session'): void
  /** The remote procedure call that the request makes, for metrics, traces, logs and `explain`; null without one. */
  rpc: RpcNote | null
  /**
   * Calls `listener` when the client has left or the exchange is cut off, as `signal` of the request aborts, and creates no signal; at once if it has.
   * Replaces what was set before.
   */
  onAbort(listener: () => void): void
  /**
   * Calls `work` when the grace of `stop` is over and the response is not complete: a moment before it is aborted, for protocols whose responses
   * can say so. Replaces what was set before.
   */
  onGraceOver(work: () => void): void
  /** The principal that a test has given its client in place of credentials (`client.as` of `weirjs/testing`); null for every other client. */
  readonly testPrincipal: object | null
  /** The name of the module that has answered in place of a route, such as one for files, for tools that show it; null if none has said so. */
  answeredBy: string | null
  /** Claims a decision about the exchange for the module that calls it, so that others leave it alone. @param what such as `principal` */
  claim(what: string): void
  /** Whether a module has claimed the decision. */
  isClaimed(what: string): boolean
  /** The path has these methods as well as the methods of its routes: they are in Allow, whatever produces the response. */
  offer(methods: readonly string[]): void
  /**
   * Calls `listener` once, when the exchange is over: its response has been sent or aborted, or the protocol that it has switched to has ended.
   * At once if it is too late for that. It must not throw.
   */
  onEnd(listener: () => void): void
  /** Removes what `onEnd` has added. */
  offEnd(listener: () => void): void
  /** The value of a request field as it arrived, with all of its lines joined; null without one. @param name in lower case */
  field(name: string): string | null
  /**
   * Names and values of the cookies, in order: name, value, name, value. Caches keep no response whose cookies were read.
   * @param isJudged true: caches may keep it, because the module that reads the cookies calls `markPersonal` itself if anything depends on them
   */
  cookies(isJudged: boolean): readonly string[]
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
  /** Awaits what other requests may await, too. They go on in turns: if all went on at once, clients would decide how long a turn is. */
  inTurn<T>(shared: Promise<T>): Promise<T>
  /** Does work that blocks the thread in the turns in which requests are read. @param work returns its size; 1.5 MiB end a turn @returns null: done */
  whileReading(work: () => number): Promise<void> | null
}

const TWO_COPIES = 'the server and a module use two copies of weirjs: install the same version of all packages (npm ls weirjs)'

class Handle implements ExchangeHandle {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get session(): HttpSession {
    return this.#exchange.session
  }

  get mark(): object | null {
    return runMarks.get(this.#exchange.connection) ?? null
  }

  get clock(): Clock {
    return this.#exchange.connection.clock
  }

  get peer(): SocketPeer {
    return this.#exchange.connection.describePeer()
  }

  get isConnected(): boolean {
    return this.#exchange.connection.isConnected
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

  get isLocal(): boolean {
    return (
      (this.clientAddress === '' || isLoopback(this.clientAddress)) && isLocalName(hostName(this.host === '' ? 'localhost' : this.host))
    )
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

  get hasReachedRoute(): boolean {
    return this.#exchange.hasReachedRoute
  }

  get isRouted(): boolean {
    return this.#exchange.match.route !== null
  }

  get boundEndpoint(): string | null {
    return (this.#exchange.match.route as Route | null)?.endpoint ?? null
  }

  get bindings(): readonly Binding[] {
    return bindingsOf(this.#exchange.match)
  }

  get policies(): readonly UsedPolicy[] {
    return policiesOf(this.#exchange.match)
  }

  get method(): string {
    return this.#exchange.head.method
  }

  get url(): string {
    return this.#exchange.head.url
  }

  get path(): string {
    return this.#exchange.head.path
  }

  get hasBody(): boolean {
    return bodyOf(this.#exchange.request) !== null
  }

  requireStream(): void {
    bodyOf(this.#exchange.request)?.requireStream()
  }

  decodeBody(owner: string, make: Parameters<ExchangeHandle['decodeBody']>[1]): Promise<void> | null {
    const { request } = this.#exchange
    const received = bodyOf(request)
    if (received === null) return null
    const decoded = new DecodedBody(owner, this.clientAddress, received, make)
    bodyOf(request, decoded)
    return received.mode === DECODED ? decoded.collect(owner) : null
  }

  readBody(owner: string, reader: Omit<BodyDecoder, 'demand' | 'release'>): { demand(): void } | null {
    const body = bodyOf(this.#exchange.request)
    if (body === null) reader.end()
    else body.take(owner, reader)
    return body
  }

  get isBodyWhole(): boolean {
    return bodyOf(this.#exchange.request)?.isWhole !== false
  }

  get response(): ResponseHandle {
    return this.#exchange.own
  }

  get prefersHtml(): boolean {
    return prefersHtml(this.#exchange.head.get('accept'))
  }

  get wantsUpgrade(): boolean {
    return this.#exchange.head.upgrade
  }

  get clientAddress(): string {
    return (this.#exchange.forwardedClient ?? this.#exchange.connection).clientAddress
  }

  get addressReads(): number {
    return this.#exchange.addressReads
  }

  get cookieUse(): 'read' | 'shown' | 'none' {
    return cookieUse(this.#exchange.request)
  }

  showFields(fields: ReadonlyMap<string, string | null> | null): void {
    this.#exchange.head.show(fields)
  }

  startOver(fields: readonly string[]): void {
    const own = this.#exchange.answerWithOwn()
    own.clearRepresentation()
    own.begin(fields)
  }

  settleConditions(response: ResponseHandle, now: number): boolean {
    return settleConditions(this.#exchange, response as OutgoingResponse, () => validatorsOf((name) => response.getHeader(name)), now)
  }

  get isAnswered(): boolean {
    return this.#exchange.sent !== null
  }

  get failure(): unknown {
    return this.#exchange.failure
  }

  onAbort(listener: () => void): void {
    onAbort(this.#exchange.request, listener)
  }

  onGraceOver(work: () => void): void {
    this.#exchange.setNote(ON_GRACE_OVER, work)
  }

  get rpc(): RpcNote | null {
    return this.#exchange.note(RPC) ?? null
  }

  set rpc(call: RpcNote | null) {
    this.#exchange.setNote(RPC, call)
  }

  get span(): ExchangeHandle['span'] {
    return this.#exchange.note(SPAN) ?? null
  }

  set span(span: ExchangeHandle['span']) {
    this.#exchange.setNote(SPAN, span)
  }

  get personal(): 'nonce' | 'session' | null {
    return this.#exchange.note(PERSONAL) ?? null
  }

  markPersonal(how: 'nonce' | 'session'): void {
    if (how === 'nonce' || this.personal === null) this.#exchange.setNote(PERSONAL, how)
  }

  get testPrincipal(): object | null {
    return this.#exchange.connection.testPrincipal
  }

  get answeredBy(): string | null {
    return this.#exchange.note(ANSWERED_BY) ?? null
  }

  set answeredBy(name: string | null) {
    this.#exchange.setNote(ANSWERED_BY, name)
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
    if (typeof listener !== 'function') throw invalid('onEnd()', `the listener is ${kindOf(listener)}, not a function`)
    this.#exchange.onEnd(listener)
  }

  offEnd(listener: () => void): void {
    this.#exchange.offEnd(listener)
  }

  field(name: string): string | null {
    noteShown(this.#exchange.head, name)
    return this.#exchange.head.get(name)
  }

  cookies(isJudged: boolean): readonly string[] {
    return parseCookies((isJudged === true ? this.#exchange.head.get('cookie') : this.field('cookie')) ?? '')
  }

  cookie(name: string): string | null {
    return cookieOf(this.#exchange.request, name)
  }

  interim(status: 103 | 104, fields: readonly string[], overHttp1: boolean): boolean {
    return this.#exchange.sendInterim(status, fields, overHttp1)
  }

  async inTurn<T>(shared: Promise<T>): Promise<T> {
    try {
      return await shared
    } finally {
      await turnAfterWait(networkOf(this.clientAddress))
    }
  }

  whileReading(work: () => number): Promise<void> | null {
    return workWhileReading(this, work)
  }
}

/**
 * What a module may see and change of a request in addition to its `HttpSession`. Costs one small object.
 * @param session of weir, hosted or not
 * @throws WEIR_SERVER_STATE for a session of another copy of weirjs, which npm installs beside this one if the versions of the packages differ;
 * WEIR_OPTION_INVALID for anything else
 */
export function exchange(session: HttpSession): ExchangeHandle {
  if (session instanceof HttpSession) return new Handle(exchangeOf(session))
  if (isExchange(session)) throw new WeirError('WEIR_SERVER_STATE', TWO_COPIES)
  throw new WeirError('WEIR_OPTION_INVALID', `${shown(session)} is not the session: pass on the second argument of the handler`)
}
