// Every way in which weir says no, declared once: the code, whose fault it is, and what the client is told.
//
// Codes are API and stay; texts are for people and may change. docs/errors.md has one heading a code, and a test compares both ways.
// Only texts whose fault is `peer` or `limit` may reach the wire.

/** Whose fault an error is. `peer`: the client's bytes. `limit`: a limit was crossed. `developer`: the host program. `transport`: the network. */
export type Fault = 'peer' | 'limit' | 'developer' | 'transport'

export interface ErrorSpec {
  readonly fault: Fault
  /** Status of the answer when nobody catches the error. */
  readonly status: number
  /** Whether the connection ends with that answer. */
  readonly closes: boolean
  readonly text: string
  /** Where the rule comes from. */
  readonly see: string
}

export const ERRORS = {
  WEIR_FIRST_BYTE: { fault: 'peer', status: 400, closes: true, text: 'these bytes cannot begin a request', see: 'RFC 9112 §3' },
  WEIR_METHOD_SYNTAX: { fault: 'peer', status: 400, closes: true, text: 'method is not a token', see: 'RFC 9110 §9.1' },
  WEIR_REQUEST_LINE_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'request line is not method, target and version',
    see: 'RFC 9112 §3',
  },
  WEIR_TARGET_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'request target holds a byte that it may not hold',
    see: 'RFC 9112 §3.2',
  },
  WEIR_TARGET_FORM: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'request target has a form that this method may not have',
    see: 'RFC 9112 §3.2',
  },
  WEIR_TARGET_ENCODING: { fault: 'peer', status: 400, closes: true, text: 'path is not valid percent-encoded UTF-8', see: 'RFC 3986 §2.1' },
  WEIR_TARGET_DOT_SEGMENT: { fault: 'peer', status: 400, closes: true, text: 'path has a dot segment', see: 'RFC 3986 §6.2.2.3' },
  WEIR_TARGET_TOO_LONG: { fault: 'limit', status: 414, closes: true, text: 'request line is too long', see: 'RFC 9110 §15.5.15' },
  WEIR_VERSION_SYNTAX: { fault: 'peer', status: 400, closes: true, text: 'protocol version is not HTTP/1.x', see: 'RFC 9112 §2.3' },
  WEIR_VERSION_UNSUPPORTED: {
    fault: 'peer',
    status: 505,
    closes: true,
    text: 'only HTTP/1.0 and HTTP/1.1 are spoken here',
    see: 'RFC 9110 §15.6.6',
  },
  WEIR_LINE_END: { fault: 'peer', status: 400, closes: true, text: 'a line does not end with CRLF', see: 'RFC 9112 §2.2' },
  WEIR_FIELD_NAME_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'field name is not a token followed by a colon',
    see: 'RFC 9112 §5.1',
  },
  WEIR_FIELD_VALUE_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'field value holds a control character',
    see: 'RFC 9110 §5.5',
  },
  WEIR_FIELD_FOLDED: { fault: 'peer', status: 400, closes: true, text: 'a field is folded over several lines', see: 'RFC 9112 §5.2' },
  WEIR_HEAD_TOO_LARGE: { fault: 'limit', status: 431, closes: true, text: 'request head is too large', see: 'RFC 6585 §5' },
  WEIR_TOO_MANY_FIELDS: { fault: 'limit', status: 431, closes: true, text: 'request has too many fields', see: 'RFC 6585 §5' },
  WEIR_HOST_MISSING: { fault: 'peer', status: 400, closes: true, text: 'request has no Host', see: 'RFC 9112 §3.2' },
  WEIR_HOST_REPEATED: { fault: 'peer', status: 400, closes: true, text: 'request has more than one Host', see: 'RFC 9112 §3.2' },
  WEIR_HOST_SYNTAX: { fault: 'peer', status: 400, closes: true, text: 'Host is not a host with an optional port', see: 'RFC 9110 §7.2' },
  WEIR_HOST_MISMATCH: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'Host is not the authority of the request target',
    see: 'RFC 9112 §3.2.2',
  },
  WEIR_PSEUDO_FIELDS: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'pseudo-header fields are missing, repeated, unknown or out of place',
    see: 'RFC 9113 §8.3',
  },
  WEIR_CONNECTION_FIELD: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'a field of HTTP/1.1 connections has no place in HTTP/2',
    see: 'RFC 9113 §8.2.2',
  },
  WEIR_CONTENT_LENGTH_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'Content-Length is not a decimal number',
    see: 'RFC 9110 §8.6',
  },
  WEIR_CONTENT_LENGTH_REPEATED: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'request has more than one Content-Length',
    see: 'RFC 9112 §6.3',
  },
  WEIR_LENGTH_AND_CODING: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'request has both Content-Length and Transfer-Encoding',
    see: 'RFC 9112 §6.3',
  },
  WEIR_TRANSFER_CODING_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'Transfer-Encoding is not a single final chunked',
    see: 'RFC 9112 §6.1',
  },
  WEIR_TRANSFER_CODING_UNKNOWN: {
    fault: 'peer',
    status: 501,
    closes: true,
    text: 'this transfer coding is not implemented',
    see: 'RFC 9112 §6.1',
  },
  WEIR_TRANSFER_CODING_HTTP10: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'HTTP/1.0 has no Transfer-Encoding',
    see: 'RFC 9112 §6.1',
  },
  WEIR_CHUNK_SIZE_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'chunk size is not hexadecimal digits followed by CRLF or an extension',
    see: 'RFC 9112 §7.1',
  },
  WEIR_CHUNK_SIZE_TOO_LONG: { fault: 'peer', status: 400, closes: true, text: 'chunk size has more than 13 digits', see: 'RFC 9112 §7.1' },
  WEIR_CHUNK_EXTENSION_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: true,
    text: 'chunk extension does not follow its grammar',
    see: 'RFC 9112 §7.1.1',
  },
  WEIR_CHUNK_EXTENSIONS_TOO_LARGE: {
    fault: 'limit',
    status: 400,
    closes: true,
    text: 'chunk extensions are too large',
    see: 'RFC 9112 §7.1.1',
  },
  WEIR_CHUNK_END: { fault: 'peer', status: 400, closes: true, text: 'chunk data is not followed by CRLF', see: 'RFC 9112 §7.1' },
  WEIR_TRAILERS_TOO_LARGE: { fault: 'limit', status: 431, closes: true, text: 'trailer fields are too large', see: 'RFC 6585 §5' },
  WEIR_EXPECTATION_UNKNOWN: { fault: 'peer', status: 417, closes: true, text: 'this expectation cannot be met', see: 'RFC 9110 §10.1.1' },
  WEIR_METHOD_NOT_IMPLEMENTED: {
    fault: 'peer',
    status: 501,
    closes: true,
    text: 'this server is no proxy and opens no tunnels',
    see: 'RFC 9110 §9.3.6',
  },
  WEIR_HEAD_TIMEOUT: { fault: 'limit', status: 408, closes: true, text: 'request head took too long', see: 'RFC 9110 §15.5.9' },
  WEIR_BODY_TOO_SLOW: { fault: 'limit', status: 408, closes: true, text: 'request body came too slowly', see: 'RFC 9110 §15.5.9' },
  WEIR_BODY_TOO_LARGE: { fault: 'limit', status: 413, closes: false, text: 'request body is too large', see: 'RFC 9110 §15.5.14' },
  WEIR_BODY_TRUNCATED: {
    fault: 'transport',
    status: 400,
    closes: true,
    text: 'the connection ended before the body did',
    see: 'RFC 9112 §8',
  },
  WEIR_CLIENT_GONE: { fault: 'transport', status: 400, closes: true, text: 'the client went away', see: 'docs/guide/request.md' },
  WEIR_WRITE_TIMEOUT: { fault: 'limit', status: 408, closes: true, text: 'the client does not read its answer', see: 'docs/limits.md' },
  WEIR_REQUEST_TIMEOUT: { fault: 'limit', status: 503, closes: true, text: 'the request took too long', see: 'RFC 9110 §15.6.4' },
  WEIR_SERVER_STOPPED: {
    fault: 'transport',
    status: 503,
    closes: true,
    text: 'the server stopped before the answer was complete',
    see: 'docs/guide/lifecycle.md',
  },
  WEIR_ROUTE_NOT_FOUND: { fault: 'peer', status: 404, closes: false, text: 'nothing is here', see: 'RFC 9110 §15.5.5' },
  WEIR_METHOD_NOT_ALLOWED: {
    fault: 'peer',
    status: 405,
    closes: false,
    text: 'this resource does not answer to this method',
    see: 'RFC 9110 §15.5.6',
  },
  WEIR_UPGRADE_REQUIRED: {
    fault: 'peer',
    status: 426,
    closes: false,
    text: 'this resource is there for another protocol',
    see: 'RFC 9110 §15.5.22',
  },
  WEIR_UPGRADE_OVER_HTTP2: { fault: 'peer', status: 505, closes: false, text: 'ask for this over HTTP/1.1', see: 'RFC 9110 §15.6.6' },
  WEIR_WEBSOCKET_HANDSHAKE: { fault: 'peer', status: 400, closes: false, text: 'this is no WebSocket handshake', see: 'RFC 6455 §4.2.1' },
  WEIR_ORIGIN_REFUSED: { fault: 'peer', status: 403, closes: false, text: 'pages of this origin may not connect', see: 'RFC 6455 §10.2' },
  WEIR_PARAMETER_INVALID: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'a parameter is missing or cannot be converted',
    see: 'docs/guide/routing.md',
  },
  WEIR_MODEL_BINDING: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'the body does not fit the model',
    see: 'docs/guide/body.md',
  },
  WEIR_BODY_NOT_BUFFERED: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'the body is a stream here: await request.bufferBody() first',
    see: 'docs/guide/request.md',
  },
  WEIR_BODY_IS_FORM: {
    fault: 'peer',
    status: 415,
    closes: false,
    text: 'a multipart form came, which is not read as a whole here',
    see: 'docs/guide/request.md',
  },
  WEIR_BODY_ALREADY_READ: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'the body stream was read already',
    see: 'docs/guide/request.md',
  },
  WEIR_REQUEST_EXPIRED: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'the request was used after its handler had returned',
    see: 'docs/guide/request.md',
  },
  WEIR_RESPONSE_HEADER_SYNTAX: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a response header cannot be sent as it is',
    see: 'RFC 9110 §5.5',
  },
  WEIR_RESPONSE_STATUS: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a final status is a whole number from 200 to 599',
    see: 'RFC 9110 §15',
  },
  WEIR_RESPONSE_LENGTH: {
    fault: 'developer',
    status: 500,
    closes: true,
    text: 'the body does not have the length that its Content-Length promised',
    see: 'RFC 9110 §8.6',
  },
  WEIR_RESPONSE_SENT: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'the response was changed after it had been sent',
    see: 'docs/guide/response.md',
  },
  WEIR_RESULT_UNSENDABLE: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'what was returned, or given to be sent, cannot be sent',
    see: 'docs/guide/response.md',
  },
  WEIR_HANDLER_FAILED: { fault: 'developer', status: 500, closes: false, text: 'a handler failed', see: 'docs/guide/errors.md' },
  WEIR_MIDDLEWARE_NEXT_TWICE: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a middleware called next() twice',
    see: 'docs/guide/middleware.md',
  },
  WEIR_ROUTE_TEMPLATE: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a route template is malformed',
    see: 'docs/guide/routing.md',
  },
  WEIR_ROUTE_CLASH: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'two routes claim the same requests',
    see: 'docs/guide/routing.md',
  },
  WEIR_ROUTE_DECLARATION: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a route declaration cannot be used',
    see: 'docs/guide/routing.md',
  },
  WEIR_OPTION_INVALID: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'an option has a value that it may not have',
    see: 'docs/limits.md',
  },
  WEIR_SERVER_STATE: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'the server is not in a state for this call',
    see: 'docs/guide/lifecycle.md',
  },
  WEIR_TEST_WAIT: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'what a test waits for did not come',
    see: 'docs/guide/testing.md',
  },
  WEIR_CHAOS: { fault: 'developer', status: 500, closes: false, text: 'a handler did what none may do', see: 'docs/guide/testing.md' },
  WEIR_PACKAGE_MISSING: {
    fault: 'developer',
    status: 500,
    closes: false,
    text: 'a package that this module needs is not installed',
    see: 'docs/dependencies.md',
  },
  WEIR_MULTIPART_BOUNDARY: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'multipart/form-data has no boundary, or one that it may not have',
    see: 'RFC 2046 §5.1.1',
  },
  WEIR_MULTIPART_DELIMITER: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'a line begins with the boundary but is no delimiter',
    see: 'RFC 2046 §5.1.1',
  },
  WEIR_MULTIPART_HEADER_SYNTAX: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'the head of a part does not follow its grammar',
    see: 'RFC 7578 §4',
  },
  WEIR_MULTIPART_PART_NAME: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'a part is not form-data with a name',
    see: 'RFC 7578 §4.2',
  },
  WEIR_MULTIPART_ENCODING: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'a part has a transfer encoding that is not supported',
    see: 'RFC 7578 §4.7',
  },
  WEIR_FILE_EXTENSION: {
    fault: 'peer',
    status: 415,
    closes: false,
    text: 'a file with this extension is not taken',
    see: 'docs/guide/uploads.md',
  },
  WEIR_FILE_MAGIC: {
    fault: 'peer',
    status: 415,
    closes: false,
    text: 'the file does not begin as its kind does',
    see: 'docs/guide/uploads.md',
  },
  WEIR_MULTIPART_INVALID: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'the body is no valid multipart/form-data',
    see: 'RFC 7578 §4',
  },
  WEIR_MULTIPART_TRUNCATED: {
    fault: 'peer',
    status: 400,
    closes: false,
    text: 'the body ended before its close delimiter',
    see: 'RFC 2046 §5.1.1',
  },
} as const satisfies Record<string, ErrorSpec>

