// From a request to its answer: middleware, route, handler, reply; and from an error to its answer. Nothing thrown gets past here.

import type { ErrorCode } from '../base/error-codes.ts'
import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import type { Limits } from '../base/limits.ts'
import { problemFor } from '../http/answer/problem.ts'
import type { HttpResponse } from '../http/answer/response.ts'
import type { Application, RequestHead } from '../http/application.ts'
import type { RequestBody } from '../http/body/body.ts'
import type { ConnectionInfo } from '../http/connection-info.ts'
import type { JsonEngine, Serialize } from '../http/json-engine.ts'
import { HttpRequest } from '../http/request/request.ts'
import type { RouteMatch } from '../http/route-info.ts'
import { HttpSession, type ServerHandle } from '../http/session.ts'

import { type Logger, logError, logWarning } from './logger.ts'
import { type BeforeSend, compose, type Middleware, type Pipeline } from './middleware.ts'
import { reply } from './reply.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'

/**
 * Answers an error that nobody caught: returns what a handler may return, or nothing for the problem document that would have been sent.
 * Sees every refusal of a request that has a valid head, 404 and 405 included.
 */
export type OnError = (error: unknown, session: HttpSession) => unknown

export interface DispatcherOptions {
  readonly server: ServerHandle
  readonly routes: RouteTable
  readonly limits: Limits
  readonly jsonEngine: JsonEngine | null
  readonly onError: OnError | null
  readonly logger: Logger | null
  readonly debug: boolean
}

export class Dispatcher implements Application<HttpSession> {
  readonly #options: DispatcherOptions
  readonly #serialize: Serialize
  readonly #middlewares: Middleware[] = []
  readonly #hooks: BeforeSend[] = []
  /** Middleware that was warned of. */
  readonly #silent = new WeakSet<Middleware>()
  readonly #runRoute: Pipeline = (session) => this.#route(session)
  #pipeline: Pipeline = this.#runRoute

  constructor(options: DispatcherOptions) {
    this.#options = options
    const engine = options.jsonEngine
    this.#serialize = engine === null ? JSON.stringify : (value) => engine.serialize(value)
  }

  use(middleware: Middleware): void {
    this.#middlewares.push(middleware)
    this.#pipeline = compose(this.#middlewares, this.#runRoute, this.#options.debug ? this.#warnOfSilence : null)
  }

  /** Once for each middleware: what was meant as a refusal says so, and what was not is a `next()` that was forgotten. */
  readonly #warnOfSilence = (middleware: Middleware): void => {
    if (this.#silent.has(middleware)) return
    this.#silent.add(middleware)
    const name = middleware.name === '' ? 'a middleware' : `middleware "${middleware.name}"`
    logWarning(this.#options.logger, `weir: ${name} neither called next() nor answered, and the client gets 204`)
  }

  beforeSend(hook: BeforeSend): void {
    this.#hooks.push(hook)
  }

  match(head: RequestHead): RouteMatch {
    return this.#options.routes.find(head)
  }

  open(head: RequestHead, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch): HttpSession {
    const request = new HttpRequest(head, body, connection, match, this.#options)
    return new HttpSession(this.#options.server, head, connection, request, match, this.#serialize)
  }

  handle(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    return this.#prepare(session, this.#run(session))
  }

  refuse(session: HttpSession, error: Error): HttpResponse | Promise<HttpResponse> {
    return this.#prepare(session, session.hasAskedOnError ? this.#failTwice(session, error) : this.#answerError(session, error))
  }

  /** What runs just before the answer is sent. An answer that comes too late has been sent in another form. */
  #prepare(session: HttpSession, answer: HttpResponse | Promise<HttpResponse>): HttpResponse | Promise<HttpResponse> {
    if (this.#hooks.length === 0) return answer
    if (isPromise(answer)) return answer.then((response) => this.#runHooks(session, response, 0))
    return this.#runHooks(session, answer, 0)
  }

  #runHooks(session: HttpSession, response: HttpResponse, from: number): HttpResponse | Promise<HttpResponse> {
    try {
      for (let i = from; i < this.#hooks.length && !response.isTaken; i++) {
        const running = this.#hooks[i]!(session, response)
        if (isPromise(running)) {
          return running.then(
            () => this.#runHooks(session, response, i + 1),
            (error: unknown) => this.#failHook(session, response, error),
          )
        }
      }
      return response
    } catch (error) {
      return this.#failHook(session, response, error)
    }
  }

  /** The answer that was to be sent is given up, whoever made it. */
  #failHook(session: HttpSession, response: HttpResponse, error: unknown): HttpResponse {
    if (response.isTaken) {
      this.#log(session, error)
      return response
    }
    session.answerWith(session.response) // closes what another response holds
    return this.#failTwice(session, error)
  }

  #run(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    try {
      const answer = this.#pipeline(session)
      return isPromise(answer) ? answer.catch((error: unknown) => this.#answerLateError(session, error)) : answer
    } catch (error) {
      return this.#answerError(session, error)
    }
  }

  /** An error that comes when the request has been answered already, because its time was up, has nobody to be told to. */
  #answerLateError(session: HttpSession, error: unknown): HttpResponse | Promise<HttpResponse> {
    if (!session.response.isTaken) return this.#answerError(session, error)
    // What goes on to answer finds that somebody else has: that is no second failure.
    const isTooLate = error instanceof WeirError && error.code === 'WEIR_RESPONSE_SENT'
    if (!session.request.isEndedBy(error) && !isTooLate) this.#log(session, error)
    return session.response
  }

