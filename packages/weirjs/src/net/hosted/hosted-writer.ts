// Sends a response through the response object of a server of Node: complete, or piece by piece, no faster than the client reads.

import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { NO_LENGTH } from '../../wire/head/framing.ts'

import { shownLength, shownType } from '../cycle/response-head.ts'
import type { ResponseWriter } from '../cycle/response-sender.ts'
import type { Http2ServerResponse } from './node-http2.ts'

export type HostedResponse = ServerResponse | Http2ServerResponse

/** The part of both response types that is used here. Their declarations differ in what they return. */
interface NodeResponse extends NodeJS.EventEmitter {
  readonly headersSent: boolean
  readonly writableEnded: boolean
  setHeader(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): unknown
  writeHead(status: number, reason?: string): unknown
  write(piece: Uint8Array): boolean
  end(piece?: Uint8Array): unknown
  addTrailers(trailers: Record<string, string>): unknown
}

/** The owner of the response. */
export interface HostedOwner {
  readonly isGone: boolean
  /** The client has read enough for the next piece. */
  goOn(): void
}

export class HostedWriter implements ResponseWriter {
  readonly keepsLast = false
  readonly endsWithoutTrailers = false
  readonly #owner: HostedOwner
  readonly #out: HostedResponse
  readonly #to: NodeResponse

  constructor(owner: HostedOwner, out: HostedResponse) {
    this.#owner = owner
    this.#out = out
    this.#to = out as NodeResponse
  }

  get isGone(): boolean {
    return this.#owner.isGone
  }

  head(response: OutgoingResponse, length: number): void {
    writeHead(this.#out, response, length)
    this.#to.end()
  }

  text(response: OutgoingResponse, text: string): void {
    this.bytes(response, Buffer.from(text))
  }

  bytes(response: OutgoingResponse, bytes: Uint8Array): void {
    writeHead(this.#out, response, bytes.length)
    if (bytes.length === 0) this.#to.end()
    else this.#to.end(bytes)
  }

  begin(response: OutgoingResponse): void {
    const { declaredLength, trailers } = response
    // Trailers follow a body in chunks only.
    writeHead(this.#out, response, declaredLength === -1 || trailers !== null ? NO_LENGTH : declaredLength)
    this.#to.on('drain', () => this.#owner.goOn())
  }

  piece(bytes: Uint8Array): boolean {
    return this.#to.write(bytes)
  }

  end(last: Uint8Array | null, trailers: readonly string[] | null): void {
    if (trailers !== null) {
      const named: Record<string, string> = {}
      for (let i = 0; i < trailers.length; i += 2) named[trailers[i]!] = trailers[i + 1]!
      this.#to.addTrailers(named)
    }
    if (last === null) this.#to.end()
    else this.#to.end(last)
  }

  flush(): void {
    if (!this.#to.writableEnded && 'flushHeaders' in this.#to && typeof this.#to.flushHeaders === 'function') this.#to.flushHeaders()
  }

  /** Bytes that wait for the client. */
  get unsentBytes(): number {
    return 'stream' in this.#out ? this.#out.stream.writableLength : this.#out.writableLength
  }
}

/** @param length of the body; `NO_LENGTH` if it is not known */
function writeHead(out: HostedResponse, response: OutgoingResponse, length: number): void {
  const { statusCode, reasonPhrase, fields } = response
  const isHttp2 = 'stream' in out
  const to = out as NodeResponse
  const values = new Map<string, string[]>()
  for (let i = 0; fields !== null && i < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase()
    const known = values.get(name)
    if (known === undefined) values.set(name, [fields[i]!, fields[i + 1]!])
    else known.push(fields[i + 1]!)
  }
  for (const [lower, [name, ...all]] of values) {
    // Over HTTP/2 there are none of these (RFC 9113 §8.2.2).
    if (isHttp2 && (lower === 'connection' || lower === 'upgrade')) continue
    to.setHeader(name!, all.length === 1 ? all[0]! : all)
  }
  const type = shownType(response)
  if (type === null) to.removeHeader('Content-Type')
  else to.setHeader('Content-Type', type)
  const shown = length === NO_LENGTH ? NO_LENGTH : shownLength(statusCode, length)
  if (shown !== NO_LENGTH) to.setHeader('Content-Length', String(shown))
  if (response.closes && !isHttp2) to.setHeader('Connection', 'close')
  if (isHttp2 || reasonPhrase === '') to.writeHead(statusCode)
  else to.writeHead(statusCode, reasonPhrase)
}
