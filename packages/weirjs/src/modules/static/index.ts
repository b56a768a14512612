// The public API of weirjs/static.

export type { Assets } from './assets.ts'
export type { PrecompressedEncoding } from './file.ts'

export { seaAssets } from './sea-assets.ts'
export { type StaticOptions, staticFiles } from './static.ts'
