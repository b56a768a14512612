// The public API of weirjs/csrf.

export { type CsrfOptions, type CsrfRefusal, csrf, type TrustedOrigins } from './csrf.ts'
