// A second reader of DEFLATE (RFC 1951), bit by bit and without zlib: slow, and simple enough to be believed. It says what a compressed message of a
// WebSocket (RFC 7692 §7.2.2) is, and whether it is whole.

/** The bits of a stream, the lowest of each byte first. */
class Bits {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length * 8
  }

  take(count: number): number {
    let value = 0
    for (let i = 0; i < count; i++) {
      const byte = this.#bytes[this.#at >> 3]
      if (byte === undefined) throw new Broken()
      value |= ((byte >> (this.#at & 7)) & 1) << i
      this.#at++
    }
    return value
  }

  /** After `align`. */
  get bytesLeft(): number {
    return this.#bytes.length - (this.#at >> 3)
  }

  align(): void {
    this.#at = (this.#at + 7) & ~7
  }
}

/** The end of each message, which its sender has cut off. */
const CUT_OFF = Buffer.from([0, 0, 0xff, 0xff])

class Broken extends Error {}
class TooLarge extends Error {}

/** How many codes there are of each length, and the symbols in the order of their codes. */
interface Code {
  readonly counts: readonly number[]
  readonly symbols: readonly number[]
}

const MOST_BITS = 15

/** @param mayBeShort whether a code of a single bit, or none, may leave others unused */
function codeOf(lengths: readonly number[], mayBeShort: boolean): Code {
  const counts = new Array<number>(MOST_BITS + 1).fill(0)
  for (const length of lengths) counts[length]!++
  counts[0] = 0
  let left = 1
  for (let length = 1; length <= MOST_BITS; length++) {
    left = left * 2 - counts[length]!
    if (left < 0) throw new Broken()
  }
  const used = counts.reduce((sum, one) => sum + one)
  if (left > 0 && !(mayBeShort && (used === 0 || (used === 1 && counts[1] === 1)))) throw new Broken()
  const symbols = lengths.map((length, symbol) => ({ length, symbol })).filter(({ length }) => length > 0)
  return { counts, symbols: symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol).map(({ symbol }) => symbol) }
}

function symbolOf(bits: Bits, { counts, symbols }: Code): number {
  let [code, first, index] = [0, 0, 0]
  for (let length = 1; length <= MOST_BITS; length++) {
    code |= bits.take(1)
    const count = counts[length]!
    if (code - count < first) return symbols[index + code - first]!
    index += count
    first = (first + count) << 1
    code <<= 1
  }
  throw new Broken()
}

/** Bases and extra bits of the lengths 257 to 285, and of the distances (§3.2.5). */
const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258]
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const DISTANCE_BITS = Array.from({ length: 30 }, (_, i) => Math.max(0, (i >> 1) - 1))
const DISTANCES = DISTANCE_BITS.map((_, i) => DISTANCE_BITS.slice(0, i).reduce((sum, extra) => sum + 2 ** extra, 1))
/** The order of the code lengths of the code lengths (§3.2.7). */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
const FIXED = {
  literals: codeOf([...Array(144).fill(8), ...Array(112).fill(9), ...Array(24).fill(7), ...Array(8).fill(8)], false),
  distances: codeOf(Array(32).fill(5), false),
}

function codesOf(bits: Bits): { readonly literals: Code; readonly distances: Code } {
  const [literalCount, distanceCount, orderCount] = [bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4]
  if (literalCount > 286 || distanceCount > 30) throw new Broken()
  const orders = new Array<number>(19).fill(0)
  for (let i = 0; i < orderCount; i++) orders[ORDER[i]!] = bits.take(3)
  const lengthCode = codeOf(orders, false)
  const lengths: number[] = []
  while (lengths.length < literalCount + distanceCount) {
    const symbol = symbolOf(bits, lengthCode)
    if (symbol < 16) lengths.push(symbol)
    else if (symbol === 16) {
      const last = lengths.at(-1)
      if (last === undefined) throw new Broken()
      lengths.push(...Array<number>(3 + bits.take(2)).fill(last))
    } else lengths.push(...Array<number>(symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7)).fill(0))
  }
  if (lengths.length > literalCount + distanceCount || lengths[256] === 0) throw new Broken()
  return { literals: codeOf(lengths.slice(0, literalCount), true), distances: codeOf(lengths.slice(literalCount), true) }
}

export type Reading = 'broken' | 'too large' | Buffer

/**
 * @param history what messages before have left, to which this one may refer; it grows by the message
 * @param most bytes
 * @param mostStreams of which the message may consist
 */
export function readMessage(payload: Uint8Array, history: number[], most: number, mostStreams: number): Reading {
  if (payload.length === 0) return Buffer.alloc(0)
  const bits = new Bits(Buffer.concat([payload, CUT_OFF]))
  const start = history.length
  const put = (byte: number): void => {
    if (history.length - start >= most) throw new TooLarge()
    history.push(byte)
  }
  try {
    for (let streams = 1; !bits.isAtEnd; ) {
      const isLast = bits.take(1) === 1
      const kind = bits.take(2)
      if (kind === 3) throw new Broken()
      if (kind === 0) readStored(bits, put)
      else readCompressed(bits, kind === 1 ? FIXED : codesOf(bits), history, put)
      if (!isLast) continue
      bits.align()
      if (++streams > mostStreams) throw new Broken()
    }
  } catch (error) {
    if (error instanceof TooLarge) return 'too large'
    if (error instanceof Broken) return 'broken'
    throw error
  }
  return Buffer.from(history.slice(start))
}

/** What was cut off is no data: a message that takes it as such lacks its end. */
function readStored(bits: Bits, put: (byte: number) => void): void {
  bits.align()
  const length = bits.take(16)
  if ((bits.take(16) ^ 0xffff) !== length) throw new Broken()
  if (length > 0 && length > bits.bytesLeft - CUT_OFF.length) throw new Broken()
  for (let i = 0; i < length; i++) put(bits.take(8))
}

function readCompressed(bits: Bits, codes: typeof FIXED, history: readonly number[], put: (byte: number) => void): void {
  for (;;) {
    const symbol = symbolOf(bits, codes.literals)
    if (symbol === 256) return
    if (symbol < 256) put(symbol)
    else {
      const length = LENGTHS[symbol - 257]
      if (length === undefined) throw new Broken()
      const total = length + bits.take(LENGTH_BITS[symbol - 257]!)
      const distanceSymbol = symbolOf(bits, codes.distances)
      const distance = DISTANCES[distanceSymbol]
      if (distance === undefined) throw new Broken()
      const back = distance + bits.take(DISTANCE_BITS[distanceSymbol]!)
      if (back > history.length) throw new Broken()
      for (let i = 0; i < total; i++) put(history[history.length - back]!)
    }
  }
}
