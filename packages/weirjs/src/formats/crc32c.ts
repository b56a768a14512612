// CRC32C (Castagnoli), as in RFC 9260 appendix A. `zlib.crc32` of Node uses another polynomial.

const POLYNOMIAL = 0x82f63b78

let table: Uint32Array | null = null

/** The checksum of `bytes`, with those from `from` to `to` counted as zeros. */
export function crc32c(bytes: Uint8Array, from: number, to: number): number {
  table ??= buildTable()
  let crc = 0xffffffff
  for (let i = 0; i < bytes.length; i++) {
    const byte = i >= from && i < to ? 0 : bytes[i]!
    crc = table[(crc ^ byte) & 0xff]! ^ (crc >>> 8)
  }
  return ~crc >>> 0
}

function buildTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    return crc
  })
}
