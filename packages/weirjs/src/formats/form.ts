// application/x-www-form-urlencoded: text or bytes in, names and values out (https://url.spec.whatwg.org/#urlencoded-parsing).
//
// Names are flat text. `a[b]` is a name like any other. Only a `[]` at the end has a meaning, and only in `foldForm`.

import { Buffer } from 'node:buffer'

import { AMPERSAND, CLOSE_BRACKET, EQUALS, PERCENT, PLUS, SP } from '../base/ascii.ts'
import { PayloadTooLargeError } from '../base/errors.ts'

import { type Charset, decodeText } from './charset.ts'
import { hexPair } from './percent.ts'

/** How many pairs a form or a query may have by default. Go and PHP also use 1,000. */
export const DEFAULT_MAX_FORM_PAIRS = 1000

/** What `foldForm` returns. It has no prototype: `constructor` and `__proto__` are names like any other. */
export type FormRecord = Record<string, string | string[]>

/**
 * The pairs of a url-encoded text in their order, as one list: name, value, name, value.
 *
 * It reads the same as `new URLSearchParams(text)`: `+` is a space, a malformed `%` stays unchanged, bytes that are not UTF-8 become
 * U+FFFD, and empty pieces between `&` are skipped. There are two differences: a leading `?` is part of the first name, and characters
 * above U+007F next to a malformed escape are read correctly, which Node 20 garbles.
 *
 * @param maxPairs how many pairs are allowed; each is counted before it is created
 * @throws PayloadTooLargeError naming `maxFormPairs`
 */
export function parseForm(text: string, maxPairs: number = DEFAULT_MAX_FORM_PAIRS): string[] {
  const list = new PairList(maxPairs, NO_NAMES)
  if (!text.includes('%') && !text.includes('+')) readPlain(text, list)
  else if (text.length * MOST_BYTES_A_UNIT <= SHORT_BYTES) readEscaped(scratch, 0, scratch.write(text), 'utf-8', scratch, list)
  else {
    const bytes = Buffer.from(text)
    readEscaped(bytes, 0, bytes.length, 'utf-8', bytes, list)
  }
  return list.pairs
}

/**
 * The same for the bytes `[from, to)`. They do not have to be UTF-8: a character of which only some bytes are escaped is put together, as
 * the standard requires, and bytes that are not a character become U+FFFD.
 *
 * @param expected names that are likely to arrive, in about this order. A name that is found among them is returned as that same string.
 *   Such a string is already known to property look-ups; a name cut out of a text would first have to be looked up among all names
 * @param charset of the bytes, escaped or not
 * @throws PayloadTooLargeError naming `maxFormPairs`
 */
export function parseFormBytes(
  bytes: Buffer,
  from: number,
  to: number,
  maxPairs: number,
  expected: readonly string[],
  charset: Charset = 'utf-8',
): PairList {
  const list = new PairList(maxPairs, expected)
  const size = to - from
  if (size <= SHORT_BYTES) readEscaped(bytes, from, to, charset, scratch, list)
  else if (hasEscapes(bytes.subarray(from, to))) readEscaped(bytes, from, to, charset, Buffer.allocUnsafeSlow(size), list)
  else readPlain(decodeText(bytes, from, to, charset), list)
  return list
}

/** Called for long forms only: if nothing has to be decoded, slicing their text is faster than reading their bytes one by one. */
function hasEscapes(bytes: Buffer): boolean {
  return bytes.includes(PERCENT) || bytes.includes(PLUS)
}

const NO_NAMES: readonly string[] = []

/** The pairs of a form, and what was learned while reading them. */
export class PairList {
  /** Name, value, name, value. */
  readonly pairs: string[] = []
  /** Whether every name was expected and arrived once, so that there is nothing to fold. */
  isFlat = true
  readonly #maxPairs: number
  readonly #expected: readonly string[]
  /** Index of the expected name that may arrive next. */
  #next = 0

  constructor(maxPairs: number, expected: readonly string[]) {
    this.#maxPairs = maxPairs
    this.#expected = expected
  }

