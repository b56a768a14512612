// The errors that weir throws. An error has a class of its own if it carries more than a code.

import { isFieldValue, isToken } from './ascii.ts'
import { ERRORS, type ErrorCode, type Fault } from './error-codes.ts'
import { kindOf, shown } from './kind-of.ts'
import { beginInProgram, type Callee, locate } from './program-frames.ts'

/**
 * Fields of a response, by name. A list is sent as several fields.
 * @example
 * const headers: ErrorHeaders = { 'Retry-After': '30' }
 * throw new HttpError(503, 'Try again soon.', { headers })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export type ErrorHeaders = { readonly [name: string]: string | readonly string[] }

const NO_HEADERS: ErrorHeaders = Object.freeze({})

/**
 * An error that becomes the response. If a handler or middleware throws it and nothing catches it, the server responds with `status` and a
 * problem document (RFC 9457). The client sees the message if `status` is below 500, or if the server runs with `debug`.
 * @example
 * throw new HttpError(404, 'There is no such user.')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export class HttpError extends Error {
  override readonly name: string = 'HttpError'
  /** Status of the response, from 400 to 599. */
  readonly status: number
  /** A stable identifier, such as `WEIR_BODY_TOO_LARGE`. Default: `HTTP_` and the status. */
  readonly code: string
  /** Fields of the response, such as WWW-Authenticate. They replace those that have been set. Default: none. */
  readonly headers: ErrorHeaders

  /** @throws RangeError for another status; WEIR_RESPONSE_HEADER_SYNTAX for a field that cannot be sent */
  constructor(
    status: number,
    message: string,
    options: { readonly code?: string; readonly cause?: unknown; readonly headers?: ErrorHeaders } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new RangeError(`HttpError: ${shown(status)} is not a status from 400 to 599: write new HttpError(404, message)`)
    this.status = status
    this.code = options.code ?? `HTTP_${status}`
    this.headers = options.headers === undefined ? NO_HEADERS : checkedHeaders(options.headers)
  }
}

/** Checked where the error is created: when it is sent, nothing shows where it came from. */
function checkedHeaders(headers: ErrorHeaders): ErrorHeaders {
  for (const [name, value] of Object.entries(headers))
    for (const one of [value].flat() as unknown[])
      if (!isToken(name) || typeof one !== 'string' || !isFieldValue(one)) throw unsendableField(name, one)
  return Object.freeze({ ...headers })
}

/** The error for a field that cannot be sent. Its value may be secret, so it is not shown. */
export function unsendableField(name: unknown, value: unknown, expected = 'a string'): WeirError {
  const why =
    typeof name !== 'string' || !isToken(name)
      ? `${shown(name)} is not the name of a field, such as "X-Total"`
      : typeof value === 'string'
        ? `the value of ${JSON.stringify(name)} has a character that no field may have, such as a line end: encode it`
        : `${JSON.stringify(name)} is ${kindOf(value)}, not ${expected}`
  return new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', why)
}

interface WeirErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown
  /** Status of the response. Default: the status in the catalogue. */
  readonly status?: number | undefined
  /** Fields of the response. They replace those that have been set. Default: none. */
  readonly headers?: ErrorHeaders
}

const NO_OPTIONS: WeirErrorOptions = Object.freeze({})

const PAGE = 'https://github.com/weirjs/weir/blob/main/docs/errors.md'

/**
 * An error from weir's catalogue; `code` identifies it.
 * @example
 * if (error instanceof WeirError) console.log(error.code, error.fault)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export class WeirError extends HttpError {
  override readonly name: string = 'WeirError'
  declare readonly code: ErrorCode
  /** The URL of the page that explains the code, if `fault` is `developer`. */
  declare readonly help?: string

  /** @param detail follows the text of the catalogue in the message */
  constructor(code: ErrorCode, detail?: string, options: WeirErrorOptions = NO_OPTIONS) {
    const { text, status, retryAfter, fault } = ERRORS[code]
    const headers = retryAfter === null ? options.headers : { 'Retry-After': String(retryAfter), ...options.headers }
    super(options.status ?? status, detail === undefined ? text : `${text}: ${detail}`, { ...options, ...(headers && { headers }), code })
    if (fault !== 'developer') return
    this.help = `${PAGE}#${code.toLowerCase()}`
    beginInProgram(this)
  }

  get fault(): Fault {
    return ERRORS[this.code].fault
  }

  /** Whether the connection closes after the response. */
  get closes(): boolean {
    return ERRORS[this.code].closes
  }
}

/** Without a stack, which takes ten times as long as the rest: thousands of clients may leave at once. */
export function clientGone(detail?: string): WeirError {
  const { stackTraceLimit } = Error
  Reflect.set(Error, 'stackTraceLimit', 0) // an assignment would throw where intrinsics are frozen
  const error = new WeirError('WEIR_CLIENT_GONE', detail)
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  return error
}

/**
 * Whether a value that the program has thrown is an instance of a class. Unlike `instanceof`, it never throws: a Proxy may throw when it is asked
 * for its prototype.
 */
