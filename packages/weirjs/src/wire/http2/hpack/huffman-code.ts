// The Huffman code of HPACK (RFC 7541 Appendix B).
//
// The code is canonical (§5.2), so that the lengths define it. Codes of one length are consecutive numbers, in the order of their symbols, and
// each length continues after the last code of the length before.

/** The symbol for the end of a string. It is never sent, but padding consists of its first bits. */
export const EOS = 256

/** Bits of the code of each byte, and of EOS. */
// biome-ignore format: sixteen to a line, as the rows of an ASCII table
export const CODE_LENGTHS: Uint8Array = Uint8Array.of(
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
)

const LONGEST_CODE = 30

/** The code of each byte and of EOS, in the lowest bits. */
export const CODES: Uint32Array = buildCodes()

function buildCodes(): Uint32Array {
  const codes = new Uint32Array(EOS + 1)
  let code = 0
  for (let length = 1; length <= LONGEST_CODE; length++) {
    for (let symbol = 0; symbol <= EOS; symbol++) if (CODE_LENGTHS[symbol] === length) codes[symbol] = code++
    code *= 2
  }
  return codes
}
