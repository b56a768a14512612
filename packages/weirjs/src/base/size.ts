// Sizes as options state them: `'10MiB'`, or bytes.

/**
 * Bytes, or a whole number with a unit: `'64KiB'`, `'10MiB'`, `'1GiB'`.
 * @example
 * const size: Size = '10MiB'
 * new HttpServer({ limits: { maxRequestBodySize: size } })
 * @see https://github.com/weirjs/weir/blob/main/docs/limits.md
 */
export type Size = number | `${number}${'B' | 'KiB' | 'MiB' | 'GiB'}`

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** The bytes; NaN if the value is not a size. */
export function bytesOf(size: unknown): number {
  if (typeof size === 'number') return size
  const [, digits, unit] = (typeof size === 'string' && /^(\d{1,12})(B|KiB|MiB|GiB)$/.exec(size)) || []
  return digits === undefined ? Number.NaN : Number(digits) * UNITS[unit!]!
}

/** What to write in place of `"25mb"`, whose unit other libraries accept. */
export function sizeHint(value: unknown): string {
  const [, digits, unit] = (typeof value === 'string' && /^(\d+) ?([kmg])i?b?$/i.exec(value)) || []
  return digits === undefined ? '' : `: write "${digits}${unit!.toUpperCase()}iB"`
}
