// The public API of weirjs/local.

export type { FoundLocal } from './instance-file.ts'
export { findLocal, type LocalOptions, type LocalServer, local } from './local.ts'
