// One visit of a WebSocket client that sends any bytes, over either protocol: what it sends, and every frame that it hears until the server ends
// the connection. It reads frames by itself, because a mistake in framing must not be read by the code that made it.

import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

import { within } from './serving.ts'
import { HANDSHAKE } from './websocket-client.ts'

export interface HeardFrame {
  readonly opcode: number
  /** RSV1. */
  readonly compressed: boolean
  readonly payload: Buffer
}

/** Where a client connects, and how. */
export interface SocketOrigin {
  readonly protocol: string
  /** An open WebSocket. @param extensions the value of Sec-WebSocket-Extensions */
  open(extensions?: string): Promise<SocketVisit>
  close(): void
}

const MOST_AT_ONCE = 256 * 1024

export class SocketVisit {
  readonly #stream: Duplex
  /** Sec-WebSocket-Extensions of the response; empty if there is none. */
  readonly accepted: string
  readonly frames: HeardFrame[] = []
  /** What is not a frame yet. */
  #chunks: Buffer[] = []
  #bytes = 0
  #needed = 2
  #hasEnded = false
  #look: () => void = () => {}

  constructor(stream: Duplex, accepted: string, head: Buffer) {
    this.#stream = stream
    this.accepted = accepted
    const end = (): void => {
      this.#hasEnded = true
      this.#look()
    }
    stream.on('data', (bytes: Buffer) => this.#take(bytes))
    stream.on('end', end).on('close', end).on('error', end)
    if (head.length > 0) this.#take(head)
  }

  #take(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes < this.#needed) return
    let rest: Buffer = Buffer.concat(this.#chunks)
    this.#needed = 2
    for (;;) {
      const size = frameSize(rest)
      if (size > rest.length) {
        this.#needed = size
        break
      }
      const head = rest[1]! < 126 ? 2 : rest[1] === 126 ? 4 : 10
      this.frames.push({ opcode: rest[0]! & 0x0f, compressed: (rest[0]! & 0x40) !== 0, payload: Buffer.from(rest.subarray(head, size)) })
      rest = rest.subarray(size)
    }
    this.#chunks = rest.length === 0 ? [] : [Buffer.from(rest)]
    this.#bytes = rest.length
    this.#look()
  }

  /** Writes them, waiting while the server reads no further. Small writes are separate. */
  async send(pieces: readonly Uint8Array[]): Promise<this> {
    let written = 0
    for (const piece of pieces) {
      if (this.#hasEnded) break
      const hasRoom = this.#stream.write(piece)
      written += piece.length
      if (!hasRoom) await within(Promise.race([new Promise((resolve) => this.#stream.once('drain', resolve)), this.ended()]), 'room')
      else if (written > MOST_AT_ONCE) {
        written = 0
        await setImmediate()
      }
    }
    return this
  }

  /** Byte by byte, each in a write of its own. */
  async sendBytes(bytes: Uint8Array): Promise<this> {
    for (let i = 0; i < bytes.length && !this.#hasEnded; i++) {
      this.#stream.write(bytes.subarray(i, i + 1))
      await setImmediate()
    }
    return this
  }

  /** Resolves when the server has ended its side. */
  ended(): Promise<void> {
    return this.#until(() => this.#hasEnded, 'the end of the connection')
  }

  /** Resolves when so many frames have been heard, or the server has ended its side. */
  heard(count: number): Promise<void> {
    return this.#until(() => this.frames.length >= count || this.#hasEnded, `frame ${count}`)
  }

  async #until(condition: () => boolean, what: string): Promise<void> {
    if (condition()) return
    const looked = new Promise<void>((resolve) => {
      const before = this.#look
      this.#look = () => {
        before()
        if (condition()) resolve()
      }
    })
    await within(looked, what)
  }

  /** Ends both sides. */
  leave(): void {
    this.#stream.end()
    this.#stream.destroy()
  }
}

function frameSize(bytes: Buffer): number {
  if (bytes.length < 2) return 2
  const short = bytes[1]!
  if (short < 126) return 2 + short
  if (short === 126) return bytes.length < 4 ? 4 : 4 + bytes.readUInt16BE(2)
  return bytes.length < 10 ? 10 : 10 + Number(bytes.readBigUInt64BE(2))
}

/** Over HTTP/1.1: a connection for each visit. */
export function overHttp1(port: number): SocketOrigin {
  return {
    protocol: 'HTTP/1.1',
    async open(extensions = '') {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }).on('error', () => {})
      const field = extensions === '' ? '' : `Sec-WebSocket-Extensions: ${extensions}\r\n`
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${HANDSHAKE}${field}\r\n`)
      let text = ''
      const opened = new Promise<Buffer>((resolve, reject) => {
        const read = (bytes: Buffer): void => {
          text += bytes.toString('latin1')
          const end = text.indexOf('\r\n\r\n')
          if (end < 0) return
          socket.removeListener('data', read)
          resolve(Buffer.from(text.slice(end + 4), 'latin1'))
        }
        socket.on('data', read).once('close', () => reject(new Error(`closed in the handshake: ${text}`)))
      })
      const head = await within(opened, 'the response')
      if (!text.startsWith('HTTP/1.1 101 ')) throw new Error(text)
      return new SocketVisit(socket, /^sec-websocket-extensions: (.*)\r$/im.exec(text)?.[1] ?? '', head)
    },
    close() {},
  }
}

/** Over HTTP/2: a stream for each visit, on one connection (RFC 8441). */
export async function overHttp2(port: number): Promise<SocketOrigin> {
  const session: ClientHttp2Session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false })
  session.on('error', () => {})
  await within(new Promise<void>((resolve) => session.once('remoteSettings', () => resolve())), 'the settings')
  return {
    protocol: 'HTTP/2',
    async open(extensions = '') {
      const field = extensions === '' ? {} : { 'sec-websocket-extensions': extensions }
      const fields = { ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/', 'sec-websocket-version': '13', ...field }
      const stream = session.request(fields, { endStream: false }).on('error', () => {})
      const response = await within(
        new Promise<Readonly<Record<string, unknown>>>((resolve) => stream.once('response', resolve)),
        'the response',
      )
      if (response[constants.HTTP2_HEADER_STATUS] !== 200) throw new Error(JSON.stringify(response))
      return new SocketVisit(stream, String(response['sec-websocket-extensions'] ?? ''), Buffer.alloc(0))
    },
    close: () => session.destroy(),
  }
}
