// What code with another reading of URLs may take a path and a host for. Routes match them as they are, and mounted code may not.

import { hostName } from '../base/host-name.ts'

/** An encoded slash, and the character that URL parsers read as one. */
const AMBIGUOUS = /%2F|\\/
/** An empty segment, or a dot segment, which removed characters may have hidden. */
const UNPLAIN = /\/(?:\/|\.{1,2}(?:\/|$))/
/** What `new URL(path, base)` takes for a host. */
const HOST = /^\/\/+[^/]*/
/** What URL parsers decode, read as a number of an IPv4 address, or write in the short form of IPv6. */
const AMBIGUOUS_HOST = /^\[|%|(?:^|\.)(?:\d+|0x[\da-f]*)$/

/**
 * The path with single slashes and without dot segments, as file systems read it; and what remains if a URL parser takes its beginning, or that of
 * what follows the prefix of a mount, for a host. Code may decode slashes, or leave them.
 * Nothing for a path with one reading.
 * @param path decoded once, except for `%2F`
 * @param depth how many segments mounted code may not see
 */
export function otherReadings(path: string, depth = 0): readonly string[] {
  const clean = cleaned(path)
  if (clean !== path) return [clean, ...otherReadings(clean, depth)]
  if (!AMBIGUOUS.test(path) && !UNPLAIN.test(path)) return []
  const end = endOfSegments(path, depth)
  const prefix = path.slice(0, end)
  const rest = path.slice(end)
  const forms = [(text: string) => text]
  if (path.includes('%2F')) forms.push((text) => text.replaceAll('%2F', '/'))
  if (path.includes('\\')) forms.push(...forms.map((form) => (text: string) => form(text).replaceAll('\\', '/')))
  const readings = new Set<string>()
  for (const form of forms) {
    const after = form(rest)
    readings.add(plain(form(path)))
    if (prefix !== '') readings.add(prefix + plain(after))
    if (HOST.test(after)) readings.add(prefix + plain(`/${after.replace(HOST, '')}`))
  }
  readings.delete(path)
  return [...readings]
}

/** `admin.example` for `%61dmin.example`, as URL parsers read it; null for a host with one reading. @param host as `hostName` returns it */
export function otherHost(host: string): string | null {
  if (!AMBIGUOUS_HOST.test(host) || !URL.canParse(`http://${host}/`)) return null
  const other = hostName(new URL(`http://${host}/`).hostname)
  return other === host ? null : other
}

/** What a URL parser takes for the path if code decodes it first: up to a query or fragment, without blanks and control characters at its end. */
function cleaned(path: string): string {
  const text = path.replace(/[?#].*|[\t\n\r]/gs, '')
  let end = text.length
  while (end > 1 && text.charCodeAt(end - 1) <= 0x20) end--
  return text.slice(0, end)
}

function endOfSegments(path: string, segments: number): number {
  let at = 0
  for (let i = 0; i < segments && at !== -1; i++) at = path.indexOf('/', at + 1)
  return at === -1 ? path.length : at
}

/** With single slashes, and without dot segments. */
function plain(path: string): string {
  if (!UNPLAIN.test(path)) return path
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const end = segments.length > 0 && /\/\.{0,2}$/.test(path) ? '/' : ''
  return `/${segments.join('/')}${end}`
}
