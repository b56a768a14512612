// The response, as a handler builds it.

import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { noJsonForm, type Serialize } from '../json-engine.ts'
import { attachment } from './attachment.ts'
import type { ByteSource } from './byte-source.ts'
import { checkedOverHttp1, type EarlyHintsOptions, hintFields } from './early-hints.ts'
import type { FileOptions } from './file-options.ts'
import { OutgoingResponse } from './outgoing-response.ts'
import { applyPrecondition, type DecidedRequest, type ResourceState } from './precondition.ts'
import { type Problem, problemOf } from './problem.ts'
import type { ResponseContent, TakeOver } from './response-content.ts'
import { type CookieOptions, setCookie } from './set-cookie.ts'
import type { TrailerSource } from './trailers.ts'

/** @internal The response that the engine sends. */
export let outgoingOf: (response: HttpResponse) => OutgoingResponse
/** @internal Whether a value is a response. It does not depend on the prototype, which a program can change. */
export let isResponse: (value: object) => value is HttpResponse

/** @internal The request that a response answers. */
interface AnsweredRequest extends DecidedRequest {
  /** @param fields name, value, name, value @returns whether they were sent @throws WEIR_RESPONSE_SENT */
  sendInterim(status: 103, fields: readonly string[], overHttp1: boolean): boolean
}

/**
 * The response to one request. Methods return the response, so that calls can be chained. The last body wins: a handler that sets a second one,
 * other than a problem document, has made a mistake, which is an error in tests and with `debug`.
 *
 * Names and values that cannot be sent (CR, LF, NUL and other control characters, characters outside Latin-1) throw
 * `WEIR_RESPONSE_HEADER_SYNTAX` immediately. Once the response is being sent, every change throws `WEIR_RESPONSE_SENT`.
 *
 * `Status` and `Body` are what the compiler knows of it, for routes that declare their answers: `response.status(404).json(problem)` is an
 * `HttpResponse<404, Problem>`. Without them nothing is known.
 * @example
 * server.mapGet('/', (_, { response }) => response.status(201).header('X-Id', '5').json({ id: 5 }))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/response.md
 */
// biome-ignore lint/suspicious/noExplicitAny: a response about which nothing is known may be passed on as any other
export class HttpResponse<Status = any, Body = any> {
  static {
    outgoingOf = (response) => response.#outgoing
    isResponse = (value) => #outgoing in value
  }

  /** Never set, like the next: they only carry the types. */
  declare readonly '~status': Status
  declare readonly '~body': BodyByStatus<Status, Body>
  readonly #outgoing: OutgoingResponse
  /** Null for a response that the program has made. */
  readonly #request: AnsweredRequest | null

  /** @param serialize used by `json`. Default: `JSON.stringify` */
  constructor(serialize?: Serialize)
  /** @internal Wraps the response of the engine to a request. */
  constructor(outgoing: OutgoingResponse, request: AnsweredRequest)
  constructor(from: Serialize | OutgoingResponse = JSON.stringify, request: AnsweredRequest | null = null) {
    this.#outgoing = from instanceof OutgoingResponse ? from : new OutgoingResponse(from)
    this.#request = request
  }

  /** The status that will be sent. Default 200; 101 when the connection switches to another protocol. */
  get statusCode(): number {
    return this.#outgoing.content.kind === 'upgrade' ? 101 : this.#outgoing.statusCode
  }

