// One kept response, with everything that is needed to decide whether a request may get it.

import { randomUUID } from 'node:crypto'
import { ownText } from '../../base/own-text.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'
import { KeptResponse } from '../kit/kept-response.ts'

import type { Lifetime } from './freshness.ts'

export interface CacheEntry {
  readonly id: string
  readonly kept: KeptResponse
  readonly lifetime: Lifetime
  /** When its age was 0, by the clock that never runs backwards. */
  readonly bornAt: number
  /** Names of request fields that it depends on, and the values that its request had. */
  readonly vary: Variant
  readonly tags: readonly string[]
  /** When it had last been valid in the shared store. */
  checkedAt: number
  /** A check in the shared store that is under way: whether it may still be sent. */
  checking: Promise<boolean> | null
}

/** The fields that `Vary` and the program name, and their values in a request. */
interface Variant {
  /** In lower case, sorted. */
  readonly names: readonly string[]
  readonly values: string
}

/** A character that cannot occur in a value. */
const ABSENT = '\0'

/** @param names in lower case, sorted */
export function variantOf(exchange: ExchangeHandle, names: readonly string[]): Variant {
  return { names, values: names.map((name) => exchange.field(name) ?? ABSENT).join('\n') }
}

export function isVariantOf({ names, values }: Variant, exchange: ExchangeHandle): boolean {
  return names.length === 0 || variantOf(exchange, names).values === values
}

export function newEntry(kept: KeptResponse, lifetime: Lifetime, bornAt: number, vary: Variant, tags: readonly string[]): CacheEntry {
  // Any text may be a part of the head of the request.
  const own = kept.with({ type: kept.type === null ? null : ownText(kept.type), fields: kept.fields.map(ownText) })
  const variant = { names: vary.names.map(ownText), values: ownText(vary.values) }
  return assemble(randomUUID(), own, lifetime, bornAt, variant, tags.map(ownText), bornAt)
}

function assemble(
  id: string,
  kept: KeptResponse,
  lifetime: Lifetime,
  bornAt: number,
  vary: Variant,
  tags: readonly string[],
  checkedAt: number,
): CacheEntry {
  return { id, kept, lifetime, bornAt, vary, tags, checkedAt, checking: null }
}

/** Milliseconds since the response was made. Never negative. */
export function ageMs({ bornAt }: CacheEntry, now: number): number {
  return Math.max(0, now - bornAt)
}

/** How long it may be useful after `now`. */
export function restMs(entry: CacheEntry, now: number): number {
  const { freshMs, staleWhileRevalidateMs, staleIfErrorMs } = entry.lifetime
  return freshMs + Math.max(staleWhileRevalidateMs, staleIfErrorMs) - ageMs(entry, now)
}

/** The form of an entry in a shared store. */
interface PackedEntry {
  readonly i: string
  readonly k: unknown
  readonly l: Lifetime
  /** When its age was 0, in milliseconds since 1970. */
  readonly w: number
  readonly n: readonly string[]
  readonly v: string
  readonly g: readonly string[]
  /** Invalidations from this time of the store on apply to it. */
  readonly c: number
}

/** @param since a time of the store: the response knows nothing that has changed after it */
export function packEntry(entry: CacheEntry, now: number, wallTime: number, since: number): string {
  const packed: PackedEntry = {
    i: entry.id,
    k: entry.kept.pack(),
    l: entry.lifetime,
    w: wallTime - ageMs(entry, now),
    n: entry.vary.names,
    v: entry.vary.values,
    g: entry.tags,
    c: since,
  }
  return JSON.stringify(packed)
}

/** @returns null for what `packEntry` has not made */
export function unpackEntry(value: object, now: number, wallTime: number): { readonly entry: CacheEntry; readonly since: number } | null {
  const { i, k, l, w, n, v, g, c } = value as Partial<PackedEntry>
  const kept = KeptResponse.unpack(k)
  if (kept === null || typeof i !== 'string' || typeof v !== 'string' || !isTexts(n) || !isTexts(g)) return null
  if (typeof w !== 'number' || typeof c !== 'number' || !isLifetime(l)) return null
  // If the clock of another machine is ahead, the response is not younger than its age when it was made.
  const age = Math.max(l.initialAgeMs, wallTime - w)
  return { entry: assemble(i, kept, l, now - age, { names: n, values: v }, g, now), since: c }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function isLifetime(value: unknown): value is Lifetime {
  if (typeof value !== 'object' || value === null) return false
  const { initialAgeMs, freshMs, staleWhileRevalidateMs, staleIfErrorMs, maySendStale, isForAuthorized } = value as Partial<Lifetime>
  const times = [initialAgeMs, freshMs, staleWhileRevalidateMs, staleIfErrorMs]
  return times.every((one) => typeof one === 'number') && typeof maySendStale === 'boolean' && typeof isForAuthorized === 'boolean'
}
