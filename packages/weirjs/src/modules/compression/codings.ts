// The content codings of Node. Each compresses in three ways: synchronously, on another thread, and as a stream.

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'

import { count } from '../../base/option-kinds.ts'
import { type Rule, rules } from '../../base/option-rules.ts'

/** The compression level of each coding, on the coding's own scale. */
export interface CompressionLevels {
  /**
   * Brotli's quality, 0 to 11. Default 4, which compresses 8 KiB of JSON to 16 % in 0.09 ms. Quality 3 takes 0.06 ms, for 4 % more bytes;
   * quality 5 takes 0.12 ms, for 14 % fewer. 11 is for files that are compressed once.
   */
  readonly br?: number
  /** zlib's level, 1 to 9. Default 5: for 128 KiB it takes 0.6 times as long as zlib's own default 6, and responses are 1 % larger. */
  readonly gzip?: number
  /** zlib's level, as for `gzip`. Default 5. */
  readonly deflate?: number
  /** zstd's level, 1 to 22. Default 3, as in zstd itself. */
  readonly zstd?: number
}

export type ContentEncoding = keyof CompressionLevels

/** A stream that compresses. */
export interface Compressor extends Transform {
  /** Emits everything that was written so far. */
  flush(kind: number, callback?: () => void): void
}

export interface Coding {
  /** The value of Content-Encoding. */
  readonly name: string
  /** Distinguishes the forms of one content. */
  readonly key: string
  /** Bytes of its dictionary, which takes time with each content; 0 without one. */
  readonly dictionaryBytes: number
  /** The argument for `flush`. */
  readonly flushKind: number
  /** Blocks the thread, so it is for small bodies only. */
  compressNow(bytes: Uint8Array): Uint8Array
  compress(bytes: Uint8Array): Promise<Uint8Array>
  createStream(): Compressor
}

const level = (least: number, most: number, byDefault: number): Rule<number, number> => count({ least, most }).or(byDefault)

/** @internal The most preferred coding first. */
export const LEVEL_RULES = rules<CompressionLevels>('compression: levels')({
  zstd: level(1, 22, 3),
  br: level(0, 11, 4),
  gzip: level(1, 9, 5),
  deflate: level(1, 9, 5),
})

/** A stream keeps its window for as long as it lasts. 512 KiB instead of Brotli's usual 4 MiB: measured, 2 MiB in all instead of 5. */
const BROTLI_STREAM_WINDOW_BITS = 19

/**
 * Bodies that are compressed synchronously are small, and Node would allocate 16 KiB for the output. Measured for 5.6 KiB of JSON: 7 % less
 * CPU.
 */
const CHUNK_BYTES = 4 * 1024
/**
 * Up to this size, a window of that size holds the whole body, and takes less time to create than zlib's own of 32 KiB: another 6 % less.
 */
const SMALL_WINDOW_BYTES = 8 * 1024

/** Clients need no larger window than 8 MiB (RFC 9659), and browsers have none. From this level on, a stream would have one. */
const ZSTD_WINDOW_BITS = 23
const FIRST_WIDE_LEVEL = 20

interface ZstdOptions extends zlib.BrotliOptions {
  readonly dictionary?: Uint8Array
}

/** Exists since Node 22.15. The installed types are for Node 20. */
interface Zstd {
  zstdCompressSync(bytes: Uint8Array, options: ZstdOptions): Uint8Array
  zstdCompress(bytes: Uint8Array, options: ZstdOptions, callback: (error: Error | null, bytes: Uint8Array) => void): void
  createZstdCompress(options: ZstdOptions): Compressor
  readonly constants: { readonly ZSTD_c_compressionLevel: number; readonly ZSTD_c_windowLog: number; readonly ZSTD_e_flush: number }
}

/** What `dcz` begins with: a skippable frame, with the hash of the dictionary. */
const DCZ = Buffer.from('5e2a4d1820000000', 'hex')

/** Whether this version of Node supports a coding. */
export function isAvailable(name: ContentEncoding): boolean {
  return name !== 'zstd' || 'zstdCompressSync' in zlib
}

/** The names of all codings. */
export const CODING_NAMES = LEVEL_RULES.names as ContentEncoding[]

