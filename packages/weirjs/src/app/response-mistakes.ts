// What a response shows of mistakes of the code that made it: nothing was returned, something has no JSON form, or nothing waited for a form.

import { WeirError } from '../base/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { lossOf } from '../http/json-engine.ts'
import { readsOf } from '../http/request/request.ts'
import { NO_JSON, type OutgoingResponse } from '../http/response/outgoing-response.ts'
import { NOTHING_RETURNED } from '../http/response/response-content.ts'
import { reportMistake } from './debugged.ts'
import { type Logger, logWarning } from './logger.ts'
import type { Middleware } from './policies/middleware.ts'
import type { Route } from './routes/route.ts'

/** Searches of the responses of a route, and objects that each looks at: a warning may come too late, but not cost much. */
const MOST_SEARCHES = 20
const MOST_SEARCHED = 1_000

/** How much of the code of a function without a name is shown. */
const MOST_CODE = 80

export class ResponseMistakes {
  readonly #logger: Logger | null
  readonly #debug: boolean
  readonly #findsLosses: boolean
  /** Middleware and routes about which a warning was logged. */
  readonly #silent = new WeakSet<object>()
  /** How often the JSON of a route was searched for what it has lost. */
  readonly #searches = new WeakMap<object, number>()

  /** @param canSearch whether JSON may be searched after it is made; in tests and with `debug`, that is done before */
  constructor({ logger, debug }: { readonly logger: Logger | null; readonly debug: boolean }, canSearch: boolean) {
    this.#logger = logger
    this.#debug = debug
    this.#findsLosses = canSearch && !debug && logger !== null
  }

  /**
   * A refusal should respond explicitly, and otherwise a call of `next()` was forgotten: a warning once for each middleware.
   * @throws WEIR_RESULT_UNSENDABLE in tests and with `debug`
   */
  readonly refuseSilence = (middleware: Middleware, { connection, request }: Exchange): void => {
    if (request.signal.aborted) return // no client waits for a response
    const name = middleware.name || Function.prototype.toString.call(middleware).replace(/\s+/g, ' ').slice(0, MOST_CODE)
    const says = `middleware "${name}" neither called next() nor answered`
    if (connection.isTest || this.#debug) throw new WeirError('WEIR_RESULT_UNSENDABLE', `${says}: return next(), or a response`)
    if (this.#isNew(middleware)) logWarning(this.#logger, `weir: ${says}, and the client gets 204`)
  }

  /**
   * Looks at what handler and middleware have made. A value is searched only if its JSON has `{}`.
   * @throws WEIR_RESULT_UNSENDABLE in tests and with `debug`, for a body that is still being read
   */
  find(exchange: Exchange, response: OutgoingResponse): OutgoingResponse {
    const { content } = response
    if (exchange.head.contentLength !== 0 && readsOf(exchange.request) !== null) reportUnawaited(exchange, response)
    if (content === NOTHING_RETURNED) this.#warnOfNothing(exchange.match.route as Route)
    if (content.kind === 'text' && this.#findsLosses && response.jsonValue !== NO_JSON && content.text.includes('{}'))
      this.#warnOfLoss(exchange, response.jsonValue)
    return response
  }

  #warnOfNothing(route: Route): void {
    const hint = 'return a value, or say so with response.noContent()'
    if (this.#isNew(route))
      logWarning(this.#logger, `weir: the handler of ${route.label} returned nothing, and the client gets 204: ${hint}`)
  }

  #warnOfLoss(exchange: Exchange, value: unknown): void {
    const route = exchange.match.route as Route | null
    const searches = route === null ? MOST_SEARCHES : (this.#searches.get(route) ?? 0)
    if (route === null || searches >= MOST_SEARCHES) return
    const loss = lossOf(value, MOST_SEARCHED)
    this.#searches.set(route, loss === null ? searches + 1 : MOST_SEARCHES)
    if (loss !== null) logWarning(this.#logger, `weir: {} was sent in the JSON of ${route.label}: ${loss}`)
  }

  #isNew(one: object): boolean {
    const isNew = !this.#silent.has(one)
    this.#silent.add(one)
    return isNew
  }
}

/**
 * Nothing waits for a form that the handler reads, or for a file of it that it saves: the response leaves before, and the errors are lost. What is
 * streamed may wait for the form itself, and a handler that refuses the request need not read to its end.
 */
function reportUnawaited(exchange: Exchange, { content, statusCode, isTaken }: OutgoingResponse): void {
  const { failure, request } = exchange
  if (failure !== null || isTaken || statusCode >= 400 || content.kind === 'stream' || content.kind === 'upgrade') return
  const member = readsOf(request)!.unawaited
  if (member === null || request.signal.aborted) return
  reportMistake(
    exchange,
    `its handler responds although nothing waits for ${member}, whose errors are then lost: write await ${member.slice(0, -1)}…)`,
  )
}
