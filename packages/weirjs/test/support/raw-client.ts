// A client that sends bytes and reads what is sent back, with its own definition of a response.
//
// It shares no code with the server, because a framing mistake must not be read by the code that made it. Every wait is bounded, and the
// error names what had arrived.

import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

/** How long a test waits for something that should happen immediately. It is generous, because it only ends waits that would never end. */
const PATIENCE_MS = 120_000

/** One response. */
export interface Message {
  readonly status: number
  readonly reason: string
  /** Status line and fields, as received. */
  readonly head: string
  /** Names as sent, and values, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  /** The body as text. */
  readonly text: string
  /** The value of the first field of that name, in any case. */
  header(name: string): string | null
  /** The values of all fields of that name. */
  headers(name: string): string[]
  json(): unknown
}

export class RawClient {
  readonly #socket: Socket
  /**
   * Bytes that have arrived and have not been taken are between `#start` and `#end`. Earlier ones were returned, and are never overwritten.
   */
  #received: Buffer = Buffer.alloc(0)
  #start = 0
  #end = 0
  #hasEnded = false
  #isClosed = false
  #error: NodeJS.ErrnoException | null = null
  #waiters = new Set<() => void>()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#keep(bytes)
      this.#look()
    })
    socket.on('end', () => {
      this.#hasEnded = true
      this.#look()
    })
    socket.on('error', (error) => {
      this.#error = error
    })
    socket.on('close', () => {
      this.#isClosed = true
      this.#look()
    })
  }

  /** @param to a port of this machine, or the options of `net.connect` */
  static connect(to: number | NetConnectOpts): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(typeof to === 'number' ? { port: to, host: '127.0.0.1', noDelay: true } : to)
      const client = new RawClient(socket)
      socket.once('connect', () => resolve(client))
      socket.once('close', () => reject(client.#error ?? new Error('the connection was closed before it was established')))
    })
  }

  /** A TLS connection after its handshake. */
  static connectTls(options: ConnectionOptions): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connectTls(options)
      const client = new RawClient(socket)
      socket.once('secureConnect', () => resolve(client))
      socket.once('close', () => reject(client.#error ?? new Error('the connection was closed before it was established')))
    })
  }

  /** Sends bytes, or text as latin1. */
  send(data: string | Uint8Array): this {
    if (typeof data === 'string') this.#socket.write(data, 'latin1')
    else this.#socket.write(data)
    return this
  }

  /** Sends a simple GET. */
  get(url: string, fields = ''): this {
    return this.send(`GET ${url} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`)
  }

  /** Sends a POST with its Content-Length. */
  post(url: string, body: string | Uint8Array, fields = ''): this {
    const bytes = Buffer.from(body as string)
    const head = `POST ${url} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes.length}\r\n${fields}\r\n`
    return this.send(Buffer.concat([Buffer.from(head, 'latin1'), bytes]))
  }

  /** Ends our side. What the server sends is still read. */
  end(): this {
    this.#socket.end()
    return this
  }

  /** Leaves without a reset. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Leaves with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  /** Stops reading, so that the server's responses pile up. */
  pause(): this {
    this.#socket.pause()
    return this
  }

  resume(): this {
    this.#socket.resume()
    return this
  }

  /** Bytes that have arrived and that no message has taken. */
  get waitingBytes(): number {
    return this.#end - this.#start
  }

  /** Bytes that were sent but that the system has not accepted. Grows while the server does not read. */
  get unsentBytes(): number {
    return this.#socket.writableLength
  }

  /** The port of this end, 0 once the socket is closed. */
  get localPort(): number {
    return this.#socket.localPort ?? 0
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The next response, including interim ones (1xx). @param toHead whether it answers a HEAD, and so has no body */
  async message(toHead = false): Promise<Message> {
    let found: { message: Message; length: number } | null = null
    await this.#until('a complete response', () => {
      found = readMessage(this.#all(), toHead, this.#hasEnded && this.#error === null)
      return found !== null
    })
    const { message, length } = found!
    this.#take(length)
    return message
  }

  /** The next `count` responses. */
  async messages(count: number): Promise<Message[]> {
    const messages: Message[] = []
    while (messages.length < count) messages.push(await this.message())
    return messages
  }

  /** Waits until `bytes` bytes have arrived, and returns everything that has. */
  async atLeast(bytes: number): Promise<Buffer> {
    await this.#until(`${bytes} bytes`, () => this.waitingBytes >= bytes)
    return this.#takeAll()
  }

  /** Waits for a text, and returns everything that has arrived. */
  async until(text: string): Promise<string> {
    await this.#until(JSON.stringify(text), () => this.#all().includes(text, 'latin1'))
    return this.#takeAll().toString('latin1')
  }

  /** How the server ended the connection: normally, or with a reset. What arrived before can still be read. */
  async closed(): Promise<'end' | 'reset'> {
    await this.#until('the end', () => this.#isClosed)
    return this.#error === null && this.#hasEnded ? 'end' : 'reset'
  }

  /** Waits for the server to end its side. */
  async ended(): Promise<void> {
    await this.#until('the end of the server’s side', () => this.#hasEnded || this.#isClosed)
  }

  /** Everything up to the end of the connection. */
  async rest(): Promise<string> {
    await this.#until('the end', () => this.#isClosed)
    return this.#takeAll().toString('latin1')
  }

  #until(what: string, condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null): void => {
        clearTimeout(timer)
        this.#waiters.delete(look)
        if (error === null) resolve()
        else reject(error)
      }
      const look = (): void => {
        try {
          if (condition()) settle(null)
          else if (this.#isClosed) settle(new Error(`waited for ${what}, but the connection was closed${this.#describe()}`))
        } catch (error) {
          settle(error as Error)
        }
      }
      const timer = setTimeout(() => settle(new Error(`waited too long for ${what}${this.#describe()}`)), PATIENCE_MS)
      this.#waiters.add(look)
      look()
    })
  }

  #describe(): string {
    const end = this.#error === null ? '' : ` (${this.#error.code})`
    return `${end}; received: ${JSON.stringify(this.#all().toString('latin1', 0, 300))}`
  }

  #look(): void {
    for (const look of [...this.#waiters]) look()
  }

  /** Doubles the buffer when it is full, because a long response must not be copied again with every packet. */
  #keep(bytes: Buffer): void {
    if (this.#end + bytes.length > this.#received.length) {
      const waiting = this.#all()
      this.#received = Buffer.alloc(2 * (waiting.length + bytes.length))
      waiting.copy(this.#received)
      this.#start = 0
      this.#end = waiting.length
    }
    this.#end += bytes.copy(this.#received, this.#end)
  }

  #all(): Buffer {
    return this.#received.subarray(this.#start, this.#end)
  }

  #take(length: number): void {
    this.#start += length
  }

  #takeAll(): Buffer {
    const all = this.#all()
    this.#take(all.length)
    return all
  }
}

