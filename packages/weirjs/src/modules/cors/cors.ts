// `weirjs/cors`: which pages of other origins may read the responses of this server (Fetch standard, "HTTP-CORS protocol").
//
// A preflight is answered before any route runs. All other requests run as usual, and their responses state who may read them, including
// errors and refusals. CORS does not keep requests out: it makes browsers withhold responses.

import type { Module, ModuleHost } from '../../app/module-host.ts'
import { isToken } from '../../base/ascii.ts'
import type { Duration } from '../../base/duration.ts'
import { isPromise } from '../../base/is-promise.ts'
import { duration, flag, readBy, tokens } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { type OriginPredicate, type Origins, predicateOf } from './origins.ts'

/** Over HTTP/2, a client may send a long field by reference again and again, for a few bytes each. */
const MOST_ASKED_LENGTH = 8_192

export interface CorsOptions {
  /** Origins whose pages may read responses. Default: the `frontEnds` of the server or, without any, `'*'`: all. A predicate is also called for preflights, which have no route. */
  readonly origins?: Origins
  /**
   * Whether responses to requests with cookies or HTTP authentication may be read. Requires `frontEnds` of the server, or `origins` other than `'*'` and `'same'`.
   * Default false.
   */
  readonly credentials?: boolean
  /** Methods that a page may use. Default GET, HEAD, PUT, PATCH, POST and DELETE. */
  readonly methods?: readonly string[]
  /** Header fields that a page may set. Default: those that it requests. */
  readonly allowedHeaders?: readonly string[]
  /** Response fields that a page may read, in addition to those that it may always read. Default none. */
  readonly exposedHeaders?: readonly string[]
  /**
   * How long a browser may cache a preflight, in whole seconds: `'2h'`, or milliseconds. Default: none is sent, and browsers use 5 s.
   * Chromium uses at most 2 hours, Firefox 24.
   */
  readonly maxAge?: Duration
}

interface AllowedOrigins {
  /** As in an option. */
  readonly named: Origins
  readonly isAllowed: OriginPredicate
}

const OWNER = 'cors'
/** Browsers cache a preflight for whole seconds. */
const SECOND_MS = 1_000
/** How many refused origins are logged, and remembered so that each is logged once. */
const MAX_LOGGED = 100
const MAX_SHOWN_CHARS = 100

/** @internal */
export const CORS_RULES = rules<CorsOptions>(OWNER)(
  {
    origins: readBy((origins: Origins, owner) => ({ isAllowed: predicateOf(owner, origins), named: origins })).optional("frontEnds or '*'"),
    credentials: flag(false),
    methods: tokens().or(['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE']),
    allowedHeaders: tokens().orNull('the requested ones'),
    exposedHeaders: tokens().or([]),
    maxAge: duration({ least: 0, unit: SECOND_MS }).orNull("the browser's, 5 s"),
  },
  { elsewhere: { allowHeaders: 'allowedHeaders', allowMethods: 'methods', exposeHeaders: 'exposedHeaders' } },
)

type CorsSettings = typeof CORS_RULES.settings

/**
 * Returns a module that answers preflights, and states on every response who may read it.
 *
 * @throws WEIR_OPTION_INVALID; `use` of a server throws it for `credentials` without any origins
 */
export function cors(options: CorsOptions = {}): Module {
  const settings = CORS_RULES.read(options)
  if (settings.origins !== undefined) checkCredentials(settings.origins.named, settings.credentials)
  return {
    name: 'cors',
    install(host) {
      const origins = settings.origins ?? defaultOrigins(host, settings.credentials)
      const policy = new Policy(settings, origins)
      const refused = new Set<string>()
      const description = Object.freeze({ credentials: settings.credentials })
      const gate = (session: HttpSession) =>
        isPreflight(session) ? policy.answerPreflight(session, (origin) => logRefused(host, refused, origin)) : undefined
      host.use({
        name: 'cors',
        // No route answers a preflight, and it has no credentials: it is answered before all gates that could ask for some.
        runsFirst: true,
        gate,
        foresee: (session) => {
          if (typeof origins.named === 'function' && isPreflight(session)) return 'unknown'
          // Calls no predicate of the program, and so returns no promise.
          return isPreflight(session) ? (policy.answerPreflight(session, () => {}) as HttpResponse) : undefined
        },
        beforeSend: (session, response) => policy.describe(session, response),
        describe: () => description,
      })
    },
  }
}

/** Each origin once. Anyone can make up more. */
function logRefused({ logger }: ModuleHost, refused: Set<string>, given: string): void {
  const origin = ownText(given.slice(0, MAX_SHOWN_CHARS))
  if (refused.has(origin) || refused.size > MAX_LOGGED) return
  refused.add(origin)
  logger?.warn?.(
    refused.size > MAX_LOGGED
      ? `weir: cors has refused preflights of ${MAX_LOGGED} origins: others are no longer logged`
      : `weir: cors refused a preflight of the origin ${JSON.stringify(origin)}, which its "origins" do not allow`,
  )
}

