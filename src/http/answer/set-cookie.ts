// The value of a Set-Cookie field.

import type { SerializeOptions } from 'cookie'

import { checkNames, namesOf } from '../../base/options.ts'

import { requirePackage } from '../../base/packages.ts'

/** Attributes of a cookie (RFC 6265 §5.2). */
export type CookieOptions = Omit<SerializeOptions, 'encode'>

const OPTION_NAMES = namesOf<CookieOptions>()([
  'maxAge',
  'expires',
  'domain',
  'path',
  'httpOnly',
  'secure',
  'partitioned',
  'priority',
  'sameSite',
])

let serialize: typeof import('cookie').serialize | undefined

/**
 * Formats a cookie by RFC 6265 §4.1. The value is percent-encoded; a lone surrogate becomes U+FFFD. The package is loaded with the first
 * cookie, so that it does not delay the start of a server.
 * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an unknown attribute
 */
export function setCookie(name: string, value: string, options?: CookieOptions): string {
  if (options !== undefined) checkNames('cookie()', options, OPTION_NAMES)
  serialize ??= requirePackage<typeof import('cookie')>('cookie').serialize
  return serialize(name, String(value).replace(/\p{Cs}/gu, '\ufffd'), { ...options })
}
