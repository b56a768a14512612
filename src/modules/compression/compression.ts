// `weir/compression`: answers in the best coding that the client takes (RFC 9110 §8.4, §12.5.3).
//
// It works on answers just before they are sent, so that everything else sees them as they were made. Small ones are compressed at once:
// for 8 KiB that takes 0.06 to 0.09 ms, handing them to another thread costs 0.12 ms more. Larger ones go there, so that others need not
// wait.

import { Buffer } from 'node:buffer'
import type { Module } from '../../app/module-host.ts'
import { checkNames, invalid, listOf, namesOf, wholeNumber } from '../../base/options.ts'
import { requireOptionalPackage } from '../../base/packages.ts'
import { closeSource, UNREAD } from '../../http/answer/byte-source.ts'
import type { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import { outgoingOf } from '../../http/answer/response.ts'
import type { HttpSession } from '../../http/session.ts'
import { EncodingChooser } from '../accept-encoding.ts'
import { CODING_NAMES, type Coding, type CompressionLevels, type ContentEncoding, createCoding, isAvailable } from './codings.ts'
import { compressSource } from './compressed-source.ts'

export interface CompressionOptions {
  /** Content codings to use, the best first, where the client likes several as well. Default zstd (where Node has it: 22.15), br, gzip, deflate. */
  readonly encodings?: readonly ContentEncoding[]
  /** Answers of fewer bytes are sent as they are. A stream without a Content-Length counts as large. Default 1,024. */
  readonly minBytes?: number
  /**
   * Which types are worth it, by their Content-Type. Default: what `compressible` says, without `text/event-stream`, whose streams last.
   */
  readonly types?: (contentType: string) => boolean
  readonly levels?: CompressionLevels
  /**
   * How many streams and large answers may be in compressors at a time; what comes on top is sent as it is. A stream holds about
   * 0.7 MiB (gzip) to 2 MiB (br) for as long as it lasts. Default 64.
   */
  readonly maxConcurrent?: number
}

const OPTION_NAMES = namesOf<CompressionOptions>()(['encodings', 'minBytes', 'types', 'levels', 'maxConcurrent'])
const DEFAULT_MIN_BYTES = 1_024
const DEFAULT_MAX_CONCURRENT = 64
/** Up to so many bytes are compressed at once, which blocks for 0.4 ms at most on a machine of 2020. */
const MAX_BYTES_AT_ONCE = 32 * 1024

/** Never to be changed on the way (RFC 9111 §5.2.2.6). A handler says so to keep an answer as it is. */
const NO_TRANSFORM = /(?:^|,)[ \t]*no-transform[ \t]*(?:,|$)/i

/** What each part is says the part alone, so that any may be compressible (RFC 9110 §14.6). */
const SEVERAL_PARTS = /^multipart\/byteranges\b/i

/** Types are few; those of a program that makes them up are not remembered for ever. */
const MAX_TYPES = 256

/**
 * Compresses answers. Never parts (206), what has a Content-Encoding, what says `no-transform`, nor those of a route with
 * `metadata: { compression: false }`.
 * @throws WEIR_PACKAGE_MISSING without `negotiator`, and without `compressible` unless `types` is given; WEIR_OPTION_INVALID
 */
export function compression(options: CompressionOptions = {}): Module {
  const compressing = new Compressing(options)
  return {
    name: 'compression',
    install: (host) => void host.beforeSend((session, response) => compressing.apply(session, outgoingOf(response))),
  }
}

class Compressing {
  readonly #codings = new Map<string, Coding>()
  readonly #chooser: EncodingChooser
  readonly #minBytes: number
  readonly #maxConcurrent: number
  readonly #isWorthIt: (contentType: string) => boolean
  readonly #knownTypes = new Map<string, boolean>()
  #running = 0

  constructor(options: CompressionOptions) {
    checkNames('compression', options, OPTION_NAMES)
    const { encodings = CODING_NAMES, levels = {}, types } = options
    checkNames('compression: levels', levels, CODING_NAMES)
    for (const name of listOf('compression', 'encodings', encodings)) {
      if (!CODING_NAMES.includes(name))
        throw invalid('compression', `there is no encoding ${JSON.stringify(name)}, only ${CODING_NAMES.join(', ')}`)
    }
    if (types !== undefined && typeof types !== 'function') throw invalid('compression', `types is ${typeof types}, not a function`)
    for (const name of encodings.filter(isAvailable)) this.#codings.set(name, createCoding(name, levels[name]))
    this.#minBytes = wholeNumber('compression', 'minBytes', options.minBytes ?? DEFAULT_MIN_BYTES)
    this.#maxConcurrent = wholeNumber('compression', 'maxConcurrent', options.maxConcurrent ?? DEFAULT_MAX_CONCURRENT)
    this.#isWorthIt = types ?? defaultTypes()
    this.#chooser = new EncodingChooser([...this.#codings.keys()])
  }

  apply(session: HttpSession, response: OutgoingResponse): void | Promise<void> {
    if (session.metadata['compression'] === false) return
    if (response.statusCode === 304) return describeUnchanged(session, response)
    const bytes = this.#bytesIn(response)
    if (bytes === null) return
    const choice = this.#chooser.choose(session.request.header('accept-encoding'))
    // A part may be small where the whole is not.
    const isPart = response.statusCode === 206
    if (bytes < this.#minBytes && choice.takesIdentity && !isPart) return
    // The answer to another client, or for the whole where this is a part, is another one.
    response.vary('Accept-Encoding')
    const [best] = choice.codings
    if (best === undefined || isPart) return
    const coding = this.#codings.get(best)!
    if (session.request.method === 'HEAD') {
      const { content } = response
      response.encodeAs(coding.name, UNREAD)
      if (content.kind === 'stream') closeSource(content) // nobody reads it
      return
    }
    return this.#compress(session, response, coding, choice.takesIdentity)
  }

  /** Size of what could be compressed, `Infinity` for a stream that says nothing; null where there is nothing to compress. */
  #bytesIn(response: OutgoingResponse): number | null {
    const { statusCode, content } = response
    if (statusCode === 204 || statusCode === 205) return null
    const type = response.getHeader('Content-Type')
    if (type === null || !(this.#isWorth(type) || (statusCode === 206 && SEVERAL_PARTS.test(type)))) return null
    if (response.listHeader('Content-Encoding') !== null || NO_TRANSFORM.test(response.listHeader('Cache-Control') ?? '')) return null
    switch (content.kind) {
      case 'text':
        return Buffer.byteLength(content.text)
      case 'bytes':
        return content.bytes.length
      case 'stream':
        return Number(response.getHeader('Content-Length') ?? Number.POSITIVE_INFINITY)
      default:
        return null
    }
  }

  #isWorth(type: string): boolean {
    let known = this.#knownTypes.get(type)
    if (known === undefined) {
      known = this.#isWorthIt(type)
      if (this.#knownTypes.size >= MAX_TYPES) this.#knownTypes.clear()
      this.#knownTypes.set(type, known)
    }
    return known
  }

  #compress(session: HttpSession, response: OutgoingResponse, coding: Coding, takesIdentity: boolean): void | Promise<void> {
    const { content } = response
    if (content.kind === 'stream') {
      if (this.#running >= this.#maxConcurrent) return
      response.encodeAs(
        coding.name,
        compressSource(content, response.declaredLength, coding, () => this.#running--),
      )
      this.#running++
      return
    }
    if (content.kind !== 'text' && content.kind !== 'bytes') return
    const bytes = content.kind === 'text' ? Buffer.from(content.text) : content.bytes
    if (bytes.length <= MAX_BYTES_AT_ONCE) return encode(response, coding, bytes, coding.compressNow(bytes), takesIdentity)
    if (this.#running < this.#maxConcurrent) return this.#compressLater(session, response, coding, bytes, takesIdentity)
  }

  async #compressLater(
    { signal }: HttpSession,
    response: OutgoingResponse,
    coding: Coding,
    bytes: Uint8Array,
    takesIdentity: boolean,
  ): Promise<void> {
    this.#running++
    try {
      const encoded = await coding.compress(bytes)
      // The client may have left meanwhile, or been answered because its time was up.
      if (!signal.aborted) encode(response, coding, bytes, encoded, takesIdentity)
    } finally {
      this.#running--
    }
  }
}

/** What became larger is sent as it was, unless the client wants no such thing. */
function encode(response: OutgoingResponse, coding: Coding, bytes: Uint8Array, encoded: Uint8Array, takesIdentity: boolean): void {
  if (encoded.length < bytes.length || !takesIdentity) response.encodeAs(coding.name, encoded)
}

/**
 * A 304 has no type to tell by what the whole answer would be, so that each varies; and its ETag is the weak one that the client was given,
 * if it was (RFC 9110 §15.4.5).
 */
function describeUnchanged(session: HttpSession, response: OutgoingResponse): void {
  response.vary('Accept-Encoding')
  const etag = response.getHeader('ETag')
  if (etag?.startsWith('"') === true && session.request.header('if-none-match')?.includes(`W/${etag}`) === true) {
    response.header('ETag', `W/${etag}`)
  }
}

function defaultTypes(): (contentType: string) => boolean {
  const compressible = requireOptionalPackage<(contentType: string) => boolean | undefined>('compressible')
  return (contentType) => !/^text\/event-stream\b/i.test(contentType) && compressible(contentType) === true
}
