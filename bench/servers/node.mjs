// The baseline: hand-written node:http, by someone who counts microseconds and still wants correct responses.
import { createReadStream, stat } from 'node:fs'
import { createServer } from 'node:http'
import { parse } from 'node:querystring'
import { pipeline } from 'node:stream'
import { brotliCompress, constants, gzip } from 'node:zlib'

import busboy from 'busboy'

import { ofPerson, ofUpload } from '../answers.mjs'
import { firstItems, MAX_UPLOAD } from '../arena/items.mjs'
import { BYTES, DOCUMENT, FILE_NAME, keepFile } from '../large.mjs'
import { integerOf, personOfForm, personOfJson } from '../models-by-hand.mjs'
import { ROUTES } from '../route-table.mjs'
import { FILES, keepSite } from '../site.mjs'

export const label = 'node:http'
export const version = () => process.versions.node

const APPS = {
  basic: () => basic,
  bodies: () => bodies,
  routes: manyRoutes,
  large: largeAnswers,
  baseline: () => baseline,
  json: () => json,
  compressed: () => compressed,
  upload: () => upload,
  files: filesOfFolder,
}

export async function start(workload) {
  const server = createServer(APPS[workload.app]())
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: server.address().port }
}

function send(response, status, value) {
  const body = JSON.stringify(value)
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

const PROBLEM = {
  400: { error: 'bad request' },
  404: { error: 'not found' },
  405: { error: 'method not allowed' },
  413: { error: 'too large' },
}
const refuse = (response, status) => send(response, status, PROBLEM[status])

function basic(request, response) {
  const { url, method } = request
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  if (path === '/hello') {
    if (method !== 'GET') return refuse(response, 405)
    return send(response, 200, { message: 'Hello, World!' })
  }
  if (path.startsWith('/users/') && method === 'GET') return showUser(path, mark === -1 ? '' : url.slice(mark + 1), response)
  refuse(response, 404)
}

function showUser(path, query, response) {
  const id = Number(path.slice(7))
  if (!Number.isSafeInteger(id) || path.length === 7) return refuse(response, 400)
  const { active = 'false' } = parse(query)
  if (active !== 'true' && active !== 'false') return refuse(response, 400)
  send(response, 200, { id, active: active === 'true' })
}

const MAX_BODY = 1024 * 1024

function gather(request, response, onText) {
  const chunks = []
  let length = 0
  request.on('data', (chunk) => {
    length += chunk.length
    if (length <= MAX_BODY) chunks.push(chunk)
  })
  request.on('end', () => {
    if (length > MAX_BODY) return refuse(response, 413)
    onText((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString())
  })
}

function bodies(request, response) {
  const { url, method } = request
  if (method !== 'POST') return refuse(response, 405)
  if (url === '/people') return savePerson(request, response)
  if (url === '/uploads') return keepUpload(request, response)
  refuse(response, 404)
}

function savePerson(request, response) {
  const type = request.headers['content-type']
  const read = type === 'application/json' ? personOfJson : type === 'application/x-www-form-urlencoded' ? personOfForm : null
  if (read === null) return refuse(response, 400)
  gather(request, response, (text) => {
    const person = read(text)
    if (person === null) return refuse(response, 400)
    send(response, 200, ofPerson(person))
  })
}

function keepUpload(request, response) {
  let form
  try {
    form = busboy({ headers: request.headers, limits: { fileSize: MAX_BODY } })
  } catch {
    return refuse(response, 400)
  }
  const fields = {}
  let file = null
  form.on('field', (name, value) => {
    fields[name] = value
  })
  form.on('file', (_, stream, { filename: name, mimeType: type }) => {
    const chunks = []
    stream.on('data', (chunk) => chunks.push(chunk))
    stream.on('end', () => {
      const content = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
      file = { name, type, content }
    })
  })
  form.on('error', () => {
    request.unpipe(form)
    request.resume()
    refuse(response, 400)
  })
  form.on('close', () => {
    if (file === null) return refuse(response, 400)
    send(response, 200, ofUpload(fields, file.name, file.type, file.content))
  })
  request.pipe(form)
}

/**
 * Exact paths in one Map. All patterns have their parameters in third and fifth place, so a second Map finds them by their other segments.
 */
function manyRoutes() {
  const exact = new Map()
  const shapes = new Map()
  for (const { method, path, name, params } of ROUTES) {
    if (params.length === 0) exact.set(`${method} ${path}`, () => ({ route: name }))
    else if (params.length === 1) shapes.set(`${method} ${path.replace(':id', ':')}`, (id) => ({ route: name, id }))
    else shapes.set(`${method} ${path.replace(':id', ':').replace(':partId', ':')}`, (id, partId) => ({ route: name, id, partId }))
  }

  return (request, response) => {
    const { url, method } = request
    const mark = url.indexOf('?')
    const path = mark === -1 ? url : url.slice(0, mark)
    const known = exact.get(`${method} ${path}`)
    if (known !== undefined) return send(response, 200, known())
    const [, root, resource, id, part, partId] = path.split('/')
    const tail = part === undefined ? '' : partId === undefined ? `/${part}` : `/${part}/:`
    const handler = shapes.get(`${method} /${root}/${resource}/:${tail}`)
    if (handler === undefined || id === undefined || id === '') return refuse(response, 404)
    let values
    try {
      values = [decodeURIComponent(id), partId === undefined ? partId : decodeURIComponent(partId)]
    } catch {
      return refuse(response, 400)
    }
    send(response, 200, handler(values[0], values[1]))
  }
}

/** A file, sent carefully: with its length, streamed, and closed when the client leaves. */
function largeAnswers() {
  const { path } = keepFile()
  return (request, response) => {
    const { url, method } = request
    if (method !== 'GET') return refuse(response, 405)
    if (url === '/document') return send(response, 200, DOCUMENT)
    if (url === '/bytes') {
      response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': BYTES.length })
      return response.end(BYTES)
    }
    if (url === `/${FILE_NAME}`) return sendFile(path, 'image/jpeg', response)
    refuse(response, 404)
  }
}

function sendFile(path, type, response) {
  stat(path, (error, stats) => {
    if (error !== null) return refuse(response, 404)
    const modified = stats.mtime.toUTCString()
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': stats.size, 'Last-Modified': modified })
    pipeline(createReadStream(path), response, () => {})
  })
}

function sendText(response, text) {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': text.length })
  response.end(text)
}

function baseline(request, response) {
  const { url, method } = request
  if (!url.startsWith('/baseline11?')) return refuse(response, 404)
  const query = parse(url.slice(12))
  const a = integerOf(query.a)
  const b = integerOf(query.b)
  if (a === null || b === null) return refuse(response, 400)
  if (method === 'GET') return sendText(response, String(a + b))
  if (method !== 'POST') return refuse(response, 405)
  gather(request, response, (text) => {
    const c = integerOf(text)
    if (c === null) return refuse(response, 400)
    sendText(response, String(a + b + c))
  })
}

/** Null for another target, and for values that are not numbers. */
function itemsFor({ url, method }) {
  const mark = url.indexOf('?')
  if (method !== 'GET' || !url.startsWith('/json/') || mark === -1) return null
  const count = integerOf(url.slice(6, mark))
  const m = integerOf(parse(url.slice(mark + 1)).m)
  return count === null || m === null ? null : firstItems(count, m)
}

function json(request, response) {
  const value = itemsFor(request)
  if (value === null) return refuse(response, 404)
  send(response, 200, value)
}

function upload(request, response) {
  if (request.url !== '/upload' || request.method !== 'POST') return refuse(response, 404)
  let length = 0
  request.on('data', (chunk) => {
    length += chunk.length
    if (length <= MAX_UPLOAD) return
    request.removeAllListeners('data')
    refuse(response, 413)
  })
  request.on('end', () => sendText(response, String(length)))
}

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

function compressed(request, response) {
  const value = itemsFor(request)
  if (value === null) return refuse(response, 404)
  const coding = request.headers['accept-encoding'] === 'br' ? 'br' : 'gzip'
  const answer = (error, body) => {
    if (error !== null) return refuse(response, 400)
    const fields = { 'Content-Type': 'application/json', 'Content-Encoding': coding, Vary: 'Accept-Encoding' }
    response.writeHead(200, { ...fields, 'Content-Length': body.length })
    response.end(body)
  }
  const text = JSON.stringify(value)
  if (coding === 'br') brotliCompress(text, BROTLI, answer)
  else gzip(text, answer)
}

function filesOfFolder() {
  const folder = keepSite()
  const types = new Map(FILES.map(({ name, type }) => [`/${name}`, type]))
  return (request, response) => {
    const type = types.get(request.url)
    if (type === undefined || request.method !== 'GET') return refuse(response, 404)
    sendFile(folder + request.url, type, response)
  }
}
