// One exchange at a time with a server under check: over HTTP/1.1, in pieces over raw TCP, over HTTP/2, and as a WebSocket.
import { createHash, randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

const PATIENCE_MS = 10_000
const HOST = '127.0.0.1'
const WEBSOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * @param {{ port: number, path: string, method?: string, fields?: Record<string, string>, body?: Buffer | string, isChunked?: boolean, isSecure?: boolean }} what
 * @returns {Promise<{ status: number, fields: Record<string, string>, body: Buffer, ms: number }>}
 */
export function exchange({ port, path, method = 'GET', fields = {}, body, isChunked = false, isSecure = false }) {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const headers = { ...fields }
    if (isChunked) headers['Transfer-Encoding'] = 'chunked'
    else if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body))
    const tls = isSecure ? { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], servername: 'localhost' } : {}
    const make = isSecure ? httpsRequest : httpRequest
    const request = make({ host: HOST, port, path, method, headers, agent: false, timeout: PATIENCE_MS, ...tls }, async (response) => {
      const chunks = []
      try {
        for await (const chunk of response) chunks.push(chunk)
        resolve({ status: response.statusCode, fields: response.headers, body: Buffer.concat(chunks), ms: performance.now() - began })
      } catch (error) {
        reject(error)
      }
    })
    request.on('timeout', () => request.destroy(new Error(`no response to ${method} ${path}`)))
    request.on('error', reject)
    request.end(body)
  })
}

/** Sends the pieces with a pause between them. @returns everything that came until the server closed */
export function sendInPieces(port, pieces, pauseMs) {
  return new Promise((resolve, reject) => {
    const chunks = []
    const socket = connect({ port, host: HOST, noDelay: true }, async () => {
      for (const [i, piece] of pieces.entries()) {
        if (i > 0) await new Promise((done) => setTimeout(done, pauseMs))
        socket.write(piece)
      }
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('the server did not close')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.on('error', reject)
  })
}

/** Status and body of a response in HTTP/1.1, read by hand. @param {string} text */
export function readResponse(text) {
  const end = text.indexOf('\r\n\r\n')
  const head = text.slice(0, end)
  let rest = text.slice(end + 4)
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    let body = ''
    for (;;) {
      const size = Number.parseInt(rest, 16)
      const from = rest.indexOf('\r\n') + 2
      if (!(size > 0)) break
      body += rest.slice(from, from + size)
      rest = rest.slice(from + size + 2)
    }
    rest = body
  } else rest = rest.slice(0, Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? rest.length))
  return { status: Number(text.slice(9, 12)), body: rest }
}

/** Several requests on one connection of HTTP/2: over TLS with ALPN, or with prior knowledge. */
export async function overHttp2({ port, isSecure, paths, fields = {} }) {
  const session = connectHttp2(`${isSecure ? 'https' : 'http'}://${HOST}:${port}`, { rejectUnauthorized: false, servername: 'localhost' })
  const failed = new Promise((_, reject) => session.on('error', reject))
  const impatient = setTimeout(() => session.destroy(new Error('no response in HTTP/2')), PATIENCE_MS)
  const one = async (path) => {
    const stream = session.request({ ':path': path, ...fields })
    let head
    stream.on('response', (received) => (head = received))
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    return { status: head[':status'], fields: head, body: Buffer.concat(chunks) }
  }
  try {
    return await Promise.race([Promise.all(paths.map(one)), failed])
  } finally {
    clearTimeout(impatient)
    session.destroy()
  }
}

/** What a handshake with these options arrives at. */
export function handshake(port, options = {}) {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: HOST, rejectUnauthorized: false, servername: 'localhost', ...options }, () => {
      const { fingerprint256 } = socket.getPeerCertificate()
      resolve({ alpn: socket.alpnProtocol, version: socket.getProtocol(), cipher: socket.getCipher().standardName, fingerprint256 })
      socket.destroy()
    })
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no handshake')))
    socket.on('error', reject)
  })
}

export const frame = (opcode, payload, mask = randomBytes(4)) => {
  const { length } = payload
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([0x80 | opcode, ...size]), mask, payload.map((byte, i) => byte ^ mask[i % 4])])
}

/** A client that reads one frame at a time. */
export class WebSocketClient {
  #received = Buffer.alloc(0)
  #wake = () => {}
  #socket

  /** @returns {Promise<WebSocketClient>} */
  static async open(port) {
    const client = new WebSocketClient()
    const key = randomBytes(16).toString('base64')
    const socket = connect({ port, host: HOST, noDelay: true })
    client.#socket = socket
    socket.setTimeout(PATIENCE_MS, () => socket.destroy())
    socket.on('data', (chunk) => {
      client.#received = Buffer.concat([client.#received, chunk])
      client.#wake()
    })
    socket.on('close', () => client.#wake())
    socket.on('error', () => {})
    const fields = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n`
    socket.write(`GET /ws HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`)
    await client.#until(() => client.#received.includes('\r\n\r\n'))
    const end = client.#received.indexOf('\r\n\r\n')
    client.head = client.#received.subarray(0, end).toString('latin1')
    client.#received = client.#received.subarray(end + 4)
    client.expectedAccept = createHash('sha1').update(`${key}${WEBSOCKET_GUID}`).digest('base64')
    return client
  }

  send(opcode, payload) {
    this.#socket.write(frame(opcode, payload))
  }

  async next() {
    const length = () => (this.#received[1] === 126 ? 4 + this.#received.readUInt16BE(2) : 2 + this.#received[1])
    await this.#until(() => this.#received.length >= 4 && this.#received.length >= length())
    const end = length()
    const from = this.#received[1] === 126 ? 4 : 2
    const message = { opcode: this.#received[0] & 0x0f, payload: this.#received.subarray(from, end) }
    this.#received = this.#received.subarray(end)
    return message
  }

  destroy() {
    this.#socket.destroy()
  }

  async #until(isThere) {
    while (!isThere()) {
      if (this.#socket.destroyed) throw new Error('the WebSocket is closed')
      await new Promise((resolve) => (this.#wake = resolve))
    }
  }
}
