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

/** Exists since Node 22.15, and is useful since Node 24: see `isAvailable`. The installed types are for Node 20. */
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

const KIB = 1024
/** The largest window of Brotli that is accepted, as a power of two: the default of its encoders. */
export const MAX_BROTLI_WINDOW_BITS = 22

/**
 * The window that the first byte of a Brotli stream declares, as a power of two (RFC 7932 §9.1). Infinity for the code of large windows, which is
 * not part of the coding.
 */
export function brotliWindowBits(first: number): number {
  if ((first & 1) === 0) return 16
  const large = (first >> 1) & 7
  if (large !== 0) return 17 + large
  const small = (first >> 4) & 7
  if (small === 0) return 17
  return small === 1 ? Number.POSITIVE_INFINITY : 8 + small
}

/** The most memory that a decoder takes for a stream with this first byte. */
export function decoderBytes(coding: RequestCoding, first: number): number {
  switch (coding) {
    case 'gzip':
    case 'deflate':
      return 64 * KIB // 32 KiB of window, its state, and 16 KiB of output
    case 'br':
      return 2 ** brotliWindowBits(first) + 64 * KIB
    case 'zstd':
      return 2 ** ZSTD_WINDOW_BITS + 512 * KIB // each frame has a window of its own, so the first one says too little
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