  /**
   * The body that will be sent, for middleware and `beforeSend`. If it is a stream, it can be read only once: middleware that reads it must
   * set another body. Until a handler whose answers are declared has settled, what it has passed to `json` is not the body yet.
   */
  get content(): ResponseContent {
    return { ...this.#outgoing.content }
  }

  /**
   * Sets the status, 200 to 599, and optionally the reason phrase. The default phrase is the registered one.
   * @throws WEIR_RESPONSE_STATUS, WEIR_RESPONSE_HEADER_SYNTAX
   */
  status<const S extends number>(code: S, reason = ''): HttpResponse<Known<S>, Body> {
    this.#outgoing.status(code, reason)
    return this.#as()
  }

  /**
   * Sets a field and replaces all others of the same name. `Content-Length` declares the length of a stream; other bodies have a known
   * length. The server sets the framing fields: of those you may only set `Connection`, to `close` or `keep-alive`.
   * @throws WEIR_RESPONSE_HEADER_SYNTAX
   */
  header(name: string, value: string | number): this {
    this.#outgoing.header(name, value)
    return this
  }

  /** Adds a field and keeps others of the same name. @throws WEIR_RESPONSE_HEADER_SYNTAX */
  appendHeader(name: string, value: string | number): this {
    this.#outgoing.appendHeader(name, value)
    return this
  }

  /** Removes all fields of that name. */
  removeHeader(name: string): this {
    this.#outgoing.removeHeader(name)
    return this
  }

  /** The value of a field that was set; the first value if there are several, null when it is not set. */
  getHeader(name: string): string | null {
    return this.#outgoing.getHeader(name)
  }

  /** Adds names of request fields to Vary (RFC 9110 §12.5.5), unless already present: the fields on which the response depends. */
  vary(...names: readonly string[]): this {
    this.#outgoing.vary(...names)
    return this
  }

  /**
   * Sends a field after the body, such as a checksum of it, and replaces another of the same name. A function is called when the body has
   * been read to its end; if it returns null, the field is left out, and if it fails, the response is aborted. Trailer announces the names.
   *
   * Trailers may get lost on the way. They are sent over HTTP/2, and over HTTP/1.1 if the client has sent `TE: trailers`; never after HEAD
   * or a status without a body. An error that replaces the response removes them.
   * @throws WEIR_RESPONSE_HEADER_SYNTAX, also for fields that may not follow a body: about framing, routing, conditions, authentication,
   *   cookies, caching and content (RFC 9110 §6.5.1)
   */
  trailer(name: string, value: TrailerSource): this {
    this.#outgoing.trailer(name, value)
    return this
  }

  /**
   * Sends `103 Early Hints` (RFC 8297) immediately: fields, usually Link, with which the client can begin to work before it has the response.
   * The response does not contain them, unless you set them as well. It may be called several times.
   *
   * Over HTTP/1.1 it does nothing unless `overHttp1` is true: browsers ignore hints there, and some proxies (nginx before 1.29) take them
   * for the response, which is then lost.
   *
   * @returns whether they were sent; false also over HTTP/1.0, in `server.fetch`, and when the client has left
   * @throws WEIR_RESPONSE_SENT once the response is being sent; WEIR_RESPONSE_HEADER_SYNTAX for a field that cannot be sent, or describes a
   *   connection or a body; WEIR_OPTION_INVALID; WEIR_SERVER_STATE for a response that was made by `new HttpResponse()`
   */
  earlyHints(fields: Readonly<Record<string, string | readonly string[]>>, options: EarlyHintsOptions = {}): boolean {
    return this.#ownRequest('earlyHints').sendInterim(103, hintFields(fields), checkedOverHttp1(options))
  }

  /** Sets Content-Type. A body keeps it, unless it is set with a type of its own. @throws WEIR_RESPONSE_HEADER_SYNTAX */
  contentType(value: string): this {
    this.#outgoing.contentType(value)
    return this
  }

  /**
   * Asks the client to save the body as a file instead of showing it: sets Content-Disposition (RFC 6266), in UTF-8 where the name needs it
   * (RFC 8187). Control characters are removed from the name, and slashes become `_`. It does not set Content-Type.
   *
   * @param fileName default: the client chooses a name, usually the last segment of the path
   * @throws WEIR_OPTION_INVALID for a name that is not a string
   */
  attachment(fileName = ''): this {
    if (typeof fileName !== 'string') throw invalid('attachment()', `the name of the file is ${kindOf(fileName)}, not a string`)
    this.#outgoing.header('Content-Disposition', attachment(fileName))
    return this
  }

  /**
   * Adds a Set-Cookie field (RFC 6265 §4.1). The value is percent-encoded; `request.cookie` decodes it.
   * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an unknown attribute or a wrong value, and
   * for a cookie that browsers ignore: `__Host-`, `__Secure-`, `sameSite: 'none'` or `partitioned` without what these require
   */
  cookie(name: string, value: string, options?: CookieOptions): this {
    this.#outgoing.appendHeader('Set-Cookie', setCookie(name, value, options))
    return this
  }

  /**
   * Tells the client to delete a cookie. Path, domain and `partitioned` must be those with which it was set; you may pass the same options
   * again.
   */
  deleteCookie(
    name: string,
    options: Pick<CookieOptions, 'path' | 'domain' | 'secure' | 'httpOnly' | 'sameSite' | 'partitioned'> = {},
  ): this {
    const { maxAge: _, ...attributes }: CookieOptions = options // Max-Age would take precedence over Expires (RFC 6265 §5.3)
    return this.cookie(name, '', { ...attributes, expires: new Date(0) })
  }

  /** Sends a value as JSON. @throws WEIR_RESULT_UNSENDABLE for a value without a JSON form: undefined, a bigint, a circular object */
  json<const T>(value: T): HttpResponse<Status, T> {
    this.#outgoing.json(value)
    return this.#as()
  }

  /** Sends text as UTF-8, by default as `text/plain`. */
  text(text: string): HttpResponse<Status, string> {
    this.#outgoing.text(text)
    return this.#as()
  }

  /** Sends an HTML document as UTF-8. Nothing is escaped: that is up to the caller. */
  html(html: string): HttpResponse<Status, string> {
    this.#outgoing.html(html)
    return this.#as()
  }

  /**
   * Sends bytes. The content type is `type`, otherwise the one set before, otherwise `application/octet-stream`. The memory is not copied:
   * do not change it before it is sent.
   */
  body(bytes: Uint8Array, type?: string): HttpResponse<Status, Uint8Array> {
    this.#outgoing.body(bytes, type)
    return this.#as()
  }

  /** Sends a stream or async iterable, no faster than the client reads it. It is closed when the client disconnects. */
  stream(source: ByteSource, type?: string): HttpResponse<Status, ByteSource> {
    this.#outgoing.stream(source, type)
    return this.#as()
  }

  /**
   * Sends a file, with a content type by its extension, ETag and Last-Modified, conditional requests (RFC 9110 §13) and byte ranges (§14).
   * The response is 404 when the path is not a regular file.
   *
   * The path is used unchecked: never build it from client input without checking where it leads.
   * @throws WEIR_OPTION_INVALID for an unknown option or an invalid value
   */
  file(path: string, options?: FileOptions): HttpResponse<Status, ByteSource> {
    this.#outgoing.file(path, options)
    return this.#as()
  }

  /**
   * Replaces the body by the same content in another content coding (RFC 9110 §8.4), such as `gzip`. Type and fields stay, including those
   * of a file. What applies to the exact bytes changes: a strong ETag becomes the tag of the coding, `"v1~gzip"`, which conditions take for
   * `"v1"` (with a coding that is not registered, it becomes weak), and Accept-Ranges, Content-Length and digests are removed. If the previous body was a stream, `encoded` must read and close it.
   */
  encodeAs(coding: string, encoded: Uint8Array | ByteSource): this {
    this.#outgoing.encodeAs(coding, encoded)
    return this
  }

  /**
   * Redirects the client to `url` with status 302, or another from 300 to 399. Characters that are not allowed in URLs are percent-encoded.
   * @throws WEIR_RESPONSE_STATUS, WEIR_RESPONSE_HEADER_SYNTAX
   */
  redirect(url: string): HttpResponse<302, void>
  redirect<const S extends number>(url: string, status: S): HttpResponse<Known<S>, void>
  redirect(url: string, status?: number): HttpResponse {
    this.#outgoing.redirect(url, status)
    return this.#as()
  }

  /**
   * Evaluates the conditions of the request (RFC 9110 §13) against the current state of the resource: If-Match, If-None-Match,
   * If-Modified-Since and If-Unmodified-Since. Call it before the handler does its work, and return the response if the result is true:
   * `if (response.precondition({ etag: note.version })) return response`.
   *
   * - For GET, HEAD and QUERY it sets ETag and Last-Modified, and completes the response with 304 if the client has the current state.
   * - For other methods, such as PUT, it completes the response with 412 if the resource is not in the state that the client expects. The
   *   fields are not set, because the handler is about to change the state.
   *
   * Once it is true, what the handler returns instead is not sent, and is an error in tests and with `debug`. Files evaluate conditions
   * themselves: see `file`.
   *
   * @param current null if the resource does not exist
   * @returns whether the response is complete
   * @throws WEIR_RESPONSE_HEADER_SYNTAX for an `etag` that cannot be one; WEIR_OPTION_INVALID for an invalid `lastModified`; WEIR_SERVER_STATE for
   *   a response that was made by `new HttpResponse()`, because it belongs to no request
   */
  precondition(current: ResourceState | null): boolean {
    return applyPrecondition(this.#ownRequest('precondition'), this.#outgoing, current)
  }

  /**
   * Switches the connection to another protocol (RFC 9110 §7.8), which the client must have requested: see `request.upgrade`. `takeOver`
   * is called when all earlier requests have been answered. Status and fields set on this response are not sent, unless `takeOver` writes
   * them.
   *
   * A client that has not requested the protocol gets 426 with `Upgrade`.
   */
  upgrade(protocol: string, takeOver: TakeOver): HttpResponse {
    this.#outgoing.upgrade(protocol, takeOver)
    return this.#as()
  }

  /** Sends 404 with a problem document. The client sees `message`. */
  notFound(message?: string): HttpResponse<404, Problem> {
    return this.#problem(404, message)
  }

  /** Sends 401 with a problem document. Set `WWW-Authenticate` as well (RFC 9110 §11.6.1). The client sees `message`. */
  unauthorized(message?: string): HttpResponse<401, Problem> {
    return this.#problem(401, message)
  }

  /** Sends 403 with a problem document. The client sees `message`. */
  forbidden(message?: string): HttpResponse<403, Problem> {
    return this.#problem(403, message)
  }

  /** Sends 204 without a body. */
  noContent(): HttpResponse<204, void> {
    this.#outgoing.noContent()
    return this.#as()
  }

  /** Sends 500 with a problem document. The client sees `message`: it must not contain internals. */
  makeInternalServerErrorResponse(message?: string): HttpResponse<500, Problem> {
    return this.#problem(500, message)
  }

  /**
   * Always throws: a response has no JSON form. Inside a handler's result it would become `{}`; return the response itself.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a response', 'response.statusCode')
  }

  /** @throws WEIR_SERVER_STATE */
  #ownRequest(member: string): AnsweredRequest {
    if (this.#request !== null) return this.#request
    throw new WeirError('WEIR_SERVER_STATE', `a response that you have made belongs to no request: use session.response.${member}()`)
  }

  #problem<S>(status: S & number, message: string | undefined): HttpResponse<S, Problem> {
    this.#outgoing.sendProblem(problemOf(status, message))
    return this.#as()
  }

  #as<S, B>(): HttpResponse<S, B> {
    return this as HttpResponse as HttpResponse<S, B>
  }
}

/** What the compiler knows about the body of a response: its type by the status, or by `any` if only the body is known. */
type BodyByStatus<Status, Body> = 0 extends 1 & Status
  ? 0 extends 1 & Body
    ? // biome-ignore lint/suspicious/noExplicitAny: see HttpResponse
      any
    : { readonly any: Body }
  : { readonly [S in Status & number]: Body }

/** A status, if the compiler knows it. */
// biome-ignore lint/suspicious/noExplicitAny: see HttpResponse
type Known<S extends number> = number extends S ? any : S
