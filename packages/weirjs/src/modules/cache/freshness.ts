// The rules of RFC 9111 for a response: whether it may be kept for other clients, and for how long it may be sent.

import { parseHttpDate } from '../../formats/http-date.ts'

import { deltaSeconds, readCacheControl, withoutBlanks } from './cache-control.ts'

/** The parts of a response that matter. */
export interface JudgedResponse {
  readonly status: number
  /** All values of a field, joined; null without it. */
  field(name: string): string | null
}

/** The parts of its request that matter, and what the program has stated. */
interface JudgedRequest {
  readonly hasAuthorization: boolean
  /** Whether the program states for whom the response is, so that Authorization does not matter. */
  readonly isKeyStated: boolean
  /** Whether only one principal gets the response, so that `private` allows to keep it. */
  readonly isForOne: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Times in milliseconds; null where the program has set none. */
export interface CacheTimes {
  readonly maxAgeMs: number | null
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
}

/** For how long a response may be sent. Milliseconds. */
export interface Lifetime {
  /** How old it was when the handler returned it. */
  readonly initialAgeMs: number
  /** The age up to which it is fresh. */
  readonly freshMs: number
  /** For how long after that it may be sent while it is renewed, and if that fails. */
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  /** Whether a client may accept it when it is stale. */
  readonly maySendStale: boolean
  /** Whether a request with Authorization may get it (RFC 9111 §3.5). */
  readonly isForAuthorized: boolean
}

/** Statuses to which the `maxAge` of the program applies. Failures are kept only if the handler says so. */
const USUAL_STATUSES: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308])
/** Statuses that concern only one request (RFC 9110 §15.3.7, §15.4.5, §15.5.13, §15.5.17). */
const NEVER_KEPT: ReadonlySet<number> = new Set([206, 304, 412, 416])

/** @returns why the response must not be kept, in the form of `detail` of Cache-Status */
export function judge(response: JudgedResponse, request: JudgedRequest, times: CacheTimes): Lifetime | string {
  const control = readCacheControl(response.field('cache-control'))
  if (control.isMalformed) return 'malformed-cache-control'
  if (control.has('no-store')) return 'no-store'
  if (control.has('no-cache')) return 'no-cache'
  if (control.has('private') && !request.isForOne) return 'private'
  if (NEVER_KEPT.has(response.status) || response.field('content-range') !== null) return 'partial'
  if (response.field('set-cookie') !== null) return 'set-cookie'
  const sharedSeconds = control.seconds('s-maxage')
  const mustRevalidate = control.has('must-revalidate')
  const isForAuthorized = request.isKeyStated || control.has('public') || sharedSeconds !== null || mustRevalidate
  if (request.hasAuthorization && !isForAuthorized) return 'authorization'
  const freshMs = freshnessOf(response, sharedSeconds ?? control.seconds('max-age'), request.now, times)
  if (freshMs === null) return 'no-lifetime'
  const maySendStale = !mustRevalidate && !control.has('proxy-revalidate') && sharedSeconds === null
  const allowed = (name: string, byDefault: number): number => {
    const seconds = control.seconds(name)
    return maySendStale ? (seconds === null ? byDefault : seconds * 1_000) : 0
  }
  const staleWhileRevalidateMs = allowed('stale-while-revalidate', times.staleWhileRevalidateMs)
  const staleIfErrorMs = allowed('stale-if-error', times.staleIfErrorMs)
  const initialAgeMs = ageOf(response, request.now)
  if (initialAgeMs >= freshMs + Math.max(staleWhileRevalidateMs, staleIfErrorMs)) return 'stale'
  return { initialAgeMs, freshMs, staleWhileRevalidateMs, staleIfErrorMs, maySendStale, isForAuthorized }
}

/** RFC 9111 §4.2.1. Without any of these, nothing is guessed. */
function freshnessOf(response: JudgedResponse, seconds: number | null, now: number, { maxAgeMs }: CacheTimes): number | null {
  if (seconds !== null) return seconds * 1_000
  const expires = response.field('expires')
  if (expires !== null) {
    const end = parseHttpDate(expires, now)
    // Negative for a time before Date: the response was stale already, and the time in which it may be sent stale counts from Expires.
    return end === null ? 0 : end - (dateOf(response, now) ?? now)
  }
  return USUAL_STATUSES.has(response.status) ? maxAgeMs : null
}

/** RFC 9111 §4.2.3: what another cache has stated, or the time since Date. */
function ageOf(response: JudgedResponse, now: number): number {
  const stated = withoutBlanks((response.field('age') ?? '').split(',', 1)[0]!)
  return Math.max(deltaSeconds(stated) * 1_000, now - (dateOf(response, now) ?? now))
}

function dateOf(response: JudgedResponse, now: number): number | null {
  const date = response.field('date')
  return date === null ? null : parseHttpDate(date, now)
}
