// weir/compression: the public face.

export type { CompressionLevels, ContentEncoding } from './codings.ts'
export { type CompressionOptions, compression } from './compression.ts'
