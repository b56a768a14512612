// The public API of weirjs/decompression.

export type { RequestCoding } from './codings.ts'
export { type DecompressionOptions, decompression } from './decompression.ts'
