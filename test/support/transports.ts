// The ways in which a client may reach a server, behind one face: what a test says of answers must hold on all of them.

import type { ServerOptions } from '../../src/index.ts'

import { cert, key } from './certificate.ts'
import { type Message, RawClient } from './raw-client.ts'

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

export interface Reply {
  readonly status: number
  /** By name in lower case, values of repeated fields joined by a line end; without Date and what frames the body or ends the connection. */
  readonly fields: Readonly<Record<string, string>>
  /** Content-Length, null without one. */
  readonly length: number | null
  /** Whether the connection ends with it. */
  readonly closes: boolean
  readonly body: Buffer
}

/** One connection. */
export interface Line {
  /** Sends a request and waits for all of its answer. */
  ask(request: Ask): Promise<Reply>
  /** Sends a request, and waits for a text in what comes; all that came until then. */
  until(request: Ask, text: string): Promise<string>
  /** Waits for the end, and gives what came before it. */
  rest(): Promise<string>
  /** Leaves without a word. */
  leave(): void
  /** The connection as it is, for what only this transport can do; null where there is no HTTP/1.1. */
  readonly raw: RawClient | null
}

export interface TransportUnderTest {
  readonly title: string
  readonly options: ServerOptions
  connect(port: number): Promise<Line>
}

const FRAMING: ReadonlySet<string> = new Set(['date', 'content-length', 'transfer-encoding', 'connection'])

/** Every transport. Another protocol is one entry more. */
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
