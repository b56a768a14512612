// The ways in which a client can reach a server, with one interface: what a test states about responses must hold for all of them.

import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'

import type { ServerOptions } from '../../src/index.ts'

import { cert, key } from './certificate.ts'
import { responseOf } from './http2-client.ts'
import { type Message, RawClient } from './raw-client.ts'
import { within } from './serving.ts'

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export interface Reply {
  readonly status: number
  /**
   * By name in lower case; values of repeated fields are joined by a line end. Without Date and the fields that frame the body or end the
   * connection.
   */
  readonly fields: Readonly<Record<string, string>>
  /** Content-Length; null without one. */
  readonly length: number | null
  /** Whether the connection ends with it; null if a response cannot decide that. */
  readonly closes: boolean | null
  readonly body: Buffer
}

/** One connection. */
export interface Line {
  /** Sends a request and waits for the complete response. */
  ask(request: Ask): Promise<Reply>
  /** Sends a request and waits for a text in the response. Returns everything that arrived until then. */
  until(request: Ask, text: string): Promise<string>
  /** Waits for the end, and returns what arrived before it. */
  rest(): Promise<string>
  /** Leaves without a reset. */
  leave(): void
  /** The raw connection, for what only this transport can do; null if it is not HTTP/1.1. */
  readonly raw: RawClient | null
}

export interface TransportUnderTest {
  readonly title: string
  readonly options: ServerOptions
  connect(port: number): Promise<Line>
}

const FRAMING: ReadonlySet<string> = new Set(['date', 'content-length', 'transfer-encoding', 'connection'])

/** Every transport. */
export const TRANSPORTS: readonly TransportUnderTest[] = [
  {
    title: 'plain, shared receive buffer',
    options: { sharedReceiveBuffer: true },
    connect: async (port) => new Http1Line(await RawClient.connect(port)),
  },
  {
    title: 'plain, data events',
    options: { sharedReceiveBuffer: false },
    connect: async (port) => new Http1Line(await RawClient.connect(port)),
  },
  {
    title: 'TLS',
    options: { tls: { cert, key } },
    connect: async (port) => new Http1Line(await RawClient.connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })),
  },
  {
    title: 'TLS, data events',
    options: { tls: { cert, key }, sharedReceiveBuffer: false },
    connect: async (port) => new Http1Line(await RawClient.connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })),
  },
  {
    title: 'HTTP/2, data events',
    options: { tls: { cert, key }, http2: true, sharedReceiveBuffer: false },
    connect: (port) => Http2Line.connect(port),
  },
  {
    title: 'HTTP/2',
    options: { tls: { cert, key }, http2: true },
    connect: (port) => Http2Line.connect(port),
  },
]

class Http1Line implements Line {
  readonly raw: RawClient

  constructor(raw: RawClient) {
    this.raw = raw
  }

  async ask(request: Ask): Promise<Reply> {
    return replyOf(await this.#send(request).message(request.method === 'HEAD'))
  }

  until(request: Ask, text: string): Promise<string> {
    return this.#send(request).until(text)
  }

  rest(): Promise<string> {
    return this.raw.rest()
  }

  leave(): void {
    this.raw.destroy()
  }

  #send({ method = 'GET', path, headers = {}, body }: Ask): RawClient {
    const length = body === undefined ? {} : { 'Content-Length': body.length }
    const fields = Object.entries({ Host: 'localhost', ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`)
    this.raw.send(`${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`)
    return body === undefined ? this.raw : this.raw.send(body)
  }
}

function replyOf({ status, fields, body, header }: Message): Reply {
  const named: Record<string, string> = {}
  for (const [name, value] of fields) {
    const lower = name.toLowerCase()
    if (!FRAMING.has(lower)) named[lower] = named[lower] === undefined ? value : `${named[lower]}\n${value}`
  }
  const length = header('content-length')
  return { status, fields: named, length: length === null ? null : Number(length), closes: header('connection') === 'close', body }
}

class Http2Line implements Line {
  readonly raw = null
  readonly #session: ClientHttp2Session
  /** What has arrived on the last stream that `until` opened. */
  #text = ''

  private constructor(session: ClientHttp2Session) {
    this.#session = session
    session.on('error', () => {})
  }

  static async connect(port: number): Promise<Http2Line> {
    const session = connectHttp2(`https://localhost:${port}`, { ca: cert })
    const line = new Http2Line(session)
    await within(
      new Promise<void>((resolve, reject) => session.once('remoteSettings', () => resolve()).once('error', reject)),
      'the settings of the server',
    )
    return line
  }

  async ask(request: Ask): Promise<Reply> {
    const { status, headers, body } = await responseOf(this.#open(request))
    const named: Record<string, string> = {}
    for (const [name, value] of Object.entries(headers)) {
      if (!FRAMING.has(name) && !name.startsWith(':')) named[name] = [value].flat().join('\n')
    }
    const length = headers['content-length']
    return { status, fields: named, length: length === undefined ? null : Number(length), closes: null, body }
  }

  until(request: Ask, text: string): Promise<string> {
    const stream = this.#open(request)
    this.#text = ''
    return within(
      new Promise((resolve, reject) => {
        this.#session.once('close', () => reject(new Error('the connection has ended')))
        const look = (): void => {
          if (this.#text.includes(text)) resolve(this.#text)
        }
        stream.on('response', (fields) => {
          for (const [name, value] of Object.entries(fields)) this.#text += `${name}: ${String(value)}\r\n`
          look()
        })
        stream.on('data', (bytes: Buffer) => {
          this.#text += bytes.toString('latin1')
          look()
        })
      }),
      JSON.stringify(text),
    )
  }

  async rest(): Promise<string> {
    const closed = new Promise<void>((resolve) => (this.#session.destroyed ? resolve() : this.#session.once('close', () => resolve())))
    await within(closed, 'the end of the connection')
    return this.#text
  }

  leave(): void {
    this.#session.destroy()
  }

  #open({ method = 'GET', path, headers = {}, body }: Ask): ClientHttp2Stream {
    const length = body === undefined ? {} : { 'content-length': body.length }
    const stream = this.#session.request({ ':method': method, ':path': path, ...headers, ...length }, { endStream: body === undefined })
    stream.on('error', () => {})
    if (body !== undefined) stream.end(body)
    return stream
  }
}
