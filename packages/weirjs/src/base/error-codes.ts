// The catalogue of weir's errors. Each error is declared once: its code, whose fault it is, and the text for the client.
//
// Codes are API and never change; texts are for people and may change. docs/errors.md has one heading for each code, in the same order, with the
// source of the rule: a section of an RFC, or a page of the docs. A test compares the two. Only texts whose fault is `peer` or `limit` may reach
// the client.

/**
 * Whose fault an error is. `peer`: the client's bytes. `limit`: a limit was exceeded. `developer`: the host program. `transport`: the network.
 * @example
 * const isOurs = (fault: Fault) => fault === 'developer'
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export type Fault = 'peer' | 'limit' | 'developer' | 'transport'

export interface ErrorSpec {
  readonly fault: Fault
  /** Status of the response when nothing catches the error. */
  readonly status: number
  /** Whether the connection closes after that response. */
  readonly closes: boolean
  readonly text: string
  /** Retry-After of the response, in seconds, if the same request may soon succeed and the error itself does not know when. */
  readonly retryAfter: number | null
}

/** The connection closes after the response. */
const CLOSES = true
/** The connection stays open. */
const STAYS = false

const specOf =
  (fault: Fault) =>
  (status: number, closes: boolean, text: string, retryAfter: number | null = null): ErrorSpec => ({
    fault,
    status,
    closes,
    text,
    retryAfter,
  })
const peer = specOf('peer')
const limit = specOf('limit')
const developer = specOf('developer')
const transport = specOf('transport')

