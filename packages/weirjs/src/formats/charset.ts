// How the text of a form is encoded: UTF-8, unless the client states windows-1252.
//
// Under that name, and under the names of ISO-8859-1 and US-ASCII, browsers read and write windows-1252
// (https://encoding.spec.whatwg.org/#names-and-labels), which differs from ISO-8859-1 only in 0x80 to 0x9F. Other encodings are not
// supported: guessing would change the text, and with encodings that are not supersets of ASCII one name or value could pass for another.

import type { Buffer } from 'node:buffer'

export type Charset = 'utf-8' | 'windows-1252'

/** The supported charsets, as clients are told. */
export const CHARSETS: readonly string[] = Object.freeze(['utf-8', 'windows-1252', 'iso-8859-1', 'us-ascii'])

const UTF_8 = /^utf-?8$/i

const WINDOWS_1252: ReadonlySet<string> = new Set([
  'ansi_x3.4-1968',
  'ascii',
  'cp1252',
  'cp819',
  'csisolatin1',
  'ibm819',
  'iso-8859-1',
  'iso-ir-100',
  'iso8859-1',
  'iso88591',
  'iso_8859-1',
  'iso_8859-1:1987',
  'l1',
  'latin1',
  'us-ascii',
  'windows-1252',
  'x-cp1252',
])

/** The characters for 0x80 to 0x9F. */
const C1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/** @param label a `charset` parameter, or undefined @returns null for an unsupported encoding */
export function charsetOf(label: string | undefined): Charset | null {
  if (label === undefined || UTF_8.test(label)) return 'utf-8'
  return WINDOWS_1252.has(label.toLowerCase()) ? 'windows-1252' : null
}

/** Decodes the bytes `[from, to)`. Bytes that are not UTF-8 become U+FFFD. */
export function decodeText(bytes: Buffer, from: number, to: number, charset: Charset): string {
  if (charset === 'utf-8') return bytes.toString('utf8', from, to)
  return bytes.toString('latin1', from, to).replace(/[\x80-\x9f]/g, (one) => C1[one.charCodeAt(0) - 0x80]!)
}

/** Skips a BOM (WHATWG Encoding). `toString` would keep it. */
export function textStart(bytes: Buffer, start: number, end: number): number {
  const hasBom = end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf
  return hasBom ? start + 3 : start
}
