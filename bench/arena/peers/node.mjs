// node:http, node:https and node:http2 by hand, by someone who counts microseconds and still wants correct responses; WebSockets by ws.
import { createReadStream, stat } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createHttp2Server, createSecureServer } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { parse } from 'node:querystring'
import { pipeline } from 'node:stream'
import { brotliCompress, constants, gzip } from 'node:zlib'

import { WebSocketServer } from 'ws'

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

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const COMPRESSED_BYTES = 1024
const files = staticNames()
let database = null

await inWorkers(async () => {
  database = await openDatabase()
  const plain = createServer(answer)
  const sockets = new WebSocketServer({ server: plain, path: '/ws', maxPayload: MAX_BODY })
  sockets.on('connection', (socket) => {
    socket.on('error', () => {})
    socket.on('message', (data, binary) => socket.send(data, { binary }))
  })
  const listen = (server, port) => new Promise((resolve) => server.listen({ port, host: ADDRESS, backlog: 1024 }, resolve))
  await Promise.all([
    listen(plain, PORTS.plain),
    listen(createHttpsServer({ ...TLS, ALPNProtocols: ['http/1.1'] }, answer), PORTS.tls),
    listen(createSecureServer(TLS).on('stream', answerStream), PORTS.h2),
    listen(createHttp2Server().on('stream', answerStream), PORTS.h2c),
  ])
})

/** What the target asks for. */
function targetOf(url) {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, query: {} } : { path: url.slice(0, mark), query: parse(url.slice(mark + 1)) }
}

/** Null if one of the two is not a number. */
function sumOf(query) {
  const a = integerOf(query.a)
  const b = integerOf(query.b)
  return a === null || b === null ? null : a + b
}

function itemsFor(path, query) {
  const count = integerOf(path.slice(6))
  const m = integerOf(query.m, 1)
  return count === null || count < 0 || m === null ? null : firstItems(count, m)
}

function answer(request, response) {
  const { method, url } = request
  const { path, query } = targetOf(url)
  if (method === 'POST') {
    if (path === '/baseline11') return addBody(request, response, sumOf(query))
    if (path === '/echo') return gather(request, response, (body) => send(response, 'application/octet-stream', body))
    return refuse(response, 404)
  }
  if (method !== 'GET') return refuse(response, 405)
  if (path === '/baseline11') {
    const sum = sumOf(query)
    return sum === null ? refuse(response, 400) : send(response, 'text/plain', String(sum))
  }
  if (path === '/pipeline') return send(response, 'text/plain', 'ok')
  if (path.startsWith('/json/')) return sendItems(request, response, itemsFor(path, query))
  if (path.startsWith('/static/')) return sendFile(request, response, path.slice(8))
  if (path.startsWith('/delay/')) return sendLater(response, integerOf(path.slice(7)))
  if (path === '/ws') return refuse(response, 426)
  if (path === '/async-db' && database !== null) return sendRange(response, query)
  if (path === '/fortunes' && database !== null)
    return void database.fortunes().then((page) => send(response, 'text/html; charset=utf-8', page))
  refuse(response, 404)
}

function send(response, type, body) {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

function refuse(response, status) {
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': 0 })
  response.end()
}

function gather(request, response, onBody) {
  const chunks = []
  let length = 0
  request.on('data', (chunk) => {
    length += chunk.length
    if (length <= MAX_BODY) chunks.push(chunk)
  })
  request.on('end', () => {
    if (length > MAX_BODY) return refuse(response, 413)
    onBody(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
  })
}

function addBody(request, response, sum) {
  gather(request, response, (body) => {
    const c = integerOf(body.toString().trim())
    if (sum === null || c === null) refuse(response, 400)
    else send(response, 'text/plain', String(sum + c))
  })
}

function sendLater(response, ms) {
  if (ms === null || ms < 0 || ms > MAX_DELAY_MS) return refuse(response, 400)
  setTimeout(() => send(response, 'text/plain', String(ms)), ms)
}

function sendRange(response, query) {
  const values = [integerOf(query.min, 10), integerOf(query.max, 50), integerOf(query.limit, 50)]
  if (values.includes(null)) return refuse(response, 400)
  database.range(...values).then((range) => send(response, 'application/json', JSON.stringify(range)))
}

function sendItems(request, response, value) {
  if (value === null) return refuse(response, 400)
  const text = JSON.stringify(value)
  const accepted = request.headers['accept-encoding']
  const coding = accepted?.includes('br') ? 'br' : accepted?.includes('gzip') ? 'gzip' : null
  if (coding === null || text.length < COMPRESSED_BYTES) return send(response, 'application/json', text)
  const done = (error, body) => {
    if (error !== null) return refuse(response, 500)
    const fields = { 'Content-Type': 'application/json', 'Content-Encoding': coding, Vary: 'Accept-Encoding' }
    response.writeHead(200, { ...fields, 'Content-Length': body.length })
    response.end(body)
  }
  if (coding === 'br') brotliCompress(text, BROTLI, done)
  else gzip(text, done)
}

function sendFile(request, response, name) {
  const file = files.get(name)
  if (file === undefined) return refuse(response, 404)
  const { suffix, coding } = versionOf(file, request.headers['accept-encoding'])
  const path = `${STATIC}/${name}${suffix}`
  stat(path, (error, stats) => {
    if (response.destroyed) return
    if (error !== null) return refuse(response, 404)
    const fields = { 'Content-Type': file.type, 'Content-Length': stats.size, 'Last-Modified': stats.mtime.toUTCString() }
    if (coding !== null) fields['Content-Encoding'] = coding
    response.writeHead(200, { ...fields, Vary: 'Accept-Encoding' })
    pipeline(createReadStream(path), response, () => {})
  })
}

/** HTTP/2 by the stream API, which is faster than the one that looks like node:http. */
function answerStream(stream, headers) {
  stream.on('error', () => {})
  const { path, query } = targetOf(headers[':path'])
  const respond = (type, body) => {
    stream.respond({ ':status': 200, 'content-type': type, 'content-length': Buffer.byteLength(body) })
    stream.end(body)
  }
  const refuseStream = (status) => stream.respond({ ':status': status }, { endStream: true })
  if (headers[':method'] !== 'GET') return refuseStream(405)
  if (path === '/baseline2') {
    const sum = sumOf(query)
    return sum === null ? refuseStream(400) : respond('text/plain', String(sum))
  }
  if (path.startsWith('/json/')) {
    const value = itemsFor(path, query)
    return value === null ? refuseStream(400) : respond('application/json', JSON.stringify(value))
  }
  const file = path.startsWith('/static/') ? files.get(path.slice(8)) : undefined
  if (file === undefined) return refuseStream(404)
  const { suffix, coding } = versionOf(file, headers['accept-encoding'])
  const fields = { 'content-type': file.type, vary: 'accept-encoding', ...(coding !== null && { 'content-encoding': coding }) }
  stream.respondWithFile(`${STATIC}${path.slice(7)}${suffix}`, fields, { onError: () => refuseStream(404) })
}