/** A code of weir's own catalogue. Stable: switch on it. */
export type ErrorCode = keyof typeof ERRORS

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
      throw new RangeError(`HttpError: ${status} is not a status from 400 to 599`)
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

/** The client's bytes break a rule of the protocol. Only the engine throws it; `onError` may see it, a handler never does. */
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
  readonly expected: string
  /** The text that came, shortened to 100 characters; absent when nothing came. */
  readonly actual?: string
}

/** 400: route or query values are missing or cannot be converted. Lists every one of them; the handler did not run. */
export class BindingError extends WeirError {
  override readonly name = 'BindingError'
  readonly failures: readonly BindingFailure[]

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_PARAMETER_INVALID', failures.map(describeFailure).join('; '))
    this.failures = failures
  }
}

/** 400: values of the body cannot be converted to what the model holds. Lists every failing property; the model is as it was. */
export class ModelBindingError extends WeirError {
  override readonly name = 'ModelBindingError'
  readonly failures: readonly BindingFailure[]

  constructor(failures: readonly BindingFailure[]) {
    super('WEIR_MODEL_BINDING', failures.map(describeFailure).join('; '))
    this.failures = failures
  }
}

export function describeFailure(failure: BindingFailure): string {
  // What came out of a body already says by its quotes whether it was text.
  const actual = failure.in === 'body' ? failure.actual : JSON.stringify(failure.actual)
  const came = actual === undefined ? 'nothing came' : `got ${actual}`
  return `${failure.in} value "${failure.name}": expected ${failure.expected}, ${came}`
}