export function isInstance<T>(value: unknown, type: abstract new (...given: never[]) => T): value is T {
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** The `fault` of an error; null for any other value. Never throws, even for an object whose members throw. */
export function faultOf(error: unknown): Fault | null {
  try {
    return error instanceof HttpError ? ((error as Partial<WeirError>).fault ?? null) : null
  } catch {
    return null
  }
}

/** Does the work of a public function or method. A developer's error that it throws points at the line that called `callee`. */
export function publicCall<T>(callee: Callee, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (faultOf(error) === 'developer') locate(error as WeirError, callee)
    throw error
  }
}

/**
 * The client sent bytes that break a rule of the protocol. Only the engine throws it: `onError` sees it, and so does a handler that reads a
 * streamed body.
 * @example
 * if (error instanceof ProtocolError) console.log(error.code) // WEIR_CHUNK_SIZE_SYNTAX
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export class ProtocolError extends WeirError {
  override readonly name: string = 'ProtocolError'
}

/**
 * A limit was exceeded. The error has the name of the limit, its value, and what was received.
 * @example
 * if (error instanceof LimitError) console.log(error.limit, error.maximum)
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export class LimitError extends WeirError {
  override readonly name: string = 'LimitError'
  /** Name of the option, such as `maxRequestBodySize`. */
  readonly limit: string
  /** The value of the limit, in the unit of the option. */
  readonly maximum: number
  /** What was received, as far as it is known. */
  readonly actual: number | undefined

  constructor(code: ErrorCode, limit: string, maximum: number, actual?: number) {
    super(code, `${limit} is ${maximum}${actual === undefined ? '' : `, this is ${actual}`}`)
    this.limit = limit
    this.maximum = maximum
    this.actual = actual
  }
}

/**
 * 413: the body, or a part of it, is larger than a limit allows.
 * @example
 * if (error instanceof PayloadTooLargeError) console.log(error.limit)
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export class PayloadTooLargeError extends LimitError {
  override readonly name = 'PayloadTooLargeError'

  constructor(limit: string, maximum: number, actual?: number) {
    super('WEIR_BODY_TOO_LARGE', limit, maximum, actual)
  }
}

/**
 * 429 or 503: the client has used up a quota, or the server has no capacity for the request now. The response has Retry-After, and its
 * problem document the type and the members that draft-ietf-httpapi-ratelimit-headers-11 defines.
 * @example
 * if (error instanceof RetryLaterError) console.log(error.status) // 429 or 503
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/limits.md
 */
export class RetryLaterError extends WeirError {
  override readonly name = 'RetryLaterError'
  /** Names of the limits that refuse the request. */
  readonly violatedPolicies: readonly string[]
  /** Milliseconds after which the same request may be accepted. Retry-After has whole seconds, rounded up. Null if it never would be. */
  readonly retryAfterMs: number | null

  constructor(
    code: 'WEIR_QUOTA_EXCEEDED' | 'WEIR_OVERLOADED',
    violatedPolicies: readonly string[],
    retryAfterMs: number | null,
    detail?: string,
    cause?: unknown,
  ) {
    super(code, detail, { cause, headers: retryAfter(retryAfterMs) })
    this.violatedPolicies = violatedPolicies
    this.retryAfterMs = retryAfterMs
  }
}

/** RFC 9110 §10.2.3. */
function retryAfter(ms: number | null): ErrorHeaders {
  return ms === null ? NO_HEADERS : { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) }
}

/**
 * A member that needs the whole body was used on a route that streams it. Call `await request.bufferBody()` first.
 * @example
 * if (error instanceof BodyNotBufferedError) await request.bufferBody()
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body.md
 */
export class BodyNotBufferedError extends WeirError {
  override readonly name = 'BodyNotBufferedError'

  /** @param isForm whether the body is streamed because the client sent a multipart form and the route does not set `body` */
  constructor(member: string, isForm = false) {
    super(isForm ? 'WEIR_BODY_IS_FORM' : 'WEIR_BODY_NOT_BUFFERED', member)
  }
}

/**
 * The body stream has another reader, or had one; it cannot be rewound.
 * @example
 * if (error instanceof BodyAlreadyReadError) console.log('only one reader gets the stream')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/body.md
 */
export class BodyAlreadyReadError extends WeirError {
  override readonly name = 'BodyAlreadyReadError'

  /** @param why the reason, or what to do */
  constructor(member: string, why = 'keep what the first reader gets, or call bufferBody() first') {
    super('WEIR_BODY_ALREADY_READ', `${member}: ${why}`)
  }
}

/**
 * A member that reads the body was used after the handler had settled and its result had been read. Copy what you need for longer.
 * @example
 * if (error instanceof RequestExpiredError) console.log('copy the body before the handler settles')
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/request.md
 */
export class RequestExpiredError extends WeirError {
  override readonly name = 'RequestExpiredError'

  constructor(member: string, route: string) {
    super('WEIR_REQUEST_EXPIRED', `${member} of ${route}`)
  }
}

