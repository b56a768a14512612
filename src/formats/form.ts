// application/x-www-form-urlencoded: text in, names and values out (https://url.spec.whatwg.org/#urlencoded-parsing).
//
// Names are flat text. `a[b]` is a name like any other; only a `[]` at its end means something, and only in `foldForm`.

import { PayloadTooLargeError } from '../base/errors.ts'

import { decodeFormText } from './percent.ts'

/** How many pairs a form or a query may have when nobody says otherwise. Go's and PHP's default is 1,000 as well. */
export const DEFAULT_MAX_FORM_PAIRS = 1000

/** What `foldForm` makes. Without a prototype: `constructor` and `__proto__` are names like any other. */
export type FormRecord = Record<string, string | string[]>

/**
 * The pairs of a urlencoded text in their order, as one list: name, value, name, value.
 *
 * Reads what `new URLSearchParams(text)` reads, but for a leading `?`, which is part of the first name here: `+` is a space, a
 * malformed `%` stays as it is, bytes that are not UTF-8 become U+FFFD, empty pieces between `&` are skipped. (Node 20 itself garbles
 * characters above U+007F beside a malformed escape; we do not.)
 *
 * @param maxPairs how many pairs are allowed; each is counted before it is made
 * @throws PayloadTooLargeError naming `maxFormPairs`
 */
export function parseForm(text: string, maxPairs: number = DEFAULT_MAX_FORM_PAIRS): string[] {
  const pairs: string[] = []
  const end = text.length
  const plain = !(text.includes('%') || text.includes('+'))
  let equals = -2
  for (let start = 0; start < end; ) {
    let stop = text.indexOf('&', start)
    if (stop === -1) stop = end
    if (stop > start) {
      if (pairs.length === maxPairs * 2) throw new PayloadTooLargeError('maxFormPairs', maxPairs)
      // Looked for again only once it lies behind us: a text without `=` is not searched to its end for every piece.
      if (equals < start && equals !== -1) equals = text.indexOf('=', start)
      const split = equals === -1 || equals > stop ? stop : equals
      const name = text.slice(start, split)
      const value = split === stop ? '' : text.slice(split + 1, stop)
      if (plain) pairs.push(name, value)
      else pairs.push(decodeFormText(name), decodeFormText(value))
    }
    start = stop + 1
  }
  return pairs
}

/**
 * Folds the pairs of `parseForm` to one record: name to value, or to a list of values where the name repeats or ends in `[]`.
 * The key is the name without that `[]`, so that `tag=a&tag=b`, `tag[]=a&tag[]=b` and `tag=a&tag[]=b` are read alike; one `tag[]`
 * is a list of one.
 *
 * @param record what is filled: an empty one that has nothing but what is put into it
 */
export function foldForm(pairs: readonly string[], record: FormRecord = Object.create(null)): FormRecord {
  for (let i = 0; i < pairs.length; i += 2) {
    const name = pairs[i]!
    const value = pairs[i + 1]!
    const isList = name.endsWith('[]')
    const key = isList ? name.slice(0, -2) : name
    const present = record[key]
    if (present === undefined) record[key] = isList ? [value] : value
    else if (typeof present === 'string') record[key] = [present, value]
    else present.push(value)
  }
  return record
}
