// Accept: which media types a client prefers (RFC 9110 §12.5.1).

import { trimBlanks } from '../base/ascii.ts'

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * The quality that the value of an Accept field gives to a media type, from 0 to 1: that of the most specific range that has it. A range with
 * a malformed quality counts as 0. Parameters other than `q` are ignored.
 * @param type `type/subtype` in lower case
 */
export function qualityOf(accept: string, type: string): number {
  const anySubtype = `${type.slice(0, type.indexOf('/'))}/*`
  let best = -1
  let quality = 0
  for (const entry of accept.split(',')) {
    const [range, ...parameters] = entry.split(';').map((part) => trimBlanks(part, 0, part.length).toLowerCase())
    const specificity = ['*/*', anySubtype, type].indexOf(range!)
    if (specificity === -1 || specificity < best) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
    const own = QUALITY.test(q) ? Number(q) : 0
    quality = specificity > best ? own : Math.max(own, quality)
    best = specificity
  }
  return quality
}
