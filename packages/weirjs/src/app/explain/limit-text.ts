// A limit as people read it: with its unit, and with who has set it. For explanations and for `weir limits`.

import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS, LIMIT_RULES, TIMEOUT_RULES } from '../../base/limits.ts'

import type { Level } from '../routes/scope.ts'

const DEFAULTS: Readonly<Record<string, number | null>> = { ...DEFAULT_LIMITS, ...DEFAULT_TIMEOUTS }
const RULES: Readonly<Record<string, { readonly kind: string }>> = { ...LIMIT_RULES.table, ...TIMEOUT_RULES.table }
const UNITS = [
  [1024 * 1024 * 1024, 'GiB'],
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
] as const

/** A value with its unit: `10 MiB`, `5 s`, `none`. */
export function limitText(name: string, value: number | null): string {
  if (value === null) return 'none'
  const kind = RULES[name]?.kind
  if (kind === 'size') {
    const unit = UNITS.find(([size]) => value >= size && value % size === 0)
    return unit === undefined ? `${value} B` : `${value / unit[0]} ${unit[1]}`
  }
  if (kind === 'rate') return `${value} B/s`
  if (kind !== 'duration') return String(value)
  return value >= 1000 && value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`
}

/** The level that has set a limit. A server whose value is the default counts as not having set it. */
export function setBy(name: string, value: number | null, level: Level): Level | 'default' {
  return level === 'server' && value === DEFAULTS[name] ? 'default' : level
}
