// The value of a Set-Cookie field.

import { createRequire } from 'node:module'

import type { SerializeOptions } from 'cookie'

/** Attributes of a cookie (RFC 6265 §5.2). */
export type CookieOptions = Omit<SerializeOptions, 'encode'>

const require = createRequire(import.meta.url)
let serialize: typeof import('cookie').serialize | undefined

/**
 * RFC 6265 §4.1, the value percent-encoded. The package is loaded for the first cookie, so that starting a server need not wait for it.
 * @throws TypeError for a name, path or domain that cannot be sent
 */
export function setCookie(name: string, value: string, options: CookieOptions): string {
  serialize ??= (require('cookie') as typeof import('cookie')).serialize
  return serialize(name, value, { ...options })
}
