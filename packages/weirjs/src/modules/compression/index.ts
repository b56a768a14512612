// The public API of weirjs/compression.

export { type CompressionOptions, compression } from './compression.ts'
