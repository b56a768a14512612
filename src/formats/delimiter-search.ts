// Where does the delimiter of a multipart body stand? CRLF, two dashes and the boundary, and nothing about what follows it.
//
// Looks at aligned 32-bit words, so far apart that no needle fits between two of them. A word that does not occur in the needle ends
// the matter, and no look waits for the one before it, as each skip of Horspool does. The client chooses both the boundary and the
// bytes, so no pair of them may be slow: where too many words occur in the needle, and for needles that are too short, it is Horspool.
// NUMBERS

import { CR } from '../base/ascii.ts'

const HASH_BITS = 12
const HASH_FACTOR = 0x9e3779b1

/** From here on the table of Horspool (256 bytes) pays for itself, */
const SKIPS_WORTH_BYTES = 512
/** and from here on the tables of words (8 KiB). Most forms are smaller. */
const WORDS_WORTH_BYTES = 4096
/** From this length on there are eight bytes or more between two words. */
const WORDS_WORTH_NEEDLE = 11

/** Words that occur in the needle but belong to none: when there were so many and they are more than one in so many, Horspool is faster. */
const MISSES = 8
const ONE_IN = 8

export class DelimiterSearch {
  /** What is looked for. Its only CR is its first byte: `tail`, and whoever goes on matching in the next chunk, rely on it. */
  readonly needle: Uint8Array
  /** By the hash of a word: 1 + the first place in the needle where a word with that hash begins; 0 where there is none. */
  #firstPlace: Uint8Array | null = null
  /** The same, for the last such place. */
  #lastPlace: Uint8Array | null = null
  /** By the byte under the needle's end: how far the needle has to move on. */
  #skips: Uint8Array | null = null
  /** The memory of the bytes searched last, as words. */
  #words: Int32Array = new Int32Array(0)

  /** @param needle begins with CR, has no other CR, and is 2 to 254 bytes long */
  constructor(needle: Uint8Array) {
    this.needle = needle
  }

  /** Index of the first whole needle between `from` and `to`, or -1. */
  find(bytes: Uint8Array, from: number, to: number): number {
    const size = to - from
    if (size >= WORDS_WORTH_BYTES && this.needle.length >= WORDS_WORTH_NEEDLE) return this.#findByWords(bytes, from, to)
    if (size >= SKIPS_WORTH_BYTES) return this.#findBySkips(bytes, from, to)
    return this.#findBetween(bytes, from, to - this.needle.length)
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
    if (this.#firstPlace === null || this.#lastPlace === null) this.#buildPlaces()
    const firstPlace = this.#firstPlace!
    const lastPlace = this.#lastPlace!
    if (this.#words.buffer !== bytes.buffer) this.#words = new Int32Array(bytes.buffer, 0, bytes.buffer.byteLength >> 2)
    const words = this.#words
    const base = bytes.byteOffset
    const length = this.needle.length
    const stride = (length - 3) >> 2
    const begin = (base + from + length - 4) >> 2
    const end = (base + to) >> 2
    let misses = 0
    for (let word = nextWord(words, begin, end, stride, firstPlace); word < end; word = nextWord(words, word, end, stride, firstPlace)) {
      const hash = hashOf(words[word]!)
      const at = word * 4 - base
      const first = at + 1 - lastPlace[hash]!
      const last = at + 1 - firstPlace[hash]!
      const found = this.#findBetween(bytes, Math.max(first, from), Math.min(last, to - length))
      if (found !== -1) return found
      word += stride
      if (++misses >= MISSES && misses * ONE_IN * stride > word - begin) return this.#findBySkips(bytes, Math.max(from, at + 1), to)
    }
    return -1
  }

  /** Horspool's way. */
  #findBySkips(bytes: Uint8Array, from: number, to: number): number {
    const needle = this.needle
    const end = needle.length - 1
    const lastByte = needle[end]!
    const skips = (this.#skips ??= skipsOf(needle))
    for (let at = from + end; at < to; ) {
      const byte = bytes[at]!
      if (byte === lastByte && this.#findBetween(bytes, at - end, at - end) !== -1) return at - end
      at += skips[byte]!
    }
    return -1
  }

  /**
   * Index of the first needle that begins at `first` or later and at `last` or earlier, or -1.
   *
   * The last byte first: boundaries that are alike share their beginnings (dashes, a product name). Then from the front, where the
   * next CR ends the comparison at the latest: all comparisons together are linear in the bytes, whatever they are.
   */
  #findBetween(bytes: Uint8Array, first: number, last: number): number {
    const needle = this.needle
    const end = needle.length - 1
    const lastByte = needle[end]!
    for (let at = first; at <= last; at++) {
      if (bytes[at] !== CR || bytes[at + end] !== lastByte) continue
      let k = 1
      while (k < end && bytes[at + k] === needle[k]) k++
      if (k === end) return at
    }
    return -1
  }

  #buildPlaces(): void {
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

/**
 * The first of the words `from`, `from + stride`, ... before `end` that may occur in the needle, or where they end.
 *
 * A function of its own, without a call in it, so that the compiler keeps all that does not change in registers; and four words a
 * turn: each of the two is half as fast again.
 */
function nextWord(words: Int32Array, from: number, end: number, stride: number, occurs: Uint8Array): number {
  let word = from
  if (word < end && occurs[hashOf(words[word]!)] !== 0) return word // where many occur, four at once only get in the way
  for (const lastTurn = end - 3 * stride; word < lastTurn; word += 4 * stride) {
    const one = occurs[hashOf(words[word]!)]!
    const two = occurs[hashOf(words[word + stride]!)]!
    const three = occurs[hashOf(words[word + 2 * stride]!)]!
    const four = occurs[hashOf(words[word + 3 * stride]!)]!
    if ((one | two | three | four) !== 0) break
  }
  while (word < end && occurs[hashOf(words[word]!)] === 0) word += stride
  return word
}

function hashOf(word: number): number {
  return Math.imul(word, HASH_FACTOR) >>> (32 - HASH_BITS)
}

function skipsOf(needle: Uint8Array): Uint8Array {
  const skips = new Uint8Array(256).fill(needle.length)
  const last = needle.length - 1
  for (let k = 0; k < last; k++) skips[needle[k]!] = last - k
  return skips
}
