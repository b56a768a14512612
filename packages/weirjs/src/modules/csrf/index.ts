// The public API of weirjs/csrf.

export type { AllowedOrigin, OriginPredicate } from '../cors/origins.ts'
export { type CsrfOptions, type CsrfRefusal, csrf, type TrustedOrigins } from './csrf.ts'
