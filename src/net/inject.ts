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
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Sent as JSON, in place of `body`. */
  readonly json?: unknown
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

/** @throws WEIR_CLIENT_GONE when the server broke the connection off before the answer was complete */
export async function inject(host: PeerHost, request: InjectRequest | string): Promise<InjectResponse> {
  const asked = typeof request === 'string' ? { url: request } : request
  const transport = new MemoryTransport()
  const peer = new Peer(host, transport)
  transport.start(peer)
  try {
    return await new Promise((resolve, reject) => {
      const look = (): void => {
        const answer = readAnswer(transport.output, asked.method === 'HEAD', transport.isClosed && !transport.wasReset)
        if (answer !== null) resolve(answer)
        else if (transport.isClosed) reject(new WeirError('WEIR_CLIENT_GONE', 'the server broke off before the answer was complete'))
      }
      transport.onOutput = look
      transport.send(encodeRequest(asked))
    })
  } finally {
    transport.onOutput = null
    transport.leave()
  }
}

/** One request goes in: what would end its line, or not fit into one byte a character, is refused. The rest is for the parser to judge. */
function encodeRequest(request: InjectRequest): Buffer {
  if (!/^[\x21-\x7e\x80-\xff]*$/.test(request.url)) throw new WeirError('WEIR_OPTION_INVALID', 'inject: url has a blank or a control')
  if (request.method !== undefined && !isToken(request.method)) throw new WeirError('WEIR_OPTION_INVALID', 'inject: method is no token')
  const body = request.json === undefined ? request.body : JSON.stringify(request.json)
  const bytes = body === undefined ? null : Buffer.from(body as string)
  const fields: [string, string][] = []
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    for (const one of typeof value === 'string' ? [value] : value) fields.push([name, one])
  }
  for (const [name, value] of fields) {
    if (!isToken(name) || !isFieldValue(value)) throw new WeirError('WEIR_OPTION_INVALID', `inject: field ${JSON.stringify(name)}`)
  }
  const has = (name: string): boolean => fields.some(([field]) => field.toLowerCase() === name)
  if (!has('host')) fields.unshift(['Host', 'localhost'])
  if (request.json !== undefined && !has('content-type')) fields.push(['Content-Type', 'application/json'])
  if (bytes !== null && !has('content-length') && !has('transfer-encoding')) fields.push(['Content-Length', String(bytes.length)])
  const head = `${request.method ?? 'GET'} ${request.url} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes ?? Buffer.alloc(0)])
}

/** Reads what the engine itself has written, so nothing is checked twice. @returns null while it is not complete */
function readAnswer(output: Buffer, isHead: boolean, isEnd: boolean): InjectResponse | null {
  const headEnd = output.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const lines = output.toString('latin1', 0, headEnd).split('\r\n')
  const [, code, reason] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(lines[0]!)!
  const status = Number(code)
  const rest = output.subarray(headEnd + 4)
  if (status < 200) return readAnswer(rest, isHead, isEnd)
  const headers = new Headers(
    lines.slice(1).map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const body = isHead || status === 204 || status === 304 ? Buffer.alloc(0) : readBody(rest, headers, isEnd)
  if (body === null) return null
  const text = (): string => body.toString('utf8')
  return { status, reason: reason!, headers, body, text, json: () => JSON.parse(text()) as unknown }
}

function readBody(rest: Buffer, headers: Headers, isEnd: boolean): Buffer | null {
  const length = headers.get('content-length')
  if (length !== null) return rest.length < Number(length) ? null : rest.subarray(0, Number(length))
  if (headers.get('transfer-encoding') !== 'chunked') return isEnd ? rest : null
  const decoder = new ChunkDecoder(DEFAULT_LIMITS)
  const pieces: Buffer[] = []
  for (let at = 0; ; at = decoder.used) {
    const event = decoder.decode(rest, at, rest.length)
    if (event === BODY_END) return Buffer.concat(pieces)
    if (event !== BODY_DATA) return null
    pieces.push(rest.subarray(decoder.dataStart, decoder.dataEnd))
  }
}
