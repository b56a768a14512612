// Times as options state them: `'15m'`, or milliseconds.

/**
 * Milliseconds, or a whole number with a unit: `'500ms'`, `'30s'`, `'15m'`, `'12h'`, `'7d'`.
 * @example
 * const timeout: Duration = '30s'
 * server.group('/api', { requestTimeout: timeout })
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** A year. Longer times are more likely to be a mistake in the unit. */
export const LONGEST_MS = 366 * 86_400_000

/** The milliseconds; NaN if the value is not a time. */
export function parsedDuration(value: unknown): number {
  if (typeof value === 'number') return value
  const [, digits, unit] = (typeof value === 'string' && /^(\d{1,12})(ms|s|m|h|d)$/.exec(value)) || []
  return digits === undefined ? Number.NaN : Number(digits) * UNITS[unit!]!
}

const WORDS: readonly (readonly [word: RegExp, ms: number])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/, 1],
  [/^(?:s|secs?|seconds?)$/, 1_000],
  [/^(?:m|mins?|minutes?)$/, 60_000],
  [/^(?:h|hrs?|hours?)$/, 3_600_000],
  [/^(?:d|days?)$/, 86_400_000],
  [/^(?:w|weeks?)$/, 604_800_000],
]

/** What to write in place of `"30 min"` or `"1.5h"`, which other libraries accept. */
export function durationHint(value: unknown): string {
  const [, digits, word] = (typeof value === 'string' && /^(\d{1,9}(?:\.\d{1,3})?) ?([a-z]*)$/i.exec(value)) || []
  if (digits === undefined) return ''
  if (word === '') return digits.includes('.') ? '' : `: write "${digits}s" if these are seconds`
  const ms = Math.round(Number(digits) * (WORDS.find(([known]) => known.test(word!.toLowerCase()))?.[1] ?? Number.NaN))
  const unit = Object.keys(UNITS).findLast((name) => ms > 0 && ms % UNITS[name]! === 0)
  return unit === undefined || !Number.isNaN(parsedDuration(value)) ? '' : `: write "${ms / UNITS[unit]!}${unit}"`
}
