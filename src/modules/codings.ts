// The content codings that Node can make, each in three ways: at once, on another thread, and piece by piece.

import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

import { WeirError } from '../base/errors.ts'

/** How hard to try, for each coding in its own measure. */
export interface CompressionLevels {
  /**
   * Brotli's quality, 0 to 11. Default 4: 8 KiB of JSON become 15 percent of that in 0.09 ms. 5 takes 1.5 times as long for 2 points less, and 11, for files that are
   * compressed once, a hundred times.
   */
  readonly br?: number
  /** zlib's level, 1 to 9. Default 5: at 128 KiB 0.6 times as long as zlib's own 6, for answers that are 1 percent larger. */
  readonly gzip?: number
  /** As for `gzip`. */
  readonly deflate?: number
  /** zstd's level, 1 to 22. Default 3, zstd's own. */
  readonly zstd?: number
}

export type CodingName = keyof CompressionLevels

/** A stream that compresses. */
export interface Compressor extends Transform {
  /** Hands out all that was written so far. */
  flush(kind: number, callback?: () => void): void
}

export interface Coding {
  readonly name: CodingName
  /** What `flush` is to be called with. */
  readonly flushKind: number
  /** Blocks: for what is small. */
  compressNow(bytes: Uint8Array): Uint8Array
  compress(bytes: Uint8Array): Promise<Uint8Array>
  createStream(): Compressor
}

const RANGES: Readonly<Record<CodingName, readonly [lowest: number, highest: number, preset: number]>> = {
  zstd: [1, 22, 3],
  br: [0, 11, 4],
  gzip: [1, 9, 5],
  deflate: [1, 9, 5],
}

/** A stream holds its window for as long as it lasts: 512 KiB instead of Brotli's usual 4 MiB. */
const BROTLI_STREAM_WINDOW_BITS = 19

/** Node 22.15 and later; the types are those of Node 20. */
interface Zstd {
  zstdCompressSync(bytes: Uint8Array, options: zlib.BrotliOptions): Uint8Array
  zstdCompress(bytes: Uint8Array, options: zlib.BrotliOptions, callback: (error: Error | null, bytes: Uint8Array) => void): void
  createZstdCompress(options: zlib.BrotliOptions): Compressor
  readonly constants: { readonly ZSTD_c_compressionLevel: number; readonly ZSTD_e_flush: number }
}

/** Whether this Node can make a coding. */
export function isAvailable(name: CodingName): boolean {
  return name !== 'zstd' || 'zstdCompressSync' in zlib
}

/** The codings that there are, by name. */
export const CODING_NAMES = Object.keys(RANGES) as CodingName[]

/** @throws WEIR_OPTION_INVALID for a level that there is not */
export function createCoding(name: CodingName, given: number | undefined): Coding {
  const [lowest, highest, preset] = RANGES[name]
  const level = given ?? preset
  if (!Number.isInteger(level) || level < lowest || level > highest)
    throw new WeirError('WEIR_OPTION_INVALID', `compression: ${name} has levels ${lowest} to ${highest}, not ${level}`)
  if (name === 'br') return brotli(level)
  if (name === 'zstd') return zstd(zlib as unknown as Zstd, level)
  const options = { level }
  const flushKind = zlib.constants.Z_SYNC_FLUSH
  return name === 'gzip'
    ? {
        name,
        flushKind,
        compressNow: (bytes) => zlib.gzipSync(bytes, options),
        compress: (bytes) => promisify<Uint8Array, zlib.ZlibOptions, Uint8Array>(zlib.gzip)(bytes, options),
        createStream: () => zlib.createGzip(options),
      }
    : {
        name,
        flushKind,
        compressNow: (bytes) => zlib.deflateSync(bytes, options),
        compress: (bytes) => promisify<Uint8Array, zlib.ZlibOptions, Uint8Array>(zlib.deflate)(bytes, options),
        createStream: () => zlib.createDeflate(options),
      }
}

function brotli(quality: number): Coding {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_OPERATION_FLUSH } = zlib.constants
  const options = { params: { [BROTLI_PARAM_QUALITY]: quality } }
  const streamOptions = { params: { ...options.params, [BROTLI_PARAM_LGWIN]: BROTLI_STREAM_WINDOW_BITS } }
  return {
    name: 'br',
    flushKind: BROTLI_OPERATION_FLUSH,
    compressNow: (bytes) => zlib.brotliCompressSync(bytes, options),
    compress: (bytes) => promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress)(bytes, options),
    createStream: () => zlib.createBrotliCompress(streamOptions),
  }
}

function zstd(node: Zstd, level: number): Coding {
  const options = { params: { [node.constants.ZSTD_c_compressionLevel]: level } }
  return {
    name: 'zstd',
    flushKind: node.constants.ZSTD_e_flush,
    compressNow: (bytes) => node.zstdCompressSync(bytes, options),
    compress: (bytes) => promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(node.zstdCompress)(bytes, options),
    createStream: () => node.createZstdCompress(options),
  }
}
