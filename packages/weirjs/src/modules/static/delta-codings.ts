// Compression with a dictionary (RFC 9842): the codings that this version of Node supports.

import { Buffer } from 'node:buffer'
import { hash } from 'node:crypto'
import { promisify } from 'node:util'

/** A coding with a dictionary. */
export interface DictionaryCoding {
  readonly name: 'dcz' | 'dcb'
  /** The beginning of content in this coding. @param sha256 of the dictionary, in base64 */
  start(sha256: string): Uint8Array
  /** As small as it can be, on another thread. */
  compress(bytes: Uint8Array, dictionary: Uint8Array, sha256: string): Promise<Uint8Array>
}

interface Options {
  readonly dictionary: Uint8Array
  readonly params: Readonly<Record<number, number>>
}

type Sync = (bytes: Uint8Array, options: Options) => Uint8Array
type Async = (bytes: Uint8Array, options: Options, callback: (error: Error | null, bytes: Uint8Array) => void) => void

/** Clients need no larger window than 8 MiB for `dcz` (RFC 9842 §5). In it, the whole dictionary is in reach of a file that is no larger. */
const WINDOW_LOG = 23
/** Of content and of its dictionary. */
export const MOST_DICTIONARY_BYTES = 2 ** WINDOW_LOG
const LEVEL = 19
const QUALITY = 11

/** The codings that this Node has: `dcz` from 22.15 on, `dcb` from 24.15 on. Older versions ignore a dictionary. */
export function dictionaryCodings(): readonly DictionaryCoding[] {
  // Not imported, because loading it takes some milliseconds, and few programs have dictionaries.
  const zlib = process.getBuiltinModule('node:zlib')
  const { zstdCompressSync, zstdCompress, constants } = zlib as unknown as {
    readonly zstdCompressSync?: Sync
    readonly zstdCompress?: Async
    readonly constants: Readonly<Record<string, number>>
  }
  const level = constants['ZSTD_c_compressionLevel']!
  const quality = constants['BROTLI_PARAM_QUALITY']!
  const found: DictionaryCoding[] = []
  if (zstdCompressSync !== undefined && takesDictionary(zstdCompressSync, level)) {
    const params = { [level]: LEVEL, [constants['ZSTD_c_windowLog']!]: WINDOW_LOG }
    // A skippable frame of Zstandard (RFC 9842 §5).
    found.push(coding('dcz', '5e2a4d1820000000', zstdCompress!, params))
  }
  if (takesDictionary(zlib.brotliCompressSync as unknown as Sync, quality))
    found.push(coding('dcb', 'ff444342', zlib.brotliCompress as unknown as Async, { [quality]: QUALITY }))
  return found
}

function coding(name: DictionaryCoding['name'], magic: string, compress: Async, params: Options['params']): DictionaryCoding {
  const start = (sha256: string): Uint8Array => Buffer.concat([Buffer.from(magic, 'hex'), Buffer.from(sha256, 'base64')])
  const compressLater = promisify<Uint8Array, Options, Uint8Array>(compress)
  return {
    name,
    start,
    compress: async (bytes, dictionary, sha256) => Buffer.concat([start(sha256), await compressLater(bytes, { dictionary, params })]),
  }
}

function takesDictionary(compress: Sync, level: number): boolean {
  const words = Buffer.from(Array.from({ length: 64 }, (_, i) => hash('sha256', String(i))).join(''))
  return compress(words, { dictionary: words, params: { [level]: 5 } }).byteLength < words.byteLength / 10
}
