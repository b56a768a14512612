// How the text of a form is encoded: UTF-8, unless the client states windows-1252.
//
// Under that name, and under the names of ISO-8859-1 and US-ASCII, browsers read and write windows-1252
// (https://encoding.spec.whatwg.org/#names-and-labels), which differs from ISO-8859-1 only in 0x80 to 0x9F. Other encodings are not
// supported: guessing would change the text, and with encodings that are not supersets of ASCII one name or value could pass for another.

import { Buffer } from 'node:buffer'

export type Charset = 'utf-8' | 'windows-1252'

/** The supported charsets, as clients are told. */
export const CHARSETS: readonly string[] = Object.freeze(['utf-8', 'windows-1252', 'iso-8859-1', 'us-ascii'])

/** All labels of windows-1252 in the Encoding standard. */
const LATIN =
  /^(ansi_x3\.4-1968|(us-)?ascii|((x-)?cp|windows-)1252|(cp|ibm)819|l1|(csiso)?latin1|iso(-ir-100|88591|[-_]?8859-1|_8859-1:1987))$/i

/** The characters for 0x80 to 0x9F. */
const C1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** @param label a `charset` parameter, or undefined @returns null for an unsupported encoding */
export function charsetOf(label: string | undefined): Charset | null {
  if (label === undefined || /^utf-?8$/i.test(label)) return 'utf-8'
  return LATIN.test(label) ? 'windows-1252' : null
}

/** Decodes the bytes `[from, to)`. Bytes that are not UTF-8 become U+FFFD. */
export function decodeText(bytes: Buffer, from: number, to: number, charset: Charset): string {
  const text = bytes.toString(charset === 'utf-8' ? charset : 'latin1', from, to)
  if (charset === 'utf-8' || !/[\x80-\x9f]/.test(text)) return text
  // `replace` would call a function for each of them.
  const all = Buffer.from(text, 'utf16le')
  for (let i = 0; i < all.length; i += 2) if (all[i]! >> 5 === 4) all.writeUInt16LE(C1.charCodeAt(all[i]! % 32), i)
  return all.toString('utf16le')
}

/** Skips a BOM (WHATWG Encoding). `toString` would keep it. */
export function textStart(bytes: Buffer, start: number, end: number): number {
  const hasBom = end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
  return hasBom ? start + 3 : start
}
