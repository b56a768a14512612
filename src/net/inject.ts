// A request through the real parser and the whole application, without a socket: for tests of host programs.

import { isFieldValue, isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import { DEFAULT_LIMITS } from '../base/limits.ts'
import { BODY_DATA, BODY_END, ChunkDecoder } from '../wire/chunked.ts'

import { MemoryTransport } from './memory-transport.ts'
import { Peer, type PeerHost } from './peer.ts'

/** What to send. */
export interface InjectRequest {
  /** Default `GET`. */
  readonly method?: string
  /** Path and query, as they stand in a request line. */
  readonly url: string
  /** `Host: localhost` and the Content-Length of a body are added unless they are here. Sent as they are. */
  readonly headers?: Readonly<Record<string, string | number | readonly string[]>> | Headers
  /** A form brings its own Content-Type. */
  readonly body?: string | Uint8Array | FormData | URLSearchParams
  /** Sent as JSON, in place of `body`. */
  readonly json?: unknown
  /** Ends the waiting: the client leaves, and `inject` rejects with the signal's reason. For answers that never end. */
  readonly signal?: AbortSignal
}

/** What came back. */
export interface InjectResponse {
  readonly status: number
  readonly reason: string
  /** Names in lower case; repeated fields stand beside each other. */
  readonly headers: Headers
  readonly body: Uint8Array
  text(): string
  json(): unknown
}

/**
 * @throws WEIR_CLIENT_GONE when the server broke the connection off before the answer was complete; WEIR_OPTION_INVALID for what no client
 * could send; the reason of `signal`
 */
export async function inject(host: PeerHost, request: InjectRequest | string): Promise<InjectResponse> {
  const asked = typeof request === 'string' ? { url: request } : request
  const bytes = await encodeRequest(asked)
  const { signal } = asked
  signal?.throwIfAborted()
  const transport = new MemoryTransport()
  const peer = new Peer(host, transport)
  const reading = new AnswerReading(asked.method === 'HEAD')
  transport.start(peer)
  let onAbort = (): void => {}
  try {
    return await new Promise((resolve, reject) => {
      onAbort = () => reject(signal!.reason)
      signal?.addEventListener('abort', onAbort)
      transport.onOutput = (piece) => {
        const answer = piece === null ? reading.end(transport.wasReset) : reading.push(piece)
        if (answer !== null) resolve(answer)
        else if (piece === null) reject(new WeirError('WEIR_CLIENT_GONE', 'the server broke off before the answer was complete'))
      }
      transport.send(bytes)
    })
  } finally {
    signal?.removeEventListener('abort', onAbort)
    transport.onOutput = null
    transport.leave()
  }
}

/** One request goes in: what would end its line, or not fit into one byte a character, is refused. The rest is for the parser to judge. */
async function encodeRequest(request: InjectRequest): Promise<Buffer> {
  const { method = 'GET', url } = request
  if (typeof url !== 'string' || !/^[\x21-\x7e\x80-\xff]*$/.test(url)) throw refused(`url ${JSON.stringify(url)}`)
  if (!isToken(method)) throw refused(`method ${JSON.stringify(method)}`)
  const body = await encodeBody(request)
  const fields = fieldsOf(request.headers ?? {})
  for (const [name, value] of fields) if (!isToken(name) || !isFieldValue(value)) throw refused(`field ${JSON.stringify(name)}`)
  const has = (name: string): boolean => fields.some(([field]) => field.toLowerCase() === name)
  if (!has('host')) fields.unshift(['Host', 'localhost'])
  if (body !== null && body.type !== null && !has('content-type')) fields.push(['Content-Type', body.type])
  if (body !== null && !has('content-length') && !has('transfer-encoding')) fields.push(['Content-Length', String(body.bytes.length)])
  const head = `${method} ${url} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), body?.bytes ?? Buffer.alloc(0)])
}

function refused(what: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `inject cannot send ${what}`)
}

function fieldsOf(headers: NonNullable<InjectRequest['headers']>): [name: string, value: string][] {
  if (headers instanceof Headers) return [...headers]
  return Object.entries(headers).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one): [string, string] => [name, String(one)]) : [[name, String(value)] as [string, string]],
  )
}

async function encodeBody({ json, body }: InjectRequest): Promise<{ bytes: Buffer; type: string | null } | null> {
  if (json !== undefined) return { bytes: Buffer.from(JSON.stringify(json)), type: 'application/json' }
  if (body === undefined) return null
  if (typeof body === 'string' || body instanceof Uint8Array) return { bytes: Buffer.from(body as string), type: null }
  if (!(body instanceof FormData || body instanceof URLSearchParams)) throw refused(`${typeof body} as body; an object goes into json`)
  const encoded = new Response(body)
  return { bytes: Buffer.from(await encoded.arrayBuffer()), type: encoded.headers.get('content-type') }
}

/** Reads what the engine itself has written, so nothing is checked twice. Each byte is looked at once. */
class AnswerReading {
  readonly #isHead: boolean
  #head: { readonly status: number; readonly reason: string; readonly headers: Headers } | null = null
  /** Bytes that wait for those behind them. */
  #waiting: Buffer = Buffer.alloc(0)
  readonly #pieces: Buffer[] = []
  #size = 0
  #decoder: ChunkDecoder | null = null

  constructor(isHead: boolean) {
    this.#isHead = isHead
  }

  /** @returns the answer once it is complete */
  push(piece: Buffer): InjectResponse | null {
    const bytes = this.#waiting.length === 0 ? piece : Buffer.concat([this.#waiting, piece])
    this.#waiting = Buffer.alloc(0)
    return this.#head === null ? this.#readHead(bytes) : this.#readBody(bytes)
  }

  /** The server has ended its side: that is the end of an answer without a length, and of no other. */
  end(wasReset: boolean): InjectResponse | null {
    const isOpenEnded = this.#head !== null && this.#decoder === null && this.#head.headers.get('content-length') === null
    return isOpenEnded && !wasReset ? this.#whole() : null
  }

  #readHead(bytes: Buffer): InjectResponse | null {
    const headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd === -1) {
      this.#waiting = bytes
      return null
    }
    const lines = bytes.toString('latin1', 0, headEnd).split('\r\n')
    const [, code, reason] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(lines[0]!)!
    const status = Number(code)
    const rest = bytes.subarray(headEnd + 4)
    if (status < 200 && status !== 101) return this.#readHead(rest)
    const fields = lines.slice(1).map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
    const headers = new Headers(fields)
    this.#head = { status, reason: reason!, headers }
    if (this.#isHead || status === 101 || status === 204 || status === 304) return this.#whole()
    if (headers.get('transfer-encoding') === 'chunked') this.#decoder = new ChunkDecoder(DEFAULT_LIMITS)
    return this.#readBody(rest)
  }

  #readBody(bytes: Buffer): InjectResponse | null {
    if (this.#decoder !== null) return this.#readChunks(this.#decoder, bytes)
    this.#add(bytes)
    const length = this.#head!.headers.get('content-length')
    return length !== null && this.#size >= Number(length) ? this.#whole() : null
  }

  #readChunks(decoder: ChunkDecoder, bytes: Buffer): InjectResponse | null {
    for (let at = 0; ; at = decoder.used) {
      const event = decoder.decode(bytes, at, bytes.length)
      if (event === BODY_END) return this.#whole()
      if (event !== BODY_DATA) break
      this.#add(bytes.subarray(decoder.dataStart, decoder.dataEnd))
    }
    this.#waiting = bytes.subarray(decoder.used)
    return null
  }

  #add(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#size += bytes.length
  }

  #whole(): InjectResponse {
    const body = Buffer.concat(this.#pieces)
    const text = (): string => body.toString('utf8')
    return { ...this.#head!, body, text, json: () => JSON.parse(text()) as unknown }
  }
}
