// The public API of weirjs/local.

export { type FoundLocal, findLocal } from './find-local.ts'
export { type LocalOptions, type LocalServer, local } from './local.ts'
