// A body without its content coding, and the codings in which no secret can be found.

import type { Buffer } from 'node:buffer'
import * as zlib from 'node:zlib'

/** Fields of RPC that state in which compression the messages in a body are. */
const OF_MESSAGES = ['connect-content-encoding', 'grpc-encoding']

/** The compression of the messages in a body; null if there is none. @param field the value of a field; null without it */
export function messageCoding(field: (name: string) => string | null): string | null {
  return OF_MESSAGES.map(field).find((coding) => coding !== null && coding.toLowerCase() !== 'identity') ?? null
}

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
