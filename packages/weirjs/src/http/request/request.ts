// The request as a handler sees it: a read-only snapshot. Everything is parsed on first use, and only once.

import type { Readable } from 'node:stream'
import { abortQuietly } from '../../base/abort-quietly.ts'
import { originOf } from '../../base/authority.ts'
import type { Limits } from '../../base/limits.ts'
import type { UnsharedBytes } from '../../base/unshared-bytes.ts'
import { type FormRecord, foldForm, parseForm } from '../../formats/form.ts'
import { NO_PAIRS, Pairs, valuesOf } from '../../formats/pairs.ts'
import type { Head } from '../../wire/head/head.ts'
import { RequestBody } from '../body/body.ts'
import { statedCharset } from '../body/body-charset.ts'
import {
  BODY_MAP_ANONYMOUS_RULES,
  BODY_MAP_RULES,
  type BodyMapAnonymousOptions,
  type BodyMapOptions,
  type BodyModel,
  mapBody,
  NO_MAP_OPTIONS,
} from '../body/body-map.ts'
import { bodyLimit } from '../body/body-mode.ts'
import type { BodyReader, BodySettings } from '../body/body-reader.ts'
import { streamOf } from '../body/body-stream.ts'
import { readJson } from '../body/json-text.ts'
import type { ConnectionInfo } from '../connection-info.ts'
import { noJsonForm } from '../json-engine.ts'
import type { MemoryForm } from '../multipart/memory-form.ts'
import type { MultipartFormData, MultipartOptions } from '../multipart/multipart-form.ts'
import type { MultipartStreamOptions } from '../multipart/multipart-stream.ts'
import { labelOf, type RouteMatch } from '../route-info.ts'
import { type Forms, withForms } from '../uploads/late-forms.ts'
import { RequestCookies } from './cookies.ts'
import { noteShown, RequestHeaders, TrailerFields } from './headers.ts'
import { Reads } from './reads.ts'
import { upgradeOf } from './upgrade.ts'
import { WebRequest, webUrl } from './web-request.ts'

/** Settings that all requests of a server share. */
interface RequestSettings extends BodySettings {
  readonly limits: Limits
}

/**
 * Values of the route's parameters by name. The record has no prototype, so a parameter may have any name, even `constructor`.
 * @example
 * const values: RouteValues | null = request.routeValues
 * console.log(values?.['id'])
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export type RouteValues = Readonly<Record<string, string>>

// The engine's access to a request. These are functions and not members because a handler holds the same object: whatever it shadows,
// replaces or deletes on it, or on its prototype, must not affect the engine.

/** @internal The exchange is over: from now on members that read the body throw. */
export let expireRequest: (request: HttpRequest, poison: boolean) => void
/** @internal The client has disconnected, or the server has given up on the request. */
export let abortRequest: (request: HttpRequest, reason: Error) => void
/** @internal Whether an error only reports that `signal` has aborted: it is the abort reason, or an AbortError that Node made of it. */
export let isEndedBy: (request: HttpRequest, error: unknown) => boolean
/** @internal Calls `listener` when `signal` aborts, before its listeners; immediately if it has. For one module; creates no signal. */
export let onAbort: (request: HttpRequest, listener: () => void) => void
/** @internal The cause of an error: the abort reason when the error only reports that `signal` has aborted, otherwise the error itself. */
export let causeOf: (request: HttpRequest, error: unknown) => unknown
/** @internal All values of a name in the query string. */
export let queryValuesOf: (request: HttpRequest, name: string) => string[]
/** @internal As `request.header`, for a name in lower case, and `request.cookie`: a program may have replaced those. */
export let headerOf: (request: HttpRequest, name: string) => string | null
/** @internal */
export let cookieOf: (request: HttpRequest, name: string) => string | null
/** @internal Whether cookies were read here, or were shown to code that may read them, which `shows` states. */
export let cookieUse: (request: HttpRequest, shows?: true) => 'read' | 'shown' | 'none'
/** @internal Whether code has been shown all fields, and may have read any. */
export let hasShownFields: (request: HttpRequest) => boolean
/** @internal The body, null without one. A module that decodes it passes the body that replaces it. */
export let bodyOf: (request: HttpRequest, replacement?: RequestBody) => RequestBody | null
/** @internal As `toWeb`, with another URL, which `webUrl` has made. */
export let webRequestOf: (request: HttpRequest, url: string) => Request
/** @internal What the program reads of the body; null if it was given no promise. */
export let readsOf: (request: HttpRequest) => Reads | null
/** @internal What the handler of a route gets of the body. */
export let readBodyWith: (request: HttpRequest, reader: BodyReader) => unknown

