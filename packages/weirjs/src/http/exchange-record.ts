// The records that observers receive: one about each exchange, and about each connection or head that did not become one.

import type { HttpSession } from './session.ts'

/**
 * What a record is about:
 *
 * - `request`: a request with a valid head, and its response.
 * - `upgrade`: the other protocol that a request has switched to, such as a WebSocket. The request has a separate record, with status 101.
 * - `head`: bytes that did not become a valid request head.
 * - `tls`: a TLS handshake that failed.
 * - `connection`: a connection that was refused.
 * @example
 * const kinds: RecordKind[] = ['request', 'upgrade']
 * server.observe({ end: ({ kind }) => kinds.includes(kind) && console.log(kind) })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/observing.md
 */
export type RecordKind = 'request' | 'upgrade' | 'head' | 'tls' | 'connection'

/**
 * How it ended:
 *
 * - `completed`: the whole response was sent.
 * - `refused`: a rule or a limit was broken, or the request was answered with an error whose status is below 500.
 * - `failed`: your program failed, before the response or in the middle of it.
 * - `timeout`: one of the timeouts passed.
 * - `client-gone`: the client left before the end.
 * - `stopped`: the server stopped, and its grace period was over.
 * @example
 * const isOurFault = (outcome: Outcome) => outcome === 'failed' || outcome === 'timeout'
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/observing.md
 */
export type Outcome = 'completed' | 'refused' | 'failed' | 'timeout' | 'client-gone' | 'stopped'

/**
 * What is known when the head of a request is complete, or when another protocol begins. Frozen.
 * @example
 * const shown = ({ method, route }: ExchangeStart) => `${method} ${route}`
 * server.observe({ begin: (start) => console.log(shown(start)), end: () => {} })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/observing.md
 */
export interface ExchangeStart {
  readonly kind: 'request' | 'upgrade'
  /** Method and template of the matched route, such as `GET /users/:id`. Null if no route matched. */
  readonly route: string | null
  readonly method: string
  /** `HTTP/1.1`, `HTTP/1.0` or `HTTP/2.0`. For an upgrade, the name of the other protocol, such as `websocket`. */
  readonly protocol: string
  /** Milliseconds since 1970: when the head was complete. */
  readonly startedAt: number
  /** The value of `session.clientAddress` at that time. */
  readonly clientAddress: string
  readonly connectionId: string
  readonly requestId: string
  /**
   * The same object at the beginning and at the end. Members that read the body cannot be used at the end. If the server has answered in
   * place of a handler, its `response` is the one that the handler was working on.
   */
  readonly session: HttpSession
}

/**
 * What is known at the end. Frozen. What is not known, or does not exist, is null.
 * @example
 * const isSlow = ({ durationMs }: ExchangeRecord) => durationMs > 1000
 * server.observe({ end: (record) => isSlow(record) && console.log(record.route) })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/observing.md
 */
export interface ExchangeRecord {
  readonly kind: RecordKind
  /** Method and template of the matched route, such as `GET /users/:id`. Null if no route matched. */
  readonly route: string | null
  readonly method: string | null
  /** `HTTP/1.1`, `HTTP/1.0` or `HTTP/2.0`. For an upgrade, the name of the other protocol, such as `websocket`. */
  readonly protocol: string | null
  /** Status of the response, 101 included. Null if none was sent. */
  readonly status: number | null
  /** How many interim responses were sent before it: 100, 103 and 104. */
  readonly interimResponses: number
  readonly outcome: Outcome
  /**
   * The error that the response answers, or that ended the exchange: an `Error`, or whatever your program has thrown. Null without an
   * error.
   */
  readonly error: unknown
  /** The `code` of the error, such as `WEIR_BODY_TOO_LARGE` or `ECONNRESET`. */
  readonly code: string | null
  /** Bytes of the request body that were received until the response was complete. Without the head, and without chunk sizes. */
  readonly bytesIn: number
  /** Bytes of the response body that were passed to the operating system, or are waiting for it. If the client has left, some were lost. */
  readonly bytesOut: number
  /**
   * Milliseconds since 1970: when the head was complete, or when the failure was noticed. Heads that are read in the same turn of the event loop
   * may have the same time.
   */
  readonly startedAt: number
  /** Milliseconds from `startedAt` to the first byte of the response: a short response counts when it is written. */
  readonly firstByteMs: number | null
  /** Milliseconds from `startedAt` to the end: the operating system has accepted the last byte, or the exchange was aborted. */
  readonly durationMs: number
  /** Address of the client. For a request, the value of `session.clientAddress` at its beginning. */
  readonly clientAddress: string
  readonly connectionId: string | null
  readonly requestId: string | null
  /** For a head that was refused over HTTP/1: its first bytes, at most 64, with everything but printable ASCII escaped. */
  readonly firstBytes: string | null
  readonly session: HttpSession | null
}

/**
 * Receives a record of every exchange. Add one with `server.observe`.
 * @example
 * const observer: ExchangeObserver = { end: ({ route, status, durationMs }) => console.log(route, status, durationMs) }
 * server.observe(observer)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/observing.md
 */
export interface ExchangeObserver {
  /** Called each time the server has started, when clients can connect and before `start` resolves. Not for requests of other servers. */
  started?(): unknown
  /**
   * Called when the head of a request is complete, before any other code of your program, and when another protocol begins. It delays the
   * request while it runs. Every call is followed by one call of `end`, with the same session.
   */
  begin?(start: ExchangeStart): unknown
  /** Called once after the end, in a later turn of the event loop. No response waits for it. */
  end(record: ExchangeRecord): unknown
  /**
   * Called when the server has stopped, after the last `end`: write what is left here. If it returns a promise, `stop` waits for it, so it should
   * settle soon.
   */
  stopped?(): unknown
}
