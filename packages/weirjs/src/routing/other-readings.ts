// What code with another reading of URLs may take a path and a host for. Routes match them as they are, and mounted code may not.

/** An empty segment, an encoded slash, and the character that URL parsers read as one. */
const AMBIGUOUS = /\/\/|%2F|\\/
const NONE: readonly string[] = Object.freeze([])
/** What `new URL(path, base)` takes for a host. */
const HOST = /^\/\/+[^/]*/

/**
 * The path with single slashes and without dot segments, as file systems read it; and what remains if a URL parser takes its beginning for a host.
 * Nothing for a path with one reading.
 * @param path decoded once, except for `%2F`
 */
export function otherReadings(path: string): readonly string[] {
  if (!AMBIGUOUS.test(path)) return NONE
  const slashed = path.replace(/%2F|\\/g, '/')
  const readings = [plain(slashed)]
  if (HOST.test(slashed)) readings.push(plain(`/${slashed.replace(HOST, '')}`))
  return readings
}

/** `admin.example` for `%61dmin.example`, as URL parsers read it; null for a host with one reading. @param host as `hostName` returns it */
export function otherHost(host: string): string | null {
  return host.includes('%') && URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`).hostname : null
}

/** With single slashes, and without dot segments. */
function plain(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const end = segments.length > 0 && /\/\.{0,2}$/.test(path) ? '/' : ''
  return `/${segments.join('/')}${end}`
}
