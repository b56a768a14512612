// The public API of @weirjs/jwt.

export type { Jwk, JwtAlgorithm } from './algorithms.ts'
export type { ClaimMapping, JwtClaims } from './claims.ts'
export { type JwtKeySet, type JwtOptions, jwt } from './jwt.ts'
