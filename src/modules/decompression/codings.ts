// The content codings that Node can decode, as streams.

import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'

/** A content coding of a request body. */
export type RequestCoding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** A stream that decodes. */
export interface Decoder extends Transform {
  /** How many of the bytes that were written have been decoded. */
  readonly bytesWritten: number
}

/** Exists since Node 22.15, and is of use since Node 24: see `isAvailable`. The installed types are those of Node 20. */
interface Zstd {
  zstdDecompressSync(bytes: Uint8Array): Uint8Array
  createZstdDecompress(options: zlib.BrotliOptions): Decoder
  readonly constants: { readonly ZSTD_d_windowLogMax: number }
}

/** The largest window that a client may use: 8 MiB (RFC 9659 §3). It is memory that the decoder needs. */
const ZSTD_WINDOW_BITS = 23

/** The names of all codings. */
export const CODING_NAMES: readonly RequestCoding[] = ['gzip', 'deflate', 'br', 'zstd']

/** The beginning of every frame of zstd (RFC 8878 §3.1.1), and nothing else. */
const CUT_FRAME = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)

/**
 * Whether this version of Node supports a coding. The zstd of Node 22 ends without an error in the middle of a frame (seen with 22.23.3), so a
 * body that was cut short would look complete: it does not count.
 */
export function isAvailable(coding: RequestCoding): boolean {
  if (coding !== 'zstd') return true
  if (!('zstdDecompressSync' in zlib)) return false
  try {
    ;(zlib as unknown as Zstd).zstdDecompressSync(CUT_FRAME)
    return false
  } catch {
    return true
  }
}

export function createDecoder(coding: RequestCoding): Decoder {
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip()
    case 'deflate':
      return zlib.createInflate()
    case 'br':
      return zlib.createBrotliDecompress()
    case 'zstd': {
      const node = zlib as unknown as Zstd
      return node.createZstdDecompress({ params: { [node.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_BITS } })
    }
  }
}
