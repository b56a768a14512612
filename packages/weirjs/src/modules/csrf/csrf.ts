// `weirjs/csrf`: refuses requests that pages of other origins send with the credentials of their visitors (cross-site request forgery).
//
// Browsers state where a request comes from: in Sec-Fetch-Site (Fetch Metadata), and in Origin. No page can change these fields, so no tokens
// are needed. The rules come from CrossOriginProtection in Go 1.25, except that the scheme of Origin has to match too.

import type { Policy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { func, oneOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'

import { type OriginPredicate, predicateOf } from '../cors/origins.ts'
import { exchange } from '../kit/exchange.ts'

/**
 * Other origins whose pages may send requests: an origin, an expression that must match the whole origin, a list of both, or a predicate. `'same'`
 * stands for the server's own origin, which is always trusted.
 */
type TrustedOrigins = string | RegExp | readonly (string | RegExp)[] | OriginPredicate

/** Why a request is refused. */
export interface CsrfRefusal {
  /** Sec-Fetch-Site; null if the request has none. */
  readonly site: string | null
  /** Origin; null if the request has none. */
  readonly origin: string | null
}

export interface CsrfOptions {
  /** Default: the `frontEnds` of the server. Pages of the server's own origin always may. */
  readonly trusted?: TrustedOrigins
  /** `refuse`: the client gets 403. `report`: `onRefused` is called, and the request passes. Default `refuse`. */
  readonly mode?: 'refuse' | 'report'
  /** Called for each refusal, before the response. A promise is awaited. What it throws becomes the response. Required to report. */
  readonly onRefused?: (refusal: CsrfRefusal, session: HttpSession) => unknown
}

/** @internal */
export const CSRF_RULES = rules<CsrfOptions>('csrf')(
  {
    trusted: readBy(trustedBy).or(isFrontEnd, 'frontEnds'),
    mode: oneOf('refuse', 'report').or('refuse'),
    onRefused: func().optional(),
  },
  { elsewhere: { allowedOrigins: 'trusted', origin: 'trusted', origins: 'trusted', trustedOrigins: 'trusted' } },
)
/** Methods that must not change anything (RFC 9110 §9.2.1, RFC 10008 §2). Method names are case-sensitive. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY'])

/**
 * Returns a policy that refuses requests of pages of other origins with 403, before their body is read. Requests with the methods GET, HEAD,
 * OPTIONS and QUERY pass. The policy is called `csrf`: on a group or a route, it replaces the outer one.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function csrf(options: CsrfOptions = {}): Policy {
  const { trusted: isTrusted, mode, onRefused } = CSRF_RULES.read(options)
  if (mode === 'report' && onRefused === undefined) throw invalid('csrf', "mode 'report' needs onRefused: otherwise it has no effect")

  const refuse = (session: HttpSession, refusal: CsrfRefusal): undefined | Promise<undefined> => {
    const told = onRefused?.(refusal, session)
    if (isPromise(told)) return told.then(() => conclude(mode, refusal))
    return conclude(mode, refusal)
  }
  const callsProgram = typeof options.trusted === 'function' || onRefused !== undefined
  return {
    name: 'csrf',
    gate(session): undefined | Promise<undefined> {
      const refusal = suspicionOf(session)
      if (refusal === null) return undefined
      const trusted = refusal.origin !== null && isTrusted(refusal.origin, session)
      if (isPromise(trusted)) return trusted.then((is) => (is ? undefined : refuse(session, refusal)))
      return trusted ? undefined : refuse(session, refusal)
    },
    foresee(session) {
      const refusal = suspicionOf(session)
      if (refusal === null) return undefined
      if (callsProgram) return 'unknown'
      return refusal.origin !== null && isTrusted(refusal.origin, session) === true ? undefined : conclude(mode, refusal)
    },
    describe: () => mode,
  }
}

/** Why a request is refused unless its origin is trusted; null if it passes. */
function suspicionOf(session: HttpSession): CsrfRefusal | null {
  if (SAFE.has(session.request.method)) return null
  const handle = exchange(session)
  const site = handle.field('sec-fetch-site')
  const origin = handle.field('origin')
  if (site === 'same-origin') return null
  // Without both fields, the client is not a browser, or a very old one that sends no Origin with requests to its own server.
  return namesNoSite(site) && (origin === null || origin === session.origin) ? null : { site, origin }
}

/** @throws WEIR_CROSS_ORIGIN */
function conclude(mode: 'refuse' | 'report', { site, origin }: CsrfRefusal): undefined {
  if (mode === 'report') return undefined
  throw new WeirError('WEIR_CROSS_ORIGIN', namesNoSite(site) ? `Origin is ${quoted(origin)}` : `Sec-Fetch-Site is ${quoted(site)}`)
}

/**
 * Whether only Origin can tell which page has sent the request. `none` means that a person has caused it. In Incognito mode, Chromium also states
 * `none` for a Background Fetch of a page of any origin.
 */
function namesNoSite(site: string | null): boolean {
  return site === null || site === 'none'
}

function quoted(value: string | null): string {
  return JSON.stringify(value?.slice(0, 100))
}

function trustedBy(trusted: TrustedOrigins, owner: string): OriginPredicate {
  for (const one of Array.isArray(trusted) ? (trusted as readonly unknown[]) : [trusted]) {
    if (one === '*') throw invalid(owner, "trusted is '*': with all origins trusted, nothing is refused")
    if (one === 'null') throw invalid(owner, "trusted has 'null': every page can have this origin, in a sandboxed frame")
  }
  // Sec-Fetch-Site has told whether a page is the server's own. Its name is not compared again: a proxy may have changed it.
  return predicateOf(owner, typeof trusted === 'function' ? trusted : [trusted].flat().filter((one) => one !== 'same'))
}

function isFrontEnd(origin: string, { server }: HttpSession): boolean {
  return server.frontEnds.includes(origin)
}