/**
 * 415: the client has sent a kind of content that is not accepted.
 * @example
 * if (error instanceof UnsupportedError) console.log(error.accepted)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export abstract class UnsupportedError extends WeirError {
  /** What would be accepted; empty if that cannot be put into words. */
  readonly accepted: readonly string[]

  /** @param received what has been received, for the message */
  constructor(code: ErrorCode, received: string | undefined, accepted: readonly string[]) {
    super(code, accepted.length === 0 ? received : `${received}; accepted: ${accepted.map((one) => one || 'none').join(', ')}`)
    this.accepted = accepted
  }
}

/**
 * 415: a file is not of a kind that the options of `saveTo`, or of `file` in a `multipart` body, accept. `accepted` has the content types or the
 * extensions.
 * @example
 * if (error instanceof FileRefusedError) console.log(error.accepted) // ['.png', '.jpg']
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/uploads.md
 */
export class FileRefusedError extends UnsupportedError {
  override readonly name = 'FileRefusedError'

  constructor(code: 'WEIR_FILE_EXTENSION' | 'WEIR_FILE_MAGIC' | 'WEIR_FILE_TYPE', received?: string, accepted: readonly string[] = []) {
    super(code, received, accepted)
  }
}

/**
 * What is wrong with one value: where it is, what was expected, and what was received.
 * @example
 * const shown = ({ name, expected }: BindingFailure) => `${name} must be ${expected}`
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export interface BindingFailure {
  /** Name of the parameter, or path of the property (`address.city`). */
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie' | 'body'
  /** JSON Pointer (RFC 6901) to the property of a body: `/address/city`, empty for the whole body. Absent for parameters. */
  readonly pointer?: string
  readonly expected: string
  /** The text that was received, shortened to 100 characters; absent when nothing was received, `(not shown)` for a secret. */
  readonly actual?: string
}

/** Received values cannot be converted. The error lists every one of them. */
export abstract class ConversionError extends WeirError {
  readonly failures: readonly BindingFailure[]

  constructor(code: ErrorCode, failures: readonly BindingFailure[], status?: number) {
    super(code, failures.map(describeFailure).join('; '), { status })
    this.failures = failures
  }
}

/**
 * 400: parameters of the request are missing or cannot be converted. The error lists every one of them. The handler did not run.
 * @example
 * if (error instanceof BindingError) console.log(error.failures.map(({ name }) => name))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/routing.md
 */
export class BindingError extends ConversionError {
  override readonly name = 'BindingError'

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_PARAMETER_INVALID', failures)
  }
}

/**
 * 400: values of the body cannot be converted to the types of the model. The error lists every failing property. The model is unchanged.
 * @example
 * if (error instanceof ModelBindingError) console.log(error.failures.map(({ name }) => name))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/models.md
 */
export class ModelBindingError extends ConversionError {
  override readonly name = 'ModelBindingError'

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_MODEL_BINDING', failures)
  }
}

/**
 * 400, or the server's `invalidBodyStatus`: the body of the request does not fit the schema of its route. The error lists up to 100 failures. The
 * handler did not run.
 * @example
 * if (error instanceof InvalidBodyError) console.log(error.failures.map(({ pointer }) => pointer))
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/typed-bodies.md
 */
export class InvalidBodyError extends ConversionError {
  override readonly name = 'InvalidBodyError'

  constructor(failures: readonly BindingFailure[], status: 400 | 422 = 400) {
    super('WEIR_BODY_INVALID', failures, status)
  }
}

/**
 * 415: the content type of the request is not one that the route, or `bodyJson()`, accepts. `accepted` has media types, or ranges such as
 * `image/*`; `application/json` includes all `+json` types.
 * @example
 * if (error instanceof ContentTypeError) console.log(error.accepted) // ['application/json']
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export class ContentTypeError extends UnsupportedError {
  override readonly name = 'ContentTypeError'

  /** @param contentType as it was sent; null when there is none */
  constructor(contentType: string | null, accepted: readonly string[]) {
    const received = contentType === null ? 'there is no Content-Type' : JSON.stringify(contentType.slice(0, 100))
    super('WEIR_CONTENT_TYPE_UNSUPPORTED', received, accepted)
  }
}

/**
 * 415: the charset of the body is not one that can be read. `accepted` has the charsets.
 * @example
 * if (error instanceof CharsetError) console.log(error.accepted) // ['utf-8', …]
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export class CharsetError extends UnsupportedError {
  override readonly name = 'CharsetError'

  /** @param charset as it was sent */
  constructor(charset: string, accepted: readonly string[]) {
    super('WEIR_CHARSET_UNKNOWN', JSON.stringify(charset.slice(0, 40)), accepted)
  }
}

/** A failure as a sentence for the message of an error. */
export function describeFailure(failure: BindingFailure): string {
  // A value of a body is already in quotes if it was text.
  const actual = failure.in === 'body' ? failure.actual : JSON.stringify(failure.actual)
  const came = actual === undefined ? 'got nothing' : `got ${actual}`
  // A whole body has no name.
  const what = failure.name === '' ? failure.in : `${failure.in} value "${failure.name}"`
  return `${what}: expected ${failure.expected}, ${came}`
}
