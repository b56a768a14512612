// Times as options state them: `'15m'`, or milliseconds.

/** Milliseconds, or a whole number with a unit: `'500ms'`, `'30s'`, `'15m'`, `'12h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** A year. Longer times are more likely to be a mistake in the unit. */
export const LONGEST_MS = 366 * 86_400_000

/** The milliseconds; NaN for what is no time. */
export function parsedDuration(value: unknown): number {
  if (typeof value === 'number') return value
  const [, digits, unit] = (typeof value === 'string' && /^(\d{1,12})(ms|s|m|h|d)$/.exec(value)) || []
  return digits === undefined ? Number.NaN : Number(digits) * UNITS[unit!]!
}
