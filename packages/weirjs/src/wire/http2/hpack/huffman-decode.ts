// Reads Huffman-coded text (RFC 7541 §5.2), a byte at a time.
//
// A state is a position inside a code: one of the 256 inner nodes of the tree of codes. For each state and each byte, a table contains the next
// state and the bytes of text that are then complete: at most two, because no code is shorter than 5 bits.
//
// The table takes 256 KiB. Decoding takes 2 to 4 ns for each byte of text (Node 20, shared machine with two cores). The usual table by half
// bytes is a sixteenth of the size, and takes twice as long.

import { CODE_LENGTHS, CODES, EOS } from './huffman-code.ts'

/** The entry for a complete EOS, which must not be sent. No other entry has this value. */
const REFUSED = 0xffff_ffff
/** The result for text that is not valid. */
export const INVALID = -1
/** Padding is shorter than a byte. */
const MOST_PADDING_BITS = 7

// Inner nodes are numbered from 0, the root. A leaf is -1 - symbol.
const NO_NODE = 0
const leafOf = (symbol: number): number => -1 - symbol

/** For each state and byte: the bytes that are complete in bits 0 to 15, their number in 16 and 17, the next state from 18 on. */
const TABLE = new Uint32Array(256 * 256)
/** Whether text may end in a state: at the end of a code, or after nothing but the first bits of EOS. */
const MAY_END = new Uint8Array(256)

build()

/**
 * Decodes `bytes[from, to)` into `text`, which has room for twice as many bytes and two more.
 * @returns how many bytes of text there are, or `INVALID`: EOS, or padding that is too long or is not the beginning of EOS
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, text: Uint8Array): number {
  let state = 0
  let length = 0
  for (let at = from; at < to; at++) {
    const entry = TABLE[(state << 8) | bytes[at]!]!
    if (entry === REFUSED) return INVALID
    text[length] = entry
    text[length + 1] = entry >>> 8
    length += (entry >>> 16) & 3
    state = entry >>> 18
  }
  return MAY_END[state] === 1 ? length : INVALID
}

function build(): void {
  const tree = buildTree()
  for (let state = 0; state < tree.length; state++) {
    for (let byte = 0; byte < 256; byte++) TABLE[(state << 8) | byte] = step(tree, state, byte)
  }
  let node = 0
  for (let bits = 0; bits <= MOST_PADDING_BITS; bits++) {
    MAY_END[node] = 1
    node = tree[node]![1]
  }
}

/** For each inner node, what follows a 0 and what follows a 1. */
function buildTree(): (readonly [number, number])[] {
  const tree: [number, number][] = [[NO_NODE, NO_NODE]]
  for (let symbol = 0; symbol <= EOS; symbol++) {
    let node = 0
    for (let bit = CODE_LENGTHS[symbol]! - 1; bit >= 0; bit--) {
      const side = (CODES[symbol]! >>> bit) & 1
      const next = tree[node]![side]!
      if (bit === 0) tree[node]![side] = leafOf(symbol)
      else if (next !== NO_NODE) node = next
      else {
        tree[node]![side] = tree.length
        node = tree.push([NO_NODE, NO_NODE]) - 1
      }
    }
  }
  return tree
}

function step(tree: readonly (readonly [number, number])[], state: number, byte: number): number {
  let node = state
  let text = 0
  let count = 0
  for (let bit = 7; bit >= 0; bit--) {
    node = tree[node]![(byte >>> bit) & 1]!
    if (node >= 0) continue
    const symbol = leafOf(node)
    if (symbol === EOS) return REFUSED
    text |= symbol << (8 * count++)
    node = 0
  }
  return ((node << 18) | (count << 16) | text) >>> 0
}
