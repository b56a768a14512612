import { Buffer } from 'node:buffer'

/** Shorter texts are never parts of others: V8 copies them. */
const SHORTEST_PART = 13
const LATIN1 = /^[\0-\xff]*$/

/**
 * The same text in memory of its own. A part of a text keeps the whole in memory, such as the head of a request: whatever outlives its request
 * has to be copied, or a bound on what is kept says nothing. It is also in one piece: what was concatenated is only linked.
 */
export function ownText(text: string): string {
  if (text.length < SHORTEST_PART) return text
  const encoding = LATIN1.test(text) ? 'latin1' : 'utf16le'
  return Buffer.from(text, encoding).toString(encoding)
}
