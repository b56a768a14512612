// The public API of weir/auth.

export { Auth, type AuthFunction, type AuthOptions, auth } from './auth.ts'
export type { Allows, AuthDescription, RequirementDescription } from './plan.ts'
export type { Requirements } from './requirements.ts'
export { CredentialsError, type Principal, type PrincipalOf, type Refusal, type Scheme, type SecurityScheme } from './scheme.ts'
