// `weirjs/compression`: sends responses in the best content coding that the client accepts (RFC 9110 §8.4, §12.5.3).
//
// It compresses responses just before they are sent, so everything else sees them as they were created. Small ones are compressed
// synchronously: that takes 0.06 to 0.09 ms for 8 KiB, and passing them to another thread would cost another 0.12 ms. Larger ones go to
// another thread, so that other requests do not have to wait.

import { Buffer } from 'node:buffer'
import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { BeforeSend } from '../../app/policies/middleware.ts'
import type { Check } from '../../app/policies/policy.ts'
import { FairQueue } from '../../base/fair-queue.ts'
import { shown } from '../../base/kind-of.ts'
import { count, flag, func, listOf, nested, object, size } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import type { Size } from '../../base/size.ts'
import { EncodingChooser } from '../../formats/accept-encoding.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'
import { ContentReader } from '../kit/content-reader.ts'
import { exchange } from '../kit/exchange.ts'
import type { ResponseHandle } from '../kit/response.ts'
import { responseHandle } from '../kit/response.ts'
import {
  CODING_NAMES,
  type Coding,
  type CompressionLevels,
  type ContentEncoding,
  createCoding,
  isAvailable,
  LEVEL_RULES,
} from './codings.ts'
import { compressSource } from './compressed-source.ts'
import { type DictionarySources, PageDictionaries } from './page-dictionaries.ts'
import { isWorthCompressing } from './worth-compressing.ts'

export interface CompressionOptions {
  /**
   * Content codings to use, the preferred ones first. The order counts if a client likes several equally. Default zstd (from Node 22.15
   * on), br, gzip, deflate.
   */
  readonly encodings?: readonly ContentEncoding[]
  /** Responses of fewer bytes are sent uncompressed. A stream without a Content-Length counts as large. Default 1,024. */
  readonly minSize?: Size
  /**
   * Whether to compress a response, by its Content-Type. Default: text, JSON, XML, and the other types that become smaller, but never
   * `text/event-stream`, whose streams last.
   */
  readonly types?: (contentType: string) => boolean
  readonly levels?: CompressionLevels
  /**
   * How many streams and large responses may be compressed at a time. Default 64. When exceeded: the response is sent uncompressed. A
   * stream holds about 0.7 MiB (gzip) to 2 MiB (br) for as long as it lasts. Two responses that are not streams are compressed at a time, and
   * the others wait.
   */
  readonly maxConcurrent?: number
  /**
   * Whether to compress responses to requests that a page of another site has caused, and that carry cookies, Authorization or a client
   * certificate. Default false: that page could learn a secret of the response from its length (BREACH).
   */
  readonly crossSite?: boolean
  /**
   * The common parts of the pages of a path, which are then not sent with each page (RFC 9842, `dcz`): `{ '/products/*': [page, another] }`. In a
   * path, `*` is for any characters. With several samples, the dictionary is what all of them share; a text or bytes are the dictionary itself.
   * Anyone can fetch it, so it must have nothing of one user. At most 1 MiB each. Only on a server, and with Zstandard that has dictionaries,
   * Node.js 22.15 or later: elsewhere it is a warning at the start. Default: none.
   */
  readonly dictionaries?: Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>
}

/** @internal */
export const COMPRESSION_RULES = rules<CompressionOptions>('compression')(
  {
    encodings: listOf(...CODING_NAMES).or(CODING_NAMES),
    minSize: size().or(1_024),
    types: func({ decides: true }).optional('see below'),
    levels: nested(LEVEL_RULES).or({}, '{ br: 4, gzip: 5, deflate: 5, zstd: 3 }'),
    maxConcurrent: count().or(64),
    crossSite: flag(false),
    dictionaries: object('an object from paths to text, bytes or samples').optional('none'),
  },
  { elsewhere: { threshold: 'minSize' } },
)
/** Up to this size, with the dictionary if there is one, bodies are compressed synchronously, which blocks the thread for 0.4 ms at most on a machine of 2020. */
const MAX_BYTES_AT_ONCE = 32 * 1024
/** What a byte that is compressed synchronously counts in a turn of the event loop, which compresses 256 KiB at most: in about 5 ms. */
const WORK_OF_BYTE = 6

/**
 * Runs what compresses on the pool, for all modules of the process. Two at a time are fewer than its threads, because files and DNS names need them too;
 * each takes up to 15 MB with Brotli. Clients take turns.
 */
const onThread = FairQueue.semaphore(2)

const EMPTY = new Uint8Array(0)

const ACCEPT_ENCODING = ['Accept-Encoding']
const BOTH = ['Accept-Encoding', 'Available-Dictionary']

