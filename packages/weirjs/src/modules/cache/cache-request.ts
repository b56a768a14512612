// A request as the cache sees it: whether it may be answered from the cache, under which key, and what its client accepts.

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { principalKey, shortKey } from '../auth/principal-key.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'
import { type Directives, readCacheControl } from './cache-control.ts'
import { ageMs, type CacheEntry } from './cache-entry.ts'
import { type CacheSettings, OWNER } from './cache-options.ts'

/** Methods that change nothing (RFC 9110 §9.2.1, and the methods of WebDAV and QUERY that are registered as safe). */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH'])

export function isSafe(method: string): boolean {
  return SAFE.has(method)
}

/** Whether a cache does nothing for a method: it neither keeps responses nor drops them. @param method null: any */
export function isIdle(method: string | null): boolean {
  return method !== null && method !== 'GET' && method !== 'HEAD' && isSafe(method)
}

/** Why a request bypasses the cache, in the form of `detail` of Cache-Status. */
type BypassReason = 'body' | 'upgrade' | 'condition' | 'key' | 'principal' | 'session' | 'nonce' | 'no-store'

/** A request that the cache may answer. */
export interface CacheRequest {
  /** Under which responses of its URL are kept. */
  readonly primary: string
  /** What the program has stated of the client in `key`; empty for every client. */
  readonly key: string
  readonly exchange: ExchangeHandle
  readonly hasAuthorization: boolean
  /** Of the client; null where they do not count. */
  readonly wants: Directives | null
}

/** @throws what the `key` of the program throws */
export function readRequest(exchange: ExchangeHandle, settings: CacheSettings): CacheRequest | BypassReason {
  const { session } = exchange
  // A handler may read the body of a GET, although it has no meaning, and the key does not contain it.
  if (exchange.contentLength !== 0) return 'body'
  if (exchange.wantsUpgrade) return 'upgrade'
  // Only the handler may evaluate them (RFC 9111 §4.3.2).
  if (exchange.field('if-match') !== null || exchange.field('if-unmodified-since') !== null) return 'condition'
  const { personal } = exchange
  if (personal === 'nonce' || (personal === 'session' && settings.key === null)) return personal
  const key = keyOf(session, settings)
  if (key === null) return settings.key === null ? 'principal' : 'key'
  const wants = settings.clientDirectives ? wantsOf(exchange) : null
  if (wants?.has('no-store') === true) return 'no-store'
  // What a client can write into its head that is not in the key has no influence on the origin: only trusted proxies state that.
  // Where the path of the application ends is a part of it: `/a` below `/app` is another route than `/app/a` at the root. And the host that a proxy
  // states may not be the Host field, by which routes are found.
  const place = `${settings.labelOf(session.server)}${session.origin}${session.basePath}`
  const primary = `${place}\n${exchange.url}\n${session.endpoint ?? ''}\n${session.route ?? ''}\n${key}`
  return { primary: boundedKey(primary), key, exchange, hasAuthorization: exchange.field('authorization') !== null, wants }
}

/** Whether the response is for another client than the key states: code inside the cache may have found out who the client is. */
export function isForAnother({ session }: ExchangeHandle, settings: CacheSettings, { key }: CacheRequest): boolean {
  return settings.key === 'principal' && keyOf(session, settings) !== key
}

/** Null: the request bypasses the cache. */
function keyOf(session: HttpSession, { key }: CacheSettings): string | null {
  if (key === null) return session.principal === null ? '' : null
  if (key === 'all') return ''
  if (key === 'principal') return principalKey(OWNER, session) ?? ''
  const own = key(session)
  if (own !== null && typeof own !== 'string')
    throw invalid(OWNER, `a key is ${kindOf(own)}, not a string: return null to bypass the cache`)
  return own === null ? null : `key ${shortKey(own)}`
}

/** Long URLs and fields are rare, and their keys would be long as well: where keys are counted, nothing else bounds their memory. */
const LONGEST_PLAIN = 2_048

export function boundedKey(key: string): string {
  return key.length <= LONGEST_PLAIN ? key : shortKey(key)
}

/** RFC 9111 §5.4: Pragma counts if there is no Cache-Control. */
function wantsOf(exchange: ExchangeHandle): Directives | null {
  const field = exchange.field('cache-control')
  if (field !== null) return readCacheControl(field)
  const pragma = exchange.field('pragma')
  return pragma === null ? null : readCacheControl(pragma)
}

/** The request fields that handlers get as parameters. What they return depends on these, whether they say so or not. */
export function boundFieldsOf({ bindings }: ExchangeHandle): readonly string[] {
  return bindings.flatMap(({ source, name }) => (source === 'header' ? [name] : []))
}

/** Whether a request may get an entry: when it is fresh, while a new one is made, if no new one can be made, or not at all. */
type Use = 'fresh' | 'while-revalidating' | 'if-error' | 'no'

export function useOf(entry: CacheEntry, { hasAuthorization, wants }: CacheRequest, now: number): Use {
  const { lifetime } = entry
  if (hasAuthorization && !lifetime.isForAuthorized) return 'no'
  const age = ageMs(entry, now)
  const { freshMs, staleWhileRevalidateMs, staleIfErrorMs, maySendStale } = lifetime
  if (wants !== null && !accepts(wants, age, freshMs)) return age < freshMs + staleIfErrorMs ? 'if-error' : 'no'
  if (age < freshMs) return 'fresh'
  if (wants !== null && maySendStale && acceptsStale(wants, age - freshMs)) return 'fresh'
  if (age < freshMs + staleWhileRevalidateMs) return 'while-revalidating'
  return age < freshMs + staleIfErrorMs ? 'if-error' : 'no'
}

function accepts(wants: Directives, age: number, freshMs: number): boolean {
  if (wants.isMalformed || wants.has('no-cache')) return false
  const maxAge = wants.seconds('max-age')
  if (maxAge !== null && age >= maxAge * 1_000) return false
  const minFresh = wants.seconds('min-fresh')
  return minFresh === null || freshMs - age >= minFresh * 1_000
}

/** RFC 9111 §5.2.1.2. Without a value, any age is accepted. */
function acceptsStale(wants: Directives, staleMs: number): boolean {
  return wants.has('max-stale') && (wants.isWithoutValue('max-stale') || staleMs <= wants.seconds('max-stale')! * 1_000)
}
