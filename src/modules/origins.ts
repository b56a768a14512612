// Which pages are meant, told by the Origin that browsers send (RFC 6454 §7): one way to say it for all modules that ask.

import { invalid } from '../base/options.ts'
import type { HttpSession } from '../http/session.ts'

/** An origin as browsers send it, `https://app.example.com`, or an expression that must match all of one. */
export type AllowedOrigin = string | RegExp

/** Decides about one origin, for one request. Never asked about requests without Origin. */
export type OriginPredicate = (origin: string, session: HttpSession) => boolean | Promise<boolean>

/**
 * `'*'`: every page. `'same'`: pages of the Host that was asked. Else an origin, an expression, a list of both, or a predicate. The origin
 * `null` (sandboxed frames, files) is allowed by `'*'`, by its name, or by the predicate: never by an expression, which would rarely mean it.
 */
export type Origins = '*' | 'same' | AllowedOrigin | readonly AllowedOrigin[] | OriginPredicate

/** The origin of pages that have none: any page can make itself one, in a sandboxed frame. */
const NULL = 'null'
/** A serialized origin: scheme, host, perhaps a port; in lower case, without a slash behind it. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@A-Z]+$/

/** @param owner the module whose option it is @throws WEIR_OPTION_INVALID */
export function predicateOf(owner: string, origins: Origins): OriginPredicate {
  if (typeof origins === 'function') return origins
  if (origins === '*') return () => true
  if (origins === 'same') return (origin, { request }) => isSameHost(origin, request.header('host') ?? '')
  const names = new Set<string>()
  const patterns: RegExp[] = []
  for (const one of Array.isArray(origins) ? (origins as readonly AllowedOrigin[]) : [origins as AllowedOrigin]) {
    // Of its own: it must match all of the origin, and remember nothing from one request to the next, as `g` and `y` do.
    if (one instanceof RegExp) patterns.push(new RegExp(`^(?:${one.source})$`, one.flags.replace(/[gy]/g, '')))
    else if (typeof one === 'string' && (one === NULL || ORIGIN.test(one))) names.add(one)
    else throw invalid(owner, `${JSON.stringify(one)} is no origin: scheme://host[:port] in lower case, without a slash at the end`)
  }
  return (origin) => names.has(origin) || (origin !== NULL && patterns.some((pattern) => pattern.test(origin)))
}

/** The scheme is the client's: behind a proxy that speaks TLS nobody else knows it. A default port may stand there or not. */
function isSameHost(origin: string, host: string): boolean {
  const [, scheme] = /^(https?):\/\//i.exec(origin) ?? []
  if (scheme === undefined || !URL.canParse(origin) || !URL.canParse(`${scheme}://${host}`)) return false
  return new URL(origin).host === new URL(`${scheme}://${host}`).host
}
