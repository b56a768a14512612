// The public API of weirjs/csrf.

export type { AllowedOrigin, OriginPredicate } from '../origins.ts'
export { type CsrfOptions, type CsrfRefusal, csrf, type TrustedOrigins } from './csrf.ts'
