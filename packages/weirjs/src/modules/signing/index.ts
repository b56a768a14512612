// The public API of weirjs/signing.

export { type Signing, type SigningOptions, type SignOptions, signing } from './signing.ts'
