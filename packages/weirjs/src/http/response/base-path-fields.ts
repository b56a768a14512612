// Adds the base path to the fields of a response that name a path of the application.

import type { OutgoingResponse } from './outgoing-response.ts'

/** Browsers require the path `/` of cookies with such a name. */
const ROOT_COOKIE = /^__host-/i
const COOKIE_PATH = /(;\s*path=)(\/[^;]*)/i
/** The targets in Link (RFC 8288 §3) that begin with a slash and do not name another host. */
const LINK_TARGET = /(^|,\s*)<(\/(?!\/)[^>]*)>/g

/** Adds the path to `Location`, `Content-Location`, `Link`, and the paths of cookies, unless they begin with it. */
export function placeBelow(response: OutgoingResponse, basePath: string): OutgoingResponse {
  const before = response.fields
  if (before === null) return response
  const after = fieldsBelow(before, basePath)
  const changed = new Set<string>()
  for (let i = 0; i < after.length; i += 2) if (after[i + 1] !== before[i + 1]) changed.add(after[i]!.toLowerCase())
  for (const name of changed) response.removeHeader(name)
  for (let i = 0; i < after.length; i += 2) if (changed.has(after[i]!.toLowerCase())) response.appendHeader(after[i]!, after[i + 1]!)
  return response
}

/** @param fields name, value, name, value */
export function fieldsBelow(fields: readonly string[], basePath: string): readonly string[] {
  if (basePath === '') return fields
  return fields.map((value, i) => (i % 2 === 0 ? value : valueBelow(fields[i - 1]!.toLowerCase(), value, basePath)))
}

function valueBelow(name: string, value: string, basePath: string): string {
  if (name === 'location' || name === 'content-location') return pathBelow(value, basePath)
  if (name === 'link') return value.replace(LINK_TARGET, (_, start: string, path: string) => `${start}<${pathBelow(path, basePath)}>`)
  if (name !== 'set-cookie' || ROOT_COOKIE.test(value)) return value
  return value.replace(COOKIE_PATH, (_, start: string, path: string) => start + (path === '/' ? basePath : pathBelow(path, basePath)))
}

/** Other URLs, such as `./next` and `https://example.org/`, stay as they are. */
function pathBelow(url: string, basePath: string): string {
  if (!/^\/(?![/\\])/.test(url)) return url
  const isBelow = url.startsWith(basePath) && /^(?:$|[/?#])/.test(url.slice(basePath.length))
  return isBelow ? url : basePath + url
}
