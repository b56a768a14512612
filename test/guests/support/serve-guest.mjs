// Serves a guest, code written for node:http or for Fetch, on one of the two hosts: node:http itself, or weir.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const DIST = new URL('../../../dist/', import.meta.url)
const NODE_MODULE = new URL('modules/node/index.js', DIST)

export const NODE_HTTP = 'node:http'
export const WEIR = 'weir'
export const HOSTS = existsSync(NODE_MODULE) ? [NODE_HTTP, WEIR] : [NODE_HTTP]

/**
 * @param guest a handler `(request, response)`, or `{ handler?, fetch?, upgrade?, path?, listening?, server?, close? }`: `upgrade` is the
 *   listener of `upgrade` on node:http, `listening(origin)` runs before the first request, `server` has options of HttpServer, and `close`
 *   runs after the server has stopped
 * @returns {Promise<{ origin: string, port: number, close: () => Promise<void> }>}
 */
export async function serveGuest(guest, host) {
  const parts = typeof guest === 'function' ? { handler: guest } : guest
  return host === WEIR ? serveByWeir(parts) : serveByNode(parts)
}

async function serveByNode({ handler, fetch, upgrade, path = '/', listening, close }) {
  const listener = handler ?? ((request, response) => answerByFetch(fetch, request, response))
  const prefix = path.replace(/\/$/, '')
  const server = createServer((request, response) => {
    if (prefix !== '') {
      if (!`${request.url}/`.startsWith(`${prefix}/`)) {
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

async function serveByWeir({ handler, fetch, upgrade, path = '/', listening, server: options, close }) {
  const { HttpServer } = await import(new URL('index.js', DIST))
  const { mountFetch, mountNode } = await import(NODE_MODULE)
  const faults = []
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: { error: (message, detail) => faults.push({ message, detail }) }, ...options })
  if (handler) mountNode(server, path, handler, { next: false, ...(upgrade && { upgrade }) })
  else mountFetch(server, path, fetch)
  await server.start()
  const { port } = server
  const origin = `http://127.0.0.1:${port}`
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
    else await pipeline(Readable.fromWeb(answer.body), response)
  } catch {
    response.destroy()
  }
}
