// The public API of weirjs/compression.

export type { CompressionLevels, ContentEncoding } from './codings.ts'
export { type CompressionOptions, compression } from './compression.ts'
