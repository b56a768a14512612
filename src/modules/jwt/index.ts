// The public API of weir/jwt.

export type { Jwk, JwtAlgorithm } from './algorithms.ts'
export type { ClaimMapping, JwtClaims } from './claims.ts'
export { type JwtKeySet, type JwtOptions, jwt } from './jwt.ts'
