// The answer, while a handler builds it.

import { noJsonForm, type Serialize } from '../json-engine.ts'
import type { ByteSource } from './byte-source.ts'
import type { FileOptions } from './file-options.ts'
import { OutgoingResponse } from './outgoing-response.ts'
import { problemOf } from './problem.ts'
import type { ResponseContent, TakeOver } from './response-content.ts'
import { type CookieOptions, setCookie } from './set-cookie.ts'

/** @internal What the engine sends of a response. */
export let outgoingOf: (response: HttpResponse) => OutgoingResponse
/** @internal Whether a value is one, whatever a program has made of it: its prototype says nothing. */
export let isResponse: (value: object) => value is HttpResponse

/**
 * The answer to one request. Methods return the response, so that calls can be chained; the last body wins.
 * Names and values that cannot be sent (CR, LF, NUL and other controls, characters beyond latin1) throw
 * `WEIR_RESPONSE_HEADER_SYNTAX` at once, before anything is sent.
 */
export class HttpResponse {
  static {
    outgoingOf = (response) => response.#outgoing
    isResponse = (value) => #outgoing in value
  }

  readonly #outgoing: OutgoingResponse

  /** @param serialize how `json` makes text of a value; `JSON.stringify` unless the server has its own engine */
  constructor(serialize?: Serialize)
  /** @internal The face of a response that is there already. */
  constructor(outgoing: OutgoingResponse)
  constructor(from: Serialize | OutgoingResponse = JSON.stringify) {
    this.#outgoing = from instanceof OutgoingResponse ? from : new OutgoingResponse(from)
  }

  /** The status that will be sent; 101 where the connection is given to another protocol. */
  get statusCode(): number {
    return this.#outgoing.content.kind === 'upgrade' ? 101 : this.#outgoing.statusCode
  }

