// From a request to its response: middleware, route, handler, reply; and from an error to its response. No error gets past this file.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import type { ErrorCode } from '../base/error-codes.ts'
import { ContentTypeError, faultOf, HttpError, isInstance, RetryLaterError, WeirError } from '../base/errors.ts'
import type { Limits, Timeouts } from '../base/limits.ts'
import type { Application, RequestHead } from '../http/application.ts'
import type { RequestBody } from '../http/body/body.ts'
import type { ConnectionInfo, HostRule } from '../http/connection-info.ts'
import { Exchange } from '../http/exchange.ts'
import { type JsonEngine, refusingLosses, type Serialize } from '../http/json-engine.ts'
import { OTHER_METHODS } from '../http/notes.ts'
import { type AcceptField, acceptFieldOf, checkContentType } from '../http/request/accepted-types.ts'
import { causeOf, HttpRequest, isEndedBy } from '../http/request/request.ts'
import type { DeclaredAnswers } from '../http/response/declared-answers.ts'
import { problemFor } from '../http/response/error-problem.ts'
import { OutgoingResponse } from '../http/response/outgoing-response.ts'
import type { RouteMatch } from '../http/route-info.ts'
import type { HttpSession, ServerHandle } from '../http/session.ts'
import { hintFor } from './error-hints.ts'
import { type Logger, logError } from './logger.ts'
import { type Held, runGates } from './policies/gates.ts'
import { type BeforeSend, compose, type Pipeline } from './policies/middleware.ts'
import type { Gate } from './policies/policy.ts'
import { RepeatedLines, refusalOf } from './repeated-lines.ts'
import { checkHookResult, complete, isLater, reply, replyInPlace, unwantedUpgrade } from './reply.ts'
import { ResponseMistakes } from './response-mistakes.ts'
import { warnOfMisspelt } from './routes/misspelt-query.ts'
import { chainOf, type Route } from './routes/route.ts'
import type { RouteTable } from './routes/route-table.ts'
import { reportedUrl } from './routes/shown-target.ts'

/** Continues what has been entered with `AsyncLocalStorage` so far. What is entered in it stays there. */
function newContext(): AsyncResource {
  return new AsyncResource('weir.exchange')
}

/** Whether what is entered in a context is there when it is entered again: not since Node.js 24, where all requests can begin in the same one. */
const KEEPS_ENTERED = keepsEntered()

function keepsEntered(): boolean {
  const store = new AsyncLocalStorage<true>()
  const context = newContext()
  context.runInAsyncScope(() => store.enterWith(true))
  const found = context.runInAsyncScope(() => store.getStore())
  store.disable()
  return found === true
}

const NO_METHODS: readonly string[] = Object.freeze([])

/**
 * Answers an error that was not caught: returns what a handler may return, or nothing for the default problem document.
 * Sees every refusal of a request that has a valid head, 404 and 405 included.
 * @example
 * const onError: OnError = (error) => {
 *   if (error instanceof RangeError) throw new HttpError(400, error.message)
 * }
 * new HttpServer({ onError })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export type OnError = (error: unknown, session: HttpSession) => unknown

interface DispatcherOptions {
  readonly server: ServerHandle
  readonly routes: RouteTable
  readonly limits: Limits
  readonly timeouts: Timeouts
  hostsAt(endpointName: string | null): HostRule | null
  readonly jsonEngine: JsonEngine | null
  readonly invalidBodyStatus: 400 | 422
  readonly onError: OnError | null
  readonly logger: Logger | null
  readonly debug: boolean
}

/** Loaded when a server has `debug`. */
let showError: typeof import('./debug/show-error.ts').showError | undefined

async function loadShowError(): Promise<void> {
  showError ??= (await import('./debug/show-error.ts')).showError
}

