// Every way in which weir says no, declared once: the code, whose fault it is, and what the client is told.
//
// Codes are API and stay; texts are for people and may change. docs/errors.md has one heading a code, in the same order, and a test compares
// both ways. Only texts whose fault is `peer` or `limit` may reach the wire.

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

/** The connection ends with the answer. */
const CLOSES = true
/** It goes on. */
const STAYS = false

const specOf =
  (fault: Fault) =>
  (status: number, closes: boolean, text: string, see: string): ErrorSpec => ({ fault, status, closes, text, see })
const peer = specOf('peer')
const limit = specOf('limit')
const developer = specOf('developer')
const transport = specOf('transport')

export const ERRORS = {
  // The request line
  WEIR_FIRST_BYTE: peer(400, CLOSES, 'these bytes cannot begin a request', 'RFC 9112 §3'),
  WEIR_METHOD_SYNTAX: peer(400, CLOSES, 'method is not a token', 'RFC 9110 §9.1'),
  WEIR_REQUEST_LINE_SYNTAX: peer(400, CLOSES, 'request line is not method, target and version', 'RFC 9112 §3'),
  WEIR_TARGET_SYNTAX: peer(400, CLOSES, 'request target holds a byte that it may not hold', 'RFC 9112 §3.2'),
  WEIR_TARGET_FORM: peer(400, CLOSES, 'request target has a form that this method may not have', 'RFC 9112 §3.2'),
  WEIR_TARGET_ENCODING: peer(400, CLOSES, 'path is not valid percent-encoded UTF-8', 'RFC 3986 §2.1'),
  WEIR_TARGET_DOT_SEGMENT: peer(400, CLOSES, 'path has a dot segment', 'RFC 3986 §6.2.2.3'),
  WEIR_TARGET_TOO_LONG: limit(414, CLOSES, 'request line is too long', 'RFC 9110 §15.5.15'),
  WEIR_VERSION_SYNTAX: peer(400, CLOSES, 'protocol version is not HTTP/1.x', 'RFC 9112 §2.3'),
  WEIR_VERSION_UNSUPPORTED: peer(505, CLOSES, 'only HTTP/1.0 and HTTP/1.1 are spoken here', 'RFC 9110 §15.6.6'),
  WEIR_METHOD_NOT_IMPLEMENTED: peer(501, CLOSES, 'this server is no proxy and opens no tunnels', 'RFC 9110 §9.3.6'),

  // Fields
  WEIR_LINE_END: peer(400, CLOSES, 'a line does not end with CRLF', 'RFC 9112 §2.2'),
  WEIR_FIELD_NAME_SYNTAX: peer(400, CLOSES, 'field name is not a token followed by a colon', 'RFC 9112 §5.1'),
  WEIR_FIELD_VALUE_SYNTAX: peer(400, CLOSES, 'field value holds a control character', 'RFC 9110 §5.5'),
  WEIR_FIELD_FOLDED: peer(400, CLOSES, 'a field is folded over several lines', 'RFC 9112 §5.2'),
  WEIR_HEAD_TOO_LARGE: limit(431, CLOSES, 'request head is too large', 'RFC 6585 §5'),
  WEIR_TOO_MANY_FIELDS: limit(431, CLOSES, 'request has too many fields', 'RFC 6585 §5'),
  WEIR_HOST_MISSING: peer(400, CLOSES, 'request has no Host', 'RFC 9112 §3.2'),
  WEIR_HOST_REPEATED: peer(400, CLOSES, 'request has more than one Host', 'RFC 9112 §3.2'),
  WEIR_HOST_SYNTAX: peer(400, CLOSES, 'Host is not a host with an optional port', 'RFC 9110 §7.2'),
  WEIR_HOST_MISMATCH: peer(400, CLOSES, 'Host is not the authority of the request target', 'RFC 9112 §3.2.2'),
  WEIR_EXPECTATION_UNKNOWN: peer(417, CLOSES, 'this expectation cannot be met', 'RFC 9110 §10.1.1'),
  WEIR_PSEUDO_FIELDS: peer(400, STAYS, 'pseudo-header fields are missing, repeated, unknown or out of place', 'RFC 9113 §8.3'),
  WEIR_CONNECTION_FIELD: peer(400, STAYS, 'a field of HTTP/1.1 connections has no place in HTTP/2', 'RFC 9113 §8.2.2'),

  // The length of a body
  WEIR_CONTENT_LENGTH_SYNTAX: peer(400, CLOSES, 'Content-Length is not a decimal number', 'RFC 9110 §8.6'),
  WEIR_CONTENT_LENGTH_REPEATED: peer(400, CLOSES, 'request has more than one Content-Length', 'RFC 9112 §6.3'),
  WEIR_LENGTH_AND_CODING: peer(400, CLOSES, 'request has both Content-Length and Transfer-Encoding', 'RFC 9112 §6.3'),
  WEIR_TRANSFER_CODING_SYNTAX: peer(400, CLOSES, 'Transfer-Encoding is not a single final chunked', 'RFC 9112 §6.1'),
  WEIR_TRANSFER_CODING_UNKNOWN: peer(501, CLOSES, 'this transfer coding is not implemented', 'RFC 9112 §6.1'),
  WEIR_TRANSFER_CODING_HTTP10: peer(400, CLOSES, 'HTTP/1.0 has no Transfer-Encoding', 'RFC 9112 §6.1'),
  WEIR_CHUNK_SIZE_SYNTAX: peer(400, CLOSES, 'chunk size is not hexadecimal digits followed by CRLF or an extension', 'RFC 9112 §7.1'),
  WEIR_CHUNK_SIZE_TOO_LONG: peer(400, CLOSES, 'chunk size has more than 13 digits', 'RFC 9112 §7.1'),
  WEIR_CHUNK_EXTENSION_SYNTAX: peer(400, CLOSES, 'chunk extension does not follow its grammar', 'RFC 9112 §7.1.1'),
  WEIR_CHUNK_EXTENSIONS_TOO_LARGE: limit(400, CLOSES, 'chunk extensions are too large', 'RFC 9112 §7.1.1'),
  WEIR_CHUNK_END: peer(400, CLOSES, 'chunk data is not followed by CRLF', 'RFC 9112 §7.1'),
  WEIR_TRAILERS_TOO_LARGE: limit(431, CLOSES, 'trailer fields are too large', 'RFC 6585 §5'),
  WEIR_BODY_TOO_LARGE: limit(413, STAYS, 'request body is too large', 'RFC 9110 §15.5.14'),

  // Time and broken connections
  WEIR_HEAD_TIMEOUT: limit(408, CLOSES, 'request head took too long', 'RFC 9110 §15.5.9'),
  WEIR_BODY_TOO_SLOW: limit(408, CLOSES, 'request body came too slowly', 'RFC 9110 §15.5.9'),
  WEIR_BODY_TRUNCATED: transport(400, CLOSES, 'the connection ended before the body did', 'RFC 9112 §8'),
  WEIR_CLIENT_GONE: transport(400, CLOSES, 'the client went away', 'docs/guide/request.md'),
  WEIR_WRITE_TIMEOUT: limit(408, CLOSES, 'the client does not read its answer', 'docs/limits.md'),
  WEIR_REQUEST_TIMEOUT: limit(503, CLOSES, 'the request took too long', 'RFC 9110 §15.6.4'),
  WEIR_SERVER_STOPPED: transport(503, CLOSES, 'the server stopped before the answer was complete', 'docs/guide/lifecycle.md'),

  // Routes and parameters
  WEIR_ROUTE_NOT_FOUND: peer(404, STAYS, 'nothing is here', 'RFC 9110 §15.5.5'),
  WEIR_METHOD_NOT_ALLOWED: peer(405, STAYS, 'this resource does not answer to this method', 'RFC 9110 §15.5.6'),
  WEIR_PARAMETER_INVALID: peer(400, STAYS, 'a parameter is missing or cannot be converted', 'docs/guide/routing.md'),
  WEIR_ROUTE_TEMPLATE: developer(500, STAYS, 'a route template is malformed', 'docs/guide/routing.md'),
  WEIR_ROUTE_CLASH: developer(500, STAYS, 'two routes claim the same requests', 'docs/guide/routing.md'),
  WEIR_ROUTE_DECLARATION: developer(500, STAYS, 'a route declaration cannot be used', 'docs/guide/routing.md'),
  WEIR_UPGRADE_REQUIRED: peer(426, STAYS, 'this resource is there for another protocol', 'RFC 9110 §15.5.22'),
  WEIR_UPGRADE_OVER_HTTP2: peer(505, STAYS, 'ask for this over HTTP/1.1', 'RFC 9110 §15.6.6'),
  WEIR_WEBSOCKET_HANDSHAKE: peer(400, STAYS, 'this is no WebSocket handshake', 'RFC 6455 §4.2.1'),
  WEIR_ORIGIN_REFUSED: peer(403, STAYS, 'pages of this origin may not connect', 'RFC 6455 §10.2'),

  // Bodies and requests in a handler
  WEIR_MODEL_BINDING: peer(400, STAYS, 'the body does not fit the model', 'docs/guide/body.md'),
  WEIR_BODY_NOT_BUFFERED: developer(500, STAYS, 'the body is a stream here: await request.bufferBody() first', 'docs/guide/request.md'),
  WEIR_BODY_IS_FORM: peer(415, STAYS, 'a multipart form came, which is not read as a whole here', 'docs/guide/request.md'),
  WEIR_CHARSET_UNKNOWN: peer(415, STAYS, 'the form is in a character encoding that is not read here', 'docs/guide/models.md'),
  WEIR_BODY_ALREADY_READ: developer(500, STAYS, 'a body stream can be read only once', 'docs/guide/request.md'),
  WEIR_REQUEST_EXPIRED: developer(
    500,
    STAYS,
    'the request was used after its handler had returned, or its time had passed',
    'docs/guide/request.md',
  ),

  // Answers
  WEIR_RESPONSE_HEADER_SYNTAX: developer(500, STAYS, 'a response header cannot be sent as it is', 'RFC 9110 §5.5'),
  WEIR_RESPONSE_STATUS: developer(500, STAYS, 'a final status is a whole number from 200 to 599', 'RFC 9110 §15'),
  WEIR_RESPONSE_LENGTH: developer(500, CLOSES, 'the body does not have the length that its Content-Length promised', 'RFC 9110 §8.6'),
  WEIR_RESPONSE_SENT: developer(500, STAYS, 'the response was changed after it had been sent', 'docs/guide/response.md'),
  WEIR_RESULT_UNSENDABLE: developer(500, STAYS, 'what was returned, or given to be sent, cannot be sent', 'docs/guide/response.md'),
  WEIR_HANDLER_FAILED: developer(500, STAYS, 'a handler failed', 'docs/guide/errors.md'),
  WEIR_MIDDLEWARE_NEXT_TWICE: developer(500, STAYS, 'a middleware called next() twice', 'docs/guide/middleware.md'),

  // The server
  WEIR_OPTION_INVALID: developer(500, STAYS, 'an option has a value that it may not have', 'docs/limits.md'),
  WEIR_SERVER_STATE: developer(500, STAYS, 'the server is not in a state for this call', 'docs/guide/lifecycle.md'),
  WEIR_TEST_WAIT: developer(500, STAYS, 'what a test waits for did not come', 'docs/guide/testing.md'),
  WEIR_CHAOS: developer(500, STAYS, 'a handler did what none may do', 'docs/guide/testing.md'),
  WEIR_PACKAGE_MISSING: developer(500, STAYS, 'a package that this module needs is not installed', 'docs/dependencies.md'),

  // Multipart forms and files
  WEIR_MULTIPART_DELIMITER: peer(400, STAYS, 'the boundary stands where it is not a delimiter', 'RFC 2046 §5.1.1'),
  WEIR_MULTIPART_HEADER_SYNTAX: peer(400, STAYS, 'the head of a part does not follow its grammar', 'RFC 7578 §4'),
  WEIR_MULTIPART_PART_NAME: peer(400, STAYS, 'a part is not form-data with a name', 'RFC 7578 §4.2'),
  WEIR_MULTIPART_ENCODING: peer(400, STAYS, 'a part has a transfer encoding, or a field a charset, that is not read here', 'RFC 7578 §4.7'),
  WEIR_MULTIPART_INVALID: peer(400, STAYS, 'the body is no valid multipart/form-data', 'RFC 7578 §4'),
  WEIR_MULTIPART_TRUNCATED: peer(400, STAYS, 'the body ended before its close delimiter', 'RFC 2046 §5.1.1'),
  WEIR_FILE_EXTENSION: peer(415, STAYS, 'a file with this extension is not taken', 'docs/guide/uploads.md'),
  WEIR_FILE_MAGIC: peer(415, STAYS, 'the file does not begin as its kind does', 'docs/guide/uploads.md'),
} satisfies Record<string, ErrorSpec>

/** A code of weir's own catalogue. Stable: switch on it. */
export type ErrorCode = keyof typeof ERRORS
