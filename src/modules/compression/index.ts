// The public API of weir/compression.

export type { CompressionLevels, ContentEncoding } from './codings.ts'
export { type CompressionOptions, compression } from './compression.ts'
