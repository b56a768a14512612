// Sends a response through the response object of a server of Node: complete, or piece by piece, no faster than the client reads.

import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { WeirError } from '../../../base/errors.ts'
import { closeSource, openSource, type SourceReader } from '../../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../../http/answer/outgoing-response.ts'
import { mayHaveBody, shownLength, shownType } from '../../../net/cycle/answer-head.ts'
import { DrainGate } from '../../../net/cycle/drain-gate.ts'
import { type PumpTarget, pump } from '../../../net/cycle/pump.ts'
import type { AnswerUnderWay } from '../../../net/cycle/request-cycle.ts'
import type { Recording } from '../../../net/observe/recording.ts'
import { NO_LENGTH } from '../../../wire/http1/encode.ts'
import type { Http2ServerResponse } from './node-http2.ts'

export type HostedResponse = ServerResponse | Http2ServerResponse

/** The part of both response types that is used here. Their declarations differ in what they return. */
interface NodeResponse extends NodeJS.EventEmitter {
  readonly headersSent: boolean
  setHeader(name: string, value: string | readonly string[]): unknown
  removeHeader(name: string): unknown
  writeHead(status: number, reason?: string): unknown
  write(piece: Uint8Array): boolean
  end(piece?: Uint8Array): unknown
  addTrailers(trailers: Record<string, string>): unknown
}

/** The response cannot be sent in one piece. */
export const NOT_WHOLE = -1

/** @returns the length of the body; `NOT_WHOLE` if nothing has been sent, because the body is a stream, or the response is an upgrade */
export function sendWholeHosted(out: HostedResponse, response: OutgoingResponse, isHead: boolean, closes: boolean): number {
  response.take()
  const { content } = response
  if (content.kind === 'upgrade') return NOT_WHOLE
  const hasBody = mayHaveBody(response, isHead)
  let bytes: Uint8Array | null = null
  let length = response.declaredLength === -1 ? NO_LENGTH : response.declaredLength
  if (content.kind === 'text' || content.kind === 'bytes') {
    bytes = content.kind === 'text' ? Buffer.from(content.text) : content.bytes
    length = bytes.length
  } else if (content.kind === 'stream') {
    if (hasBody) return NOT_WHOLE
    closeSource(content)
  } else length = hasBody ? 0 : Math.max(0, response.declaredLength)
  writeHead(out, response, length, closes)
  if (bytes === null || !hasBody || bytes.length === 0) out.end()
  else (out as NodeResponse).end(bytes)
  return hasBody ? (bytes?.length ?? 0) : 0
}

/** @param length of the body; `NO_LENGTH` if it is not known */
function writeHead(out: HostedResponse, response: OutgoingResponse, length: number, closes: boolean): void {
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
  if (closes && !isHttp2) to.setHeader('Connection', 'close')
  if (isHttp2 || reasonPhrase === '') to.writeHead(statusCode)
  else to.writeHead(statusCode, reasonPhrase)
}

/** A response with a streamed body. */
export class HostedAnswer implements AnswerUnderWay, PumpTarget {
  readonly #out: NodeResponse
  readonly #response: OutgoingResponse
  readonly #closes: boolean
  readonly #recording: Recording | null
  readonly #gate = new DrainGate()
  #source: SourceReader | null = null
  #isGone = false
  #hasBegun = false
  #bodyBytes = 0

  constructor(out: HostedResponse, response: OutgoingResponse, closes: boolean, recording: Recording | null) {
    this.#out = out as NodeResponse
    this.#response = response
    this.#closes = closes
    this.#recording = recording
    this.#out.on('drain', () => this.#gate.open())
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get bodyBytes(): number {
    return this.#bodyBytes
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the source is waiting for the client. */
  get isWaiting(): boolean {
    return this.#gate.isClosed
  }

  /** @throws what its source throws; WEIR_UPGRADE_WITHOUT_CONNECTION: a server of Node keeps its sockets */
  async send(): Promise<void> {
    const { content, declaredLength, trailers } = this.#response
    if (content.kind === 'upgrade') throw new WeirError('WEIR_UPGRADE_WITHOUT_CONNECTION', content.protocol)
    if (content.kind !== 'stream') return
    this.#source = openSource(content)
    await pump(this.#source, declaredLength, this)
    if (this.#isGone) return
    if (trailers !== null) {
      const fields = await trailers.collect()
      if (this.#isGone) return
      this.sendHead()
      const named: Record<string, string> = {}
      for (let i = 0; i < fields.length; i += 2) named[fields[i]!] = fields[i + 1]!
      this.#out.addTrailers(named)
    }
    if (!this.#hasBegun) this.#begin(Math.max(0, declaredLength))
    this.#out.end()
  }

  sendHead(): void {
    if (this.#hasBegun) return
    this.#begin(this.#lengthToState)
    if ('flushHeaders' in this.#out && typeof this.#out.flushHeaders === 'function') this.#out.flushHeaders()
  }

  write(piece: Uint8Array): Promise<void> | null {
    if (!this.#hasBegun) this.#begin(this.#lengthToState)
    this.#bodyBytes += piece.length
    return this.#out.write(piece) ? null : this.#gate.wait()
  }

  /** Trailers follow a body in chunks only. */
  get #lengthToState(): number {
    const { declaredLength, trailers } = this.#response
    return declaredLength === -1 || trailers !== null ? NO_LENGTH : declaredLength
  }

  #begin(length: number): void {
    this.#hasBegun = true
    this.#recording?.markFirstByte(this.#response.statusCode)
    writeHead(this.#out as unknown as HostedResponse, this.#response, length, this.#closes)
  }

  abandon(): void {
    this.#isGone = true
    this.#source?.close()
    this.#gate.open()
  }
}