  /** Counts a pair before it is created. */
  checkRoom(count: number): void {
    if (count >= this.#maxPairs) throw new PayloadTooLargeError('maxFormPairs', this.#maxPairs)
  }

  /** Adds a name and a value that are slices of `text`. */
  add(text: string, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    this.pairs.push(this.#nameIn(text, nameStart, nameEnd), text.slice(valueStart, valueEnd))
  }

  /** Adds a name and a value that were decoded separately. */
  addTexts(name: string, value: string): void {
    this.pairs.push(this.#nameIn(name, 0, name.length), value)
  }

  #nameIn(text: string, start: number, end: number): string {
    const expected = this.#expected
    // A checkbox that is not ticked is not sent, so the name after it may arrive too.
    for (let i = this.#next; i < this.#next + 2 && i < expected.length; i++) {
      const name = expected[i]!
      if (name.length !== end - start || !text.startsWith(name, start)) continue
      this.#next = i + 1
      // A name may end in `[]`, which `foldForm` removes. Folding a form that needs none changes nothing.
      if (name.charCodeAt(name.length - 1) === CLOSE_BRACKET) this.isFlat = false
      return name
    }
    this.isFlat = false
    return text.slice(start, end)
  }
}

/** Reads a text in which nothing has to be decoded. */
function readPlain(text: string, list: PairList): void {
  const end = text.length
  let equals = -2
  for (let start = 0; start < end; ) {
    let stop = text.indexOf('&', start)
    if (stop === -1) stop = end
    if (stop > start) {
      list.checkRoom(list.pairs.length / 2)
      // Search again only once the last `=` was passed: otherwise a text without `=` would be searched to its end for every piece.
      if (equals < start && equals !== -1) equals = text.indexOf('=', start)
      const split = equals === -1 || equals > stop ? stop : equals
      list.add(text, start, split, Math.min(split + 1, stop), stop)
    }
    start = stop + 1
  }
}

/** Forms of up to this size, which nearly all are, are decoded in a buffer that is allocated once. */
const SHORT_BYTES = 4096
const MOST_BYTES_A_UNIT = 3
const scratch = Buffer.allocUnsafeSlow(SHORT_BYTES)
const shortCuts: number[] = []

/**
 * Decodes all of the form as bytes, because a character may be spread over several `%xx`, and slices the result afterwards: creating one
 * string and slicing it costs half as much as decoding each name and each value. The decoded bytes may overwrite the input, because the
 * write position is never ahead of the read position.
 */
function readEscaped(bytes: Buffer, from: number, to: number, charset: Charset, decoded: Buffer, list: PairList): void {
  /** For each piece: where it begins, where its name ends (-1 if it has no `=`), and where it ends. */
  const cuts = decoded === scratch ? shortCuts : []
  let count = 0
  let length = 0
  let start = 0
  let nameEnd = -1
  let bits = 0
  for (let at = from; at <= to; at++) {
    let byte = at === to ? AMPERSAND : bytes[at]!
    if (byte === AMPERSAND) {
      if (length > start || nameEnd !== -1) {
        list.checkRoom(count / 3)
        cuts[count++] = start
        cuts[count++] = nameEnd
        cuts[count++] = length
      }
      start = length
      nameEnd = -1
      continue
    }
    if (byte === EQUALS && nameEnd === -1) {
      nameEnd = length
      continue
    }
    if (byte === PLUS) byte = SP
    else if (byte === PERCENT) {
      const value = at + 2 < to ? hexPair(bytes[at + 1]!, bytes[at + 2]!) : -1
      if (value !== -1) {
        byte = value
        at += 2
      }
    }
    bits |= byte
    decoded[length++] = byte
  }
  const text = bits < 0x80 ? decoded.toString('latin1', 0, length) : null
  for (let i = 0; i < count; i += 3) {
    const end = cuts[i + 2]!
    const split = cuts[i + 1] === -1 ? end : cuts[i + 1]!
    if (text !== null) list.add(text, cuts[i]!, split, split, end)
    else list.addTexts(decodeText(decoded, cuts[i]!, split, charset), decodeText(decoded, split, end, charset))
  }
}

/**
 * Folds the pairs of `parseForm` into one record: name to value, or to a list of values if the name repeats or ends in `[]`. The key is the
 * name without that `[]`, so `tag=a&tag=b`, `tag[]=a&tag[]=b` and `tag=a&tag[]=b` are read the same. A single `tag[]` is a list of one.
 *
 * @param record the record to fill: empty, with no properties but those that are set on it
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