export const ERRORS = {
  // The request line
  WEIR_FIRST_BYTE: peer(400, CLOSES, 'a request cannot begin with this byte'),
  WEIR_METHOD_SYNTAX: peer(400, CLOSES, 'the method is not a token'),
  WEIR_METHOD_TOO_LONG: limit(501, CLOSES, 'the method is too long'),
  WEIR_REQUEST_LINE_SYNTAX: peer(400, CLOSES, 'the request line is not a method, a target and a version'),
  WEIR_TARGET_SYNTAX: peer(400, CLOSES, 'the request target contains a byte that is not allowed'),
  WEIR_TARGET_FORM: peer(400, CLOSES, 'the request target has a form that is not allowed for this method'),
  WEIR_TARGET_ENCODING: peer(400, CLOSES, 'the path is not valid percent-encoded UTF-8'),
  WEIR_TARGET_DOT_SEGMENT: peer(400, CLOSES, 'the path contains a dot segment'),
  WEIR_TARGET_TOO_LONG: limit(414, CLOSES, 'the request line is too long'),
  WEIR_VERSION_SYNTAX: peer(400, CLOSES, 'the protocol version is not HTTP/1.x'),
  WEIR_VERSION_UNSUPPORTED: peer(505, CLOSES, 'only HTTP/1.0 and HTTP/1.1 are supported here'),
  WEIR_METHOD_NOT_IMPLEMENTED: peer(501, CLOSES, 'this server is not a proxy and opens no tunnels'),

  // Fields
  WEIR_LINE_END: peer(400, CLOSES, 'a line does not end with CRLF'),
  WEIR_FIELD_NAME_SYNTAX: peer(400, CLOSES, 'a field name is not a token followed by a colon'),
  WEIR_FIELD_VALUE_SYNTAX: peer(400, CLOSES, 'a field value contains a control character'),
  WEIR_FIELD_FOLDED: peer(400, CLOSES, 'a field is folded over several lines'),
  WEIR_HEAD_TOO_LARGE: limit(431, CLOSES, 'the request head is too large'),
  WEIR_TOO_MANY_FIELDS: limit(431, CLOSES, 'the request has too many fields'),
  WEIR_HOST_MISSING: peer(400, CLOSES, 'the request has no Host field'),
  WEIR_HOST_REPEATED: peer(400, CLOSES, 'the request has more than one Host field'),
  WEIR_HOST_SYNTAX: peer(400, CLOSES, 'Host is not a valid host with an optional port'),
  WEIR_HOST_MISMATCH: peer(400, CLOSES, 'Host differs from the authority of the request target'),
  WEIR_MISDIRECTED: peer(421, CLOSES, 'this connection is not for this host or scheme'),
  WEIR_HOST_NOT_SERVED: peer(421, STAYS, 'this server does not answer for this host'),
  WEIR_EXPECTATION_UNKNOWN: peer(417, CLOSES, 'this expectation is not supported'),
  WEIR_PSEUDO_FIELDS: peer(400, STAYS, 'a pseudo-header field is missing, repeated, unknown or out of place'),
  WEIR_CONNECTION_FIELD: peer(400, STAYS, 'connection-specific fields are not allowed in HTTP/2'),
  WEIR_HTTP2_VIOLATION: peer(400, CLOSES, 'the client broke the rules of HTTP/2'),

  // The length of a body
  WEIR_CONTENT_LENGTH_SYNTAX: peer(400, CLOSES, 'Content-Length is not a decimal number'),
  WEIR_CONTENT_LENGTH_REPEATED: peer(400, CLOSES, 'the request has more than one Content-Length field'),
  WEIR_LENGTH_AND_CODING: peer(400, CLOSES, 'the request has both Content-Length and Transfer-Encoding'),
  WEIR_TRANSFER_CODING_SYNTAX: peer(400, CLOSES, 'Transfer-Encoding is malformed or does not end in a single chunked'),
  WEIR_TRANSFER_CODING_UNKNOWN: peer(501, CLOSES, 'this transfer coding is not supported'),
  WEIR_TRANSFER_CODING_HTTP10: peer(400, CLOSES, 'HTTP/1.0 does not allow Transfer-Encoding'),
  WEIR_CHUNK_SIZE_SYNTAX: peer(400, CLOSES, 'a chunk size is not hexadecimal digits followed by CRLF or an extension'),
  WEIR_CHUNK_SIZE_TOO_LONG: peer(400, CLOSES, 'a chunk size has more than 13 digits'),
  WEIR_CHUNK_EXTENSION_SYNTAX: peer(400, CLOSES, 'a chunk extension is malformed'),
  WEIR_CHUNK_EXTENSIONS_TOO_LARGE: limit(400, CLOSES, 'the chunk extensions are too large'),
  WEIR_CHUNK_END: peer(400, CLOSES, 'the data of a chunk is not followed by CRLF'),
  WEIR_TRAILERS_TOO_LARGE: limit(431, CLOSES, 'the trailers are too large'),
  WEIR_BODY_TOO_LARGE: limit(413, STAYS, 'the request body is too large'),

  // Timeouts and broken connections
  WEIR_HEAD_TIMEOUT: limit(408, CLOSES, 'the request head took too long'),
  WEIR_BODY_TOO_SLOW: limit(408, CLOSES, 'the request body arrived too slowly'),
  WEIR_BODY_TRUNCATED: transport(400, CLOSES, 'the request body ended before it was complete'),
  WEIR_CLIENT_GONE: transport(400, CLOSES, 'the client went away'),
  WEIR_TOO_MANY_CONNECTIONS: limit(503, CLOSES, 'the server has too many connections'),
  WEIR_TOO_MANY_STREAMS: limit(503, STAYS, 'the client has too many requests in progress'),
  WEIR_WRITE_TIMEOUT: limit(408, CLOSES, 'the client does not read the response'),
  WEIR_REQUEST_TIMEOUT: limit(503, CLOSES, 'the request took too long'),
  WEIR_SERVER_STOPPED: transport(503, CLOSES, 'the server stopped before the response was complete'),

  // Limits of the program
  WEIR_QUOTA_EXCEEDED: limit(429, STAYS, 'the quota is used up'),
  WEIR_OVERLOADED: limit(503, STAYS, 'the server has no capacity for this request now'),

  // Proxies
  WEIR_PROXY_PEER: peer(403, CLOSES, 'only trusted proxies may connect here'),
  WEIR_PROXY_HEADER: peer(400, CLOSES, 'the connection does not begin with a valid PROXY header'),

  // Routes and parameters
  WEIR_ROUTE_NOT_FOUND: peer(404, STAYS, 'no route matches this path'),
  WEIR_METHOD_NOT_ALLOWED: peer(405, STAYS, 'this resource does not support this method'),
  WEIR_PARAMETER_INVALID: peer(400, STAYS, 'a parameter is missing or cannot be converted'),
  WEIR_CONTENT_TYPE_MISSING: peer(400, STAYS, 'a QUERY request has to state the type of its content'),
  WEIR_ROUTE_TEMPLATE: developer(500, STAYS, 'a route template cannot be used'),
  WEIR_ROUTE_CLASH: developer(500, STAYS, 'two routes claim the same requests'),
  WEIR_ROUTE_DECLARATION: developer(500, STAYS, 'a route declaration is invalid'),
  WEIR_UPGRADE_REQUIRED: peer(426, STAYS, 'this resource requires an upgrade to another protocol'),
  WEIR_UPGRADE_OVER_HTTP2: peer(505, STAYS, 'this resource is only available over HTTP/1.1'),
  WEIR_UPGRADE_WITHOUT_CONNECTION: developer(501, STAYS, 'server.fetch has no connection to upgrade'),
  WEIR_WEBSOCKET_HANDSHAKE: peer(400, STAYS, 'this is not a valid WebSocket handshake'),
  WEIR_WEBSOCKET_VERSION: peer(426, STAYS, 'only version 13 of the WebSocket protocol is supported'),
  WEIR_ORIGIN_REFUSED: peer(403, STAYS, 'pages from this origin may not connect'),
  WEIR_CONDITION_REQUIRED: peer(428, STAYS, 'the request must name the version that it expects, with If-Match'),
  WEIR_CONDITION_FAILED: peer(412, STAYS, 'the resource is not in the state that the request expects'),
  WEIR_WEBHOOK_UNSIGNED: peer(401, STAYS, 'no known sender has signed this body'),
  WEIR_WEBHOOK_STALE: peer(400, STAYS, 'this body was signed at another time, or has been received before'),
  WEIR_SIGNATURE_INVALID: peer(403, STAYS, 'this link is not signed, or was changed'),
  WEIR_SIGNATURE_EXPIRED: peer(410, STAYS, 'this link has expired'),
  WEIR_CROSS_ORIGIN: peer(403, STAYS, 'a page of another origin may not send this request'),
  WEIR_CREDENTIALS_MISSING: peer(401, STAYS, 'the request has no credentials that are accepted here'),
  WEIR_CREDENTIALS_INVALID: peer(401, STAYS, 'the credentials of the request are not valid'),
  WEIR_CREDENTIALS_INSECURE: peer(403, STAYS, 'these credentials are accepted over HTTPS only'),
  WEIR_ACCESS_DENIED: peer(403, STAYS, 'the principal may not do this'),
  WEIR_KEYS_UNAVAILABLE: transport(503, STAYS, 'the keys that verify tokens cannot be fetched', 5),
  WEIR_PASSWORD_TOO_LONG: limit(400, STAYS, 'the password is too long'),
  WEIR_PASSWORDS_BUSY: limit(503, STAYS, 'too many passwords are being checked', 1),
  WEIR_PASSWORD_HASH: developer(500, STAYS, 'a text is not the hash of a password'),
  WEIR_AUTH_SETUP: developer(500, STAYS, 'the requirements of a route cannot be met'),
  WEIR_POLICY_ORDER: developer(500, STAYS, 'a policy runs before another one that it needs'),
  WEIR_OPENAPI_INCOMPLETE: developer(500, STAYS, 'the OpenAPI document cannot describe all routes'),
  WEIR_INSPECTOR_REFUSED: peer(403, STAYS, 'the inspector is for programs on this machine'),
  WEIR_INSPECTOR_LOCKED: peer(401, STAYS, 'the inspector is open to whoever has the link that was printed at the start'),
  WEIR_LOCAL_CLOSED: peer(401, STAYS, 'this is open to the pages and programs of whoever has started it'),
  WEIR_LOCAL_RUNNING: developer(500, STAYS, 'the program runs already, or is being started'),
  WEIR_LOCAL_FILE: developer(500, STAYS, 'a file or folder for local servers may be under the control of others'),

  // Bodies and requests in a handler
  WEIR_MODEL_BINDING: peer(400, STAYS, 'the body does not fit the model'),
  WEIR_CONTENT_TYPE_UNSUPPORTED: peer(415, STAYS, 'a body of this type is not accepted here'),
  WEIR_CONTENT_CODING_UNSUPPORTED: peer(415, STAYS, 'a body in this content coding is not accepted here'),
  WEIR_BODY_MISSING: peer(400, STAYS, 'this request needs a body'),
  WEIR_BODY_MALFORMED: peer(400, STAYS, 'the body is malformed'),
  WEIR_BODY_INVALID: peer(400, STAYS, 'the body does not fit'),
  WEIR_BODY_NOT_BUFFERED: developer(500, STAYS, 'the body is streamed here, so await request.bufferBody() first'),
  WEIR_BODY_IN_GATE: developer(500, STAYS, 'no gate or observer can read the body, so read it in a middleware or the handler'),
  WEIR_BODY_IS_FORM: peer(415, STAYS, 'multipart forms are not buffered on this route'),
  WEIR_CHARSET_UNKNOWN: peer(415, STAYS, 'the body is in a character encoding that is not read here'),
  WEIR_BODY_ALREADY_READ: developer(500, STAYS, 'a body stream can be read only once'),
  WEIR_REQUEST_EXPIRED: developer(500, STAYS, 'the request was used after its handler had settled or timed out: await what uses it'),

  WEIR_VALUE_INVALID: developer(500, STAYS, 'a value does not fit its schema'),
  WEIR_PRINCIPAL_MISSING: peer(401, STAYS, 'this request needs authentication'),

  // Responses
  WEIR_RESPONSE_HEADER_SYNTAX: developer(500, STAYS, 'a response header cannot be sent'),
  WEIR_RESPONSE_STATUS: developer(500, STAYS, 'a final status must be a whole number from 200 to 599'),
  WEIR_RESPONSE_LENGTH: developer(500, CLOSES, 'the response body does not have the length that Content-Length promised'),
  WEIR_RESPONSE_SENT: developer(500, STAYS, 'the response was changed after it had been sent'),
  WEIR_RESULT_UNSENDABLE: developer(500, STAYS, 'this value cannot be sent'),
  WEIR_ANSWER_UNDECLARED: developer(500, STAYS, 'a handler did not answer as its route declares'),
  WEIR_HANDLER_FAILED: developer(500, STAYS, 'a handler failed'),
  WEIR_MIDDLEWARE_NEXT_TWICE: developer(500, STAYS, 'a middleware called next() twice: call it once'),

  // Sessions
  WEIR_SESSION_DATA: developer(500, STAYS, 'a session cannot hold this value'),
  WEIR_SESSION_TOO_LARGE: developer(500, STAYS, 'a session is too large'),
  WEIR_SESSION_INSECURE: developer(500, STAYS, 'a session needs TLS, or a browser on the same machine'),
  WEIR_SESSION_SENT: developer(500, STAYS, 'a session was changed after the response had begun'),
  WEIR_OIDC_RESPONSE: peer(400, STAYS, 'this login cannot be completed: begin it again'),
  WEIR_OIDC_DENIED: peer(403, STAYS, 'the login was refused at the identity provider'),
  WEIR_OIDC_UNAVAILABLE: transport(503, STAYS, 'the identity provider does not answer', 5),

  // Idempotency
  WEIR_IDEMPOTENCY_KEY_MISSING: peer(400, STAYS, 'this request needs an idempotency key'),
  WEIR_IDEMPOTENCY_KEY_INVALID: peer(400, STAYS, 'the idempotency key is not valid'),
  WEIR_IDEMPOTENCY_RUNNING: peer(409, STAYS, 'a request with this idempotency key is still in progress', 1),
  WEIR_IDEMPOTENCY_UNKNOWN: peer(409, STAYS, 'whether the first request with this idempotency key had its effect is not known'),
  WEIR_IDEMPOTENCY_NOT_KEPT: peer(409, STAYS, 'the first request with this idempotency key is complete, but its response was not kept'),
  WEIR_IDEMPOTENCY_MISMATCH: peer(422, STAYS, 'this idempotency key was used for another request'),

  // Resumable uploads
  WEIR_UPLOAD_REQUEST: peer(400, STAYS, 'the request does not follow the protocol of uploads'),
  WEIR_UPLOAD_VERSION: peer(412, STAYS, 'this version of tus is not spoken here'),
  WEIR_UPLOAD_UNKNOWN: peer(404, STAYS, 'there is no such upload'),
  WEIR_UPLOAD_OFFSET: peer(409, STAYS, 'the upload does not continue at this offset'),
  WEIR_UPLOAD_LENGTH: peer(400, STAYS, 'the lengths of the upload do not agree'),
  WEIR_UPLOAD_CHECKSUM: peer(460, STAYS, 'the bytes do not have the stated checksum'),
  WEIR_UPLOAD_FINAL: peer(403, STAYS, 'nothing can be appended to concatenated uploads'),
  WEIR_UPLOAD_LOCKED: peer(423, STAYS, 'the upload cannot be worked on at the moment', 1),
  WEIR_UPLOAD_SUPERSEDED: peer(409, CLOSES, 'another request has continued this upload'),
  WEIR_UPLOADS_OPEN: limit(429, STAYS, 'too many uploads are unfinished'),

  // The server
  WEIR_OPTION_INVALID: developer(500, STAYS, 'an option or argument is invalid'),
  WEIR_SERVER_STATE: developer(500, STAYS, 'this call is not possible in the current state'),
  WEIR_TEST_WAIT: developer(500, STAYS, 'a test client gave up waiting'),
  WEIR_TEST_REFUSED: developer(500, STAYS, 'a WebSocket of a test client was refused'),
  WEIR_CHAOS: developer(500, STAYS, 'a handler misbehaved'),
  WEIR_STORE_UNAVAILABLE: transport(503, STAYS, 'a store did not answer', 5),
  WEIR_RELAY_UNAVAILABLE: transport(503, STAYS, 'a relay did not take a message', 5),

  // Multipart forms and files
  WEIR_MULTIPART_DELIMITER: peer(400, STAYS, 'the boundary appears where it is not a delimiter'),
  WEIR_MULTIPART_HEADER_SYNTAX: peer(400, STAYS, 'the head of a part is malformed'),
  WEIR_MULTIPART_PART_NAME: peer(400, STAYS, 'a part is not form-data with a name'),
  WEIR_MULTIPART_ENCODING: peer(400, STAYS, 'a part has a transfer encoding, or a field a charset, that is not read here'),
  WEIR_MULTIPART_INVALID: peer(400, STAYS, 'the body is not valid multipart/form-data'),
  WEIR_MULTIPART_TRUNCATED: peer(400, STAYS, 'the body ended before its close delimiter'),
  WEIR_FILE_EXTENSION: peer(415, STAYS, 'files with this extension are not accepted'),
  WEIR_FILE_TYPE: peer(415, STAYS, 'files of this type are not accepted'),
  WEIR_FILE_MAGIC: peer(415, STAYS, 'the file does not begin with an accepted signature'),
} satisfies Record<string, ErrorSpec>

/**
 * A code from weir's catalogue. Codes are stable, so you can switch on them.
 * @example
 * const ignored: ErrorCode[] = ['WEIR_CLIENT_GONE']
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/errors.md
 */
export type ErrorCode = keyof typeof ERRORS