export class Dispatcher implements Application {
  readonly routes: RouteTable
  readonly #options: DispatcherOptions
  readonly #serialize: Serialize
  readonly #serializeInTests: Serialize
  readonly #mistakes: ResponseMistakes
  readonly #refusals = new RepeatedLines()
  /** In which requests of sockets begin: an event of a socket may come in the context of other code, which has written to it. */
  readonly #origin = new AsyncResource('weir.server')

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.routes = options.routes
    const engine = options.jsonEngine
    const serialize: Serialize = engine === null ? JSON.stringify : (value) => engine.serialize(value)
    this.#serializeInTests = refusingLosses(serialize, engine !== null)
    this.#serialize = options.debug ? this.#serializeInTests : serialize
    this.#mistakes = new ResponseMistakes(options, engine === null)
    if (options.debug) loadShowError().catch(() => {}) // the first error tries again
    options.routes.composeWith((middlewares) => compose(middlewares, this.#route, this.#mistakes.refuseSilence))
  }

  get unmatched(): RouteMatch {
    return this.routes.root.noRoute
  }

  open(head: RequestHead, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch): Exchange {
    const request = new HttpRequest(head, body, connection, match, this.#options)
    const { isTest, hosts } = connection
    // Without a socket, it continues what its caller does.
    let context = this.#origin
    if (isTest || hosts === null) context = newContext()
    else if (KEEPS_ENTERED) context = context.runInAsyncScope(newContext)
    // Two calls, not one with a choice between the arguments, which V8 would turn into slower code for every request.
    if (isTest) {
      const exchange = new Exchange(this.#options.server, head, connection, request, match, this.#serializeInTests, context)
      exchange.session.principal = connection.testPrincipal
      return exchange
    }
    return new Exchange(this.#options.server, head, connection, request, match, this.#serialize, context)
  }

  gate(exchange: Exchange): Held {
    const { gates } = chainOf(exchange.match)
    const route = exchange.match.route as Route | null
    // Most routes have no gates, and then no code of the program runs.
    if (gates.length === 0 && (route === null || !route.checksContentType)) return null
    return exchange.context.runInAsyncScope(this.#runGates, this, exchange, gates)
  }

  #runGates(exchange: Exchange, gates: readonly Gate[]): Held {
    let held: Held
    try {
      held = runGates(exchange, gates, 0)
    } catch (error) {
      held = this.#answerError(exchange, error)
    }
    exchange.context = newContext() // with what gates have entered: from Node.js 24 on, it is no part of the old one
    if (held instanceof OutgoingResponse) return this.#prepare(exchange, held)
    return held === null ? this.#admit(exchange) : this.#awaitGates(exchange, held)
  }

  /** All gates have let the request pass. What its head states about the body may still be wrong. */
  #admit(exchange: Exchange): OutgoingResponse | null | Promise<OutgoingResponse> {
    const route = exchange.match.route as Route | null
    if (route === null || !route.checksContentType) return null
    try {
      checkContentType(route.body, exchange.head)
      return null
    } catch (error) {
      return this.#prepare(exchange, this.#answerError(exchange, error))
    }
  }

  async #awaitGates(exchange: Exchange, held: Promise<OutgoingResponse | null>): Promise<OutgoingResponse | null> {
    const response = (await held.catch((error: unknown) => this.#answerError(exchange, error))) ?? exchange.sent
    return response === null ? this.#admit(exchange) : this.#prepare(exchange, response)
  }

  /** With `debug`, errors are shown in another form. */
  #show(exchange: Exchange, response: OutgoingResponse): OutgoingResponse | Promise<OutgoingResponse> {
    const { content } = response
    if (content.kind !== 'text' || content.problem === undefined || response.isTaken) return response
    return showError === undefined ? this.#loadAndShow(exchange, response) : showError(this.#options, exchange, response, content.problem)
  }

  async #loadAndShow(exchange: Exchange, response: OutgoingResponse): Promise<OutgoingResponse> {
    await loadShowError()
    return this.#show(exchange, response)
  }

  handle(exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse> {
    let response: OutgoingResponse | Promise<OutgoingResponse>
    try {
      response = chainOf(exchange.match).pipeline(exchange)
      response = response instanceof OutgoingResponse ? this.#mistakes.find(exchange, response) : this.#catchLater(exchange, response)
    } catch (error) {
      response = this.#answerError(exchange, error)
    }
    return this.#prepare(exchange, response)
  }

  refuse(exchange: Exchange, error: Error): OutgoingResponse | Promise<OutgoingResponse> {
    return this.#prepare(exchange, exchange.failure === null ? this.#answerError(exchange, error) : this.#failTwice(exchange, error))
  }

  /** Runs the hooks just before the response is sent. Does nothing for a late response: another one has been sent. */
  #prepare(exchange: Exchange, made: OutgoingResponse | Promise<OutgoingResponse>): OutgoingResponse | Promise<OutgoingResponse> {
    const { hooks } = chainOf(exchange.match)
    const shown = this.#options.debug ? this.#showLater(exchange, made) : made
    if (hooks.length === 0) return shown
    if (shown instanceof OutgoingResponse) return this.#runHooks(exchange, hooks, shown, isUpgrade(shown), 0)
    return shown.then((response) => this.#runHooks(exchange, hooks, response, isUpgrade(response), 0))
  }

  #showLater(exchange: Exchange, made: OutgoingResponse | Promise<OutgoingResponse>): OutgoingResponse | Promise<OutgoingResponse> {
    return made instanceof OutgoingResponse ? this.#show(exchange, made) : made.then((response) => this.#show(exchange, response))
  }

  /** @param mayUpgrade whether the response was an upgrade before the first hook */
  #runHooks(
    exchange: Exchange,
    hooks: readonly BeforeSend[],
    response: OutgoingResponse,
    mayUpgrade: boolean,
    from: number,
  ): OutgoingResponse | Promise<OutgoingResponse> {
    try {
      for (let i = from; i < hooks.length && !response.isTaken; i++) {
        const running = hooks[i]!(exchange.session, exchange.faceOf(response))
        if (isLater(running)) return this.#awaitHook(exchange, hooks, response, mayUpgrade, running, i + 1)
        if (running !== undefined) checkHookResult(exchange, response, running)
      }
      if (isUpgrade(response) && !mayUpgrade) throw unwantedUpgrade('a beforeSend hook')
      if (response.content.kind !== 'file') return response
      return Promise.resolve(complete(exchange, response)).catch((error: unknown) => this.#failHook(exchange, response, error))
    } catch (error) {
      return this.#failHook(exchange, response, error)
    }
  }

  async #awaitHook(
    exchange: Exchange,
    hooks: readonly BeforeSend[],
    response: OutgoingResponse,
    mayUpgrade: boolean,
    running: Promise<unknown>,
    next: number,
  ): Promise<OutgoingResponse> {
    try {
      const result = await running
      if (result !== undefined) checkHookResult(exchange, response, result)
    } catch (error) {
      return this.#failHook(exchange, response, error)
    }
    return this.#runHooks(exchange, hooks, response, mayUpgrade, next)
  }

  /** Discards the response that was to be sent, wherever it came from. */
  #failHook(exchange: Exchange, response: OutgoingResponse, error: unknown): OutgoingResponse | Promise<OutgoingResponse> {
    if (response.isTaken) {
      this.#log(exchange, error)
      return response
    }
    exchange.answerWithOwn() // closes the source of another response
    const failed = this.#failTwice(exchange, error)
    return this.#options.debug ? this.#show(exchange, failed) : failed
  }

