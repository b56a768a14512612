// HTTP/2 clients: Node's for well-formed requests, and one that sends raw frames for everything else.

import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2'
import type { TestContext } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'

import { within } from './serving.ts'

/** One response. */
export interface Http2Message {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  readonly text: string
  /** The code of RST_STREAM; 0 if the stream ended normally. */
  readonly code: number
  json(): unknown
}

/** A session with Node's client. It is destroyed when the test ends. */
export class Http2Client {
  readonly session: ClientHttp2Session
  /** The last stream that the server will answer, once it has sent GOAWAY. */
  goaway: { readonly code: number; readonly lastStream: number } | null = null

  private constructor(session: ClientHttp2Session) {
    this.session = session
    session.on('error', () => {})
    session.on('goaway', (code, lastStream) => {
      this.goaway = { code, lastStream }
    })
  }

  static async connect(t: TestContext, port: number): Promise<Http2Client> {
    const session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false })
    const client = new Http2Client(session)
    t.after(() => session.destroy())
    await within(
      new Promise<void>((resolve, reject) => session.once('remoteSettings', () => resolve()).once('error', reject)),
      'the settings of the server',
    )
    return client
  }

  /** Opens a stream. If there is a body, the caller sends it. */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const method = headers[':method'] ?? 'GET'
    const stream = this.session.request(headers, { endStream: method === 'GET' || method === 'HEAD' || method === 'OPTIONS' })
    stream.on('error', () => {})
    return stream
  }

  get(path: string, headers: OutgoingHttpHeaders = {}): Promise<Http2Message> {
    return responseOf(this.open({ ':path': path, ...headers }))
  }

  post(path: string, body: string | Uint8Array, headers: OutgoingHttpHeaders = {}): Promise<Http2Message> {
    const stream = this.open({ ':method': 'POST', ':path': path, ...headers })
    stream.end(body)
    return responseOf(stream)
  }

  /** Resolves when the connection is closed. */
  closed(): Promise<void> {
    if (this.session.destroyed) return Promise.resolve()
    return within(new Promise((resolve) => this.session.once('close', () => resolve())), 'the end of the connection')
  }
}