function isPreflight({ request }: HttpSession): boolean {
  return request.method === 'OPTIONS' && request.header('origin') !== null && request.header('access-control-request-method') !== null
}

/** A list, or everyone where the server names no pages of its own. @throws WEIR_OPTION_INVALID */
function defaultOrigins({ frontEnds }: ModuleHost, credentials: boolean): AllowedOrigins {
  const named = frontEnds.length === 0 ? '*' : frontEnds
  checkCredentials(named, credentials)
  return { named, isAllowed: predicateOf(OWNER, named) }
}

/** @throws WEIR_OPTION_INVALID */
function checkCredentials(named: Origins, credentials: boolean): void {
  if (!credentials) return
  if (named === '*')
    throw invalid(
      OWNER,
      "credentials need frontEnds of the server, a list of origins or a predicate: `origins: '*'` would open them to every page",
    )
  // `'same'` compares schemes only where the server knows its own. A page that arrived over plain http can be forged on the way, and
  // could then read what TLS protects.
  if (named === 'same' || (Array.isArray(named) && named.includes('same')))
    throw invalid(OWNER, "credentials need a list of origins or a predicate, without 'same': it would open them to pages without TLS")
}

class Policy {
  readonly #isAllowed: OriginPredicate
  readonly #credentials: boolean
  readonly #methods: string
  readonly #allowedHeaders: string | null
  readonly #exposedHeaders: string
  readonly #maxAge: string | null
  /** Whether all responses are the same, whichever origin sends the request. */
  readonly #isOpen: boolean

  constructor(settings: Omit<CorsSettings, 'origins'>, origins: AllowedOrigins) {
    const { credentials, methods, allowedHeaders, exposedHeaders, maxAge } = settings
    this.#isOpen = origins.named === '*'
    this.#isAllowed = origins.isAllowed
    this.#credentials = credentials
    this.#methods = methods.join(', ')
    this.#allowedHeaders = allowedHeaders?.join(', ') ?? null
    this.#exposedHeaders = exposedHeaders.join(', ')
    this.#maxAge = maxAge === null ? null : String(maxAge / SECOND_MS)
  }

  /** 204 with what the page may do; 403 if it may do nothing. It does not depend on a route: there may be none for OPTIONS. */
  answerPreflight(session: HttpSession, onRefused: (origin: string) => void): HttpResponse | Promise<HttpResponse> {
    const origin = session.request.header('origin')!
    const answer = (isAllowed: boolean): HttpResponse => {
      if (!isAllowed) onRefused(origin)
      return this.#grant(session, isAllowed)
    }
    const allowed = this.#isAllowed(origin, session)
    return isPromise(allowed) ? allowed.then(answer) : answer(allowed)
  }

  #grant({ request, response }: HttpSession, isAllowed: boolean): HttpResponse {
    if (this.#allowedHeaders === null) response.vary('Access-Control-Request-Headers')
    if (!isAllowed) return response.forbidden('this origin is not allowed')
    this.#allow(response, this.#isOpen ? '*' : request.header('origin')!)
    if (this.#methods !== '') response.header('Access-Control-Allow-Methods', this.#methods)
    const headers = this.#allowedHeaders ?? askedHeaders(request.header('access-control-request-headers'))
    if (headers !== '') response.header('Access-Control-Allow-Headers', headers)
    if (this.#maxAge !== null) response.header('Access-Control-Max-Age', this.#maxAge)
    return response.noContent()
  }

  /** Adds the fields to a response. What a handler has set itself is kept, and so is the response to a preflight. */
  describe(session: HttpSession, response: HttpResponse): void | Promise<void> {
    if (this.#isOpen) return this.#allow(response, '*')
    response.vary('Origin')
    const origin = session.request.header('origin')
    if (origin === null || isPreflight(session) || response.getHeader('Access-Control-Allow-Origin') !== null) return
    const allowed = this.#isAllowed(origin, session)
    if (isPromise(allowed)) return allowed.then((is) => (is ? this.#allow(response, origin) : undefined))
    if (allowed) this.#allow(response, origin)
  }

  #allow(response: HttpResponse, origin: string): void {
    if (response.getHeader('Access-Control-Allow-Origin') !== null) return
    response.header('Access-Control-Allow-Origin', origin)
    if (this.#credentials) response.header('Access-Control-Allow-Credentials', 'true')
    if (this.#exposedHeaders !== '') response.header('Access-Control-Expose-Headers', this.#exposedHeaders)
  }
}

/** The names that the page requests, each once, without anything that is not a name. Empty if the list is longer than any that browsers send. */
function askedHeaders(list: string | null): string {
  if (list === null || list.length > MOST_ASKED_LENGTH) return ''
  const names = list.split(',').map((name) => name.trim())
  return [...new Set(names)].filter(isToken).join(', ')
}