  /** A separate method: V8 makes room for the variables of a closure in every call of the method around it. */
  #catchLater(exchange: Exchange, coming: Promise<OutgoingResponse>): Promise<OutgoingResponse> {
    const fail = (error: unknown): OutgoingResponse | Promise<OutgoingResponse> => this.#answerError(exchange, error)
    return coming.then((response) => {
      try {
        return this.#mistakes.find(exchange, response)
      } catch (error) {
        return fail(error)
      }
    }, fail)
  }

  /** The request timed out and has been answered, so no client is left to receive the error. */
  #dropError(exchange: Exchange, error: unknown, sent: OutgoingResponse): OutgoingResponse {
    // The error of code that still tries to respond after the response was sent is not a second failure.
    const isTooLate = codeOf(error) === 'WEIR_RESPONSE_SENT'
    if (!isEndedBy(exchange.request, error) && !isTooLate) this.#log(exchange, error)
    return sent
  }

  /** Runs inside all middleware. */
  readonly #route: Pipeline = (exchange) => {
    const { values } = exchange.match
    const route = exchange.match.route as Route | null
    if (route === null) return this.#answerWithoutRoute(exchange)
    exchange.handler = 'at work'
    exchange.own.bodies = 0 // middleware may have set what is sent if the handler sets nothing
    if (exchange.connection.isTest || this.#options.debug) warnOfMisspelt(exchange, route.label, route.steps)
    try {
      if (route.answers !== null) return this.#routeDeclared(exchange, route, route.answers)
      const result = route.run(exchange.session, exchange.request, values)
      return reply(exchange, result)
    } catch (error) {
      exchange.handler = 'settled'
      throw error
    }
  }

  /** The same for a route that declares its answers: which part of a value is sent is decided when the handler has settled. */
  #routeDeclared(exchange: Exchange, route: Route, declared: DeclaredAnswers): OutgoingResponse | Promise<OutgoingResponse> {
    const answers = this.#options.debug || exchange.connection.isTest ? declared.checked : declared
    const { own } = exchange
    own.awaitAnswer(answers.usualStatus, answers.isUsuallyEmpty)
    try {
      const response = reply(exchange, route.run(exchange.session, exchange.request, exchange.match.values), answers)
      if (!(response instanceof OutgoingResponse)) response.catch(() => own.releaseAnswer()) // before other code is told about it
      return response
    } catch (error) {
      own.releaseAnswer()
      throw error
    }
  }

  /** OPTIONS is answered for every known path, and 405 states its methods (RFC 9110 §9.3.7, §15.5.6) and the types that they accept. */
  #answerWithoutRoute(exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse> {
    const { head, own, connection } = exchange
    const offer = this.#options.routes.offerAt(head, connection.endpointName, exchange.note(OTHER_METHODS) ?? NO_METHODS)
    if (offer === null) return this.#answerCode(exchange, 'WEIR_ROUTE_NOT_FOUND')
    own.header('Allow', offer.methods.join(', '))
    for (const [name, value] of offer.acceptFields) own.header(name, value)
    return head.method === 'OPTIONS' ? own.noContent() : this.#answerCode(exchange, 'WEIR_METHOD_NOT_ALLOWED')
  }

  #answerCode(exchange: Exchange, code: ErrorCode): OutgoingResponse | Promise<OutgoingResponse> {
    return this.#answerError(exchange, new WeirError(code))
  }

  #answerError(exchange: Exchange, error: unknown): OutgoingResponse | Promise<OutgoingResponse> {
    const { onError } = this.#options
    const { sent } = exchange
    if (sent !== null) return this.#dropError(exchange, error, sent)
    exchange.failure = failureOf(error)
    this.#log(exchange, error)
    stateAccepted(exchange, error)
    if (onError === null) return this.#sendProblem(exchange, error)
    try {
      exchange.answerWithOwn().clearRepresentation()
      setHeadersOf(error, exchange.own)
      const result = onError(error, exchange.session)
      if (isLater(result)) return this.#awaitOnError(exchange, error, result)
      const response = this.#replyToError(exchange, error, result)
      return response instanceof OutgoingResponse ? response : response.catch((second: unknown) => this.#failTwice(exchange, second))
    } catch (second) {
      return this.#failTwice(exchange, second)
    }
  }

  async #awaitOnError(exchange: Exchange, error: unknown, result: Promise<unknown>): Promise<OutgoingResponse> {
    try {
      return await this.#replyToError(exchange, error, await result)
    } catch (second) {
      return this.#failTwice(exchange, second)
    }
  }

  #replyToError(exchange: Exchange, error: unknown, result: unknown): OutgoingResponse | Promise<OutgoingResponse> {
    return result === undefined && !exchange.own.isAnswered ? this.#sendProblem(exchange, error) : replyInPlace(exchange, result, 'onError')
  }

  /** The error handler failed too. */
  #failTwice(exchange: Exchange, error: unknown): OutgoingResponse {
    const { sent } = exchange
    if (sent !== null) return this.#dropError(exchange, error, sent)
    exchange.failure = failureOf(error)
    this.#log(exchange, error)
    return this.#sendProblem(exchange, error)
  }

  #sendProblem(exchange: Exchange, error: unknown): OutgoingResponse {
    const own = exchange.answerWithOwn()
    own.clearRepresentation()
    try {
      setHeadersOf(error, own)
      return own.sendProblem(problemFor(error, this.#options.debug))
    } catch (second) {
      // The thrown value itself throws when it is read, or has a field that only the server may set.
      if (codeOf(second) === 'WEIR_RESPONSE_HEADER_SYNTAX') this.#log(exchange, second)
      own.clearRepresentation()
      return own.sendProblem(problemFor(null, false))
    }
  }

  /** Logs only what the host program must know. Errors of clients are normal, and so are the refusals of an overloaded server. */
  #log(exchange: Exchange, error: unknown): void {
    if (isNormal(causeOf(exchange.request, error))) return
    const { head, requestId, match } = exchange
    const route = match.route as Route | null
    const cause = refusalOf(error)
    const more = cause === null ? '' : this.#refusals.admit(`${cause} ${route?.label ?? ''}`, exchange.connection.clock.now())
    if (more === null) return
    const url = reportedUrl(head, route, this.#options.routes)
    const hint = hintFor(error, route)
    logError(this.#options.logger, `weir: ${head.method} ${url} failed${more}${hint}`, error, { requestId })
  }
}

/** @throws WEIR_RESPONSE_HEADER_SYNTAX for a field that only the server may set */
function setHeadersOf(error: unknown, response: OutgoingResponse): void {
  if (!isInstance(error, HttpError)) return
  for (const [name, value] of Object.entries(error.headers)) {
    response.removeHeader(name)
    for (const one of [value].flat()) response.appendHeader(name, one)
  }
}

/** Tells a client which types would have been accepted (RFC 9110 §15.5.16): in Accept, and in the field of the method. */
function stateAccepted({ head, match, own }: Exchange, error: unknown): void {
  const code = codeOf(error)
  const route = match.route as Route | null
  let field: AcceptField | null = null
  if (code === 'WEIR_CONTENT_TYPE_MISSING') field = route?.acceptField ?? null
  else if (code === 'WEIR_CONTENT_TYPE_UNSUPPORTED' || code === 'WEIR_CHARSET_UNKNOWN') {
    const types = isInstance(error, ContentTypeError) ? error.accepted : (route?.body?.types ?? null)
    if (types === null) return
    own.header('Accept', types.join(', '))
    field = acceptFieldOf(head.method, types)
  }
  if (field !== null) own.header(...field)
}

function isUpgrade({ content }: OutgoingResponse): boolean {
  return content.kind === 'upgrade'
}

function isNormal(error: unknown): boolean {
  try {
    return faultOf(error) === 'peer' || isInstance(error, RetryLaterError) || problemFor(error, false).status < 500
  } catch {
    return false // the thrown value itself throws when it is read
  }
}

function codeOf(error: unknown): string | null {
  try {
    return isInstance(error, WeirError) ? error.code : null
  } catch {
    return null
  }
}

/** Observers are told about every failure, even if `undefined` or `null` was thrown. */
function failureOf(error: unknown): unknown {
  return error ?? new WeirError('WEIR_HANDLER_FAILED', `${error} was thrown`)
}
