// What a handler sees of a request: a read-only snapshot. Nothing is parsed before somebody asks for it, and nothing twice.

import type { Readable } from 'node:stream'
import { abortQuietly } from '../../base/abort-quietly.ts'
import { BodyAlreadyReadError, WeirError } from '../../base/errors.ts'
import type { Limits } from '../../base/limits.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { type Charset, charsetOf } from '../../formats/charset.ts'
import { parseCookies } from '../../formats/cookie.ts'
import { type FormRecord, foldForm, parseForm } from '../../formats/form.ts'
import { parseMediaType } from '../../formats/media-type.ts'
import { NO_PAIRS, Pairs, valuesOf } from '../../formats/pairs.ts'
import type { Head } from '../../wire/head/head.ts'

import { RequestBody } from '../body/body.ts'
import {
  ANONYMOUS_OPTION_NAMES,
  type BodyMapAnonymousOptions,
  type BodyMapOptions,
  type BodyModel,
  checkBodyMapOptions,
  MAP_OPTION_NAMES,
  mapBody,
  NO_MAP_OPTIONS,
} from '../body/body-map.ts'
import { bodyLimit } from '../body/body-mode.ts'
import { streamOf } from '../body/body-stream.ts'
import type { ConnectionInfo } from '../connection-info.ts'
import { type JsonEngine, noJsonForm } from '../json-engine.ts'
import {
  DEFAULT_FORM_LIMITS,
  MemoryParts,
  type MultipartFormData,
  type MultipartOptions,
  memoryLimits,
} from '../multipart/multipart-form.ts'
import { type FormLimits, readMultipart } from '../multipart/multipart-reading.ts'
import { CallbackParts, type MultipartStreamOptions, streamLimits } from '../multipart/multipart-stream.ts'
import { labelOf, type RouteMatch } from '../route-info.ts'
import { RequestHeaders } from './headers.ts'
import { WebRequest } from './web-request.ts'

/** What all requests of a server share. */
export interface RequestSettings {
  readonly limits: Limits
  readonly jsonEngine: JsonEngine | null
}

/** Values of the route's parameters by name. Without a prototype: `constructor` is a name like any other. */
export type RouteValues = Readonly<Record<string, string>>

// What the engine asks of a request. Functions, not members: a handler holds the same object, and what it shadows, replaces or deletes on it,
// or on its prototype, means nothing to the engine.

/** @internal The exchange is over: what is known of the body may not be looked at any more. */
export let expireRequest: (request: HttpRequest, poison: boolean) => void
/** @internal The client is gone, or the server has given up. */
export let abortRequest: (request: HttpRequest, reason: Error) => void
/** @internal Whether an error only says that `signal` has aborted: its reason, or what Node's own make of it. */
export let isEndedBy: (request: HttpRequest, error: unknown) => boolean
/** @internal What is behind an error: why `signal` has aborted, where it says no more than that. */
export let causeOf: (request: HttpRequest, error: unknown) => unknown
/** @internal All values of a name in the query. */
export let queryValuesOf: (request: HttpRequest, name: string) => string[]

/**
 * A request, as the client sent it. Everything is read-only.
 *
 * Head members (`method` to `routeValues`) may be kept. Body members are valid while the handler runs, and throw
 * `RequestExpiredError` once it has settled and its answer has been taken; copy what must live longer.
 */
