// The public API of weirjs/headers.

export { nonceOf } from './nonce.ts'
export type { SecurityHeadersPreset } from './presets.ts'
export { type SecurityHeadersOptions, securityHeaders } from './security-headers.ts'
