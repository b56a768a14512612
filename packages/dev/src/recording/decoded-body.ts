// A body without its content coding.

import type { Buffer } from 'node:buffer'
import * as zlib from 'node:zlib'

/** @returns null if it has a coding that cannot be removed, or would be larger than `maxBytes` */
export function decodedBody(body: Buffer, coding: string | null, maxBytes: number): Buffer | null {
  const options = { maxOutputLength: Math.max(1, maxBytes) }
  try {
    switch (coding?.toLowerCase() ?? 'identity') {
      case 'identity':
        return body
      case 'gzip':
        return zlib.gunzipSync(body, options)
      case 'deflate':
        return zlib.inflateSync(body, options)
      case 'br':
        return zlib.brotliDecompressSync(body, options)
      case 'zstd':
        return (zlib as { zstdDecompressSync?: (body: Buffer, options: object) => Buffer }).zstdDecompressSync?.(body, options) ?? null
      default:
        return null
    }
  } catch {
    return null
  }
}
