// The answer, while a handler builds it. Everything is checked when it is set, so that nothing can go wrong once bytes are on the wire.

import { isFieldValue, isToken, LOWER } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { BYTES_TYPE } from '../../formats/media-type.ts'
import { jsonTextOf, noJsonForm, type Serialize } from '../json-engine.ts'
import { type ByteSource, closeSource, takeSource } from './byte-source.ts'
import { dropField, dropRepresentation, FRAMING, firstValue, joinedValue, OF_THE_BYTES } from './field-list.ts'
import { checkedFileOptions, type FileOptions } from './file-options.ts'
import { problemOf } from './problem.ts'
import { NO_CONTENT, type ResponseContent, type TakeOver } from './response-content.ts'
import { type CookieOptions, setCookie } from './set-cookie.ts'

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const HTML_TYPE = 'text/html; charset=utf-8'
const PROBLEM_TYPE = 'application/problem+json'

/**
 * The answer to one request. Methods return the response, so that calls can be chained; the last body wins.
 * Names and values that cannot be sent (CR, LF, NUL and other controls, characters beyond latin1) throw
 * `WEIR_RESPONSE_HEADER_SYNTAX` at once, before anything is sent.
 */
export class HttpResponse {
  readonly #serialize: Serialize
  #status = 200
  #reason = ''
  #type: string | null = null
  /** The handler has set the type itself: no body changes it. */
  #isTypeSet = false
  #fields: string[] | null = null
  #content: ResponseContent = NO_CONTENT
  #answered = false
  #closes = false
  #declaredLength = -1
  /** Type, length and validators are those of a file. */
  #describesFile = false
  #isClaimed = false
  #taken = false

  /** @param serialize how `json` makes text of a value; `JSON.stringify` unless the server has its own engine */
  constructor(serialize: Serialize = JSON.stringify) {
    this.#serialize = serialize
  }

  /** The status that will be sent. */
  get statusCode(): number {
    return this.#status
  }

  /** The body that will be sent, for middleware and `beforeSend`. A stream in it can be read once, by whoever then sends another body. */
  get content(): ResponseContent {
    return this.#content
  }

  /**
   * Sets the status, 200 to 599, and optionally the reason phrase, by default that of the registry.
   * @throws WEIR_RESPONSE_STATUS, WEIR_RESPONSE_HEADER_SYNTAX
   */
  status(code: number, reason = ''): this {
    this.#change()
    if (!Number.isInteger(code) || code < 200 || code > 599) throw new WeirError('WEIR_RESPONSE_STATUS', shown(code))
    if (reason !== '' && !isFieldValue(reason)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'reason phrase')
    this.#status = code
    this.#reason = reason
    this.#answered = true
    return this
  }

  /** Sets a field, replacing those of the same name. `Content-Length` is a promise about a stream: other bodies know their own. Framing fields are the server's: only `Connection: close` may be asked for. */
  header(name: string, value: string | number): this {
    return this.#setField(name, textOf(name, value), true)
  }

  /** Adds a field beside those of the same name. */
  appendHeader(name: string, value: string | number): this {
    return this.#setField(name, textOf(name, value), false)
  }