/** Such a response must not be changed (RFC 9111 §5.2.2.6). A handler sets it to keep its response uncompressed. */
const NO_TRANSFORM = /(?:^|,)[ \t]*no-transform[ \t]*(?:,|$)/i

/** Each part has its own type, so any part may be compressible (RFC 9110 §14.6). */
const SEVERAL_PARTS = /^multipart\/byteranges\b/i

/** Programs use few types. This bounds what is remembered for a program that generates them. */
const MAX_TYPES = 256

/**
 * Returns a module that compresses responses. It never compresses partial responses (206), responses that already have a Content-Encoding
 * or carry `no-transform`, responses of a route with `metadata: { compression: false }`, and responses to requests of other sites with the client's
 * credentials.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function compression(options: CompressionOptions = {}): Module {
  const compressing = new Compressing(options)
  return {
    name: 'compression',
    install(host) {
      const compress: BeforeSend = (session, response) => compressing.apply(session, responseHandle(response)) // its name is shown by explain
      host.use({ check: checkWish }).beforeSend(compress)
      compressing.mapDictionaries(host)
    },
  }
}

/** @throws WEIR_OPTION_INVALID */
const checkWish: Check = (_, where, route) => {
  if (route !== null) wishOf(route.metadata, where)
}

/** The route's `metadata.compression`: false if none of its responses is compressed. @throws WEIR_OPTION_INVALID */
function wishOf({ compression: wish }: RouteMetadata, where: string | null): boolean {
  if (wish === undefined || typeof wish === 'boolean') return wish ?? true
  throw invalid('compression', `compression in the metadata of ${where} is ${shown(wish)}, not true or false`)
}

class Compressing {
  readonly #codings = new Map<string, Coding>()
  readonly #chooser: EncodingChooser
  readonly #minSize: number
  readonly #maxConcurrent: number
  readonly #isWorthIt: (contentType: string) => boolean
  readonly #knownTypes = new Map<string, boolean>()
  readonly #crossSite: boolean
  readonly #dictionaries: PageDictionaries | null
  #running = 0

  constructor(options: CompressionOptions) {
    const { encodings, levels, types, minSize, maxConcurrent, crossSite, dictionaries } = COMPRESSION_RULES.read(options)
    for (const name of encodings.filter(isAvailable)) this.#codings.set(name, createCoding(name, levels[name]))
    this.#minSize = minSize
    this.#maxConcurrent = maxConcurrent
    this.#crossSite = crossSite
    this.#dictionaries = dictionaries === undefined ? null : PageDictionaries.of(dictionaries as DictionarySources, levels.zstd)
    this.#isWorthIt = types ?? isWorthCompressing
    this.#chooser = new EncodingChooser([...this.#codings.keys()])
  }

