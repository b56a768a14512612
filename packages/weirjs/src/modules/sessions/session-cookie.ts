// The cookie of a session: its name, who may have it, and the text of Set-Cookie.

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
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

/** The cookies of one module: over TLS with the prefix `__Host-`, over plain HTTP without it. */
export class CookieForms {
  readonly secure: CookieForm
  /** Null unless the program allows it. */
  readonly insecure: CookieForm | null

  /** @throws WEIR_OPTION_INVALID */
  constructor(owner: string, name: string, allowInsecure: boolean) {
    if (typeof name !== 'string' || !isToken(name)) throw invalid(owner, `name is ${shown(name)}, not the name of a cookie`)
    if (/^__/.test(name)) throw invalid(owner, `name is ${shown(name)}: the prefix __Host- is added to it`)
    const attributes = '; Path=/; HttpOnly; SameSite=Lax'
    this.secure = { name: `__Host-${name}`, isSecure: true, attributes: `${attributes}; Secure` }
    this.insecure = allowInsecure ? { name, isSecure: false, attributes } : null
  }

  /**
   * The one that the client of a request may have. Null over plain HTTP: anybody on the way could read it. Browsers treat addresses of their
   * own machine as secure (https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy), so those get the secure one.
   */
  formFor(session: HttpSession): CookieForm | null {
    if (session.isSecure) return this.secure
    return this.insecure ?? (exchange(session).isLocal ? this.secure : null)
  }
}

/** The value of one of the cookies; null without it, and if there are several: somebody else has set one of them. */
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

/** How far the clocks of two servers may differ. */
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

/** What a program gets that writes a session over plain HTTP. */
export function insecureSession(): WeirError {
  return new WeirError('WEIR_SESSION_INSECURE', 'use https; behind a proxy that terminates TLS, set proxies of the server')
}
