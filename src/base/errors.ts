// The errors that weir throws: a class where more is to be known than the code.

import { ERRORS, type ErrorCode, type Fault } from './error-codes.ts'
import { shown } from './kind-of.ts'

/**
 * An error that answers a request: thrown by a handler or a middleware and not caught, it becomes a problem document
 * (RFC 9457) with `status`. The message reaches the client when `status` is below 500, or when the server runs with `debug`.
 */
export class HttpError extends Error {
  override readonly name: string = 'HttpError'
  /** Status of the answer, 400 to 599. */
  readonly status: number
  /** Stable identifier, such as `WEIR_BODY_TOO_LARGE`. */
  readonly code: string

  constructor(status: number, message: string, options: { readonly code?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    if (!Number.isInteger(status) || status < 400 || status > 599)
      throw new RangeError(`HttpError: ${shown(status)} is not a status from 400 to 599`)
    this.status = status
    this.code = options.code ?? `HTTP_${status}`
  }
}

/** An error of weir's catalogue. Which one is told by `code`. */
export class WeirError extends HttpError {
  override readonly name: string = 'WeirError'
  declare readonly code: ErrorCode

  constructor(code: ErrorCode, detail?: string, cause?: unknown) {
    const spec = ERRORS[code]
    super(spec.status, detail === undefined ? spec.text : `${spec.text}: ${detail}`, { code, cause })
  }

  get fault(): Fault {
    return ERRORS[this.code].fault
  }

  /** Whether the connection ends with the answer. */
  get closes(): boolean {
    return ERRORS[this.code].closes
  }
}

/**
 * The client's bytes break a rule of the protocol. Only the engine throws it: `onError` may see it, and a handler that reads the body as it
 * comes.
 */
export class ProtocolError extends WeirError {
  override readonly name: string = 'ProtocolError'
}

/** A limit was crossed: which one, what it allows and what came. */
export class LimitError extends WeirError {
  override readonly name: string = 'LimitError'
  /** Name of the option, such as `maxRequestBodySize`. */
  readonly limit: string
  /** What it allows, in the unit of the option. */
  readonly maximum: number
  /** What came, or as much of it as was seen. */
  readonly actual: number | undefined

  constructor(code: ErrorCode, limit: string, maximum: number, actual?: number) {
    super(code, `${limit} is ${maximum}${actual === undefined ? '' : `, this is ${actual}`}`)
    this.limit = limit
    this.maximum = maximum
    this.actual = actual
  }
}

/** 413: the body, or a part of it, is larger than a limit allows. */
export class PayloadTooLargeError extends LimitError {
  override readonly name = 'PayloadTooLargeError'

  constructor(limit: string, maximum: number, actual?: number) {
    super('WEIR_BODY_TOO_LARGE', limit, maximum, actual)
  }
}

/** The body is a stream on this route, and a member that needs all of it was asked. `await request.bufferBody()` first. */
export class BodyNotBufferedError extends WeirError {
  override readonly name = 'BodyNotBufferedError'

  /** @param isForm the client chose the stream, by sending a multipart form where the route says nothing */
  constructor(member: string, isForm = false) {
    super(isForm ? 'WEIR_BODY_IS_FORM' : 'WEIR_BODY_NOT_BUFFERED', member)
  }
}

/** The body stream was taken already; it cannot be rewound. */
export class BodyAlreadyReadError extends WeirError {
  override readonly name = 'BodyAlreadyReadError'

  constructor(member: string) {
    super('WEIR_BODY_ALREADY_READ', member)
  }
}

/** A body member was used after the handler had settled and its answer had been taken. Copy what must live longer. */
export class RequestExpiredError extends WeirError {
  override readonly name = 'RequestExpiredError'

  constructor(member: string, route: string) {
    super('WEIR_REQUEST_EXPIRED', `${member} of ${route}`)
  }
}

/** 415: an upload is not of a kind that `saveTo` was told to take. */
export class FileRefusedError extends WeirError {
  override readonly name = 'FileRefusedError'

  constructor(code: 'WEIR_FILE_EXTENSION' | 'WEIR_FILE_MAGIC', detail?: string) {
    super(code, detail)
  }
}

/** What is wrong with one value: where it stands, what was expected, and what came. */
export interface BindingFailure {
  /** Name of the parameter, or path of the property (`address.city`). */
  readonly name: string
  readonly in: 'route' | 'query' | 'body'
  /** JSON Pointer (RFC 6901) to the property of a body: `/address/city`, empty for the whole body. */
  readonly pointer?: string
  readonly expected: string
  /** The text that came, shortened to 100 characters; absent when nothing came. */
  readonly actual?: string
}

/** Values that came cannot be converted. Lists every one of them. */
export abstract class ConversionError extends WeirError {
  readonly failures: readonly BindingFailure[]

  constructor(code: ErrorCode, failures: readonly BindingFailure[]) {
    super(code, failures.map(describeFailure).join('; '))
    this.failures = failures
  }
}

/** 400: route or query values are missing or cannot be converted. Lists every one of them; the handler did not run. */
export class BindingError extends ConversionError {
  override readonly name = 'BindingError'

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_PARAMETER_INVALID', failures)
  }
}

/** 400: values of the body cannot be converted to what the model holds. Lists every failing property; the model is as it was. */
export class ModelBindingError extends ConversionError {
  override readonly name = 'ModelBindingError'

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_MODEL_BINDING', failures)
  }
}

function describeFailure(failure: BindingFailure): string {
  // What came out of a body already says by its quotes whether it was text.
  const actual = failure.in === 'body' ? failure.actual : JSON.stringify(failure.actual)
  const came = actual === undefined ? 'nothing came' : `got ${actual}`
  return `${failure.in} value "${failure.name}": expected ${failure.expected}, ${came}`
}