  #route(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    const { route, values } = session.match
    if (route === null) return this.#answerWithoutRoute(session)
    return reply(session, (route as Route).run(session, session.request, values))
  }

  /** RFC 9110 §9.3.7, §15.5.6: OPTIONS is answered for every path that is known, 405 says which methods are. */
  #answerWithoutRoute(session: HttpSession): HttpResponse | Promise<HttpResponse> {
    const { head } = session
    const methods = this.#options.routes.methodsFor(head.path, head.host, session.otherMethods)
    if (methods.length === 0) return this.#answerCode(session, 'WEIR_ROUTE_NOT_FOUND')
    session.response.header('Allow', methods.join(', '))
    return head.method === 'OPTIONS' ? session.response.noContent() : this.#answerCode(session, 'WEIR_METHOD_NOT_ALLOWED')
  }

  #answerCode(session: HttpSession, code: ErrorCode): HttpResponse | Promise<HttpResponse> {
    return this.#answerError(session, new WeirError(code))
  }

  #answerError(session: HttpSession, error: unknown): HttpResponse | Promise<HttpResponse> {
    const { onError } = this.#options
    session.failure = failureOf(error)
    this.#log(session, error)
    if (onError === null) return this.#sendProblem(session, error)
    try {
      session.hasAskedOnError = true
      session.response.clearRepresentation()
      const result = onError(error, session)
      if (isPromise(result)) {
        return result
          .then((settled) => this.#replyToError(session, error, settled))
          .catch((second: unknown) => this.#failTwice(session, second))
      }
      const answer = this.#replyToError(session, error, result)
      return isPromise(answer) ? answer.catch((second: unknown) => this.#failTwice(session, second)) : answer
    } catch (second) {
      return this.#failTwice(session, second)
    }
  }

  #replyToError(session: HttpSession, error: unknown, result: unknown): HttpResponse | Promise<HttpResponse> {
    return result === undefined && !session.response.isAnswered ? this.#sendProblem(session, error) : reply(session, result)
  }

  /** The error handler failed too. */
  #failTwice(session: HttpSession, error: unknown): HttpResponse {
    session.failure = failureOf(error)
    this.#log(session, error)
    return this.#sendProblem(session, error)
  }

  #sendProblem(session: HttpSession, error: unknown): HttpResponse {
    const { response } = session
    response.clearRepresentation()
    return response.sendProblem(problemFor(error, this.#options.debug))
  }

  /** Only what the host program must know: clients make mistakes all day. */
  #log(session: HttpSession, error: unknown): void {
    const cause = session.request.causeOf(error)
    const isClients = cause instanceof WeirError && cause.fault === 'peer'
    if (isClients || problemFor(cause, false).status < 500) return
    const { requestId } = session
    logError(this.#options.logger, `weir: ${session.request.method} ${session.request.url} failed`, error, { requestId })
  }
}

/** Observers are told of every failure, also where nothing was thrown that could be told. */
function failureOf(error: unknown): unknown {
  return error ?? new WeirError('WEIR_HANDLER_FAILED', `${error} was thrown`)
}
