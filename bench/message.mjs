// The messages of a workload: requests that are created beforehand, each with the one right response.

/**
 * @param {string} method
 * @param {string} target
 * @param {Record<string, string>} fields without Host and Content-Length
 * @param {string} body
 */
export function requestOf(method, target, fields = {}, body = '') {
  let text = `${method} ${target} HTTP/1.1\r\nHost: bench.localhost\r\n`
  for (const [name, value] of Object.entries(fields)) text += `${name}: ${value}\r\n`
  if (body !== '') text += `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return Buffer.from(`${text}\r\n${body}`)
}

/** A request and its only right response: status 200, `application/json`, this text byte for byte. */
export function jsonExchange(request, value) {
  return { request, status: 200, mediaType: 'application/json', body: JSON.stringify(value) }
}

/** The same for `text/plain`. */
export function textExchange(request, body) {
  return { request, status: 200, mediaType: 'text/plain', body }
}

/** The same numbers in every run, so that two runs send the same bytes (xorshift, 32 bits). */
export function seededNumbers(seed) {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
