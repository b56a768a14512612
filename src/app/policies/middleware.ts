// Middleware: functions that run around every request, the first one added outermost. They are composed once, not for each request.

import { WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { Exchange, HttpSession } from '../../http/session.ts'

import { isLater, reply } from '../reply.ts'

/**
 * Runs the rest: later middleware, then the route. Returns the response or a promise of it, or throws what they threw. Can be called once.
 */
export type Next = () => HttpResponse | Promise<HttpResponse>

/**
 * Sees every request, those without a route included. Returns nothing to send the response of `next()`, or anything that a handler may
 * return to send that instead, whether it has called `next` or not.
 */
export type Middleware = (session: HttpSession, next: Next) => unknown

/**
 * Sees every response to a request with a valid head, just before it is sent, including responses to errors and to requests that were
 * refused before any middleware ran. It may set fields and convert the content. A promise that it returns is awaited; any other result is
 * ignored. What it throws becomes a 500. If a stream fails before its first byte, the response to that error is a new one, which the hook
 * sees as well.
 */
export type BeforeSend = (session: HttpSession, response: HttpResponse) => unknown

export type Pipeline = (exchange: Exchange) => OutgoingResponse | Promise<OutgoingResponse>

/** Called with a middleware that has neither called `next` nor answered. */
export type OnSilence = (middleware: Middleware) => void

/** Returns one function that runs `middlewares` around `route`. */
export function compose(middlewares: readonly Middleware[], route: Pipeline, onSilence: OnSilence | null): Pipeline {
  return middlewares.reduceRight<Pipeline>((inner, middleware) => wrap(inner, middleware, onSilence), route)
}

function wrap(inner: Pipeline, middleware: Middleware, onSilence: OnSilence | null): Pipeline {
  return (exchange) => {
    let hasCalledNext = false
    let answer: OutgoingResponse | Promise<OutgoingResponse> | null = null
    let shown: HttpResponse | Promise<HttpResponse> | null = null
    const next: Next = () => {
      if (hasCalledNext) throw new WeirError('WEIR_MIDDLEWARE_NEXT_TWICE')
      hasCalledNext = true
      answer = inner(exchange)
      shown = answer instanceof OutgoingResponse ? exchange.faceOf(answer) : showLater(exchange, answer)
      return shown
    }
    const finish = (result: unknown): OutgoingResponse | Promise<OutgoingResponse> => {
      if (answer !== null && (result === undefined || result === shown)) return answer
      if (onSilence !== null && result === undefined && !hasCalledNext && !exchange.own.isAnswered) onSilence(middleware)
      return reply(exchange, result)
    }
    const result = middleware(exchange.session, next)
    return result !== shown && isLater(result) ? finishLater(result, finish) : finish(result)
  }
}

/** Returns a separate promise: what a middleware does to it does not affect the one that the engine awaits. */
function showLater(exchange: Exchange, answer: Promise<OutgoingResponse>): Promise<HttpResponse> {
  const shown = answer.then((outgoing) => exchange.faceOf(outgoing))
  shown.catch(() => {}) // a middleware that answers without awaiting it must not leave an unhandled rejection
  return shown
}

/** Uses `await`: a program may have replaced `then` of its promise. */
async function finishLater<T>(result: Promise<unknown>, finish: (settled: unknown) => T | Promise<T>): Promise<T> {
  return finish(await result)
}
