// Middleware: what runs around every request, the first one added outermost. Composed once, not for each request.

import { WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import type { HttpResponse } from '../http/answer/response.ts'
import type { HttpSession } from '../http/session.ts'

import { reply } from './reply.ts'

/** Runs the rest: later middleware, then the route. Gives the answer, a promise of it, or throws what they threw. Once. */
export type Next = () => HttpResponse | Promise<HttpResponse>

/**
 * Sees every request, those without a route included. Returns nothing to let the answer of `next()` pass, or what a handler may
 * return to answer itself, with or without having called `next`.
 */
export type Middleware = (session: HttpSession, next: Next) => unknown

/**
 * Sees every answer to a request with a valid head when it is complete, just before it is sent: those of errors, and of requests that were
 * refused before any middleware ran, included. May set fields and give the content another form. A promise that it returns is waited for;
 * whatever else it returns means nothing. What it throws becomes a 500. When a stream fails before its first byte, the answer of that error
 * is another one, and is seen as well.
 */
export type BeforeSend = (session: HttpSession, response: HttpResponse) => unknown

export type Pipeline = (session: HttpSession) => HttpResponse | Promise<HttpResponse>

/** Told of a middleware that has neither called `next` nor answered. */
export type OnSilence = (middleware: Middleware) => void

/** One function that runs `middlewares` around `route`. */
export function compose(middlewares: readonly Middleware[], route: Pipeline, onSilence: OnSilence | null): Pipeline {
  return middlewares.reduceRight<Pipeline>((inner, middleware) => wrap(inner, middleware, onSilence), route)
}

function wrap(inner: Pipeline, middleware: Middleware, onSilence: OnSilence | null): Pipeline {
  return (session) => {
    let hasCalledNext = false
    let answer: HttpResponse | Promise<HttpResponse> | null = null
    const next: Next = () => {
      if (hasCalledNext) throw new WeirError('WEIR_MIDDLEWARE_NEXT_TWICE')
      hasCalledNext = true
      answer = inner(session)
      // A middleware that answers without waiting must not leave a rejection that nobody handles.
      if (isPromise(answer)) answer.catch(() => {})
      return answer
    }
    const finish = (result: unknown): HttpResponse | Promise<HttpResponse> => {
      if (result !== undefined) return reply(session, result)
      if (answer !== null) return answer
      if (onSilence !== null && !hasCalledNext && !session.response.isAnswered) onSilence(middleware)
      return reply(session, undefined)
    }
    const result = middleware(session, next)
    if (isPromise(result)) return result.then(finish)
    return finish(result)
  }
}
