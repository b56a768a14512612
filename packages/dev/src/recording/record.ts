// Records the exchanges of a server while it serves real clients.

import { Buffer } from 'node:buffer'
import type { HttpServer, Size } from 'weirjs'
import { dev, invalid, isPromise, option, rules } from 'weirjs/kit'

import { decodedBody, messageCoding } from './decoded-body.ts'
import { ExchangeStore } from './exchange-store.ts'
import { maskedBody, maskedField, secretsOf } from './masked-response.ts'
import type { RecordedExchange, RecordedResponse } from './recorded-exchange.ts'

const { count, matching, size, text, texts } = option

export interface RecordOptions {
  /** Where to write: a folder, with a file for each exchange, or a file whose name ends in `.jsonl`, with a line for each. */
  readonly to: string
  /**
   * Names of header fields, parameters and properties of bodies whose values are secret, in addition to those that usually are and to those
   * that routes declare with `.secret()`. In any case; `-` and `_` are ignored. Default: none.
   */
  readonly mask?: readonly string[]
  /**
   * Which exchanges to keep: a share between 0 and 1, or a function that is called when the head of a request has arrived. Heads that are
   * refused are always kept. Default 1: all.
   */
  readonly sample?: number | ((request: { readonly method: string; readonly target: string }) => boolean)
  /** How many exchanges to keep; later ones are left out. Default 1,000. */
  readonly max?: number
  /** The largest request to keep, and the largest response body of which more than a hash is kept. Default 1 MiB. */
  readonly maxSize?: Size
}

/** The counts of a recording so far. */
export interface RecordReport {
  readonly exchanges: number
  readonly skipped: {
    /** The request was larger than `maxSize`. */
    readonly size: number
    /** The request has a content coding, so that its secrets cannot be found. */
    readonly coding: number
    /** No response was sent. */
    readonly incomplete: number
    /** `max` was reached. */
    readonly max: number
    /** Exchanges arrived faster than they could be written, or writing has failed. */
    readonly writing: number
  }
}

export interface Recording extends AsyncDisposable {
  readonly report: RecordReport
  /** Stops recording. Resolves when everything has been written. @throws the first error of the file system */
  stop(): Promise<RecordReport>
}

/** @internal */
export const RECORD_RULES = rules<RecordOptions>('record()')({
  to: text('the path of a folder, or of a file that ends in .jsonl', (path) => path !== ''),
  mask: texts().or([]),
  sample: matching<NonNullable<RecordOptions['sample']>>('a number between 0 and 1, or a function', isSample).or(1),
  max: count({ least: 1 }).or(1_000),
  maxSize: size({ least: 1 }).or('1MiB'),
})

function isSample(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'number' && value >= 0 && value <= 1)
}

/**
 * Records the exchanges of `server` on connections that are opened from now on and speak HTTP/1.1: from sockets, `inject` and `connect`.
 * Secrets are masked before anything is written.
 *
 * @throws WEIR_OPTION_INVALID for a wrong option, and if the server is being recorded already
 */
export function record(server: HttpServer, options: RecordOptions): Recording {
  return new Recorder(server, options)
}

class Recorder implements Recording, dev.ExchangeTap {
  readonly maxBytes: number
  readonly #masking: dev.Masking
  readonly #store: ExchangeStore
  readonly #sample: (request: { readonly method: string; readonly target: string }) => boolean
  readonly #max: number
  readonly #endTap: () => void
  #hasStopped = false
  #count = 0
  readonly #skipped = { size: 0, coding: 0, incomplete: 0, max: 0, writing: 0 }

  constructor(server: HttpServer, options: RecordOptions) {
    const { to, mask, sample, max, maxSize } = RECORD_RULES.read(options)
    this.#masking = dev.masking(server, mask)
    this.#sample = typeof sample === 'function' ? sample : () => Math.random() < sample
    this.#max = max
    this.maxBytes = maxSize
    const endTap = dev.tapExchanges(server, this)
    if (endTap === null) throw invalid('record()', 'the server is being recorded already: stop that recording first')
    this.#endTap = endTap
    this.#store = new ExchangeStore(to)
  }

  get report(): RecordReport {
    return { exchanges: this.#count, skipped: { ...this.#skipped } }
  }

  wants(method: string, target: string): boolean {
    if (this.#hasStopped) return false
    try {
      const wanted: unknown = this.#sample({ method, target })
      if (isPromise(wanted)) throw invalid('record()', 'sample returned a promise, not true or false')
      return wanted === true
    } catch (error) {
      process.emitWarning(`record(): sample has thrown: ${String(error)}`)
      return false
    }
  }

  skip(why: 'size' | 'incomplete'): void {
    this.#skipped[why]++
  }

  keep(raw: dev.RawExchange): void {
    if (this.#hasStopped) return
    if (this.#count >= this.#max) {
      this.#skipped.max++
      return
    }
    const exchange = maskExchange(raw, this.#masking, this.maxBytes)
    if (exchange === null) this.#skipped.coding++
    else if (this.#store.add(exchange)) this.#count++
    else this.#skipped.writing++
  }

  async stop(): Promise<RecordReport> {
    if (!this.#hasStopped) {
      this.#endTap()
      this.#hasStopped = true
    }
    await this.#store.close()
    return this.report
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** @returns null if its secrets cannot be found */
function maskExchange(raw: dev.RawExchange, masking: dev.Masking, maxBytes: number): RecordedExchange | null {
  const request = masking.request(Buffer.concat(raw.pieces.map(({ bytes }) => bytes)).toString('latin1'), raw.method === '')
  if (request === null) return null
  const { head, body, length, trailers, sha256, isWhole, firstByteMs, endMs } = raw.response
  const contentType = head.headers.get('content-type')
  const isCoded = messageCoding((name) => head.headers.get(name)) !== null
  const decoded = body === null || isCoded ? null : decodedBody(body, head.headers.get('content-encoding'), maxBytes)
  // The response may repeat its own secrets, and the request may contain them elsewhere.
  const own = secretsOf(masking, [...head.headers, ...trailers], contentType, decoded)
  const secrets = [...new Set([...request.secrets, ...own])]
  // A response may quote the whole request line: the method is no secret, and without it nothing could be replayed.
  const start = request.text.indexOf(' ') + 1
  const text = request.text.slice(0, start) + masking.without(request.text.slice(start), own)
  let at = 0
  const pieces = raw.pieces.map(({ atMs, bytes }) => ({ atMs, bytes: text.slice(at, (at += bytes.length)) }))
  const maskedFields = (fields: Headers) => [...fields].map(([name, value]) => [name, maskedField(masking, name, value, secrets)] as const)
  const response: RecordedResponse = {
    status: head.status,
    fields: maskedFields(head.headers),
    trailers: maskedFields(trailers),
    body:
      decoded === null
        ? { length, bytes: null, sha256 }
        : { length: decoded.length, bytes: maskedBody(masking, decoded, contentType, secrets), sha256: null },
    isWhole,
    firstByteMs,
    endMs,
  }
  return {
    recordedAt: new Date(raw.recordedAt).toISOString(),
    method: raw.method,
    target: raw.method === '' ? '' : targetIn(text),
    isSecure: raw.isSecure,
    endpoint: raw.endpoint,
    pieces,
    endedAtMs: raw.endedAtMs,
    response,
  }
}

function targetIn(text: string): string {
  return /^\s*\S+ (\S*)/.exec(text)?.[1] ?? ''
}
