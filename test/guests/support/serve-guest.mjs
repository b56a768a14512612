// Serves a guest, code written for node:http or for Fetch, on node:http itself or inside weir.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const DIST = new URL('../../../packages/weirjs/dist/', import.meta.url)

export const NODE_HTTP = 'node:http'
export const WEIR = 'weir'
/** Over TLS, as browsers need it. */
export const WEIR_HTTP2 = 'weir over HTTP/2'

/**
 * @param guest a handler `(request, response)`, or `{ handler?, fetch?, start?, upgrade?, path?, listening?, server?, close? }`: `start(server)`
 *   is given an `http.Server`, adds its listeners, and listens, and then `close` is what stops it; `upgrade` is the
 *   listener of `upgrade` on node:http, `listening(origin)` runs before the first request, `server` has options of HttpServer, and `close`
 *   runs after the server has stopped
 * @returns {Promise<{ origin: string, port: number, faults?: object[], close: () => Promise<void> }>}
 */
export async function serveGuest(guest, host) {
  const parts = typeof guest === 'function' ? { handler: guest } : guest
  if (parts.start) return serveByServer(parts, host)
  return host === NODE_HTTP ? serveByNode(parts) : serveByWeir(parts, host === WEIR_HTTP2)
}

/** By code that wants a server, and starts it itself. */
async function serveByServer({ start, close }, host) {
  const faults = []
  let server
  if (host === NODE_HTTP) server = createServer()
  else {
    const { HttpServer } = await import(new URL('index.js', DIST))
    const { toNodeServer } = await import(new URL('node/index.js', DIST))
    const logger = { error: (message, detail) => faults.push({ message, detail }) }
    server = toNodeServer(new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger }))
  }
  await start(server)
  const { port } = server.address()
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    faults,
    async close() {
      await close()
      if (server.listening) throw new Error('the server listens after its guest was closed')
    },
  }
}

async function serveByNode({ handler, fetch, upgrade, path = '/', listening, close }) {
  const listener = handler ?? ((request, response) => answerByFetch(fetch, request, response))
  const prefix = path.replace(/\/$/, '')
  const server = createServer((request, response) => {
    if (prefix !== '') {
      if (!request.url.startsWith(prefix) || !['', '/', '?'].includes(request.url.slice(prefix.length, prefix.length + 1))) {
        response.statusCode = 404
        return response.end()
      }
      request.originalUrl = request.url
      request.baseUrl = prefix
      request.url = request.url.slice(prefix.length).replace(/^(?!\/)/, '/')
    }
    return listener(request, response)
  })
  if (upgrade) server.on('upgrade', upgrade)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  const origin = `http://127.0.0.1:${port}`
  await listening?.(origin)
  return {
    port,
    origin,
    async close() {
      server.close()
      server.closeAllConnections()
      await close?.()
    },
  }
}

async function serveByWeir({ handler, fetch, upgrade, path = '/', listening, server: options, close }, isHttp2) {
  const { HttpServer } = await import(new URL('index.js', DIST))
  const { mountFetch, mountNode } = await import(new URL('node/index.js', DIST))
  const faults = []
  const logger = { error: (message, detail) => faults.push({ message, detail }) }
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger, ...(isHttp2 && (await overTls())), ...options })
  if (handler) mountNode(server, path, handler, { next: false, ...(upgrade && { upgrade }) })
  else mountFetch(server, path, fetch)
  await server.start()
  const { port } = server
  const origin = `${isHttp2 ? 'https' : 'http'}://127.0.0.1:${port}`
  await listening?.(origin)
  return {
    port,
    origin,
    faults,
    async close() {
      await server.stop({ graceMs: 1000 })
      await close?.()
    },
  }
}

async function overTls() {
  const { cert, key } = await import('../../../packages/weirjs/test/support/certificate.ts')
  return { http2: true, tls: { cert, key } }
}

/** The smallest adapter that streams both ways. */
async function answerByFetch(fetch, request, response) {
  const { method, url, headers, rawHeaders } = request
  const controller = new AbortController()
  response.once('close', () => response.writableFinished || controller.abort())
  const fields = []
  for (let i = 0; i < rawHeaders.length; i += 2) fields.push([rawHeaders[i], rawHeaders[i + 1]])
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(request)
  try {
    const answer = await fetch(
      new Request(`http://${headers.host}${url}`, { method, headers: fields, body, duplex: 'half', signal: controller.signal }),
    )
    const set = {}
    for (const [name, value] of answer.headers) set[name] = name in set ? [set[name], value].flat() : value
    response.writeHead(answer.status, set)
    if (answer.body === null || method === 'HEAD') response.end()
    else await pipeline(answer.body instanceof ReadableStream ? Readable.fromWeb(answer.body) : Readable.from(answer.body), response)
  } catch {
    response.destroy()
  }
}