  /** @throws WEIR_OPTION_INVALID on a group */
  mapDictionaries(host: ModuleHost): void {
    if (this.#dictionaries === null) return
    // A dictionary is for paths of the origin, and one place for it is enough.
    if (host.prefix !== '') throw invalid('compression', 'dictionaries are for the server: use the module there, not on a group')
    for (const one of this.#dictionaries.all) host.mapGet(one.path, (_: unknown, session) => one.send(session))
  }

  apply(session: HttpSession, response: ResponseHandle): void | Promise<void> {
    if (!wishOf(session.metadata, session.route)) return
    const dictionary = this.#dictionaries?.for(session) ?? null
    const varying = dictionary === null ? ACCEPT_ENCODING : BOTH
    // It has no Content-Type, so whether the full response varies is unknown: every 304 varies.
    if (response.statusCode === 304) return void response.vary(...varying)
    const bytes = this.#bytesIn(response)
    if (bytes === null) return
    const choice = this.#chooser.choose(session.request.header('accept-encoding'))
    // A part may be small even if the whole is not.
    const isPart = response.statusCode === 206
    if (bytes < this.#minSize && choice.takesIdentity && !isPart) return
    // The response for another client differs, and so does the whole if this is a part.
    response.vary(...varying)
    const [best] = choice.codings
    if (isPart || (!this.#crossSite && choice.takesIdentity && isFromAnotherSite(session))) return
    const special = dictionary === null ? null : this.#dictionaries!.codingFor(session, dictionary)
    if (dictionary !== null && special === null && response.statusCode === 200)
      response.appendHeader('Link', `<${session.basePath}${dictionary.path}>; rel="compression-dictionary"`)
    const coding = special ?? this.#codings.get(best ?? '')
    if (coding === undefined) return
    if (session.request.method === 'HEAD') {
      response.encodeAs(coding.name, null)
      return
    }
    return this.#compress(session, response, coding, bytes, choice.takesIdentity)
  }

  /** The size of what could be compressed, `Infinity` for a stream without a length; null if there is nothing to compress. */
  #bytesIn(response: ResponseHandle): number | null {
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
      this.#knownTypes.set(ownText(type), known)
    }
    return known
  }

  #compress(session: HttpSession, response: ResponseHandle, coding: Coding, length: number, takesIdentity: boolean): void | Promise<void> {
    const { content } = response
    if (content.kind === 'stream') {
      if (this.#running >= this.#maxConcurrent) return
      const reader = ContentReader.of(response, exchange(session))!
      response.encodeAs(
        coding.name,
        compressSource(reader, coding, () => this.#running--),
      )
      this.#running++
      return
    }
    if (content.kind !== 'text' && content.kind !== 'bytes') return
    const { codedForms } = response
    const known = codedForms?.get(coding.key)
    if (known instanceof Uint8Array) return encode(response, coding, length, known, takesIdentity)
    if (known !== undefined) return encodeLater(session, response, coding, length, known, takesIdentity)
    if (length + coding.dictionaryBytes <= MAX_BYTES_AT_ONCE) return compressInTurn(session, response, coding, takesIdentity)
    if (this.#running < this.#maxConcurrent) return this.#compressLater(session, response, coding, length, takesIdentity)
  }

  async #compressLater(
    session: HttpSession,
    response: ResponseHandle,
    coding: Coding,
    length: number,
    takesIdentity: boolean,
  ): Promise<void> {
    this.#running++
    try {
      let form: Uint8Array | Promise<Uint8Array> | undefined
      await onThread(networkOf(exchange(session).clientAddress), null, async () => {
        // What is compressed is made on the main thread, such as bytes of text and the ETag.
        await exchange(session).whileReading(() => {
          form = response.codedForms?.get(coding.key) // another response with the same content may have been first
          if (form !== undefined || session.signal.aborted) return 0
          form = coding.compress(bytesOf(response))
          response.codedForms?.set(coding.key, form)
          return length
        })
        await form
      })
      if (form !== undefined) await encodeLater(session, response, coding, length, Promise.resolve(form), takesIdentity)
    } finally {
      this.#running--
    }
  }
}

/** Text becomes bytes as late as possible: many responses may wait. */
function bytesOf({ content }: ResponseHandle): Uint8Array {
  if (content.kind === 'text') return Buffer.from(content.text)
  return content.kind === 'bytes' ? content.bytes : EMPTY
}

function compressInTurn(session: HttpSession, response: ResponseHandle, coding: Coding, takesIdentity: boolean): void | Promise<void> {
  let hasWaited = false // to ask for the signal creates it
  const done = exchange(session).whileReading(() => {
    return hasWaited && session.signal.aborted ? 0 : compressNow(response, coding, takesIdentity)
  })
  hasWaited = true
  return done ?? undefined
}

/** @returns how much work it was */
function compressNow(response: ResponseHandle, coding: Coding, takesIdentity: boolean): number {
  const bytes = bytesOf(response)
  const known = response.codedForms?.get(coding.key) // another response with the same content may have been first
  const encoded = known instanceof Uint8Array ? known : coding.compressNow(bytes)
  response.codedForms?.set(coding.key, encoded)
  encode(response, coding, bytes.length, encoded, takesIdentity)
  return encoded === known ? 0 : WORK_OF_BYTE * (bytes.length + coding.dictionaryBytes)
}

async function encodeLater(
  session: HttpSession,
  response: ResponseHandle,
  coding: Coding,
  length: number,
  encoding: Promise<Uint8Array>,
  takesIdentity: boolean,
): Promise<void> {
  const encoded = await exchange(session).inTurn(encoding) // many may wait for the same form
  // The client may have left in the meantime, or the request may have timed out.
  if (!session.signal.aborted) encode(response, coding, length, encoded, takesIdentity)
}

/**
 * Whether a page of another site has made the client's browser send the request, with credentials. Browsers state this to servers over TLS and on
 * loopback addresses.
 */
function isFromAnotherSite(session: HttpSession): boolean {
  const handle = exchange(session)
  if (handle.field('sec-fetch-site') !== 'cross-site') return false
  // Which cookies there are does not matter to the response, so that it may still be kept for others.
  if (handle.cookies(true).length > 0 || handle.field('authorization') !== null) return true
  return session.clientCertificate !== null || handle.peer.clientTls?.isVerified === true
}

/** A body that became larger is sent uncompressed, unless the client does not accept that. */
function encode(response: ResponseHandle, coding: Coding, length: number, encoded: Uint8Array, takesIdentity: boolean): void {
  if (encoded.length < length || !takesIdentity) response.encodeAs(coding.name, encoded)
}
