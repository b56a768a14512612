// The URL of a request, as code sees it that is mounted below a prefix.

interface UrlHolder {
  url?: string | undefined
  originalUrl?: string
  baseUrl?: string
}

/** Moves the first segments of the path from `url` to `baseUrl`, as a router of Express does. `originalUrl` is the whole URL. */
export function stripPrefix(req: UrlHolder, segments: number): void {
  const url = req.url!
  const query = url.indexOf('?')
  const pathEnd = query === -1 ? url.length : query
  let at = 0
  for (let i = 0; i < segments && at !== -1; i++) at = url.indexOf('/', at + 1)
  if (at === -1 || at > pathEnd) at = pathEnd
  const rest = url.slice(at)
  req.originalUrl = url
  req.baseUrl = url.slice(0, at)
  req.url = rest.startsWith('/') ? rest : `/${rest}`
}
