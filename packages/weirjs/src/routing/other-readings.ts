// What code with another reading of URLs may take a path and a host for. Routes match them as they are, and mounted code may not.

import { hostName, MAX_AUTHORITY_CHARACTERS } from '../base/host-name.ts'

/** Stands for an encoded slash in a decoded path, which has no NUL: `%2F` there is what was sent as `%252F`. */
const SLASH = '\0'
/** What most paths consist of: characters that all code reads alike. */
const COMMON = /^[\w\-.~!$&'()*+,;=:@/]*$/
/** An empty segment, or a dot segment, which removed characters may have hidden. */
const UNPLAIN = /\/(?:\/|\.{1,2}(?:\/|$))/
/** What `new URL(path, base)` takes for a host. */
const HOST = /^\/\/+[^/]*/
/** What URL parsers decode or leave out, read as a number of an IPv4 address, or write in the short form of IPv6. */
const AMBIGUOUS_HOST = /[^\w.-]|(?:^|\.)(?:\d+|0x[\da-f]*)$/i
const MOST_HOSTS = 8

/**
 * The path with decoded slashes, with single ones and without dot segments, as file systems and URL parsers read it; and what remains if a URL
 * parser takes its beginning, or that of what follows the prefix of a mount, for a host. The same for what is left if code decodes the path and
 * then looks for a query, or lets a URL parser do so. Code may decode slashes twice. Nothing for a path with one reading.
 * @param depth how many segments mounted code may not see
 */
export function otherReadings(rawPath: string, depth = 0): readonly string[] {
  if (COMMON.test(rawPath) && !UNPLAIN.test(rawPath)) return []
  const path = decodeURIComponent(rawPath.replace(/%2F/gi, SLASH))
  const cut = path.replace(/[?#].*/s, '')
  const solid = cut.replace(/[\t\n\r]/g, '').replace(/%2e/gi, '.')
  const texts = new Set([path, cut, solid, trimmed(solid)])
  const readings = new Set([...texts].flatMap((text) => [written(text), ...readingsOf(text, depth)]))
  readings.delete(written(path))
  return [...readings]
}

function readingsOf(path: string, depth: number): readonly string[] {
  const end = endOfSegments(path, depth)
  const prefix = written(path.slice(0, end))
  const forms = [written, (text: string) => text.replaceAll(SLASH, '/'), (text: string) => written(text).replace(/%2F/gi, '/')]
  if (path.includes('\\')) forms.push(...forms.map((form) => (text: string) => form(text).replaceAll('\\', '/')))
  return forms.flatMap((form) => {
    const after = form(path.slice(end))
    const rests = [after, after.replace(HOST, '/')].flatMap(plain)
    return [form(path), ...plain(form(path)), ...rests.map((rest) => prefix + rest)]
  })
}

/** As routes match it. */
function written(path: string): string {
  return path.replaceAll(SLASH, '%2F')
}

/**
 * The hosts that code may read in place of Host: the same one as URL parsers read it, and all that proxies or clients state. Code may believe
 * anyone, take any entry, and end it at its first colon. Null: too many or too long to be looked at. @param host as `hostName` returns it
 */
export function otherHosts(host: string, forwardedHost: string | null, forwarded: string | null): readonly string[] | null {
  const hosts = [host, ...(forwardedHost?.split(',', MOST_HOSTS + 1) ?? [])].map((one) => one.trim())
  for (const [, one] of (forwarded ?? '').replaceAll('\\', '').matchAll(/host\s*=[\s"]*([^",;]*)/gi))
    if (hosts.push(one!) > 1 + MOST_HOSTS) return null
  if (hosts.length > 1 + MOST_HOSTS || hosts.some((one) => one.length > MAX_AUTHORITY_CHARACTERS)) return null
  const others = new Set(hosts.flatMap((one) => [hostName(one), hostName(one.split(':', 1)[0]!), parsed(one)]))
  others.delete(host)
  return [...others]
}

/** `admin.example` for `%61dmin.example`, as URL parsers read it. */
function parsed(host: string): string {
  const url = `http://${host}/`
  return AMBIGUOUS_HOST.test(host) && URL.canParse(url) ? hostName(new URL(url).hostname) : host
}

/** Without blanks and control characters at its end, which URL parsers remove. */
function trimmed(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] !== SLASH && path.charCodeAt(end - 1) <= 0x20) end--
  return path.slice(0, end)
}

function endOfSegments(path: string, segments: number): number {
  let at = 0
  for (let i = 0; i < segments && at !== -1; i++) at = path.indexOf('/', at + 1)
  return at === -1 ? path.length : at
}

/**
 * With single slashes, and without dot segments. After an empty segment, `..` removes that one for URL parsers, and the one before it for file
 * systems; at the end, it leaves a slash for URL parsers alone.
 */
function plain(path: string): string[] {
  if (!UNPLAIN.test(path)) return [path]
  const segments = path.split('/')
  const readings = [segments, segments.filter(Boolean)].map(resolved)
  if (!/\/\.{0,2}$/.test(path)) return readings
  const closed = readings.map((one) => (one === '/' ? one : `${one}/`))
  return path.endsWith('/') ? closed : [...closed, ...readings]
}

function resolved(segments: readonly string[]): string {
  const left: string[] = []
  for (const segment of segments)
    if (segment === '..') left.pop()
    else if (segment !== '.') left.push(segment)
  return `/${left.filter(Boolean).join('/')}`
}
