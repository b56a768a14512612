// The options of a cache, checked.

import type { Clock } from '../../base/clock.ts'
import type { Duration } from '../../base/duration.ts'
import { shown } from '../../base/kind-of.ts'
import { duration, flag, forTests, having, listener, oneOfOr, readBy, size, text, tokens } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { Size } from '../../base/size.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { HttpSession } from '../../http/session.ts'

import { KeptResponse } from '../kit/kept-response.ts'
import type { CacheStore } from './cache-store.ts'
import type { CacheTimes } from './freshness.ts'

/**
 * Who may get a kept response:
 *
 * - `all`: for everyone who sends the same request.
 * - `principal`: for one principal, by the `scheme` and `id` of `session.principal`. Requests without a principal share one.
 * - a function that returns a text: for all requests with the same text; null for a request that bypasses the cache.
 */
type CacheKey = 'all' | 'principal' | ((session: HttpSession) => string | null)

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
   * Who may get kept responses. Default: everyone, except that requests with a principal bypass the cache, and those with Authorization get and
   * leave only responses that are marked for it (RFC 9111 §3.5). Must be set on routes that require a principal.
   */
  readonly key?: CacheKey
  /** Whether Cache-Control of requests counts: `no-cache`, `no-store`, `max-age`, `max-stale`, `min-fresh`, `only-if-cached`. Default false. */
  readonly clientDirectives?: boolean
  /** Most memory, with everything that belongs to a response. Default 64 MiB. When exceeded, the least recently used are dropped. */
  readonly maxSize?: Size
  /** Largest body that is kept. Default 1 MiB, or `maxSize` if that is less. Larger ones are sent as without a cache. */
  readonly maxEntrySize?: Size
  /** Where processes share responses: `redisCache(client)`. Default: each process has its own. */
  readonly store?: CacheStore
  /** How long a response is sent from memory before the store is asked whether it was invalidated. Default 1 second. */
  readonly recheckAfter?: Duration
  /** How long a request waits for another one that runs the handler for the same response. Default 10 seconds. Then it runs it as well. */
  readonly maxWait?: Duration
  /** Name of the cache in Cache-Status (RFC 9211), or false for no such field. Default `weir`. */
  readonly cacheStatus?: string | false
  /**
   * Called with errors that clients do not see: an error that a kept response has replaced, an error in the background, and an error of the store.
   * Default: they are ignored.
   */
  readonly onError?: (error: unknown) => void
  /** For tests: the clock that measures ages. Default: the clock of the server. */
  readonly clock?: Clock
}

export const OWNER = 'cache'
const STORE_FUNCTIONS = ['read', 'write', 'claim', 'isClaimed', 'release', 'mark', 'markedAt']
const MOST_ENTRY_BYTES = 1024 * 1024
const MOST_TAGS = 32
const LONGEST_TAG = 256

/** @internal */
export const CACHE_RULES = rules<CacheOptions>(OWNER)(
  {
    maxAge: duration({ leastNumber: 1_000 }).orNull(),
    staleWhileRevalidate: duration({ leastNumber: 1_000 }).orNull(),
    staleIfError: duration({ leastNumber: 1_000 }).orNull(),
    vary: tokens().or([]),
    tags: readBy(tagReader).orNull(),
    key: oneOfOr('all', 'principal').orNull('see below'),
    clientDirectives: flag(false),
    maxSize: size({ least: 1 }).or('64MiB'),
    maxEntrySize: size({ least: 1 }).optional('1 MiB'),
    store: having(STORE_FUNCTIONS, 'for a client of Redis, write redisCache(client)').orNull(),
    recheckAfter: duration().or('1s'),
    maxWait: duration().or('10s'),
    cacheStatus: text('a token such as "weir"', (name) => /^[A-Za-z*][\w:/!#$%&'*+.^`|~-]*$/.test(name))
      .also(false)
      .or('weir'),
    onError: listener().or(() => {}, 'none'),
    clock: forTests(),
  },
  { elsewhere: { duration: 'maxAge', expires: 'maxAge', ttl: 'maxAge' } },
)

export type CacheSettings = ReturnType<typeof checkedOptions>

/** @throws WEIR_OPTION_INVALID */
export function checkedOptions(options: CacheOptions) {
  const { maxAge, staleWhileRevalidate, staleIfError, vary, tags, clock, cacheStatus, ...given } = CACHE_RULES.read(options)
  const { maxSize, maxEntrySize = Math.min(MOST_ENTRY_BYTES, maxSize) } = given
  if (maxEntrySize > maxSize) throw invalid(OWNER, `maxEntrySize is ${maxEntrySize}, and maxSize ${maxSize}: it must be at least that`)
  return {
    ...given,
    maxEntrySize,
    times: { maxAgeMs: maxAge, staleWhileRevalidateMs: staleWhileRevalidate ?? 0, staleIfErrorMs: staleIfError ?? 0 } satisfies CacheTimes,
    vary: [...new Set(vary.map((name) => name.toLowerCase()))] as readonly string[],
    tagsOf: tags,
    statusName: cacheStatus === false ? null : cacheStatus,
    /** Null: the clock of the connection. */
    clock: clock ?? null,
    labelOf: KeptResponse.serverLabels(),
  }
}

function tagReader(tags: NonNullable<CacheOptions['tags']>): (session: HttpSession, response: HttpResponse) => readonly string[] {
  if (typeof tags === 'function') return (session, response) => checkedTags(tags(session, response))
  const checked = checkedTags(tags)
  return () => checked
}

function checkedTags(tags: readonly string[]): readonly string[] {
  if (!Array.isArray(tags)) throw invalid(OWNER, `tags is ${shown(tags)}, not a list`)
  if (tags.length > MOST_TAGS) throw invalid(OWNER, `tags has ${tags.length} names, more than ${MOST_TAGS}`)
  return [...new Set(tags.map((tag) => checkedTag('tags', tag)))]
}

/** @throws WEIR_OPTION_INVALID */
export function checkedTag(option: string, tag: unknown): string {
  if (typeof tag === 'string' && tag !== '' && tag.length <= LONGEST_TAG) return tag
  throw invalid(OWNER, `${option}: ${shown(tag)} is not a text of 1 to ${LONGEST_TAG} characters`)
}
