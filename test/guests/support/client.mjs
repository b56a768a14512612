// A client that keeps everything: a transcript of what it has sent and received, to compare one host with another.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'

/**
 * Different on every run or connection, or the host's own business: how a body is framed, which weir does by Content-Length where a short
 * body is written in pieces, and which reason phrase follows a status that the guest has not given one.
 */
const OWN = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])

export class Client {
  transcript = []
  #agent = new Agent({ keepAlive: true })
  #cookies = new Map()

  constructor({ origin, port }) {
    this.origin = origin
    this.port = port
    for (const name of ['send', 'raw', 'open', 'note', 'cookie']) this[name] = this[name].bind(this) // so that tests can destructure them
  }

  get = (path, options) => this.send('GET', path, options)
  post = (path, body, options) => this.send('POST', path, { body, ...options })

  /** `body`: text, bytes, an async iterable of pieces, or an object, which is sent as JSON. `hidden`: without an entry in the transcript. */
  async send(method, path, options = {}) {
    const { headers = {}, body, cookies = false, hidden = false, trailers, isRepeated = false } = options
    const sent = { ...headers }
    let content = body
    if (isPlain(body)) {
      content = JSON.stringify(body)
      sent['content-type'] ??= 'application/json'
    }
    if (typeof content === 'string' || content instanceof Uint8Array) sent['content-length'] ??= Buffer.byteLength(content)
    if (cookies && this.#cookies.size > 0) sent.cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { port } = this
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers: sent, agent: this.#agent, setDefaultHeaders: true })
    const informations = []
    outgoing.on('information', ({ statusCode, headers }) => informations.push({ status: statusCode, headers }))
    const answered = once(outgoing, 'response')
    answered.catch(() => {})
    if (content?.[Symbol.asyncIterator]) {
      outgoing.flushHeaders()
      for await (const piece of content) outgoing.write(piece)
      if (trailers) outgoing.addTrailers(trailers)
      outgoing.end()
    } else outgoing.end(content)
    const [incoming] = await answered.catch((error) => {
      if (error.code === 'ECONNRESET' && outgoing.reusedSocket && !isRepeated) return []
      throw error
    })
    // The host closed the connection while it was idle: a browser would send the request again, too.
    if (incoming === undefined) return this.send(method, path, { ...options, isRepeated: true })
    const pieces = []
    let failed = null
    try {
      for await (const piece of incoming) pieces.push(piece)
    } catch (error) {
      failed = error.code ?? error.message
    }
    const bytes = Buffer.concat(pieces)
    for (const line of incoming.headers['set-cookie'] ?? []) this.#keep(line)
    const response = {
      status: incoming.statusCode,
      reason: incoming.statusMessage,
      headers: incoming.headers,
      text: isText(bytes) ? bytes.toString() : bytes.toString('base64'),
      trailers: { ...incoming.trailers },
      informations,
      failed,
    }
    const { reason: _, ...compared } = response
    const length = method === 'HEAD' ? { length: incoming.headers['content-length'] } : {}
    if (!hidden) this.note(`${method} ${path}`, { ...compared, ...length, headers: comparable(incoming.headersDistinct) })
    return {
      ...response,
      bytes,
      json: () => JSON.parse(bytes.toString()),
      header: (name) => incoming.headers[name.toLowerCase()],
    }
  }

  #keep(line) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
    if (value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }

  cookie(name) {
    return this.#cookies.get(name)
  }

  /** Sends bytes on a connection of their own, and resolves with all that arrives until it is closed or reset. */
  async raw(bytes) {
    const socket = connect(this.port, '127.0.0.1')
    socket.write(bytes)
    const pieces = []
    try {
      for await (const piece of socket) pieces.push(piece)
    } catch (error) {
      if (error.code !== 'ECONNRESET') throw error
    }
    return Buffer.concat(pieces).toString('latin1')
  }

  /** A connection of its own, for requests that are aborted or streamed. `read(text)` resolves when the text has arrived. */
  open(bytes) {
    const socket = connect(this.port, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1').on('error', () => {})
    socket.on('data', (text) => {
      received += text
    })
    socket.write(bytes)
    const read = async (text) => {
      while (!received.includes(text)) {
        if (socket.readableEnded || socket.destroyed) throw new Error(`closed without ${JSON.stringify(text)}: ${received}`)
        await Promise.race([once(socket, 'data'), once(socket, 'close')])
      }
      return received
    }
    return { socket, read, received: () => received, leave: () => socket.destroy() }
  }

  /** Something that both hosts must have in common. */
  note(what, value) {
    this.transcript.push({ what, value })
  }

  close() {
    this.#agent.destroy()
  }
}

function comparable(headersDistinct) {
  const kept = Object.entries(headersDistinct).filter(([name]) => !OWN.has(name))
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}

const isPlain = (body) => body !== null && typeof body === 'object' && !(body instanceof Uint8Array) && !body[Symbol.asyncIterator]

function isText(bytes) {
  return Buffer.compare(Buffer.from(bytes.toString()), bytes) === 0
}

const BOUNDARY = 'weir-guest-boundary'

/** @param parts `[name, text]`, or `[name, content, file name, type]` */
export function multipart(parts) {
  const pieces = parts.flatMap(([name, content, filename, type = 'application/octet-stream']) => [
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"`,
    filename === undefined ? '\r\n\r\n' : `; filename="${filename}"\r\ncontent-type: ${type}\r\n\r\n`,
    content,
    '\r\n',
  ])
  const body = Buffer.concat([...pieces, `--${BOUNDARY}--\r\n`].map((piece) => Buffer.from(piece)))
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } }
}

/** The body in pieces, so that the host has to stream it. */
export async function* inPieces(bytes, size = 1000) {
  for (let i = 0; i < bytes.length; i += size) {
    yield bytes.subarray(i, i + size)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
