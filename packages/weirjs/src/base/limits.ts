// The limits and timeouts of connections and requests. They are resolved once and frozen; the engine never reads the options again.

import { shown } from './kind-of.ts'
import { checkNames, invalid, namesOf, sizeHint } from './options.ts'

/** Sizes are in bytes. `null` means no limit, where it is allowed. A limit of N allows N and refuses N + 1. */
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

/** Times are in milliseconds. They count from the start of their phase; bytes that trickle in do not restart them. `null` means never. */
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

export const DEFAULT_LIMITS: Limits = {
  maxRequestHeaderSize: 64 * 1024,
  maxRequestHeaders: 200,
  maxRequestBodySize: 10 * 1024 * 1024,
  maxChunkExtensionSize: 16 * 1024, // Go net/http
  maxConnections: null,
  maxRequestsPerConnection: null,
  maxConcurrentStreams: 100, // the lowest value that RFC 9113 §6.5.2 recommends
  maxDrainSize: 256 * 1024, // Go net/http
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  headersTimeout: 5_000,
  keepAliveTimeout: 30_000,
  minBodyRate: 256,
  bodyGracePeriod: 5_000, // Kestrel
  requestTimeout: null,
  writeTimeout: 120_000,
  lingerTimeout: 1_000,
}

/** The options for which zero has a meaning. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set([
  'maxRequestBodySize',
  'maxDrainSize',
  'maxChunkExtensionSize',
  'minBodyRate',
  'bodyGracePeriod',
  'lingerTimeout',
])

type WithNull<T> = { [K in keyof T as null extends T[K] ? K : never]: T[K] }
const MAY_BE_NULL: ReadonlySet<string> = new Set(
  namesOf<WithNull<Limits & Timeouts>>()([
    'maxRequestBodySize',
    'maxConnections',
    'maxRequestsPerConnection',
    'headersTimeout',
    'keepAliveTimeout',
    'requestTimeout',
    'writeTimeout',
  ]),
)

/**
 * @returns the defaults with `given` applied, checked and frozen
 * @throws WEIR_OPTION_INVALID for an unknown name or a value that is not a size
 */
export function resolveLimits(given: Partial<Limits> = {}): Limits {
  return resolve('limits', DEFAULT_LIMITS, given)
}

/**
 * @returns the defaults with `given` applied, checked and frozen
 * @throws WEIR_OPTION_INVALID for an unknown name or a value that is not a time
 */
export function resolveTimeouts(given: Partial<Timeouts> = {}): Timeouts {
  return resolve('timeouts', DEFAULT_TIMEOUTS, given)
}

function resolve<T extends object>(group: string, defaults: T, given: Partial<T>): T {
  checkNames(group, given, Object.keys(defaults))
  const settings = { ...defaults } as Record<string, unknown>
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const least = MAY_BE_ZERO.has(name) ? 0 : 1
    const isNumber = typeof value === 'number' && Number.isSafeInteger(value) && value >= least
    if (!isNumber && !(value === null && MAY_BE_NULL.has(name)))
      throw invalid(
        group,
        `${name} is ${shown(value)}, not a whole number of at least ${least}${MAY_BE_NULL.has(name) ? ', or null' : ''}${sizeHint(value)}`,
      )
    settings[name] = value
  }
  return Object.freeze(settings) as T
}
