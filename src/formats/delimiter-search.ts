// Where does the delimiter of a multipart body stand? CRLF, two dashes and the boundary, and nothing about what follows it.
//
// Looks at one aligned 32-bit word for every 4, 8, ... bytes, so far apart that a needle cannot stand between two of them: any needle
// covers one that is looked at. A word that does not occur in the needle ends the matter, and no look waits for the one before it, as
// each skip of Horspool does. NUMBERS

import { CR } from '../base/ascii.ts'

const HASH_BITS = 12
const HASH_FACTOR = 0x9e3779b1

/** From here on the two tables (8 KiB) pay for themselves. Most forms are smaller. */
const TABLES_WORTH_BYTES = 4096

/** From this length on there are eight bytes or more between two words; below, single bytes further apart are the faster sample. */
const MIN_WORD_NEEDLE = 11

export class DelimiterSearch {
  /** What is looked for. Its only CR is its first byte: `tail`, and whoever goes on matching in the next chunk, rely on it. */
  readonly needle: Uint8Array
  /** By the hash of a word: 1 + the first place in the needle where a word with that hash begins; 0 where there is none. */
  #firstPlace: Uint8Array | null = null
  /** The same, for the last such place. */
  #lastPlace: Uint8Array | null = null
  /** 1 for each byte that occurs in a short needle. */
  #occurs: Uint8Array | null = null
  /** The memory of the bytes searched last, as words. */
  #words: Int32Array = new Int32Array(0)

  /** @param needle begins with CR, has no other CR, and is 2 to 254 bytes long */
  constructor(needle: Uint8Array) {
    this.needle = needle
  }

  /** Index of the first whole needle between `from` and `to`, or -1. */
  find(bytes: Uint8Array, from: number, to: number): number {
    const length = this.needle.length
    if (to - from < TABLES_WORTH_BYTES) return this.#findBetween(bytes, from, to - length)
    return length < MIN_WORD_NEEDLE ? this.#findByBytes(bytes, from, to) : this.#findByWords(bytes, from, to)
  }

  /** How many bytes before `to` (and not before `from`) are the beginning of a needle that is not whole yet. */
  tail(bytes: Uint8Array, from: number, to: number): number {
    const needle = this.needle
    const first = Math.max(from, to - needle.length + 1)
    for (let at = to - 1; at >= first; at--) {
      if (bytes[at] !== CR) continue
      // A CR further left cannot help: the needle would have to hold this one.
      for (let k = 1; at + k < to; k++) if (bytes[at + k] !== needle[k]) return 0
      return to - at
    }
    return 0
  }

  #findByWords(bytes: Uint8Array, from: number, to: number): number {
    if (this.#firstPlace === null || this.#lastPlace === null) this.#buildTables()
    const firstPlace = this.#firstPlace!
    const lastPlace = this.#lastPlace!
    if (this.#words.buffer !== bytes.buffer) this.#words = new Int32Array(bytes.buffer, 0, bytes.buffer.byteLength >> 2)
    const words = this.#words
    const base = bytes.byteOffset
    const length = this.needle.length
    const stride = (length - 3) >> 2
    const end = (base + to) >> 2
    for (let word = (base + from + length - 4) >> 2; word < end; word += stride) {
      const hash = hashOf(words[word]!)
      if (firstPlace[hash] === 0) continue
      const at = word * 4 - base + 1
      const found = this.#findBetween(bytes, Math.max(from, at - lastPlace[hash]!), Math.min(to - length, at - firstPlace[hash]!))
      if (found !== -1) return found
    }
    return -1
  }

  /** The same for needles that are too short to hold an aligned word wherever they stand. */
  #findByBytes(bytes: Uint8Array, from: number, to: number): number {
    const occurs = (this.#occurs ??= occurrences(this.needle))
    const length = this.needle.length
    for (let at = from + length - 1; at < to; at += length) {
      if (occurs[bytes[at]!] === 0) continue
      const found = this.#findBetween(bytes, at - length + 1, Math.min(to - length, at))
      if (found !== -1) return found
    }
    return -1
  }

  /** Index of the first needle that begins at `first` or later and at `last` or earlier, or -1. */
  #findBetween(bytes: Uint8Array, first: number, last: number): number {
    for (let at = first; at <= last; at++) if (bytes[at] === CR && this.#isAt(bytes, at)) return at
    return -1
  }

  /**
   * The last byte first: boundaries that are alike share their beginnings (dashes, a product name). Then from the front, where the
   * next CR ends the comparison at the latest: all comparisons together are linear in the bytes, whatever they are.
   */
  #isAt(bytes: Uint8Array, start: number): boolean {
    const needle = this.needle
    const last = needle.length - 1
    if (bytes[start + last] !== needle[last]) return false
    for (let k = 1; k < last; k++) if (bytes[start + k] !== needle[k]) return false
    return true
  }

  #buildTables(): void {
    const needle = this.needle
    const firstPlace = new Uint8Array(1 << HASH_BITS)
    const lastPlace = new Uint8Array(1 << HASH_BITS)
    const word = new Int32Array(1)
    const wordBytes = new Uint8Array(word.buffer) // the machine's own byte order, as in `#words`
    for (let place = 0; place + 4 <= needle.length; place++) {
      wordBytes.set(needle.subarray(place, place + 4))
      const hash = hashOf(word[0]!)
      if (firstPlace[hash] === 0) firstPlace[hash] = place + 1
      lastPlace[hash] = place + 1
    }
    this.#firstPlace = firstPlace
    this.#lastPlace = lastPlace
  }
}

function occurrences(needle: Uint8Array): Uint8Array {
  const occurs = new Uint8Array(256)
  for (const byte of needle) occurs[byte] = 1
  return occurs
}

function hashOf(word: number): number {
  return Math.imul(word, HASH_FACTOR) >>> (32 - HASH_BITS)
}