export function createCoding(name: ContentEncoding, level: number): Coding {
  if (name === 'br') return brotli(level)
  if (name === 'zstd') return zstd(zlib as unknown as Zstd, level)
  return name === 'gzip'
    ? deflating(name, level, zlib.gzipSync, zlib.gzip, zlib.createGzip)
    : deflating(name, level, zlib.deflateSync, zlib.deflate, zlib.createDeflate)
}

function deflating(
  name: 'gzip' | 'deflate',
  level: number,
  compressSync: (bytes: Uint8Array, options: zlib.ZlibOptions) => Uint8Array,
  compress: (bytes: Uint8Array, options: zlib.ZlibOptions, callback: (error: Error | null, bytes: Uint8Array) => void) => void,
  createStream: (options: zlib.ZlibOptions) => Compressor,
): Coding {
  const options = { level }
  const whole = { level, chunkSize: CHUNK_BYTES }
  const small = { ...whole, windowBits: Math.log2(SMALL_WINDOW_BYTES) }
  const compressLater = promisify(compress)
  return {
    name,
    key: name,
    dictionaryBytes: 0,
    flushKind: zlib.constants.Z_SYNC_FLUSH,
    compressNow: (bytes) => compressSync(bytes, bytes.length <= SMALL_WINDOW_BYTES ? small : whole),
    compress: (bytes) => compressLater(bytes, options),
    createStream: () => createStream(options),
  }
}

function brotli(quality: number): Coding {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_OPERATION_FLUSH } = zlib.constants
  const options = { params: { [BROTLI_PARAM_QUALITY]: quality } }
  const wholeOptions = { ...options, chunkSize: CHUNK_BYTES }
  const compress = promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress)
  const streamOptions = { params: { ...options.params, [BROTLI_PARAM_LGWIN]: BROTLI_STREAM_WINDOW_BITS } }
  return {
    name: 'br',
    key: 'br',
    dictionaryBytes: 0,
    flushKind: BROTLI_OPERATION_FLUSH,
    compressNow: (bytes) => zlib.brotliCompressSync(bytes, wholeOptions),
    compress: (bytes) => compress(bytes, options),
    createStream: () => zlib.createBrotliCompress(streamOptions),
  }
}

function zstd(node: Zstd, level: number): Coding {
  return {
    ...zstdWith(node, { params: zstdParams(node, level) }),
    name: 'zstd',
    key: 'zstd',
    dictionaryBytes: 0,
  }
}

function zstdParams({ constants }: Zstd, level: number): Record<number, number> {
  const params = { [constants.ZSTD_c_compressionLevel]: level }
  return level < FIRST_WIDE_LEVEL ? params : { ...params, [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_BITS }
}

function zstdWith(node: Zstd, options: ZstdOptions): Omit<Coding, 'name' | 'key' | 'dictionaryBytes'> {
  const compress = promisify<Uint8Array, ZstdOptions, Uint8Array>(node.zstdCompress)
  return {
    flushKind: node.constants.ZSTD_e_flush,
    compressNow: (bytes) => node.zstdCompressSync(bytes, options),
    compress: (bytes) => compress(bytes, options),
    createStream: () => node.createZstdCompress(options),
  }
}

/** Whether Zstandard of this Node takes dictionaries: before 22.15, it ignores them. */
export function takesDictionaries(): boolean {
  if (!isAvailable('zstd')) return false
  const words = Buffer.from(Array.from({ length: 64 }, (_, i) => hash('sha256', String(i))).join(''))
  return (zlib as unknown as Zstd).zstdCompressSync(words, { dictionary: words }).byteLength < words.byteLength / 10
}

/** Zstandard with a dictionary (RFC 9842 §5). @param sha256 of the dictionary, in base64 */
export function createDictionaryCoding(level: number, dictionary: Uint8Array, sha256: string): Coding {
  const node = zlib as unknown as Zstd
  const start = Buffer.concat([DCZ, Buffer.from(sha256, 'base64')])
  const plain = zstdWith(node, { params: zstdParams(node, level), dictionary, chunkSize: CHUNK_BYTES })
  return {
    name: 'dcz',
    key: `dcz ${sha256}`,
    dictionaryBytes: dictionary.length,
    flushKind: plain.flushKind,
    compressNow: (bytes) => Buffer.concat([start, plain.compressNow(bytes)]),
    compress: async (bytes) => Buffer.concat([start, await plain.compress(bytes)]),
    createStream: () => {
      const stream = plain.createStream()
      stream.push(start)
      return stream
    },
  }
}