export class HttpRequest {
  static {
    expireRequest = (request, poison) => request.#expire(poison)
    abortRequest = (request, reason) => request.#fireAbort(reason)
    isEndedBy = (request, error) => request.#isEndedBy(error)
    causeOf = (request, error) => (request.#isEndedBy(error) ? request.#abortReason : error)
    queryValuesOf = (request, name) => valuesOf(request.#readQuery(), name)
  }

  readonly #head: Head
  /** Null when there is none: then one is made as soon as somebody looks at it, which is hardly ever. */
  #given: RequestBody | null
  #isExpired = false
  readonly #connection: ConnectionInfo
  readonly #match: RouteMatch
  readonly #settings: RequestSettings
  #headers: RequestHeaders | null = null
  #query: Pairs | null = null
  #form: Promise<MultipartFormData | null> | null = null
  #isFileTaken = false
  #cookies: readonly string[] | null = null
  #routeValues: RouteValues | null = null
  #abort: AbortController | null = null
  #abortReason: Error | null = null
  /** What `toWeb` has made. */
  #webs: WebRequest[] | null = null

  /** @internal */
  constructor(head: Head, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch, settings: RequestSettings) {
    this.#head = head
    this.#given = body
    this.#connection = connection
    this.#match = match
    this.#settings = settings
  }

  /** Largest head that the server takes, in bytes. */
  get maxRequestHeaderSize(): number {
    return this.#settings.limits.maxRequestHeaderSize
  }

  /** Largest body that this request may have, in bytes; `Infinity` without a limit. */
  get maxRequestBodySize(): number {
    return bodyLimit(this.#match, this.#settings.limits) ?? Number.POSITIVE_INFINITY
  }

  get #body(): RequestBody {
    if (this.#given === null) {
      this.#given = new RequestBody(0, null)
      this.#given.finish()
      if (this.#isExpired) this.#given.expire(labelOf(this.#match), false)
    }
    return this.#given
  }

  #expire(poison: boolean): void {
    this.#isExpired = true
    if (this.#webs !== null) for (const web of this.#webs) web.keep()
    this.#given?.expire(labelOf(this.#match), poison)
  }

  /** Request method, case as sent: `GET`. */
  get method(): string {
    return this.#head.method
  }

  /** Path and query as sent: `/users/J%C3%BCrgen?active=true`. */
  get url(): string {
    return this.#head.url
  }

  /** The path, percent-decoded once: `/users/Jürgen`. `%2F` stays as it is, so that the segments are those of the URL. */
  get path(): string {
    return this.#head.path
  }

  /** The request target exactly as it stood in the request line (RFC 9112 §3.2), also in absolute form. */
  get rawTarget(): string {
    return this.#head.target
  }

  /** `HTTP/2.0`, `HTTP/1.1` or `HTTP/1.0`. A client that speaks a higher minor version of 1 is answered as 1.1. */
  get protocol(): string {
    return this.#head.protocol
  }

  /**
   * The protocol that the client asks to go on with, in lower case: `websocket`; several are a list, the best first (RFC 9110 §7.8). Null
   * when it does not ask, or cannot: with a body, with HEAD, in HTTP/1.0. Answer with `response.upgrade`, or as if nothing had been asked.
   */
  get upgrade(): string | null {
    return upgradeOf(this.#head)
  }

  /** What follows the `?`, without it and undecoded. Empty when there is none. */
  get queryString(): string {
    return this.#head.queryString
  }

  /** The query, decoded as WHATWG urlencoded: `+` is a space. */
  get query(): Pairs {
    return this.#readQuery()
  }

  #readQuery(): Pairs {
    if (this.#query === null) {
      const text = this.#head.queryString
      // The head's own limit bounds the number of pairs.
      this.#query = text === '' ? NO_PAIRS : new Pairs(parseForm(text, Number.POSITIVE_INFINITY))
    }
    return this.#query
  }

  /** The values that the route's template found in the path, decoded; null when the route has no parameters. */
  get routeValues(): RouteValues | null {
    if (this.#routeValues === null && this.#match.values.length > 0) {
      const record: Record<string, string> = Object.create(null)
      const names = this.#match.route!.parameterNames
      for (let i = 0; i < names.length; i++) record[names[i]!] = this.#match.values[i]!
      this.#routeValues = Object.freeze(record)
    }
    return this.#routeValues
  }

  /** The header fields. */
  get headers(): RequestHeaders {
    this.#headers ??= new RequestHeaders(this.#head)
    return this.#headers
  }

  /** Value of a header field, whatever the case of its name; null when the request has none. Repeated fields are combined with `, `. */
  header(name: string): string | null {
    return this.#head.get(name.toLowerCase())
  }

  /** Number of cookies, for `cookie(i)`. */
  get cookies(): number {
    return this.#cookieList.length / 2
  }

  /**
   * By index: the pair of name and value, in order of appearance, duplicates kept. By name: the first value, or null.
   * @throws RangeError when there is no cookie at that index
   */
  cookie(index: number): [name: string, value: string]
  cookie(name: string): string | null
  cookie(key: number | string): [name: string, value: string] | string | null {
    const list = this.#cookieList
    if (typeof key === 'string') {
      for (let i = 0; i < list.length; i += 2) if (list[i] === key) return list[i + 1]!
      return null
    }
    if (!Number.isInteger(key) || key < 0 || key >= list.length / 2) {
      throw new RangeError(`cookie(${key}): the request has ${list.length / 2} cookies`)
    }
    return [list[2 * key]!, list[2 * key + 1]!]
  }

  get #cookieList(): readonly string[] {
    if (this.#cookies === null) {
      const header = this.#head.get('cookie')
      this.#cookies = header === null ? [] : parseCookies(header)
    }
    return this.#cookies
  }

  /** The body as UTF-8 text; a BOM is skipped and invalid bytes become U+FFFD. Empty without a body. For small payloads. */
  get body(): string {
    return this.#body.text('body')
  }

  /** Another name of `body`. */
  get bodyString(): string {
    return this.#body.text('bodyString')
  }

  /** A copy of the body: the handler may keep it. */
  get bodyBytes(): UnsharedBytes {
    return this.#body.copy('bodyBytes')
  }

  /** A view on the server's memory: valid only while the handler runs. */
  get bodySpan(): UnsharedBytes {
    return this.#body.view('bodySpan')
  }

  /** Length of the body in bytes. */
  get bodyLength(): number {
    return this.#body.length('bodyLength')
  }

  /**
   * Populates `model` from a JSON body (`application/json`, `+json`) or a form (`application/x-www-form-urlencoded`). Only properties
   * that the model has itself, or that are declared with `@Field`, are written; unknown names are ignored, absent ones keep their value.
   * A value is converted to what its `@Field` says, else to the type of what the property holds, strictly.
   *
   * All or nothing: after a failure the model is as it was.
   *
   * @returns true when the model is populated; false when there is nothing to populate from: no body, another content type, malformed
   * JSON, JSON that is not an object
   * @throws ModelBindingError listing every property whose value cannot be converted; uncaught it answers 400
   * @throws BodyNotBufferedError on a streaming route, before `bufferBody()`
   * @throws WEIR_OPTION_INVALID for an unknown option or value, a schema in place of a model, and an asynchronous `jsonEngine`
   */
  bodyMap<T extends BodyModel>(model: T, options: BodyMapOptions<T> = NO_MAP_OPTIONS): boolean {
    if (options !== NO_MAP_OPTIONS) checkBodyMapOptions('bodyMap()', options, MAP_OPTION_NAMES)
    return mapBody('bodyMap()', this.#head.contentType, this.#body, model, options, this.#settings.jsonEngine)
  }

  /** The same for a plain object literal that serves as template: its values say what each property is. */
  bodyMapAnonymous<T extends BodyModel>(model: T, options: BodyMapAnonymousOptions = NO_MAP_OPTIONS): boolean {
    if (options !== NO_MAP_OPTIONS) checkBodyMapOptions('bodyMapAnonymous()', options, ANONYMOUS_OPTION_NAMES)
    return mapBody('bodyMapAnonymous()', this.#head.contentType, this.#body, model, options, this.#settings.jsonEngine)
  }

  /**
   * Parses `application/x-www-form-urlencoded` text, by default the body: name to value, or to an array where a name repeats or ends in
   * `[]`, which is not part of the key. Names are flat text. The record has no prototype.
   *
   * The body is read as UTF-8, or as windows-1252 where the `charset` of its content type says that, or ISO-8859-1 or US-ASCII.
   * @throws PayloadTooLargeError beyond 1,000 pairs; WEIR_CHARSET_UNKNOWN (415) for a body in another charset
   */
  bodyForm(text?: string): FormRecord {
    return foldForm(text === undefined ? this.#body.form('bodyForm()', this.#charset, []).pairs : parseForm(text))
  }

  get #charset(): Charset {
    const { contentType } = this.#head
    const label = contentType === null ? undefined : parseMediaType(contentType)?.parameters.get('charset')
    const charset = charsetOf(label)
    if (charset === null) throw new WeirError('WEIR_CHARSET_UNKNOWN', JSON.stringify(label!.slice(0, 40)))
    return charset
  }

  /**
   * The whole form of a multipart/form-data body in memory, for small uploads. A second call gives the same form.
   * @returns null when the body is no multipart/form-data, or not a valid one
   * @throws (rejects) PayloadTooLargeError for a limit that was crossed; BodyAlreadyReadError when the body went elsewhere
   */
  bodyMultipart(options?: MultipartOptions): Promise<MultipartFormData | null> {
    let limits = DEFAULT_FORM_LIMITS
    try {
      if (options !== undefined) limits = memoryLimits(options) // also where the form was read before, and they come too late
    } catch (error) {
      return neverUnhandled(Promise.reject(error))
    }
    // An expired request says so, whatever was read before.
    if (this.#form === null || this.#isExpired) this.#form = neverUnhandled(this.#readForm('bodyMultipart()', limits))
    return this.#form
  }

  /**
   * The form of a multipart/form-data body, read from the body's stream, which cannot be rewound: it can be parsed only once.
   * @throws (rejects) BodyAlreadyReadError at a second call; WEIR_MULTIPART_INVALID (400) when there is no valid form
   */
  bodyFile(): Promise<MultipartFormData> {
    return neverUnhandled(this.#readFile())
  }

  async #readFile(): Promise<MultipartFormData> {
    if (this.#isFileTaken) throw new BodyAlreadyReadError('bodyFile()')
    this.#isFileTaken = true
    const form = await this.#readForm('bodyFile()', DEFAULT_FORM_LIMITS)
    if (form === null) throw new WeirError('WEIR_MULTIPART_INVALID')
    return form
  }

  async #readForm(member: string, limits: FormLimits): Promise<MultipartFormData | null> {
    const parts = new MemoryParts(limits)
    const isValid = await readMultipart(this.#head.contentType, this.#body, member, limits, () => parts)
    return isValid ? parts.form : null
  }

  /**
   * Hands the fields and files of a multipart/form-data body to callbacks as they arrive: constant memory, whatever the size. The socket
   * is not read further while a callback's promise is pending or a file's stream is full.
   *
   * Whatever happens the call settles, and the handler can still answer.
   *
   * @returns true when the form was read to its end; false when the body is no valid multipart/form-data
   * @throws (rejects) PayloadTooLargeError (413) for a limit that was crossed, what a callback threw, or that the client has left. The
   *   stream of a file that is cut short errors: it never ends as if it were whole
   */
  bodyMultipartStream(options: MultipartStreamOptions): Promise<boolean> {
    return neverUnhandled(this.#streamForm(options))
  }

  async #streamForm(options: MultipartStreamOptions): Promise<boolean> {
    const limits = streamLimits(options)
    return readMultipart(
      this.#head.contentType,
      this.#body,
      'bodyMultipartStream()',
      limits,
      (reading) => new CallbackParts(reading, options, limits),
    )
  }

  /** Reads the whole body of a streaming route, after which the members that need it answer. On other routes it is there already. */
  bufferBody(): Promise<void> {
    return neverUnhandled(this.#body.collect('bufferBody()'))
  }

  /**
   * The raw body as it arrives, with back-pressure down to the socket. It errors when the client leaves, is too slow or sends too
   * much: a body that was cut short never ends as if it were whole.
   * @throws BodyAlreadyReadError when the stream was taken before
   */
  bodyStream(): Readable {
    return streamOf(this.#body, 'bodyStream()')
  }

  /**
   * Aborts when the client goes away, or when the server gives up on the request. A client that only ends its sending side is taken
   * for gone as well: the two cannot be told apart before something is written.
   */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController()
      if (this.#abortReason !== null) this.#abort.abort(this.#abortReason)
    }
    return this.#abort.signal
  }

  #isEndedBy(error: unknown): boolean {
    if (this.#abortReason === null) return false
    try {
      return error === this.#abortReason || (error instanceof Error && error.name === 'AbortError')
    } catch {
      return false // what was thrown throws in turn when it is looked at
    }
  }

  /**
   * A Web `Request`, for code that is written against the Fetch API. It may be kept; only a body that streams is gone when the request has
   * expired. Its signal is made, and its body is taken, when they are read. Fields of the connection (Connection, Expect, Transfer-Encoding
   * and so on) are left out. Fetch knows no body with GET and HEAD: one that came is left out, with its Content-Length.
   * @throws WEIR_HOST_SYNTAX for a host that no URL can have; WEIR_METHOD_NOT_IMPLEMENTED for TRACE; RequestExpiredError
   */
  toWeb(): Request {
    const web = new WebRequest(this.#head, this.#connection.isSecure, this.#given, this)
    this.#webs ??= []
    this.#webs.push(web)
    if (this.#abortReason !== null) web.abort(this.#abortReason)
    return web.request
  }

  /**
   * A request has no JSON form: `{}` in a response would help nobody, and all of it would be too much.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a request', 'request.url or request.headers')
  }

  #fireAbort(reason: Error): void {
    if (this.#abortReason !== null) return
    this.#abortReason = reason
    if (this.#abort !== null) abortQuietly(this.#abort, reason)
    if (this.#webs !== null) for (const web of this.#webs) web.abort(reason)
  }
}

/** @internal The protocols that a client asks to go on with; see `HttpRequest.upgrade`. */
export function upgradeOf(head: Head): string | null {
  const { upgrade, contentLength, method } = head
  return upgrade && contentLength === 0 && method !== 'HEAD' ? head.get('upgrade')!.toLowerCase() : null
}

/** What a client does must not end a program whose handler looks at the promise later, or never. */
function neverUnhandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
