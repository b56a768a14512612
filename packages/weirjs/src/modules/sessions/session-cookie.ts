// The cookie of a session: its name, who may have it, and the text of Set-Cookie.

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { flag, oneOf, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

/**
 * The most bytes of a Set-Cookie field. Browsers keep at least 4,096 bytes (RFC 6265 §6.1), which some count with the attributes, and some
 * with three bytes more.
 */
export const MAX_COOKIE_BYTES = 4_093

/** One name of the cookie. */
export interface CookieForm {
  readonly name: string
  readonly isSecure: boolean
  /** What follows the value in Set-Cookie. */
  readonly attributes: string
}

export interface SessionCookieOptions {
  /**
   * With which requests of pages on other sites browsers send the cookie. `lax`: when a link leads here. `strict`: never, so that a visitor who
   * follows a link seems signed out. `none`: with all, for a front end on another site; it needs `csrf`, and TLS. Default `lax`.
   */
  readonly sameSite?: 'lax' | 'strict' | 'none'
  /**
   * The domain whose hosts all get the cookie, such as `example.com`. Any of them can replace it: the prefix of its name is then `__Secure-`, and no
   * longer `__Host-`. Default: this host alone.
   */
  readonly domain?: string
  /** The path below which browsers send the cookie. With one, the prefix is `__Secure-`, too. Default `/`. */
  readonly path?: string
  /** Whether a page in a frame of another site has a session of its own for each of these sites (CHIPS). Needs TLS. Default false. */
  readonly partitioned?: boolean
}

/** @internal */
export const SESSION_COOKIE_RULES = rules<SessionCookieOptions>('cookie of sessions()')({
  sameSite: oneOf('lax', 'strict', 'none').or('lax'),
  domain: text('a domain such as "example.com"', (domain) => DOMAIN.test(domain)).orNull('this host'),
  path: text('a path such as "/app"', (path) => /^\/[\x21-\x3a\x3c-\x7e]*$/.test(path)).or('/'),
  partitioned: flag(false),
})
/** Browsers ignore the dot that some write in front, and a domain for an address or for a name without a dot. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?$/i

type SessionCookieSettings = typeof SESSION_COOKIE_RULES.settings

const SAME_SITE = { lax: 'Lax', strict: 'Strict', none: 'None' } as const

/** The cookies of one module: over TLS with a prefix that only TLS can set, over plain HTTP without it. */
export class CookieForms {
  readonly secure: CookieForm
  /** Null unless the program allows it. */
  readonly insecure: CookieForm | null

  /** @throws WEIR_OPTION_INVALID */
  constructor(owner: string, name: string, allowInsecure: boolean, cookie: SessionCookieSettings) {
    if (typeof name !== 'string' || !isToken(name)) throw invalid(owner, `name is ${shown(name)}, not the name of a cookie`)
    if (/^__/.test(name)) throw invalid(owner, `name is ${shown(name)}: the prefix __Host- is added to it`)
    const { sameSite, domain, path, partitioned } = cookie
    if (allowInsecure && (sameSite === 'none' || partitioned))
      throw invalid(
        owner,
        `allowInsecure is true, but browsers take a cookie with ${partitioned ? 'partitioned' : "sameSite: 'none'"} over TLS alone: leave one of them out`,
      )
    const prefix = domain === null && path === '/' ? '__Host-' : '__Secure-'
    const attributes = `; Path=${path}${domain === null ? '' : `; Domain=${domain}`}; HttpOnly; SameSite=${SAME_SITE[sameSite]}`
    this.secure = { name: `${prefix}${name}`, isSecure: true, attributes: `${attributes}; Secure${partitioned ? '; Partitioned' : ''}` }
    this.insecure = allowInsecure ? { name, isSecure: false, attributes } : null
  }

  /**
   * The cookie that the client of a request may have. Null over plain HTTP, where anyone on the way could read it. Browsers treat addresses of
   * their own machine as secure (https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy), so those get the secure one.
   */
  formFor(session: HttpSession): CookieForm | null {
    if (session.isSecure) return this.secure
    return this.insecure ?? (exchange(session).isLocal ? this.secure : null)
  }
}

/** The cookie of a module that builds on sessions: for this host alone, and sent when another site leads back here, whatever the cookie of the session says. */
export function returningForm({ isSecure }: CookieForm, name: string): CookieForm {
  return {
    name: `${isSecure ? '__Host-' : ''}${name}`,
    isSecure,
    attributes: `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
  }
}

/** The value of one of the cookies; null without it, and if there are several: someone else has set one of them. */
export function soleCookie(cookies: readonly string[], name: string): string | null {
  const at = cookies.findIndex((part, i) => i % 2 === 0 && part === name)
  if (at === -1 || cookies.some((part, i) => i > at && i % 2 === 0 && part === name)) return null
  return cookies[at + 1]!
}

/** @param maxAge seconds; null: until the browser is closed */
export function setCookieText({ name, attributes }: CookieForm, value: string, maxAge: number | null): string {
  return `${name}=${value}${attributes}${maxAge === null ? '' : `; Max-Age=${maxAge}`}`
}

export function clearCookieText({ name, attributes }: CookieForm): string {
  return `${name}=${attributes}; Expires=Thu, 01 Jan 1970 00:00:00 GMT`
}

/** The most by which the clocks of two servers may differ. */
const MOST_SKEW_MS = 60_000

/**
 * A second cookie, for sessions without a store: when the client has signed out. The response to a request that was on its way then may set the
 * cookie of the session again, and nothing but the client remembers that it has ended.
 */
export function endedForm(form: CookieForm): CookieForm {
  return { ...form, name: `${form.name}-ended` }
}

/** When the client has signed out, by its cookies. @param now milliseconds since 1970 */
export function endedAtIn(cookies: readonly string[], form: CookieForm, now: number): number | null {
  const value = soleCookie(cookies, endedForm(form).name)
  if (value === null || !/^\d{1,15}$/.test(value)) return null
  return Number(value) <= now + MOST_SKEW_MS ? Number(value) : null
}

/** The error for a program that writes a session over plain HTTP. */
export function insecureSession(): WeirError {
  return new WeirError('WEIR_SESSION_INSECURE', 'use https; behind a proxy that terminates TLS, set proxies of the server')
}
