// The public API of weir/decompression.

export type { RequestCoding } from './codings.ts'
export { type DecompressionOptions, decompression } from './decompression.ts'
