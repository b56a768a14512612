// What one connection and one request may cost. Resolved once, frozen, passed down; nobody reads the options again.

import { shown } from './kind-of.ts'
import { checkNames, invalid, namesOf } from './options.ts'

/** Sizes are bytes. `null` means no limit, where it is allowed. A limit of N allows N and refuses N + 1. */
export interface Limits {
  /**
   * Request line, fields and the empty line together, line ends included. Default 64 KiB. Beyond it: 431, or 414 when the request line alone
   * is too long; the connection closes.
   */
  readonly maxRequestHeaderSize: number
  /** Number of field lines in a head, and again in the trailers. Default 200. Beyond it: 431; the connection closes. */
  readonly maxRequestHeaders: number
  /** The body, in bytes received. Default 10 MiB; a route may set its own; `null`: no limit. Beyond it: 413. */
  readonly maxRequestBodySize: number | null
  /** Chunk extensions of one body together; they are read by their grammar and dropped. Default 16 KiB. Beyond it: 400; the connection closes. */
  readonly maxChunkExtensionSize: number
  /** Open connections. Default `null`: no limit. Beyond it: a new connection is closed at once. */
  readonly maxConnections: number | null
  /** Requests on one connection. Default `null`: no limit. The last answer says `Connection: close`, in HTTP/2 GOAWAY. */
  readonly maxRequestsPerConnection: number | null
  /** Requests under way at once on one HTTP/2 connection. Default 100. Beyond it: the stream is refused, and the client may try again. */
  readonly maxConcurrentStreams: number
  /** What is read and dropped of a body that nobody wants, so that the connection can go on. Default 256 KiB. Beyond it: the connection closes after the answer. */
  readonly maxDrainSize: number
}

/** Times are milliseconds, counted from the start of their phase: bytes that trickle in do not wind them up again. `null` means never. */
export interface Timeouts {
  /** From the first byte of a head to its end. Default 5 s. Beyond it: 408, close. */
  readonly headersTimeout: number | null
  /** An idle connection between two requests, or before its first byte. Default 30 s. Beyond it: close. */
  readonly keepAliveTimeout: number | null
  /** Bytes a second that a body must reach on average once `bodyGracePeriod` is over; time in which the server itself does not read is not counted. Default 256; 0: no rate. Beyond it: 408, close. */
  readonly minBodyRate: number
  /** Milliseconds before `minBodyRate` counts. Default 5 s. */
  readonly bodyGracePeriod: number
  /**
   * How long the handler of a request may work, from the end of the head until it has settled. Time in which the server waits for the client's
   * body is not counted. Default `null`; a route may set its own. When exceeded: 503, and `request.signal` aborts.
   */
  readonly requestTimeout: number | null
  /** How long the client may go without reading what waits to be sent. Default 120 s; a route may set its own. When exceeded: close. */
  readonly writeTimeout: number | null
  /** How long a connection that is being closed still takes in what the client sends, so that it sees the answer and not a reset. Default 1 s. */
  readonly lingerTimeout: number
}

export const DEFAULT_LIMITS: Limits = {
  maxRequestHeaderSize: 64 * 1024,
  maxRequestHeaders: 200,
  maxRequestBodySize: 10 * 1024 * 1024,
  maxChunkExtensionSize: 16 * 1024, // Go net/http
  maxConnections: null,
  maxRequestsPerConnection: null,
  maxConcurrentStreams: 100, // the least that RFC 9113 §6.5.2 recommends
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

/** What may be zero: nothing else has a meaning there. */
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

/** The defaults with `given` over them, checked and frozen. @throws WEIR_OPTION_INVALID for an unknown name or a value that is no size. */
export function resolveLimits(given: Partial<Limits> = {}): Limits {
  return resolve('limits', DEFAULT_LIMITS, given)
}

/** The defaults with `given` over them, checked and frozen. @throws WEIR_OPTION_INVALID for an unknown name or a value that is no time. */
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
      throw invalid(group, `${name} is ${shown(value)}, not a whole number from ${least} on${MAY_BE_NULL.has(name) ? ' or null' : ''}`)
    settings[name] = value
  }
  return Object.freeze(settings) as T
}
