// The value of a Set-Cookie field.

import { type SerializeOptions, serialize } from 'cookie'

import { anything } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'

/** Attributes of a cookie (RFC 6265 §5.2). */
export type CookieOptions = Omit<SerializeOptions, 'encode'>

const GIVEN = anything().optional()
/** @internal The package checks the values. */
export const COOKIE_RULES = rules<CookieOptions>('cookie()')({
  maxAge: GIVEN,
  expires: GIVEN,
  domain: GIVEN,
  path: GIVEN,
  httpOnly: GIVEN,
  secure: GIVEN,
  partitioned: GIVEN,
  priority: GIVEN,
  sameSite: GIVEN,
})

const NO_OPTIONS: CookieOptions = Object.freeze({})
const PREFIX = /^__(?:host|secure)-/i

/**
 * Formats a cookie by RFC 6265 §4.1. The value is percent-encoded; a lone surrogate becomes U+FFFD.
 * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an unknown attribute, and for a cookie that
 * browsers ignore
 */
export function setCookie(name: string, value: string, options: CookieOptions = NO_OPTIONS): string {
  COOKIE_RULES.checkNames(options)
  checkAcceptable(name, options)
  return serialize(name, String(value).replace(/\p{Cs}/gu, '\ufffd'), { ...options })
}

/** Browsers ignore a cookie that lacks what its name, SameSite=None or Partitioned require (RFC 6265bis §5.7, CHIPS), and report nothing. */
function checkAcceptable(name: string, { secure, path, domain, sameSite, partitioned }: CookieOptions): void {
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
