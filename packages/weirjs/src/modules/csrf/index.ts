// The public API of weirjs/csrf.

export { type CsrfOptions, type CsrfRefusal, csrf } from './csrf.ts'
