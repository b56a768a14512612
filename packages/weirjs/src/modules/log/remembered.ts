// Remembers the escaped form of texts that many requests have in common, such as the name of a browser, so that they need not be searched again
// each time.

import { ownText } from '../../base/own-text.ts'

/** A power of two. */
const SLOTS = 256
/** Longer texts are rarely sent again. */
const MOST_CHARS = 256

/** Returns a function that returns what `write` does. Each text has one place, in which the next text may replace it. */
export function remembered(write: (text: string) => string): (text: string) => string {
  const texts: string[] = new Array(SLOTS).fill('')
  const lines: string[] = new Array(SLOTS).fill('')
  return (text) => {
    const { length } = text
    if (length === 0 || length > MOST_CHARS) return write(text)
    const place =
      (length * 31 + text.charCodeAt(length - 1) * 7 + text.charCodeAt(length >> 1) * 3 + text.charCodeAt(length >> 2)) & (SLOTS - 1)
    if (texts[place] !== text) {
      lines[place] = ownText(write(text))
      texts[place] = ownText(text)
    }
    return lines[place]!
  }
}
