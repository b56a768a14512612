/**
 * Resolves with the response, its whole body and its duration, or with the reason why there is none. It uses XMLHttpRequest and not fetch,
 * because only the former reports how much of a body has been sent.
 */
export function send({ method, target, type, fields = {}, cookie, body }, signal, onProgress = () => {}) {
  const start = performance.now()
  return new Promise((resolve) => {
    const exchange = new XMLHttpRequest()
    const finish = (result) => resolve({ ...result, ms: performance.now() - start })
    exchange.onload = () => finish({ response: exchange })
    exchange.onerror = () => finish({ error: 'The server cannot be reached, or aborted the connection.' })
    exchange.onabort = () => finish({ error: 'Cancelled.' })
    exchange.upload.onloadstart = exchange.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total)
    signal?.addEventListener('abort', () => exchange.abort())
    exchange.responseType = 'arraybuffer'
    exchange.open(method, target)
    exchange.setRequestHeader('Cache-Control', 'no-cache')
    if (cookie !== undefined) setCookie(cookie, target)
    for (const [name, value] of Object.entries(fields)) exchange.setRequestHeader(name, value)
    if (type) exchange.setRequestHeader('Content-Type', type)
    exchange.send(body)
  })
}

/** A page cannot send a cookie as a field, but it can set one. Routes with another path do not get it. */
function setCookie(cookie, path) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing where the demo is not on this machine, and has no TLS
  document.cookie = `${cookie || 'station='}; Path=${path}; SameSite=Strict; Max-Age=${cookie ? 60 : 0}`
}

export function textOf(response) {
  return new TextDecoder().decode(response.response)
}