/**
 * A request, as the client sent it. Everything is read-only.
 *
 * You may read the head (`method`, `headers`, `routeValues` and so on) at any time. Members that read the body throw `RequestExpiredError`
 * once the handler has settled and its response has been taken over: copy what must live longer.
 * @example
 * server.mapPost('/', (_, { request }) => `${request.method} ${request.path}, ${request.body}`)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export class HttpRequest {
  static {
    expireRequest = (request, poison) => {
      request.#isExpired = true
      if (request.#webs !== null) for (const web of request.#webs) web.keep()
      request.#reads = null // they hold what was read
      request.#given?.expire(labelOf(request.#match), poison)
    }
    abortRequest = (request, reason) => request.#fireAbort(reason)
    onAbort = (request, listener) => {
      request.#abortListener = listener
      if (request.#abortReason !== null) listener()
    }
    isEndedBy = (request, error) => request.#isEndedBy(error)
    causeOf = (request, error) => (request.#isEndedBy(error) ? request.#abortReason : error)
    queryValuesOf = (request, name) => valuesOf(request.#readQuery(), name)
    headerOf = (request, name) => request.#head.get(name)
    cookieOf = (request, name) => request.#readCookies().first(name)
    cookieUse = (request, shows) =>
      request.#head.hasShownCookies ? 'read' : (shows ? (request.#webs ??= []) : request.#webs) ? 'shown' : 'none'
    hasShownFields = (request) => request.#webs !== null
    bodyOf = (request, replacement) => (replacement === undefined ? request.#given : (request.#given = replacement))
    webRequestOf = (request, url) => request.#toWeb(url)
    readsOf = (request) => request.#reads
    readBodyWith = (request, reader) => {
      const head = request.#head
      return reader.read(head.contentType, request.#given, request.#settings, { head, clock: request.#connection.clock })
    }
  }

  readonly #head: Head
  /** Null for a request without a body: an empty one is created when it is read, which is rare. */
  #given: RequestBody | null
  #isExpired = false
  readonly #connection: ConnectionInfo
  readonly #match: RouteMatch
  readonly #settings: RequestSettings
  #headers: RequestHeaders | null = null
  #query: Pairs | null = null
  #form: MemoryForm | null = null
  #trailers: RequestHeaders | null = null
  #cookies: RequestCookies | null = null
  #routeValues: RouteValues | null = null
  #abort: AbortController | null = null
  #abortReason: Error | null = null
  #abortListener: (() => void) | null = null
  /** The requests that `toWeb` has created. Not null if other code has been shown all fields. */
  #webs: WebRequest[] | null = null
  #reads: Reads | null = null

  /** @internal */
  constructor(head: Head, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch, settings: RequestSettings) {
    this.#head = head
    this.#given = body
    this.#connection = connection
    this.#match = match
    this.#settings = settings
  }

  /** Largest request head that the server accepts, in bytes. */
  get maxRequestHeaderSize(): number {
    return this.#settings.limits.maxRequestHeaderSize
  }

  /** Largest body that this request may have, in bytes: the limit of the route, otherwise of the server. `Infinity` for no limit. */
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

  /** The request method, such as `GET`, in the case that the client sent. */
  get method(): string {
    return this.#head.method
  }

  /** Path and query string as sent, not decoded: `/users/J%C3%BCrgen?active=true`. */
  get url(): string {
    return this.#head.url
  }

  /** The path, percent-decoded once: `/users/Jürgen`. `%2F` is not decoded, so that the path has the same segments as the URL. */
  get path(): string {
    return this.#head.path
  }

  /** The request target exactly as in the request line (RFC 9112 §3.2), including the absolute form. */
  get rawTarget(): string {
    return this.#head.target
  }

  /** `HTTP/2.0`, `HTTP/1.1` or `HTTP/1.0`. A higher minor version of HTTP/1 is treated as `HTTP/1.1`. */
  get protocol(): string {
    return this.#head.protocol
  }

  /**
   * The protocol that the client wants to switch to, in lower case, such as `websocket`. Several protocols are a comma-separated list, in
   * order of preference (RFC 9110 §7.8). Null when the client does not request an upgrade, or cannot: with a body, with HEAD, in HTTP/1.0.
   * Call `response.upgrade` to switch, or send a normal response to ignore the request for an upgrade.
   */
  get upgrade(): string | null {
    return upgradeOf(this.#head)
  }

  /** The query string after the `?`, not decoded. Empty when there is none. */
  get queryString(): string {
    return this.#head.queryString
  }

  /** The names and values of the query string, decoded as WHATWG urlencoded: `+` is a space. */
  get query(): Pairs {
    return this.#readQuery()
  }

  #readQuery(): Pairs {
    if (this.#query === null) {
      const text = this.#head.queryString
      this.#query = text === '' ? NO_PAIRS : new Pairs(parseForm(text, Number.POSITIVE_INFINITY)) // the head is bounded
    }
    return this.#query
  }

  /** Values of the route's parameters, percent-decoded. Null when the route has no parameters. */
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

  /** The value of a header field, or null when the request has none. The name is case-insensitive. Repeated fields are joined with `, `. */
  header(name: string): string | null {
    noteShown(this.#head, name)
    return this.#head.get(name.toLowerCase())
  }

  /** Number of cookies, for access by index with `cookie(i)`. */
  get cookies(): number {
    return this.#readCookies().count
  }

  /**
   * By index: name and value, in order of appearance, duplicates included. By name: the value of the first such cookie, or null.
   * @throws RangeError when there is no cookie at the index
   */
  cookie(index: number): [name: string, value: string]
  cookie(name: string): string | null
  cookie(key: number | string): [name: string, value: string] | string | null {
    return typeof key === 'string' ? this.#readCookies().first(key) : this.#readCookies().at(key)
  }

  #readCookies(): RequestCookies {
    this.#head.noteCookies()
    this.#cookies ??= new RequestCookies(this.#head.get('cookie'))
    return this.#cookies
  }

  /** The body as UTF-8 text, for small payloads. A BOM is removed, and invalid bytes become U+FFFD. Empty without a body. */
  get body(): string {
    return this.#body.text('body')
  }

  /** An alias of `body`. */
  get bodyString(): string {
    return this.#body.text('bodyString')
  }

  /** A copy of the body's bytes. You may keep it. */
  get bodyBytes(): UnsharedBytes {
    return this.#body.copy('bodyBytes')
  }

  /** A view of the body in the server's memory, without a copy. Valid only while the handler runs. */
  get bodySpan(): UnsharedBytes {
    return this.#body.view('bodySpan')
  }

  /** Length of the body in bytes. */
  get bodyLength(): number {
    return this.#body.length('bodyLength')
  }

  /**
   * The fields that the client sent after the body (RFC 9110 §6.5), for example a checksum of it. They are never part of `headers`. Those that
   * may not follow a body, such as Authorization, are left out. Empty without a body.
   * @throws BodyNotBufferedError on a streaming route, until all of the body has been received by its reader
   */
  get trailers(): RequestHeaders {
    const fields = this.#body.trailers('trailers')
    this.#trailers ??= new RequestHeaders(new TrailerFields(fields))
    return this.#trailers
  }

  /**
   * Populates `model` from a JSON body (`application/json`, `+json`) or a form (`application/x-www-form-urlencoded`). It writes only the
   * model's own properties and those declared with `@Field`. Unknown names are ignored, and absent properties keep their values. Each value
   * is converted strictly, by the property's `@Field`, otherwise to the type of the property's current value.
   * All or nothing: when it throws, the model is unchanged.
   * @returns true when the model was populated; false when there is nothing to populate it from: no body, another content type, malformed
   * JSON, or JSON that is not an object
   * @throws ModelBindingError listing every property whose value cannot be converted; if you do not catch it, the client gets 400
   * @throws BodyNotBufferedError on a streaming route, before `bufferBody()`
   * @throws WEIR_OPTION_INVALID for an unknown option or value, a schema in place of a model, and an asynchronous `jsonEngine`
   */
  bodyMap<T extends BodyModel>(model: T, options: BodyMapOptions<T> = NO_MAP_OPTIONS): boolean {
    if (options !== NO_MAP_OPTIONS) BODY_MAP_RULES.check(options as object)
    return mapBody('bodyMap()', this.#head.contentType, this.#body, model, options, this.#settings.jsonEngine)
  }

  /** Like `bodyMap`, for a plain object that serves as the template: the type of each value is the type of the property. */
  bodyMapAnonymous<T extends BodyModel>(model: T, options: BodyMapAnonymousOptions = NO_MAP_OPTIONS): boolean {
    if (options !== NO_MAP_OPTIONS) BODY_MAP_ANONYMOUS_RULES.check(options)
    return mapBody('bodyMapAnonymous()', this.#head.contentType, this.#body, model, options, this.#settings.jsonEngine)
  }

  /**
   * Parses `application/x-www-form-urlencoded` text, by default the body. The record, which has no prototype, maps each name to its value,
   * or to an array when the name repeats or ends in `[]`, which is removed from the key. Names are flat: they are not parsed as paths.
   * The body is decoded as UTF-8, or as windows-1252 when the `charset` of its content type is windows-1252, ISO-8859-1 or US-ASCII.
   * @throws PayloadTooLargeError for more than 1,000 pairs; CharsetError (415) for a body in another charset
   */
  bodyForm(text?: string): FormRecord {
    return foldForm(text === undefined ? this.#body.form('bodyForm()', statedCharset(this.#head.contentType), []).pairs : parseForm(text))
  }

  /**
   * The value of a JSON body (`application/json`, `+json`) of any shape. Properties called `__proto__` are left out.
   * @throws ContentTypeError (415) for another content type; WEIR_BODY_MISSING, WEIR_BODY_MALFORMED (400) without a body and for one that is not
   *   JSON in UTF-8; InvalidBodyError (400) for more than 64 levels; BodyNotBufferedError on a streaming route, before `bufferBody()`
   */
  bodyJson(): unknown {
    return readJson('bodyJson()', this.#head.contentType, this.#body, this.#settings)
  }

  /**
   * Reads a whole multipart/form-data body into memory, for small uploads. A second call returns the same form.
   * @returns null when the body is not multipart/form-data, or is malformed
   * @throws (rejects) PayloadTooLargeError (413) when a limit is exceeded; BodyAlreadyReadError when the body was read by other means
   */
  bodyMultipart(options?: MultipartOptions): Promise<MultipartFormData | null> {
    return this.#readForm('bodyMultipart()', (forms, type, body) => this.#formIn(forms).read(type, body, this.#isExpired, options))
  }

  /**
   * Reads a whole multipart/form-data body into memory. It can be called only once, because the body's stream cannot be rewound.
   * @throws (rejects) BodyAlreadyReadError for a second call; WEIR_MULTIPART_INVALID (400) when the body is not a valid form
   */
  bodyFile(): Promise<MultipartFormData> {
    return this.#readForm('bodyFile()', (forms, type, body) => this.#formIn(forms).takeFile(type, body))
  }

  /**
   * Passes the fields and files of a multipart/form-data body to callbacks as they arrive, in constant memory. The server stops reading
   * the socket while a callback's promise is pending or a file's stream is full. The promise that is returned always settles, and the handler
   * can still send a response.
   * @returns true when the form was read to its end; false when the body is not valid multipart/form-data
   * @throws (rejects) PayloadTooLargeError (413) when a limit is exceeded, the error that a callback threw, or the reason why the client
   *   is gone. The stream of a truncated file emits an error; it never ends as if the file were complete
   */
  bodyMultipartStream(options: MultipartStreamOptions): Promise<boolean> {
    return this.#readForm('bodyMultipartStream()', ({ passForm }, type, body, reads) => passForm(type, body, options, reads))
  }

  #formIn({ MemoryForm }: Forms): MemoryForm {
    return (this.#form ??= new MemoryForm())
  }

  #readForm<T>(member: string, read: (forms: Forms, type: string | null, body: RequestBody, reads: Reads) => Promise<T>): Promise<T> {
    const body = this.#body
    const reads = (this.#reads ??= new Reads())
    return reads.watch(
      member,
      withForms(body, (forms) => read(forms, this.#head.contentType, body, reads)),
    )
  }

  /** Reads the whole body of a streaming route, so that `body`, `bodyMap` and the like can be used. On other routes it does nothing. */
  bufferBody(): Promise<void> {
    return (this.#reads ??= new Reads()).watch('bufferBody()', this.#body.collect('bufferBody()'))
  }

  /**
   * The raw body as a stream, with back-pressure down to the socket. It emits an error when the client disconnects, is too slow or sends
   * too much: a truncated body never ends as if it were complete.
   * @throws BodyAlreadyReadError when the body is already being read
   */
  bodyStream(): Readable {
    return streamOf(this.#body, 'bodyStream()')
  }

  /**
   * Aborts when the client disconnects, or when the server gives up on the request. A client that only half-closes its side counts as
   * disconnected: the two cannot be told apart until something is written.
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
      return false // the thrown object has a getter or proxy that throws
    }
  }

  /**
   * A Web `Request`, for code that uses the Fetch API. You may keep it; only a streamed body is lost when the request has expired. Its
   * signal is created, and its body is claimed, when they are first read. Fields about the connection (Connection, Expect,
   * Transfer-Encoding and so on) are left out. In Fetch, GET and HEAD have no body: a body that the client sent is left out, together with
   * its Content-Length.
   * @throws WEIR_HOST_SYNTAX for a host that cannot be in a URL; WEIR_TARGET_SYNTAX for a backslash in the path; WEIR_METHOD_NOT_IMPLEMENTED
   *   for TRACE; RequestExpiredError
   */
  toWeb(): Request {
    const client = this.#connection.forwarding?.clientOf(this.#head, this.#connection)
    const origin = originOf(client?.host ?? this.#head.host, (client ?? this.#connection).isSecure)
    return this.#toWeb(webUrl(origin, this.#head.url))
  }

  #toWeb(url: string): Request {
    const web = new WebRequest(this.#head, url, this.#given, this)
    this.#webs ??= []
    this.#webs.push(web)
    if (this.#abortReason !== null) web.abort(this.#abortReason)
    return web.request
  }

  /** Always throws: `{}` would be useless in a response, and the whole request would reveal too much. @throws WEIR_RESULT_UNSENDABLE */
  toJSON(): never {
    throw noJsonForm('a request', 'request.url or request.headers')
  }

  #fireAbort(reason: Error): void {
    if (this.#abortReason !== null) return
    this.#abortReason = reason
    this.#abortListener?.()
    if (this.#abort !== null) abortQuietly(this.#abort, reason)
    if (this.#webs !== null) for (const web of this.#webs) web.abort(reason)
  }
}