  /** Removes the fields of that name. */
  removeHeader(name: string): this {
    this.#change()
    if (/^content-type$/i.test(name)) {
      this.#type = null
      this.#isTypeSet = false
    }
    if (/^content-length$/i.test(name)) this.#declaredLength = -1
    if (/^connection$/i.test(name)) this.#closes = false
    dropField(this.#fields, name)
    return this
  }

  /** The value that was set, the first one if there are several; null without one. */
  getHeader(name: string): string | null {
    const wanted = name.toLowerCase()
    if (wanted === 'content-type') return this.#type
    if (wanted === 'content-length') return this.#declaredLength === -1 ? null : String(this.#declaredLength)
    if (wanted === 'connection' && this.#closes) return 'close'
    return firstValue(this.#fields, wanted)
  }

  /** @internal The value of all lines of a field whose value is a list, as one (RFC 9110 §5.3); null without one. */
  listHeader(name: string): string | null {
    return joinedValue(this.#fields, name)
  }

  /** Adds names of request fields to Vary (RFC 9110 §12.5.5), unless they are there: the answer would be another one if they were others. */
  vary(...names: readonly string[]): this {
    const all = (this.listHeader('Vary') ?? '').split(/[ \t]*,[ \t]*/).filter((one) => one !== '')
    const added = names.filter((name) => !all.some((one) => one === '*' || one.toLowerCase() === name.toLowerCase()))
    return added.length === 0 ? this : this.header('Vary', [...all, ...added].join(', '))
  }

  /** Sets Content-Type. */
  contentType(value: string): this {
    this.#change()
    if (!isFieldValue(value)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'Content-Type')
    this.#type = value
    this.#isTypeSet = true
    return this
  }

  /**
   * Adds a Set-Cookie field (RFC 6265 §4.1). The value is percent-encoded, as `request.cookie` decodes it.
   * @throws TypeError for a name, path or domain that cannot be sent; WEIR_OPTION_INVALID for an attribute that there is not
   */
  cookie(name: string, value: string, options?: CookieOptions): this {
    return this.#setField('Set-Cookie', setCookie(name, value, options), false)
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
    return this.#setText(jsonTextOf(value, this.#serialize), JSON_TYPE)
  }

  /** Sends text as UTF-8. */
  text(text: string): this {
    return this.#setText(text, TEXT_TYPE)
  }

  /** Sends an HTML document. It is sent as it is: escaping is the caller's. */
  html(html: string): this {
    return this.#setText(html, HTML_TYPE)
  }

  /** Sends bytes. The type is that given here, else that set before, else `application/octet-stream`. The memory must not change until it is sent. */
  body(bytes: Uint8Array, type?: string): this {
    if (!(bytes instanceof Uint8Array)) throw unsendable(bytes, 'bytes')
    return this.#setContent({ kind: 'bytes', bytes }, type, BYTES_TYPE)
  }

  /** Sends what a stream or async iterable gives, no faster than the client reads. It is closed when the client leaves. */
  stream(source: ByteSource, type?: string): this {
    if (typeof source !== 'object' || source === null || !(Symbol.asyncIterator in source)) throw unsendable(source, 'a stream')
    return this.#setContent({ kind: 'stream', ...takeSource(source) }, type, BYTES_TYPE)
  }

  /**
   * Sends a file: type by its extension, ETag and Last-Modified, conditional requests (RFC 9110 §13) and byte ranges (§14).
   * The path is the caller's: never build it from what a client sent without checking where it leads.
   * Answers 404 when there is no such regular file.
   * @throws WEIR_OPTION_INVALID for an option that there is not, or a value that it cannot have
   */
  file(path: string, options?: FileOptions): this {
    if (typeof path !== 'string') throw unsendable(path, 'a path')
    return this.#setContent({ kind: 'file', file: { path, options: checkedFileOptions(options) } }, undefined, null)
  }

  /**
   * Sends the same content in another coding (RFC 9110 §8.4), such as `gzip`: type and fields stay, also those of a file. What holds for the
   * bytes alone changes with them: a strong ETag becomes weak, Accept-Ranges, Content-Length and digests go. `encoded` owns the stream that was there, if one was.
   */
  encodeAs(coding: string, encoded: Uint8Array | ByteSource): this {
    this.header('Content-Encoding', coding)
    const etag = this.getHeader('ETag')
    if (etag?.startsWith('"') === true) this.header('ETag', `W/${etag}`)
    for (const name of OF_THE_BYTES) this.removeHeader(name)
    this.#content = encoded instanceof Uint8Array ? { kind: 'bytes', bytes: encoded } : { kind: 'stream', ...takeSource(encoded) }
    return this
  }

  /** Sends the client elsewhere: 302, or another status from 300 to 399. Characters that no URL may hold are percent-encoded. */
  redirect(url: string, status = 302): this {
    if (status < 300 || status > 399) throw new WeirError('WEIR_RESPONSE_STATUS', `${status} is no redirect`)
    // Control characters are refused below, not encoded: nobody means them.
    const location = textOf('Location', url).replace(/[^\u0000-\u007e]|[ "<>\\^`{|}]/gu, (char) =>
      /[\ud800-\udfff]/.test(char) && char.length === 1 ? '%EF%BF%BD' : encodeURIComponent(char),
    )
    return this.header('Location', location).status(status).#setContent(NO_CONTENT, undefined, null)
  }

  /**
   * Gives the connection to another protocol (RFC 9110 §7.8), which the client must have asked for: see `request.upgrade`. `takeOver` is
   * called when all that was asked before has been answered; status and fields that were set are not sent, unless it does so.
   *
   * A client that has not asked for the protocol is answered 426 with `Upgrade`.
   */
  upgrade(protocol: string, takeOver: TakeOver): this {
    if (!isToken(protocol)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'Upgrade')
    return this.#setContent({ kind: 'upgrade', protocol, takeOver }, undefined, null)
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
    return this.status(204).#setContent(NO_CONTENT, undefined, null)
  }

  /** 500 with a problem document that carries `message`: it is shown to the client, so say nothing that is not for its eyes. */
  makeInternalServerErrorResponse(message?: string): this {
    return this.#problem(500, message)
  }

  #problem(status: number, message: string | undefined): this {
    return this.sendProblem(problemOf(status, message))
  }

  /** @internal Sends a problem document (RFC 9457) with its status. */
  sendProblem(problem: { readonly status: number }): this {
    this.status(problem.status)
    this.#isTypeSet = false
    return this.#setContent({ kind: 'text', text: JSON.stringify(problem) }, undefined, PROBLEM_TYPE)
  }

  /**
   * A response has no JSON form: inside a result it would be `{}`. A handler returns it alone.
   * @throws WEIR_RESULT_UNSENDABLE
   */
  toJSON(): never {
    throw noJsonForm('a response', 'response.statusCode')
  }

  #setText(text: string, type: string): this {
    this.#change()
    if (typeof text !== 'string') throw unsendable(text, 'text')
    this.#replaceContent({ kind: 'text', text })
    if (!this.#isTypeSet) this.#type = type
    this.#answered = true
    return this
  }

  #setContent(content: ResponseContent, type: string | undefined, fallbackType: string | null): this {
    this.#change()
    this.#replaceContent(content)
    if (type !== undefined) this.contentType(type)
    else if (!this.#isTypeSet) this.#type = fallbackType
    this.#answered = true
    return this
  }

  /** A stream that will not be sent is closed: it may hold a file or a connection. */
  #replaceContent(content: ResponseContent): void {
    const old = this.#content
    this.#content = content
    if (this.#describesFile) this.#dropRepresentation()
    else if (old.kind === 'stream') this.#declaredLength = -1
    if (old.kind === 'stream' && (content.kind !== 'stream' || content.source !== old.source)) closeSource(old)
  }

  #setField(name: string, value: string, replaces: boolean): this {
    this.#change()
    if (!isToken(name) || !isFieldValue(value)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', JSON.stringify(name))
    const letter = name.charCodeAt(0) | LOWER
    if (letter === 0x63 && /^content-type$/i.test(name)) return this.contentType(value)
    if (letter === 0x63 && /^content-length$/i.test(name)) return this.#declareLength(value)
    if (FRAMING.test(name)) {
      if (!/^connection$/i.test(name) || !/^(?:close|keep-alive)$/i.test(value)) {
        throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${name} is the server's own`)
      }
      this.#closes = /^close$/i.test(value)
      return this
    }
    if (replaces) dropField(this.#fields, name)
    this.#fields ??= []
    this.#fields.push(name, value)
    return this
  }

  /** A length that a streamed body promises; other bodies know their own. */
  #declareLength(value: string): this {
    if (!/^\d{1,15}$/.test(value)) throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'Content-Length is not a number of bytes')
    this.#declaredLength = Number(value)
    return this
  }

  #change(): void {
    if (this.#taken) throw new WeirError('WEIR_RESPONSE_SENT')
  }

  // For the code that sends it.

  /** @internal Whether a handler has said what to answer; fields alone do not. */
  get isAnswered(): boolean {
    return this.#answered
  }

  /** @internal */
  get reasonPhrase(): string {
    return this.#reason
  }

  /** @internal */
  get type(): string | null {
    return this.#type
  }

  /** @internal Name, value, name, value; without Content-Type. */
  get fields(): readonly string[] | null {
    return this.#fields
  }

  /** @internal The fields of a response that has none yet: checked before, and written once for many responses. */
  begin(fields: readonly string[]): void {
    this.#fields = [...fields]
  }

  /** @internal Sets fields that nobody has set. @param fields names and values in turn */
  addMissing(fields: readonly string[]): void {
    for (let i = 0; i < fields.length; i += 2) if (this.getHeader(fields[i]!) === null) this.header(fields[i]!, fields[i + 1]!)
  }

  /** @internal Whether the handler asked for `Connection: close`. */
  get closes(): boolean {
    return this.#closes
  }

  /** @internal Length that was promised for a stream, -1 when none was. */
  get declaredLength(): number {
    return this.#declaredLength
  }

  /** @internal Whether it is on its way: what a handler says now comes too late. */
  get isTaken(): boolean {
    return this.#taken
  }

  /** @internal The body and what describes it are those of a file: they go together when another body comes. */
  describesFile(): void {
    this.#describesFile = true
  }

  /** @internal One response answers one request: what was prepared for one client is not another's. @throws WEIR_RESPONSE_SENT */
  claim(): void {
    if (this.#isClaimed || this.#taken) throw new WeirError('WEIR_RESPONSE_SENT')
    this.#isClaimed = true
  }

  /** @internal Says that the resource is there under another protocol only. */
  offerUpgrade(protocol: string): void {
    dropField(this.#fields, 'upgrade')
    dropField(this.#fields, 'connection')
    this.#fields ??= []
    this.#fields.push('Upgrade', protocol, 'Connection', 'Upgrade')
  }

  /** @internal Another response is sent in its place. */
  discard(): void {
    if (this.#taken) return
    this.#replaceContent(NO_CONTENT)
  }

  /** @internal From here on nothing may change: the bytes are on their way. */
  take(): void {
    this.#taken = true
  }

  /** @internal Makes room for the answer of an error: the body and what describes it go, all else (cookies, CORS) stays. */
  clearRepresentation(): void {
    this.#taken = false
    this.#replaceContent(NO_CONTENT)
    this.#dropRepresentation()
    this.#reason = ''
    this.#answered = false
    this.#status = 200
  }

  #dropRepresentation(): void {
    if (this.#status === 206) this.#status = 200
    this.#describesFile = false
    this.#type = null
    this.#isTypeSet = false
    this.#declaredLength = -1
    dropRepresentation(this.#fields)
  }
}

function textOf(name: string, value: string | number): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  throw new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', `${JSON.stringify(name)} is ${kindOf(value)}`)
}

/** For callers that no compiler has checked: what cannot be sent must not be found out when the answer is on its way. */
function unsendable(value: unknown, wanted: string): WeirError {
  return new WeirError('WEIR_RESULT_UNSENDABLE', `${kindOf(value)} is not ${wanted}`)
}
