import { Buffer } from 'node:buffer'

/** V8 copies shorter texts, so they are never slices of others. */
const SHORTEST_PART = 13
const LATIN1 = /^[\0-\xff]*$/

/**
 * The same text in memory of its own. A slice of a text keeps the whole text in memory, such as the head of a request. So a text that outlives its
 * request has to be copied, or a bound on the kept text does not bound the memory. The copy is also in one piece, whereas V8 only links the parts
 * of a concatenation.
 */
export function ownText(text: string): string {
  if (text.length < SHORTEST_PART) return text
  const encoding = LATIN1.test(text) ? 'latin1' : 'utf16le'
  return Buffer.from(text, encoding).toString(encoding)
}
