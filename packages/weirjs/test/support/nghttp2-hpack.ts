// nghttp2's HPACK, through node:http2: how it reads a block, and how it writes a list. In memory, without a socket.

import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { type Duplex, duplexPair } from 'node:stream'

import type { Field } from './hpack-reference.ts'
import {
  ACK,
  END_HEADERS,
  END_STREAM,
  encodeFrame,
  type Frame,
  GOAWAY,
  HEADER_TABLE_SIZE,
  HEADERS,
  PING,
  PREFACE,
  SETTINGS,
} from './http2-client.ts'

const COMPRESSION_ERROR = 9
const MUCH = 2 ** 30

/** One end of a connection as frames. */
class FrameEnd {
  readonly #duplex: Duplex
  readonly #onFrame: (frame: Frame) => void
  #received: Buffer

  constructor(duplex: Duplex, skip: number, onFrame: (frame: Frame) => void) {
    this.#duplex = duplex
    this.#onFrame = onFrame
    this.#received = Buffer.alloc(0)
    let left = skip
    duplex.on('data', (bytes: Buffer) => {
      const rest = bytes.subarray(Math.min(left, bytes.length))
      left -= bytes.length - rest.length
      this.#read(rest)
    })
    duplex.on('error', () => {})
  }

  send(...frames: readonly Buffer[]): void {
    this.#duplex.write(Buffer.concat(frames))
  }

  #read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes])
    while (this.#received.length >= 9) {
      const length = this.#received.readUIntBE(0, 3)
      if (this.#received.length < 9 + length) return
      const payload = Buffer.from(this.#received.subarray(9, 9 + length))
      const [type, flags, stream] = [this.#received[3]!, this.#received[4]!, this.#received.readUInt32BE(5)]
      this.#received = this.#received.subarray(9 + length)
      if (type === SETTINGS && (flags & ACK) === 0) this.send(encodeFrame(SETTINGS, ACK, 0))
      this.#onFrame({ type, flags, stream, payload })
    }
  }
}

/** Reads the blocks of one connection. */
export class Nghttp2Reader {
  readonly #end: FrameEnd
  readonly #lists = new Map<number, Field[]>()
  #session: ServerHttp2Session | null = null
  #stream = -1
  #pongs = 0
  #code: number | null = null
  #look: () => void = () => {}

  constructor() {
    const server = createServer({ maxHeaderListPairs: MUCH, maxSessionMemory: 1000, settings: { maxHeaderListSize: MUCH } } as object)
    server.on('session', (session) => {
      this.#session = session
      session.on('error', () => {})
    })
    const onStream = (stream: ServerHttp2Stream, _headers: unknown, _flags: number, list: readonly string[]): void => {
      this.#lists.set(
        stream.id!,
        list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]!] as const] : [])),
      )
      stream.on('error', () => {})
      stream.respond({ ':status': 204 }, { endStream: true })
    }
    server.on('stream', onStream as (stream: ServerHttp2Stream) => void)
    const [ours, theirs] = duplexPair()
    this.#end = new FrameEnd(ours, 0, (frame) => {
      if (frame.type === PING && (frame.flags & ACK) !== 0) this.#pongs++
      if (frame.type === GOAWAY) this.#code = frame.payload.readUInt32BE(4)
      this.#look()
    })
    ours.on('close', () => {
      this.#code ??= -1
      this.#look()
    })
    server.emit('connection', theirs)
    this.#end.send(PREFACE, encodeFrame(SETTINGS, 0, 0))
  }

  /** @returns the list; `'none'` if HPACK is valid but the request is not; `'error'` for COMPRESSION_ERROR */
  async read(block: Buffer): Promise<Field[] | 'none' | 'error'> {
    this.#stream += 2
    const before = this.#pongs
    this.#end.send(encodeFrame(HEADERS, END_HEADERS | END_STREAM, this.#stream, block), encodeFrame(PING, 0, 0, Buffer.alloc(8)))
    await new Promise<void>((resolve) => {
      this.#look = () => {
        if (this.#pongs > before || this.#code !== null) resolve()
      }
      this.#look()
    })
    if (this.#code === COMPRESSION_ERROR) return 'error'
    if (this.#code !== null) throw new Error(`the connection ended with ${this.#code}`)
    await new Promise((resolve) => setImmediate(resolve))
    const list = this.#lists.get(this.#stream)
    this.#lists.delete(this.#stream)
    return list ?? 'none'
  }

  end(): void {
    this.#session?.destroy()
  }
}

/** Writes the blocks of one connection. */
export class Nghttp2Writer {
  readonly #client: ClientHttp2Session
  readonly #end: FrameEnd
  readonly #blocks: Buffer[] = []
  #look: () => void = () => {}

  constructor() {
    const [ours, theirs] = duplexPair()
    this.#client = connect('http://localhost', { createConnection: () => theirs, maxSendHeaderBlockLength: MUCH } as object)
    this.#client.on('error', () => {})
    this.#end = new FrameEnd(ours, PREFACE.length, ({ type, payload }) => {
      if (type === HEADERS) this.#blocks.push(payload)
      this.#look()
    })
    this.#end.send(encodeFrame(SETTINGS, 0, 0))
  }

  /** Our SETTINGS_HEADER_TABLE_SIZE. Resolves when the client has acknowledged it. */
  async setTableLimit(bytes: number): Promise<void> {
    const payload = Buffer.alloc(6)
    payload.writeUInt16BE(HEADER_TABLE_SIZE)
    payload.writeUInt32BE(bytes, 2)
    const changed = once(this.#client, 'remoteSettings')
    this.#end.send(encodeFrame(SETTINGS, 0, 0, payload))
    await changed
  }

  async write(headers: OutgoingHttpHeaders): Promise<Buffer> {
    const before = this.#blocks.length
    const stream = this.#client.request(headers, { endStream: true })
    stream.on('error', () => {})
    await new Promise<void>((resolve) => {
      this.#look = () => {
        if (this.#blocks.length > before) resolve()
      }
      this.#look()
    })
    stream.close(8)
    return this.#blocks.at(-1)!
  }

  end(): void {
    this.#client.destroy()
  }
}
