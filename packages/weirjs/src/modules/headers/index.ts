// The public API of weirjs/headers.

export type { ContentSecurityPolicy, CspDirective, CspFlag } from './content-security-policy.ts'
export { nonceOf } from './nonce.ts'
export type { SecurityHeadersPreset } from './presets.ts'
export { type SecurityHeadersOptions, type StrictTransportSecurity, securityHeaders } from './security-headers.ts'
