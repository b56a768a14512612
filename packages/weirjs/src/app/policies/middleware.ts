// Middleware: functions that run around every request, the first one added outermost. They are composed once, not for each request.

import { WeirError } from '../../base/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { complete, isLater, reply } from '../reply.ts'

/**
 * Runs the rest: later middleware, then the route. Returns the response or a promise of it, or throws what they throw. Call it once.
 * @example
 * const pass = (_: HttpSession, next: Next) => next()
 * server.use(pass)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export type Next = () => HttpResponse | Promise<HttpResponse>

/**
 * Sees every request, those without a route included. Returns nothing to let the response of `next()` pass, or its error, even if it has
 * caught that. To answer, it returns what a handler may return, with or without having called `next`.
 * @example
 * const timing: Middleware = async (session, next) => {
 *   const start = performance.now()
 *   await next()
 *   session.response.header('Server-Timing', `app;dur=${performance.now() - start}`)
 * }
 * server.use(timing)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export type Middleware = (session: HttpSession, next: Next) => unknown

/**
 * Sees every response to a request with a valid head, just before it is sent, including responses to errors and to requests that were
 * refused before any middleware ran. It may set fields and convert the content. weir waits for a promise that it returns. Returning a body
 * or another response is an error in tests and with `debug`, because weir does not send it. If the hook throws, the client gets a 500. If a
 * stream fails before its first byte, the response to that error is a new one, which the hook sees as well.
 * @example
 * const beforeSend: BeforeSend = (_, response) => response.header('X-Frame-Options', 'DENY')
 * server.use({ name: 'frames', beforeSend })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/middleware.md
 */
export type BeforeSend = (session: HttpSession, response: HttpResponse) => unknown

export type Pipeline = (exchange: Exchange) => OutgoingResponse | Promise<OutgoingResponse>

/** Called with a middleware that has neither called `next` nor answered. */
type OnSilence = (middleware: Middleware, exchange: Exchange) => void

/** Returns one function that runs `middlewares` around `route`. */
export function compose(middlewares: readonly Middleware[], route: Pipeline, onSilence: OnSilence): Pipeline {
  return middlewares.reduceRight<Pipeline>((inner, middleware) => wrap(inner, middleware, onSilence), route)
}

function wrap(inner: Pipeline, middleware: Middleware, onSilence: OnSilence): Pipeline {
  return (exchange) => {
    let hasCalledNext = false
    let response: OutgoingResponse | Promise<OutgoingResponse> | null = null
    let shown: HttpResponse | Promise<HttpResponse> | null = null
    let failure: { readonly error: unknown } | null = null
    const next: Next = () => {
      if (hasCalledNext) throw new WeirError('WEIR_MIDDLEWARE_NEXT_TWICE')
      hasCalledNext = true
      try {
        response = inner(exchange)
      } catch (error) {
        failure = { error }
        throw error
      }
      shown = response instanceof OutgoingResponse ? exchange.faceOf(response) : showLater(exchange, response)
      return shown
    }
    const finish = (result: unknown): OutgoingResponse | Promise<OutgoingResponse> => {
      if (response !== null && (result === undefined || result === shown)) return completed(exchange, response)
      if (failure !== null && result === undefined) throw failure.error
      if (result === undefined && !hasCalledNext && !exchange.own.isAnswered && exchange.sent === null) onSilence(middleware, exchange)
      return reply(exchange, result)
    }
    const result = middleware(exchange.session, next)
    return result !== shown && isLater(result) ? finishLater(exchange, result, finish) : finish(result)
  }
}

/** Returns a separate promise: what a middleware does to it does not affect the engine's own. */
function showLater(exchange: Exchange, response: Promise<OutgoingResponse>): Promise<HttpResponse> {
  const shown = response.then((outgoing) => exchange.faceOf(outgoing))
  shown.catch(() => {}) // a middleware that answers without awaiting it must not leave an unhandled rejection
  return shown
}

/** The middleware may have set a file. */
function completed(
  exchange: Exchange,
  response: OutgoingResponse | Promise<OutgoingResponse>,
): OutgoingResponse | Promise<OutgoingResponse> {
  return response instanceof OutgoingResponse ? complete(exchange, response) : response
}

/** Uses `await`, because the program may have replaced `then` of its promise by a function that calls back wrongly or never. */
async function finishLater(
  exchange: Exchange,
  result: Promise<unknown>,
  finish: (settled: unknown) => OutgoingResponse | Promise<OutgoingResponse>,
): Promise<OutgoingResponse> {
  return complete(exchange, await finish(await result))
}
