// Bun.serve with its own router and WebSockets, and hand-written code otherwise: a different runtime, for comparison. It has no HTTP/2.
import { setTimeout as pause } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'

import {
  ADDRESS,
  firstItems,
  integerOf,
  inWorkers,
  MAX_BODY,
  MAX_DELAY_MS,
  openDatabase,
  PORTS,
  STATIC,
  staticNames,
  TLS,
  versionOf,
} from './program.mjs'

const { Bun } = globalThis
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const COMPRESSED_BYTES = 1024
const files = staticNames()

await inWorkers(async () => {
  const database = await openDatabase()
  const options = { hostname: ADDRESS, maxRequestBodySize: MAX_BODY, reusePort: Number(process.env.WORKERS ?? 1) > 1, error: refuse }
  const routes = routesFor(database)
  const websocket = { message: (socket, data) => void socket.send(data), maxPayloadLength: MAX_BODY }
  Bun.serve({ ...options, port: PORTS.plain, routes: { ...routes, '/ws': upgrade }, websocket, fetch: notFound })
  Bun.serve({ ...options, port: PORTS.tls, routes, tls: TLS, fetch: notFound })
})

function refuse() {
  return new Response('bad request', { status: 400 })
}

function notFound() {
  return new Response('not found', { status: 404 })
}

function upgrade(request, server) {
  return server.upgrade(request) ? undefined : new Response('a WebSocket', { status: 426 })
}

function integer(text, fallback) {
  const number = integerOf(text, fallback)
  if (number === null) throw new TypeError('not an integer')
  return number
}

const queryOf = ({ url }) => new URL(url).searchParams

function sumOf(request) {
  const query = queryOf(request)
  return integer(query.get('a')) + integer(query.get('b'))
}

const plain = (value) => new Response(String(value), { headers: { 'Content-Type': 'text/plain' } })

function routesFor(database) {
  const routes = {
    '/baseline11': {
      GET: (request) => plain(sumOf(request)),
      POST: async (request) => plain(sumOf(request) + integer((await request.text()).trim())),
    },
    '/pipeline': { GET: () => plain('ok') },
    '/delay/:ms': { GET: delay },
    '/echo': {
      POST: async (request) => new Response(await request.arrayBuffer(), { headers: { 'Content-Type': 'application/octet-stream' } }),
    },
    '/json/:count': { GET: items },
    '/static/:name': { GET: file },
  }
  if (database === null) return routes
  const range = (request) => {
    const query = queryOf(request)
    return database.range(integer(query.get('min'), 10), integer(query.get('max'), 50), integer(query.get('limit'), 50))
  }
  return {
    ...routes,
    '/async-db': { GET: async (request) => Response.json(await range(request)) },
    '/fortunes': {
      GET: async () => new Response(await database.fortunes(), { headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
    },
  }
}

async function delay({ params }) {
  const ms = integer(params.ms)
  if (ms < 0 || ms > MAX_DELAY_MS) throw new RangeError('too long')
  await pause(ms)
  return plain(ms)
}

/** Bun does not compress responses. This is how its users do it. */
function items(request) {
  const value = firstItems(integer(request.params.count), integer(queryOf(request).get('m'), 1))
  const accepted = request.headers.get('accept-encoding')
  const coding = accepted?.includes('br') ? 'br' : accepted?.includes('gzip') ? 'gzip' : null
  const text = coding === null ? null : JSON.stringify(value)
  if (text === null || text.length < COMPRESSED_BYTES) return Response.json(value)
  const body = coding === 'br' ? brotliCompressSync(text, BROTLI) : Bun.gzipSync(text)
  return new Response(body, { headers: { 'Content-Type': 'application/json', 'Content-Encoding': coding, Vary: 'Accept-Encoding' } })
}

function file(request) {
  const { name } = request.params
  const known = files.get(name)
  if (known === undefined) return notFound()
  const { suffix, coding } = versionOf(known, request.headers.get('accept-encoding'))
  const headers = { 'Content-Type': known.type, Vary: 'Accept-Encoding', ...(coding !== null && { 'Content-Encoding': coding }) }
  return new Response(Bun.file(`${STATIC}/${name}${suffix}`), { headers })
}
