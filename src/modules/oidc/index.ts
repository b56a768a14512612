// The public API of weir/oidc.

export { type IdClaims, type LoginDetails, type Oidc, type OidcOptions, oidc } from './oidc.ts'
export type { Tokens } from './tokens.ts'