/** Reads the response on a stream. If it is aborted, `code` is set. @throws if nothing arrives */
export function responseOf(stream: ClientHttp2Stream): Promise<Http2Message> {
  const chunks: Buffer[] = []
  let status = 0
  let headers: Http2Message['headers'] = {}
  stream.on('response', (fields) => {
    status = Number(fields[':status'])
    headers = fields
  })
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = new Promise<Http2Message>((resolve) =>
    stream.on('close', () => {
      const body = Buffer.concat(chunks)
      const text = body.toString()
      resolve({ status, headers, body, text, code: stream.rstCode, json: () => JSON.parse(text) as unknown })
    }),
  )
  return within(closed, 'a response')
}

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9
export const END_STREAM = 1
export const END_HEADERS = 4
export const PADDED = 8
export const ACK = 1
export const HEADER_TABLE_SIZE = 1
export const INITIAL_WINDOW_SIZE = 4
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** Sends frames unchanged, and acknowledges SETTINGS, but nothing else. */
export class RawHttp2 {
  readonly #socket: TLSSocket
  #received: Buffer = Buffer.alloc(0)
  readonly frames: Frame[] = []
  sentBytes = 0
  #hasBegun = false
  isClosed = false
  #look: () => void = () => {}

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('close', () => {
      this.isClosed = true
      this.#look()
    })
  }

  /** A connection after its preface, with `settings` by their numbers. */
  static async connect(t: TestContext, port: number, settings: Readonly<Record<number, number>> = {}): Promise<RawHttp2> {
    const client = await RawHttp2.connectSilently(t, port)
    const payload = Buffer.concat(Object.entries(settings).map(([id, value]) => setting(Number(id), value)))
    client.#hasBegun = true
    return client.send(PREFACE).frame(SETTINGS, 0, 0, payload)
  }

  /** A connection on which nothing has been sent. */
  static async connectSilently(t: TestContext, port: number): Promise<RawHttp2> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
    t.after(() => socket.destroy())
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
    return new RawHttp2(socket)
  }

  send(bytes: Uint8Array): this {
    this.sentBytes += bytes.length
    this.#socket.write(bytes)
    return this
  }

  frame(type: number, flags: number, stream: number, payload?: Uint8Array): this {
    return this.send(encodeFrame(type, flags, stream, payload))
  }

  /** Sends a head in one frame. */
  headers(stream: number, list: readonly (readonly [name: string, value: string])[], isWhole = true): this {
    return this.frame(HEADERS, END_HEADERS | (isWhole ? END_STREAM : 0), stream, encodeFields(list))
  }

  data(stream: number, bytes: string | Uint8Array, isLast = false): this {
    return this.frame(DATA, isLast ? END_STREAM : 0, stream, Buffer.from(bytes as string))
  }

  /** Allows the server to send this many more bytes on a stream, or on all of them. */
  allow(stream: number, bytes: number): this {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(bytes)
    return this.frame(WINDOW_UPDATE, 0, stream, payload)
  }

  /** Stops reading, so that the server cannot send. */
  pause(): this {
    this.#socket.pause()
    return this
  }

  resume(): this {
    this.#socket.resume()
    return this
  }

  /** Ends our side. */
  end(): void {
    this.#socket.end()
  }

  /** The body of a response, or its beginning if the stream was reset or the connection closed. */
  async body(stream: number): Promise<string> {
    const isLast = ({ type, flags }: Frame): boolean =>
      type === RST_STREAM || ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0)
    const own = (): Frame[] => this.frames.filter((frame) => frame.stream === stream)
    await this.until(() => this.isClosed || own().some(isLast), `the end of stream ${stream}`)
    const data = own().filter(({ type }) => type === DATA)
    return Buffer.concat(data.map(({ payload }) => payload)).toString()
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    await within(
      new Promise<void>((resolve) => {
        this.#look = () => {
          if (condition()) resolve()
        }
        this.#look()
      }),
      what,
    )
  }

  #read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes])
    while (this.#received.length >= 9) {
      const length = this.#received.readUIntBE(0, 3)
      if (this.#received.length < 9 + length) break
      const [type, flags, stream] = [this.#received[3]!, this.#received[4]!, this.#received.readUInt32BE(5)]
      this.frames.push({ type, flags, stream, payload: this.#received.subarray(9, 9 + length) })
      this.#received = this.#received.subarray(9 + length)
      if (this.#hasBegun && type === SETTINGS && (flags & ACK) === 0) this.frame(SETTINGS, ACK, 0)
    }
    this.#look()
  }
}

export function encodeFrame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(id)
  bytes.writeUInt32BE(value, 2)
  return bytes
}

/** The statuses of HPACK's static table (RFC 7541 Appendix A), from index 8 on. */
const STATUSES = [200, 204, 206, 304, 400, 404, 500]
/** Huffman codes of the digits (RFC 7541 Appendix B). */
const DIGITS = ['00000', '00001', '00010', '011001', '011010', '011011', '011100', '011101', '011110', '011111']

/** The status of a response to a client that has set HEADER_TABLE_SIZE to 0. @throws if the payload does not begin with a status */
export function statusOf({ payload }: Frame): number {
  let at = 0
  while ((payload[at]! & 0xe0) === 0x20) at++ // an update of the table size
  const [first, length] = [payload[at]!, payload[at + 1]!]
  const status = STATUSES[first - 0x88]
  if (status !== undefined) return status
  if (![0x08, 0x18, 0x48].includes(first)) throw new Error(`no status: ${payload.toString('hex')}`)
  const text = payload.subarray(at + 2, at + 2 + (length & 0x7f))
  if ((length & 0x80) === 0) return Number(text.toString('latin1'))
  let bits = [...text].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let digits = ''
  while (digits.length < 3) {
    const digit = DIGITS.findIndex((code) => bits.startsWith(code))
    digits += digit
    bits = bits.slice(DIGITS[digit]!.length)
  }
  return Number(digits)
}

/** HPACK without its tables: each field as literal text (RFC 7541 §6.2.2). */
export function encodeFields(list: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(list.flatMap(([name, value]) => [Buffer.from([0]), encodeText(name), encodeText(value)]))
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}
