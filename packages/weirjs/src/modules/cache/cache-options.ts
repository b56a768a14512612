// The options of a cache, checked.

import type { Clock } from '../../base/clock.ts'
import { type Duration, millisecondsOf } from '../../base/duration.ts'
import { errorListener } from '../../base/error-listener.ts'
import { shown } from '../../base/kind-of.ts'
import { checkNames, flag, invalid, listOf, namesOf, tokensOf, wholeNumber } from '../../base/options.ts'
import { checkStore } from '../../base/store-option.ts'
import type { HttpResponse } from '../../http/answer/response.ts'
import type { HttpSession } from '../../http/session.ts'

import type { CacheStore } from './cache-store.ts'
import type { CacheTimes } from './freshness.ts'

/**
 * For whom a response is:
 *
 * - `all`: for everybody who sends the same request.
 * - `principal`: for one principal, by the `scheme` and `id` of `session.principal`. Requests without a principal share one.
 * - a function that returns a text: for all requests with the same text; null for a request that bypasses the cache.
 */
export type CacheKey = 'all' | 'principal' | ((session: HttpSession) => string | null)

export interface CacheOptions {
  /**
   * How long a response is fresh that states no time itself, by Cache-Control or Expires. Only for the statuses 200, 203, 204, 300, 301 and 308.
   * Default: none; such a response is not kept. Clients are not told.
   */
  readonly maxAge?: Duration
  /** How long after that it may be sent while the handler makes a new one in the background. Default: none. */
  readonly staleWhileRevalidate?: Duration
  /** How long after that it may be sent if the handler fails: if it throws, or responds with 500, 502, 503 or 504. Default: none. */
  readonly staleIfError?: Duration
  /** Request fields that all responses depend on, in addition to those that they name in Vary. Default: none. */
  readonly vary?: readonly string[]
  /** Names under which `invalidate` finds the responses: at most 32 of up to 256 characters. Default: none. */
  readonly tags?: readonly string[] | ((session: HttpSession, response: HttpResponse) => readonly string[])
  /**
   * For whom responses are. Default: for everybody, except that requests with a principal bypass the cache, and those with Authorization get
   * and leave only responses that are marked for it (RFC 9111 §3.5). Must be set on routes that require a principal.
   */
  readonly key?: CacheKey
  /** Whether Cache-Control of requests counts: `no-cache`, `no-store`, `max-age`, `max-stale`, `min-fresh`, `only-if-cached`. Default false. */
  readonly clientDirectives?: boolean
  /** Most bytes in memory, with everything that belongs to a response. Default 64 MiB. When exceeded, the least recently used are dropped. */
  readonly maxBytes?: number
  /** Largest body that is kept, in bytes. Default 1 MiB, or `maxBytes` if that is less. Larger ones are sent as without a cache. */
  readonly maxEntryBytes?: number
  /** Where processes share responses: `redisCache(client)`. Default: each process has its own. */
  readonly store?: CacheStore
  /** How long a response is sent from memory before the store is asked whether somebody has invalidated it. Default 1 second. */
  readonly recheckAfter?: Duration
  /** How long a request waits for another one that runs the handler for the same response. Default 10 seconds. Then it runs it as well. */
  readonly maxWait?: Duration
  /** Name of the cache in Cache-Status (RFC 9211), or false for no such field. Default `weir`. */
  readonly cacheStatus?: string | false
  /**
   * Told what clients are not told: an error in whose place a kept response was sent, one in the background, and one of the store. Default: they
   * are ignored.
   */
  readonly onError?: (error: unknown) => void
  /** For tests: what ages are measured with. Default: the clock of the server. */
  readonly clock?: Clock
}

export interface CacheSettings {
  readonly times: CacheTimes
  readonly vary: readonly string[]
  readonly tagsOf: ((session: HttpSession, response: HttpResponse) => readonly string[]) | null
  readonly key: CacheKey | null
  readonly heedsClients: boolean
  readonly maxBytes: number
  readonly maxEntryBytes: number
  readonly store: CacheStore | null
  readonly recheckAfterMs: number
  readonly maxWaitMs: number
  readonly statusName: string | null
  readonly onError: (error: unknown) => void
  /** Null: that of the connection. */
  readonly clock: Clock | null
}

