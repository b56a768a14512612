// The limits and timeouts of connections and requests. They are resolved once and frozen; the engine never reads the options again.

import type { Duration } from './duration.ts'
import { count, duration, rate, size } from './option-kinds.ts'
import { rules } from './option-rules.ts'
import type { Size } from './size.ts'

/**
 * Sizes are in bytes. `null` means no limit, where it is allowed. A limit of N allows N and refuses N + 1.
 * @example
 * const most = ({ maxRequestBodySize }: Limits) => maxRequestBodySize ?? Infinity
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export interface Limits {
  /**
   * Size of a request's head: the request line, all fields, their line ends and the empty line. Default 64 KiB. Trailers may have the same
   * size again. When exceeded: 431, or 414 for the request line alone; the connection closes.
   */
  readonly maxRequestHeaderSize: number
  /** Number of fields in a head. Trailers may have the same number again. Default 200. When exceeded: 431; the connection closes. */
  readonly maxRequestHeaders: number
  /**
   * Size of the body as received, without the chunk framing. Default 10 MiB; a route may set its own; `null`: no limit. When exceeded: 413.
   */
  readonly maxRequestBodySize: number | null
  /**
   * Size of all the chunk extensions of one body. They are checked and discarded. Default 16 KiB. When exceeded: 400; the connection
   * closes.
   */
  readonly maxChunkExtensionSize: number
  /** Number of open connections. Default `null`: no limit. When exceeded: a new connection is closed immediately. */
  readonly maxConnections: number | null
  /**
   * Number of requests on one connection. Default `null`: no limit. The last response carries `Connection: close`, or GOAWAY in HTTP/2.
   */
  readonly maxRequestsPerConnection: number | null
  /**
   * Number of requests in progress on one HTTP/2 connection. Default 100. When exceeded: the stream is refused; the client may try again.
   */
  readonly maxConcurrentStreams: number
  /**
   * How much of an unread body is read and discarded to keep the connection open. Default 256 KiB. When exceeded: the connection closes
   * after the response.
   */
  readonly maxDrainSize: number
}

/**
 * Times are in milliseconds. They count from the start of their phase; bytes that trickle in do not restart them. `null` means never.
 * @example
 * const isEndless = ({ requestTimeout }: Timeouts) => requestTimeout === null
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export interface Timeouts {
  /** From the first byte of a head to its end. Default 5 s. When exceeded: 408; the connection closes. */
  readonly headersTimeout: number | null
  /**
   * How long a connection may be idle before its first byte or between two requests. Default 30 s. When exceeded: the connection closes.
   */
  readonly keepAliveTimeout: number | null
  /**
   * The average rate in bytes a second that a body must reach once `bodyGracePeriod` is over. Time during which the server itself does not
   * read does not count. Default 256; 0: no minimum. When exceeded: 408; the connection closes.
   */
  readonly minBodyRate: number
  /** How long a body may take before `minBodyRate` applies. Default 5 s. */
  readonly bodyGracePeriod: number
  /**
   * How long gates and the handler of a request may work, from the end of the head until the handler has settled. Time in which the server
   * waits for the client's body is not counted. Default `null`; a route may set its own. When exceeded: 503, and `request.signal` aborts.
   */
  readonly requestTimeout: number | null
  /**
   * How long the client may go without reading what is waiting to be sent. Default 120 s; a route may set its own. When exceeded: the
   * connection is reset.
   */
  readonly writeTimeout: number | null
  /**
   * How long a closing connection still accepts what the client sends, so that the client sees the response and not a reset. Default 1 s.
   */
  readonly lingerTimeout: number
}

/**
 * The option `limits` of a server. Sizes are bytes or a text such as `'10MiB'`.
 * @example
 * const limits: LimitOptions = { maxRequestBodySize: '10MiB', maxConnections: 2000 }
 * new HttpServer({ limits })
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export type LimitOptions = { readonly [K in keyof Limits]?: K extends `${string}Size` ? Limits[K] | Size : Limits[K] }

/**
 * The option `timeouts` of a server. Times are milliseconds or a text such as `'30s'`.
 * @example
 * const timeouts: TimeoutOptions = { headersTimeout: '5s', requestTimeout: '30s' }
 * new HttpServer({ timeouts })
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export type TimeoutOptions = { readonly [K in keyof Timeouts]?: Timeouts[K] | (K extends 'minBodyRate' ? Size : Duration) }

const positive = { least: 1 } as const
const time = duration({ most: Number.MAX_SAFE_INTEGER })
const timeOrZero = duration({ least: 0, most: Number.MAX_SAFE_INTEGER })

export const LIMIT_RULES = rules<LimitOptions>('limits')({
  maxRequestHeaderSize: size(positive).or('64KiB'),
  maxRequestHeaders: count(positive).or(200),
  maxRequestBodySize: size().nullable().or('10MiB'),
  maxChunkExtensionSize: size().or('16KiB'), // Go net/http
  maxConnections: count(positive).nullable().or(null, 'none'),
  maxRequestsPerConnection: count(positive).nullable().or(null, 'none'),
  maxConcurrentStreams: count(positive).or(100), // the lowest value that RFC 9113 §6.5.2 recommends
  maxDrainSize: size().or('256KiB'), // Go net/http
})

export const TIMEOUT_RULES = rules<TimeoutOptions>('timeouts')({
  headersTimeout: time.nullable().or('5s'),
  keepAliveTimeout: time.nullable().or('30s'),
  minBodyRate: rate().or(256),
  bodyGracePeriod: timeOrZero.or('5s'), // Kestrel
  requestTimeout: time.nullable().or(null, 'none'),
  writeTimeout: time.nullable().or('120s'),
  lingerTimeout: timeOrZero.or('1s'),
})

export const DEFAULT_LIMITS: Limits = resolveLimits()
export const DEFAULT_TIMEOUTS: Timeouts = resolveTimeouts()

/**
 * @returns the defaults with `given` applied, checked and frozen
 * @throws WEIR_OPTION_INVALID for an unknown name or a value that is not a size
 */
export function resolveLimits(given: LimitOptions = {}): Limits {
  return Object.freeze(LIMIT_RULES.read(given))
}

/**
 * @returns the defaults with `given` applied, checked and frozen
 * @throws WEIR_OPTION_INVALID for an unknown name or a value that is not a time
 */
export function resolveTimeouts(given: TimeoutOptions = {}): Timeouts {
  return Object.freeze(TIMEOUT_RULES.read(given))
}
