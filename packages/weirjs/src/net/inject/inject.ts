// Sends a request through the real parser and the whole application, without a socket. For tests of host programs.

import { Buffer } from 'node:buffer'
import { WeirError } from '../../base/errors.ts'
import { rules } from '../../base/option-rules.ts'
import { ARRIVAL_RULES, type ArrivalOptions, arrivalOf } from '../connections/arrival.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { Http1Connection } from '../http1/connection.ts'
import { MemoryTransport } from '../transport/memory-transport.ts'
import { type InjectRequest, REQUEST_RULES, requestBytes, requestOf } from './request-bytes.ts'
import { type ResponseHead, ResponseReader } from './response-reader.ts'

/** The status of an interim response with fields for the client (RFC 8297). */
export const EARLY_HINTS = 103

export const INJECT_RULES = rules<InjectRequest & ArrivalOptions>('request')(
  { ...REQUEST_RULES.table, ...ARRIVAL_RULES.table },
  { elsewhere: { path: 'url', payload: 'body' } },
)

/**
 * The response to an injected request.
 * @example
 * const hello: InjectResponse = await server.inject('/hello')
 * console.log(hello.status, hello.text())
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/testing.md
 */
export interface InjectResponse extends ResponseHead {
  readonly body: Uint8Array
  /** The fields after the body. They are sent only if the request has `TE: trailers`. */
  readonly trailers: Headers
  /** The fields of each `103 Early Hints` that came before the response. */
  readonly earlyHints: readonly Headers[]
  text(): string
  json(): unknown
}

/**
 * Sends one request, and resolves with the complete response.
 *
 * @throws WEIR_CLIENT_GONE if the server aborted the connection before the response was complete; WEIR_OPTION_INVALID for a request that no
 *   client could send; the reason of `signal`
 */
export async function inject(host: ConnectionHost, request: (InjectRequest & ArrivalOptions) | string): Promise<InjectResponse> {
  const asked: InjectRequest & ArrivalOptions = requestOf(request, INJECT_RULES)
  const { head, body } = await requestBytes(asked)
  const { signal } = asked
  signal?.throwIfAborted()
  const { address, port, isSecure, peer } = arrivalOf('request', host, asked)
  const transport = new MemoryTransport(address, port, isSecure)
  const connection = new Http1Connection(host, transport, { ...peer, isTest: true })
  const reading = new WholeResponse(asked.method === 'HEAD')
  transport.start(connection)
  let onAbort = (): void => {}
  try {
    return await new Promise((resolve, reject) => {
      onAbort = () => reject(signal!.reason)
      signal?.addEventListener('abort', onAbort)
      transport.onOutput = (piece) => {
        try {
          const response = reading.take(piece, transport.wasReset)
          if (response !== null) resolve(response)
          else if (piece === null)
            reject(new WeirError('WEIR_CLIENT_GONE', 'the server aborted the connection before the response was complete'))
        } catch (error) {
          reject(error) // not thrown: it would reach the code that wrote these bytes
        }
      }
      transport.send(body.length === 0 ? head : Buffer.concat([head, body]))
    })
  } finally {
    signal?.removeEventListener('abort', onAbort)
    const isObserved = host.observers.hears('request')
    if (isObserved) await turn() // otherwise the client would seem to leave before the server has noticed the end of a stream
    transport.break()
    if (isObserved) await turn()
    host.observers.flush() // so that a test that awaits the response can read its record
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Collects the first final response until it is complete. */
class WholeResponse {
  readonly #isToHead: boolean
  readonly #reader = new ResponseReader()
  readonly #pieces: Buffer[] = []
  readonly #earlyHints: Headers[] = []
  #head: ResponseHead | null = null

  constructor(isToHead: boolean) {
    this.#isToHead = isToHead
  }

  /**
   * @param piece null: no more will arrive
   * @returns null while the response is incomplete
   */
  take(piece: Buffer | null, wasReset: boolean): InjectResponse | null {
    const reader = this.#reader
    if (piece !== null) reader.push(piece)
    else if (!wasReset) reader.end()
    while (this.#head === null) {
      const head = reader.takeHead(this.#isToHead)
      if (head === null) return null
      if (head.status >= 200 || head.status === 101) this.#head = head
      else if (head.status === EARLY_HINTS) this.#earlyHints.push(head.headers)
    }
    for (let next = reader.takePiece(); next !== null; next = reader.takePiece()) this.#pieces.push(next)
    return reader.isWhole ? wholeAnswer(this.#head, this.#pieces, reader.trailers, this.#earlyHints) : null
  }
}

export function wholeAnswer(
  { status, reason, headers }: ResponseHead,
  pieces: readonly Buffer[],
  trailers: Headers,
  earlyHints: readonly Headers[],
): InjectResponse {
  const body = Buffer.concat(pieces)
  const text = (): string => body.toString('utf8')
  return { status, reason, headers, body, trailers, earlyHints, text, json: () => JSON.parse(text()) as unknown }
}
