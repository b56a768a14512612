// What code with another reading of URLs may take a path and a host for. Routes match them as they are, and mounted code may not.

import { hostName } from '../base/host-name.ts'

/** Stands for an encoded slash in a decoded path, which has no NUL: `%2F` there is what was sent as `%252F`. */
const SLASH = '\0'
/** What most paths consist of: characters that all code reads alike. */
const COMMON = /^[\w\-.~!$&'()*+,;=:@/]*$/
/** An empty segment, or a dot segment, which removed characters may have hidden. */
const UNPLAIN = /\/(?:\/|\.{1,2}(?:\/|$))/
/** What `new URL(path, base)` takes for a host. */
const HOST = /^\/\/+[^/]*/
/** What URL parsers decode, read as a number of an IPv4 address, or write in the short form of IPv6. */
const AMBIGUOUS_HOST = /^\[|%|(?:^|\.)(?:\d+|0x[\da-f]*)$/

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
  const solid = cut.replace(/[\t\n\r]/g, '')
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

/** `admin.example` for `%61dmin.example`, as URL parsers read it; null for a host with one reading. @param host as `hostName` returns it */
export function otherHost(host: string): string | null {
  if (!AMBIGUOUS_HOST.test(host) || !URL.canParse(`http://${host}/`)) return null
  const other = hostName(new URL(`http://${host}/`).hostname)
  return other === host ? null : other
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
  const readings = [segments, segments.filter((segment) => segment !== '')].map(resolved)
  if (!/\/\.{0,2}$/.test(path)) return readings
  const closed = readings.map((one) => (one === '/' ? one : `${one}/`))
  return path.endsWith('/') ? closed : [...closed, ...readings]
}

function resolved(segments: readonly string[]): string {
  const left: string[] = []
  for (const segment of segments)
    if (segment === '..') left.pop()
    else if (segment !== '.') left.push(segment)
  return `/${left.filter((segment) => segment !== '').join('/')}`
}
