// The public API of weirjs/static.

export type { PrecompressedEncoding } from './file.ts'
export { type StaticOptions, staticFiles } from './static.ts'
