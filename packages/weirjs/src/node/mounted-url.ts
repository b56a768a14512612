// The URL of a request as code that is mounted below a prefix sees it.

interface UrlHolder {
  url?: string | undefined
  originalUrl?: string
  baseUrl?: string
}

/** Moves the first segments of the path from `url` to `baseUrl`, as a router of Express does. `originalUrl` is the whole URL. */
export function stripPrefix(req: UrlHolder, segments: number): void {
  const url = req.url!
  req.originalUrl = url
  req.baseUrl = url.slice(0, endOfSegments(url, segments))
  req.url = withoutSegments(url, segments)
}

/** Path and query without the first segments of the path. */
export function withoutSegments(url: string, segments: number): string {
  const rest = url.slice(endOfSegments(url, segments))
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** Where the first segments of the path end. The query may have slashes, too. */
function endOfSegments(url: string, segments: number): number {
  const query = url.indexOf('?')
  const pathEnd = query === -1 ? url.length : query
  let at = 0
  for (let i = 0; i < segments && at !== -1; i++) at = url.indexOf('/', at + 1)
  return at === -1 || at > pathEnd ? pathEnd : at
}
