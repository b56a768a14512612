// The public API of @weirjs/oidc.

export { type LoginDetails, type Oidc, type OidcOptions, oidc } from './oidc.ts'
export type { ClientAuthentication, IdClaims, UserInfo } from './provider.ts'
export type { Tokens } from './tokens.ts'
