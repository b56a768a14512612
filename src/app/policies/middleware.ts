// Middleware: what runs around every request, the first one added outermost. Composed once, not for each request.

import { WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { Exchange, HttpSession } from '../../http/session.ts'

import { complete, isLater, reply } from '../reply.ts'

/** Runs the rest: later middleware, then the route. Returns the response or a promise of it, or throws what they throw. Call it once. */
export type Next = () => HttpResponse | Promise<HttpResponse>

/**
 * Sees every request, those without a route included. Returns nothing to let the response of `next()` pass, or its error, even if it has
 * caught that. To answer, it returns what a handler may return, with or without having called `next`.
 */
export type Middleware = (session: HttpSession, next: Next) => unknown

/**
 * Sees every answer to a request with a valid head when it is complete, just before it is sent: those of errors, and of requests that were
 * refused before any middleware ran, included. May set fields and give the content another form. A promise that it returns is waited for;
 * whatever else it returns means nothing. What it throws becomes a 500. When a stream fails before its first byte, the answer of that error
 * is another one, and is seen as well.
 */
export type BeforeSend = (session: HttpSession, response: HttpResponse) => unknown

export type Pipeline = (exchange: Exchange) => OutgoingResponse | Promise<OutgoingResponse>

/** Told of a middleware that has neither called `next` nor answered. */
export type OnSilence = (middleware: Middleware) => void

/** One function that runs `middlewares` around `route`. */
export function compose(middlewares: readonly Middleware[], route: Pipeline, onSilence: OnSilence | null): Pipeline {
  return middlewares.reduceRight<Pipeline>((inner, middleware) => wrap(inner, middleware, onSilence), route)
}

function wrap(inner: Pipeline, middleware: Middleware, onSilence: OnSilence | null): Pipeline {
  return (exchange) => {
    let hasCalledNext = false
    let answer: OutgoingResponse | Promise<OutgoingResponse> | null = null
    let shown: HttpResponse | Promise<HttpResponse> | null = null
    let failure: { readonly error: unknown } | null = null
    const next: Next = () => {
      if (hasCalledNext) throw new WeirError('WEIR_MIDDLEWARE_NEXT_TWICE')
      hasCalledNext = true
      try {
        answer = inner(exchange)
      } catch (error) {
        failure = { error }
        throw error
      }
      shown = answer instanceof OutgoingResponse ? exchange.faceOf(answer) : showLater(exchange, answer)
      return shown
    }
    const finish = (result: unknown): OutgoingResponse | Promise<OutgoingResponse> => {
      if (answer !== null && (result === undefined || result === shown)) return completed(exchange, answer)
      if (failure !== null && result === undefined) throw failure.error
      if (onSilence !== null && result === undefined && !hasCalledNext && !exchange.own.isAnswered) onSilence(middleware)
      return reply(exchange, result)
    }
    const result = middleware(exchange.session, next)
    return result !== shown && isLater(result) ? finishLater(exchange, result, finish) : finish(result)
  }
}

/** A promise of its own: what a middleware does to it does not reach the one that the engine waits for. */
function showLater(exchange: Exchange, answer: Promise<OutgoingResponse>): Promise<HttpResponse> {
  const shown = answer.then((outgoing) => exchange.faceOf(outgoing))
  shown.catch(() => {}) // a middleware that answers without waiting must not leave a rejection that nobody handles
  return shown
}

/** The middleware may have made a file of it. */
function completed(exchange: Exchange, answer: OutgoingResponse | Promise<OutgoingResponse>): OutgoingResponse | Promise<OutgoingResponse> {
  return answer instanceof OutgoingResponse ? complete(exchange, answer) : answer
}

/** By `await`: a `then` that a program has put on its promise would not be called as it must be, if at all. */
async function finishLater(
  exchange: Exchange,
  result: Promise<unknown>,
  finish: (settled: unknown) => OutgoingResponse | Promise<OutgoingResponse>,
): Promise<OutgoingResponse> {
  return complete(exchange, await finish(await result))
}
