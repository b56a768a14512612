// Sends clients of plain HTTP to HTTPS, and tells browsers to begin there (RFC 6797).

import type { Duration, HttpResponse, HttpSession } from 'weirjs'
import { launch, option, rules } from 'weirjs/kit'

const { duration, flag } = option
const { hostName } = launch

export interface HttpsOnlyOptions {
  /** How long browsers remember it. Default `365d`. */
  readonly maxAge?: Duration
  /** Whether it applies to all subdomains too. Default false. */
  readonly includeSubDomains?: boolean
  /** Whether browsers may add the name to the lists that they ship: https://hstspreload.org. Default false. */
  readonly preload?: boolean
}

/** @internal */
export const HTTPS_ONLY_RULES = rules<HttpsOnlyOptions>('acme')({
  maxAge: duration({ least: 0, unit: 1_000, most: 2 * 366 * 86_400_000 }).or('365d'),
  includeSubDomains: flag(false),
  preload: flag(false),
})

export class HttpsOnly {
  readonly #names: ReadonlySet<string>
  readonly #field: string

  constructor(names: readonly string[], options: typeof HTTPS_ONLY_RULES.settings) {
    this.#names = new Set(names)
    const { maxAge, includeSubDomains, preload } = options
    this.#field = `max-age=${maxAge / 1_000}${includeSubDomains ? '; includeSubDomains' : ''}${preload ? '; preload' : ''}`
  }

  /** The response to a request of plain HTTP; null to let it pass. @param port where TLS is spoken */
  redirect(session: HttpSession, port: number): HttpResponse | null {
    const { url } = session.request
    if (session.isSecure || !url.startsWith('/')) return null // `OPTIONS *` is about the server
    const host = hostOf(session)
    if (host === null || !this.#serves(host)) return null
    // For a client that names no port, or uses a mapped port, the other port is the usual one.
    const place = host.replace(/:\d+$/, '') + (/:\d+$/.test(host) && port !== 443 ? `:${port}` : '')
    return session.response.redirect(`https://${place}${session.basePath}${url}`, 308)
  }

  /** Browsers ignore the field for an address. */
  addField(session: HttpSession, response: HttpResponse): void {
    if (!session.isSecure || response.getHeader('Strict-Transport-Security') !== null) return
    const host = hostOf(session)
    if (host !== null && this.#serves(host)) response.header('Strict-Transport-Security', this.#field)
  }

  #serves(host: string): boolean {
    return this.#names.has(hostName(host).replace(/^\[|\]$/g, ''))
  }
}

/** Null for a valid Host that is not valid in a URL, such as `256.256.256.256`. */
function hostOf({ origin }: HttpSession): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}