export const OWNER = 'cache'
const OPTION_NAMES = namesOf<CacheOptions>()([
  'maxAge',
  'staleWhileRevalidate',
  'staleIfError',
  'vary',
  'tags',
  'key',
  'clientDirectives',
  'maxBytes',
  'maxEntryBytes',
  'store',
  'recheckAfter',
  'maxWait',
  'cacheStatus',
  'onError',
  'clock',
])
const STORE_FUNCTIONS = ['read', 'write', 'claim', 'isClaimed', 'release', 'mark', 'markedAt'] as const
const MOST_TAGS = 32
const LONGEST_TAG = 256

/** @throws WEIR_OPTION_INVALID */
export function checkedOptions(options: CacheOptions): CacheSettings {
  checkNames(OWNER, options, OPTION_NAMES)
  const { maxAge, staleWhileRevalidate, staleIfError, tags, key, store, cacheStatus = 'weir' } = options
  if (key !== undefined && key !== 'all' && key !== 'principal' && typeof key !== 'function')
    throw invalid(OWNER, `key is ${shown(key)}, not "all", "principal" or a function`)
  if (store !== undefined) checkStore(OWNER, store, STORE_FUNCTIONS, 'redisCache')
  if (cacheStatus !== false && (typeof cacheStatus !== 'string' || !/^[A-Za-z*][\w:/!#$%&'*+.^`|~-]*$/.test(cacheStatus)))
    throw invalid(OWNER, `cacheStatus is ${shown(cacheStatus)}, not false or a token such as "weir"`)
  const maxBytes = wholeNumber(OWNER, 'maxBytes', options.maxBytes ?? 64 * 1024 * 1024, 1)
  const maxEntryBytes = wholeNumber(OWNER, 'maxEntryBytes', options.maxEntryBytes ?? Math.min(1024 * 1024, maxBytes), 1)
  if (maxEntryBytes > maxBytes)
    throw invalid(OWNER, `maxEntryBytes is ${maxEntryBytes}, and maxBytes ${maxBytes}: it must be at least that`)
  const vary = tokensOf(OWNER, 'vary', options.vary ?? []).map((name) => name.toLowerCase())
  return {
    times: {
      maxAgeMs: maxAge === undefined ? null : millisecondsOf(OWNER, 'maxAge', maxAge),
      staleWhileRevalidateMs: staleWhileRevalidate === undefined ? 0 : millisecondsOf(OWNER, 'staleWhileRevalidate', staleWhileRevalidate),
      staleIfErrorMs: staleIfError === undefined ? 0 : millisecondsOf(OWNER, 'staleIfError', staleIfError),
    },
    vary: [...new Set(vary)],
    tagsOf: tagReader(tags),
    key: key ?? null,
    heedsClients: flag(OWNER, 'clientDirectives', options.clientDirectives),
    maxBytes,
    maxEntryBytes,
    store: store ?? null,
    recheckAfterMs: millisecondsOf(OWNER, 'recheckAfter', options.recheckAfter ?? '1s'),
    maxWaitMs: millisecondsOf(OWNER, 'maxWait', options.maxWait ?? '10s'),
    statusName: cacheStatus === false ? null : cacheStatus,
    clock: options.clock ?? null,
    onError: errorListener(OWNER, options.onError),
  }
}

function tagReader(tags: CacheOptions['tags']): CacheSettings['tagsOf'] {
  if (tags === undefined) return null
  if (typeof tags === 'function') return (session, response) => checkedTags(tags(session, response))
  const checked = checkedTags(tags)
  return () => checked
}

function checkedTags(tags: readonly string[]): readonly string[] {
  if (listOf<unknown>(OWNER, 'tags', tags).length > MOST_TAGS) throw invalid(OWNER, `tags has ${tags.length} names, more than ${MOST_TAGS}`)
  return [...new Set(tags.map((tag) => checkedTag('tags', tag)))]
}

/** @throws WEIR_OPTION_INVALID */
export function checkedTag(option: string, tag: unknown): string {
  if (typeof tag === 'string' && tag !== '' && tag.length <= LONGEST_TAG) return tag
  throw invalid(OWNER, `${option}: ${shown(tag)} is not a text of 1 to ${LONGEST_TAG} characters`)
}
