// The public API of weirjs/auth.

export { type ApiKeyOptions, apiKey, apiKeyDigest, type FindKey, type KeyOwner, newApiKey } from './api-key.ts'
export { Auth, type AuthFunction, type AuthOptions, auth, type PrincipalReader } from './auth.ts'
export { challengeOf, credentialsOf } from './authorization.ts'
export { type BasicOptions, type BasicUser, basic, type FindUser } from './basic.ts'
export type { Identity } from './identity.ts'
export {
  hashPassword,
  needsRehash,
  type PasswordCost,
  PasswordHasher,
  type PasswordOptions,
  verifyPassword,
} from './password.ts'
export { type Access, type Allows, type AuthDescription, accessOf, type RequirementDescription } from './plan.ts'
export { principalKey as principalKeyOf, shortKey } from './principal-key.ts'
export { type ProtectedResource, type ProtectedResourceOptions, protectedResource } from './protected-resource.ts'
export type { Requirements } from './requirements.ts'
export {
  type AnyPrincipal,
  CredentialsError,
  type Principal,
  type PrincipalOf,
  type Refusal,
  type Scheme,
  type SecurityScheme,
} from './scheme.ts'
