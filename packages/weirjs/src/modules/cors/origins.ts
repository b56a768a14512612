// Selects pages by the Origin that browsers send (RFC 6454 §7), in the same way for all modules.

import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'

/** Decides about one origin for one request. It is not called for requests without Origin. */
export type OriginPredicate = (origin: string, session: HttpSession) => boolean | Promise<boolean>

/**
 * `'*'` means every page, and `'same'` means pages of the host in `session.origin`: the host of the request, or a host that a trusted proxy names.
 * Otherwise an origin as browsers send it, such as `https://app.example.com`, an expression that must match the whole origin, a list of these and of
 * `'same'`, or a predicate. The origin `null` (sandboxed frames, files) is allowed by `'*'`, by its name or by a predicate. Expressions never match it,
 * because that is rarely intended.
 */
export type Origins = string | RegExp | readonly (string | RegExp)[] | OriginPredicate

/** The origin of pages that have none. Any page can get it, in a sandboxed frame. */
const NULL = 'null'
/** Pages of the host that is requested. */
const SAME = 'same'
/** A serialized origin: scheme, host and perhaps a port, in lower case, without a trailing slash. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s@A-Z]+$/
/** No request is for a longer host. */
const MAX_SAME_CHARACTERS = 'https://'.length + 261

/**
 * @param owner the module whose option this is
 * @throws WEIR_OPTION_INVALID
 */
export function predicateOf(owner: string, origins: Origins): OriginPredicate {
  if (typeof origins === 'function') return origins
  if (origins === '*') return () => true
  const names = new Set<string>()
  const patterns: RegExp[] = []
  let withSame = false
  for (const one of Array.isArray(origins) ? (origins as readonly (string | RegExp)[]) : [origins as string | RegExp]) {
    // Creates a new expression, because it must match the whole origin, and must not keep state between requests as `g` and `y` do.
    if (one === SAME) withSame = true
    else if (one instanceof RegExp) patterns.push(new RegExp(`^(?:${one.source})$`, one.flags.replace(/[gy]/g, '')))
    else if (typeof one === 'string' && (one === NULL || ORIGIN.test(one))) names.add(one)
    else
      throw invalid(owner, `${JSON.stringify(one)} is not an origin: write scheme://host[:port] in lower case, without a slash at the end`)
  }
  return (origin, session) =>
    names.has(origin) || (origin !== NULL && patterns.some((pattern) => pattern.test(origin))) || (withSame && isSame(origin, session))
}

/**
 * A request that is known to have come over TLS must be from a page that did. Otherwise the scheme is taken from the client's Origin, because
 * behind a proxy that terminates TLS and is not trusted no one else knows it. A default port may be written or not.
 */
function isSame(origin: string, session: HttpSession): boolean {
  if (origin.length > MAX_SAME_CHARACTERS) return false
  const [, scheme] = /^(https?):\/\//i.exec(origin) ?? []
  if (scheme === undefined || (session.isSecure && scheme.toLowerCase() !== 'https')) return false
  const own = session.origin.replace(/^https?/, scheme)
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host
}