/** Reads one response at the start of `bytes`. @returns null while it is incomplete @throws if it is malformed */
export function readMessage(bytes: Buffer, toHead: boolean, isEnd: boolean): { message: Message; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const head = bytes.toString('latin1', 0, headEnd)
  const [statusLine, ...lines] = head.split('\r\n')
  const parts = /^HTTP\/1\.1 ([1-5]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/.exec(statusLine!)
  if (parts === null) throw new Error(`this is not a status line: ${JSON.stringify(statusLine)}`)
  const fields = lines.map((line) => {
    const field = /^([!#$%&'*+.^_`|~\w-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line)
    if (field === null) throw new Error(`this is not a field: ${JSON.stringify(line)}`)
    return [field[1]!, field[2]!] as const
  })
  const status = Number(parts[1])
  const values = (name: string): string[] => fields.filter(([one]) => one.toLowerCase() === name.toLowerCase()).map(([, value]) => value)
  const body = toHead || status < 200 || status === 204 || status === 304 ? nothing : readBody
  const read = body(bytes, headEnd + 4, values, isEnd)
  if (read === null) return null
  const text = read.body.toString('utf8')
  const message: Message = {
    status,
    reason: parts[2]!,
    head,
    fields,
    body: read.body,
    text,
    header: (name) => values(name)[0] ?? null,
    headers: values,
    json: () => JSON.parse(text) as unknown,
  }
  return { message, length: read.end }
}

interface ReadBody {
  readonly body: Buffer
  readonly end: number
}

function nothing(_bytes: Buffer, start: number): ReadBody {
  return { body: Buffer.alloc(0), end: start }
}

function readBody(bytes: Buffer, start: number, values: (name: string) => string[], isEnd: boolean): ReadBody | null {
  const lengths = values('content-length')
  const codings = values('transfer-encoding')
  if (lengths.length + codings.length > 1) throw new Error('a response states its length more than once')
  if (codings.length === 1) return readChunks(bytes, start)
  const end = lengths.length === 0 ? (isEnd ? bytes.length : Number.POSITIVE_INFINITY) : start + Number(lengths[0])
  return end > bytes.length ? null : { body: bytes.subarray(start, end), end }
}

function readChunks(bytes: Buffer, start: number): ReadBody | null {
  const pieces: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return null
    const digits = bytes.toString('latin1', at, lineEnd)
    if (!/^[\da-f]+$/i.test(digits)) throw new Error(`this is not a chunk size: ${JSON.stringify(digits.slice(0, 100))}`)
    const size = Number.parseInt(digits, 16)
    const dataEnd = lineEnd + 2 + size
    if (dataEnd + 2 > bytes.length) return null
    if (bytes[dataEnd] !== 0x0d || bytes[dataEnd + 1] !== 0x0a) throw new Error('a chunk does not end with CRLF')
    if (size === 0) return { body: Buffer.concat(pieces), end: dataEnd + 2 }
    pieces.push(bytes.subarray(lineEnd + 2, dataEnd))
    at = dataEnd + 2
  }
}
