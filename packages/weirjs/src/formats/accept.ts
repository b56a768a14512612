// The fields of an Accept family: what a client prefers (RFC 9110 §12.4.2, §12.5).

import { trimBlanks } from '../base/ascii.ts'

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** The quality that the value of an Accept field gives to a media type, from 0 to 1. @param type `type/subtype` in lower case */
export function qualityOf(accept: string, type: string): number {
  return qualityAmong(accept, ['*/*', `${type.slice(0, type.indexOf('/'))}/*`, type]) ?? 0
}

/**
 * The quality of the most specific of the ranges that the value lists, the highest if it lists it twice; null if it lists none. A malformed
 * quality counts as 0. Parameters other than `q` are ignored.
 * @param ranges in lower case, the most specific last
 */
export function qualityAmong(value: string, ranges: readonly string[]): number | null {
  let best = -1
  let quality: number | null = null
  for (const entry of value.split(',')) {
    const [range, ...parameters] = entry.split(';').map((part) => trimBlanks(part, 0, part.length).toLowerCase())
    const specificity = ranges.indexOf(range!)
    if (specificity === -1 || specificity < best) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
    const own = QUALITY.test(q) ? Number(q) : 0
    quality = specificity > best ? own : Math.max(own, quality ?? 0)
    best = specificity
  }
  return quality
}
