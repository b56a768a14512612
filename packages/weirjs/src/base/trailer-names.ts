// Which fields may be sent after a body (RFC 9110 §6.5.1).

/**
 * Fields that a recipient needs before the body, or acts on: framing, routing, conditions, authentication, cookies, caching, and what the content
 * is. After the body, they come too late, and software that merges trailers into the head could be misled.
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'expect',
  'expires',
  'forwarded',
  'host',
  'keep-alive',
  'location',
  'max-forwards',
  'pragma',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'range',
  'retry-after',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'www-authenticate',
])

/** @param name in any case */
export function mayBeTrailer(name: string): boolean {
  const lower = name.toLowerCase()
  return !FORBIDDEN.has(lower) && !lower.startsWith('if-') && !lower.startsWith('x-forwarded-')
}