  /** The body that will be sent, for middleware and `beforeSend`. A stream in it can be read once, by whoever then sends another body. */
  get content(): ResponseContent {
    return { ...this.#outgoing.content }
  }

  /**
   * Sets the status, 200 to 599, and optionally the reason phrase, by default that of the registry.
   * @throws WEIR_RESPONSE_STATUS, WEIR_RESPONSE_HEADER_SYNTAX
   */
  status(code: number, reason = ''): this {
    this.#outgoing.status(code, reason)
    return this
  }

  /** Sets a field, replacing those of the same name. `Content-Length` is a promise about a stream: other bodies know their own. Framing fields are the server's: only `Connection: close` may be asked for. */
  header(name: string, value: string | number): this {
    this.#outgoing.header(name, value)
    return this
  }

  /** Adds a field beside those of the same name. */
  appendHeader(name: string, value: string | number): this {
    this.#outgoing.appendHeader(name, value)
    return this
  }

  /** Removes the fields of that name. */
  removeHeader(name: string): this {
    this.#outgoing.removeHeader(name)
    return this
  }

  /** The value that was set, the first one if there are several; null without one. */
  getHeader(name: string): string | null {
    return this.#outgoing.getHeader(name)
  }

  /** Adds names of request fields to Vary (RFC 9110 §12.5.5), unless they are there: the answer would be another one if they were others. */
  vary(...names: readonly string[]): this {
    this.#outgoing.vary(...names)
    return this
  }

  /** Sets Content-Type. */
  contentType(value: string): this {
    this.#outgoing.contentType(value)
    return this
  }

  /**
   * Adds a Set-Cookie field (RFC 6265 §4.1). The value is percent-encoded, as `request.cookie` decodes it.
   * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an attribute that there is not
   */
  cookie(name: string, value: string, options?: CookieOptions): this {
    this.#outgoing.appendHeader('Set-Cookie', setCookie(name, value, options))
    return this
  }

  /** Tells the client to forget a cookie. Path, domain and partition must be those that it was set with: all its options may be given again. */
  deleteCookie(
    name: string,
    options: Pick<CookieOptions, 'path' | 'domain' | 'secure' | 'httpOnly' | 'sameSite' | 'partitioned'> = {},
  ): this {
    const { maxAge: _, ...attributes }: CookieOptions = options // an age goes before a date (RFC 6265 §5.3)
    return this.cookie(name, '', { ...attributes, expires: new Date(0) })
  }

  /** Sends a value as JSON. @throws WEIR_RESULT_UNSENDABLE when it has no JSON form */
  json(value: unknown): this {
    this.#outgoing.json(value)
    return this
  }

  /** Sends text as UTF-8. */
  text(text: string): this {
    this.#outgoing.text(text)
    return this
  }

  /** Sends an HTML document. It is sent as it is: escaping is the caller's. */
  html(html: string): this {
    this.#outgoing.html(html)
    return this
  }

  /** Sends bytes. The type is that given here, else that set before, else `application/octet-stream`. The memory must not change until it is sent. */
  body(bytes: Uint8Array, type?: string): this {
    this.#outgoing.body(bytes, type)
    return this
  }

  /** Sends what a stream or async iterable gives, no faster than the client reads. It is closed when the client leaves. */
  stream(source: ByteSource, type?: string): this {
    this.#outgoing.stream(source, type)
    return this
  }

  /**
   * Sends a file: type by its extension, ETag and Last-Modified, conditional requests (RFC 9110 §13) and byte ranges (§14).
   * The path is the caller's: never build it from what a client sent without checking where it leads.
   * Answers 404 when there is no such regular file.
   * @throws WEIR_OPTION_INVALID for an option that there is not, or a value that it cannot have
   */
  file(path: string, options?: FileOptions): this {
    this.#outgoing.file(path, options)
    return this
  }

  /**
   * Sends the same content in another coding (RFC 9110 §8.4), such as `gzip`: type and fields stay, also those of a file. What holds for the
   * bytes alone changes with them: a strong ETag becomes weak, Accept-Ranges, Content-Length and digests go. `encoded` owns the stream that was there, if one was.
   */
  encodeAs(coding: string, encoded: Uint8Array | ByteSource): this {
    this.#outgoing.encodeAs(coding, encoded)
    return this
  }

  /** Sends the client elsewhere: 302, or another status from 300 to 399. Characters that no URL may hold are percent-encoded. */
  redirect(url: string, status = 302): this {
    this.#outgoing.redirect(url, status)
    return this
  }

  /**
   * Gives the connection to another protocol (RFC 9110 §7.8), which the client must have asked for: see `request.upgrade`. `takeOver` is
   * called when all that was asked before has been answered; status and fields that were set are not sent, unless it does so.
   *
   * A client that has not asked for the protocol is answered 426 with `Upgrade`.
   */
  upgrade(protocol: string, takeOver: TakeOver): this {
    this.#outgoing.upgrade(protocol, takeOver)
    return this
  }

  /** 404 with a problem document. */
  notFound(message?: string): this {
    return this.#problem(404, message)
  }

  /** 401 with a problem document. Say how to authenticate with `header('WWW-Authenticate', …)` (RFC 9110 §11.6.1). */
  unauthorized(message?: string): this {
    return this.#problem(401, message)
  }

  /** 403 with a problem document. */
  forbidden(message?: string): this {
    return this.#problem(403, message)
  }

  /** 204: done, and nothing to say. */
  noContent(): this {
    this.#outgoing.noContent()
    return this
  }

  /** 500 with a problem document that carries `message`: it is shown to the client, so say nothing that is not for its eyes. */
  makeInternalServerErrorResponse(message?: string): this {
    return this.#problem(500, message)
  }

  /**
   * A response has no JSON form: inside a result it would be `{}`. A handler returns it alone.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a response', 'response.statusCode')
  }

  #problem(status: number, message: string | undefined): this {
    this.#outgoing.sendProblem(problemOf(status, message))
    return this
  }
}
