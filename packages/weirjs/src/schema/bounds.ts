// The bounds that `.min`, `.max` and `.length` set for numbers, strings and arrays, and how messages describe them.

import { WeirError } from '../base/errors.ts'
import { shown } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'

/** Both bounds are included; infinite if there is no bound. */
export interface Bounds {
  readonly min: number
  readonly max: number
}

export const ANY_NUMBER: Bounds = { min: -Infinity, max: Infinity }
export const ANY_COUNT: Bounds = { min: 0, max: Infinity }

/** `bounds` with some changed. @throws WEIR_OPTION_INVALID if a bound is not a number, or the minimum is above the maximum */
export function withNumbers(bounds: Bounds, change: Partial<Bounds>): Bounds {
  for (const end of Object.values(change)) if (typeof end !== 'number' || Number.isNaN(end)) throw noEnd(end, 'a number')
  return withEnds(bounds, change)
}

/** The same for counts. @throws WEIR_OPTION_INVALID if a bound is not a count */
export function withCounts(bounds: Bounds, change: Partial<Bounds>): Bounds {
  for (const end of Object.values(change)) if (!Number.isSafeInteger(end) || end < 0) throw noEnd(end, 'a count')
  return withEnds(bounds, change)
}

function withEnds(bounds: Bounds, change: Partial<Bounds>): Bounds {
  const changed = { ...bounds, ...change }
  if (changed.min > changed.max) throw crossed(changed.min, changed.max)
  return changed
}

/** The error for a minimum above the maximum, both as a program writes them. */
export function crossed(min: unknown, max: unknown): WeirError {
  return invalid(`.min(${min})`, `it is above .max(${max}): write .min(${max}).max(${min})`)
}

/** For callers that no compiler has checked: JavaScript would compare strings with numbers, too. */
export function noEnd(end: unknown, wanted: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', `a bound is ${shown(end)}, not ${wanted}`)
}

/** ` from 1 to 10`, ` of at least 1`; empty if there is no bound. */
export function saysNumbers({ min, max }: Bounds): string {
  if (min === max) return ` equal to ${min}`
  if (min !== -Infinity) return max === Infinity ? ` of at least ${min}` : ` from ${min} to ${max}`
  return max === Infinity ? '' : ` of at most ${max}`
}

/** ` of 1 to 10 characters`, ` of exactly 1 character`; empty if any count is allowed. */
export function saysCount({ min, max }: Bounds, unit: string): string {
  if (min === max) return ` of exactly ${plural(min, unit)}`
  if (min > 0) return max === Infinity ? ` of at least ${plural(min, unit)}` : ` of ${min} to ${plural(max, unit)}`
  return max === Infinity ? '' : ` of at most ${plural(max, unit)}`
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** The bounds as keywords of JSON Schema, without those that are not set. */
export function boundKeywords({ min, max }: Bounds, minWord: string, maxWord: string): Record<string, number> {
  const keywords: Record<string, number> = {}
  if (min > (minWord === 'minimum' ? -Infinity : 0)) keywords[minWord] = min
  if (max < Infinity) keywords[maxWord] = max
  return keywords
}
