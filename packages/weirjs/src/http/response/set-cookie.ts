// The value of a Set-Cookie field.

import { type SerializeOptions, serialize } from 'cookie'

import type { Duration } from '../../base/duration.ts'
import { kindOf } from '../../base/kind-of.ts'
import { duration, flag, matching, oneOf, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'

/**
 * Attributes of a cookie (RFC 6265 §5.2).
 * @example
 * const options: CookieOptions = { httpOnly: true, maxAge: '7d' }
 * response.cookie('theme', 'dark', options)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/cookies.md
 */
export interface CookieOptions {
  /**
   * How long the client keeps it, in whole seconds: a text such as `'30d'`, or milliseconds, which are at least a day, because smaller numbers
   * are more likely to be seconds. 0 deletes it. Browsers keep no cookie for more than 400 days. Default: until the browser is closed.
   */
  readonly maxAge?: Duration
  /** Until when the client keeps it. `maxAge` takes precedence. */
  readonly expires?: Date
  /** The host that it is for, and all hosts below that. Default: the host of the request alone. */
  readonly domain?: string
  /** The path that it is for, and all paths below. Default: the folder of the request's path. */
  readonly path?: string
  /** Whether scripts of a page cannot read it. Default false. */
  readonly httpOnly?: boolean
  /** Whether it is sent over TLS only. Default false. */
  readonly secure?: boolean
  /** Whether each site that embeds the host has a cookie of its own. Requires `secure`. Default false. */
  readonly partitioned?: boolean
  /** Which cookies a browser drops first when it has too many. Default: `medium`, in browsers that know it. */
  readonly priority?: 'low' | 'medium' | 'high'
  /** With which requests of other sites it is sent; true is `strict`. `none` requires `secure`. Default: the browser's, which is mostly `lax`. */
  readonly sameSite?: boolean | 'lax' | 'strict' | 'none'
}

const DAY_MS = 86_400_000
/** @internal The package checks the syntax of `domain` and `path`. */
export const COOKIE_RULES = rules<CookieOptions>('cookie()')({
  maxAge: duration({ least: 0, unit: 1_000, most: 10 * 366 * DAY_MS, leastNumber: DAY_MS }).optional(),
  expires: matching<Date>('a date', (date) => date instanceof Date && !Number.isNaN(date.getTime())).optional(),
  domain: text().optional("the request's"),
  path: text().optional("the request's"),
  httpOnly: flag(false),
  secure: flag(false),
  partitioned: flag(false),
  priority: oneOf('low', 'medium', 'high').optional("the browser's"),
  sameSite: oneOf<boolean | 'lax' | 'strict' | 'none'>(true, false, 'lax', 'strict', 'none').optional("the browser's"),
})

const NO_OPTIONS: CookieOptions = Object.freeze({})
const PREFIX = /^__(?:host|secure)-/i

/**
 * Formats a cookie by RFC 6265 §4.1. The value is percent-encoded; a lone surrogate becomes U+FFFD.
 * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an unknown attribute or a wrong value, and for a cookie that
 * browsers ignore
 */
export function setCookie(name: string, value: string, options: CookieOptions = NO_OPTIONS): string {
  if (value === undefined || typeof value === 'object')
    throw invalid('cookie()', `the value of ${JSON.stringify(name)} is ${kindOf(value)}, not a text, such as JSON.stringify(value)`)
  const { maxAge, ...attributes } = COOKIE_RULES.read(options)
  checkAcceptable(name, attributes)
  const given = maxAge === undefined ? attributes : { ...attributes, maxAge: maxAge / 1_000 }
  return serialize(name, String(value).replace(/\p{Cs}/gu, '\ufffd'), given as SerializeOptions) // for which undefined is absent
}

/** Browsers ignore a cookie that lacks what its name, SameSite=None or Partitioned require (RFC 6265bis §5.7, CHIPS), and report nothing. */
function checkAcceptable(
  name: string,
  { secure, path, domain, sameSite, partitioned }: Omit<typeof COOKIE_RULES.settings, 'maxAge'>,
): void {
  const prefix = PREFIX.exec(name)?.[0] ?? null
  if (prefix === null && partitioned !== true && sameSite !== 'none') return
  const refuse: (why: string) => never = (why) => {
    throw invalid('cookie()', `browsers ignore the cookie ${JSON.stringify(name)} ${why}`)
  }
  if (secure !== true) refuse('without secure: true')
  if (prefix?.toLowerCase() !== '__host-') return
  if (path !== '/') refuse("without path: '/'")
  if (domain !== undefined) refuse('with a domain')
}
