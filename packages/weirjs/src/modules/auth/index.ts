// The public API of weirjs/auth.

export { type ApiKeyOptions, apiKey, apiKeyDigest, newApiKey } from './api-key.ts'
export { Auth, type AuthOptions, auth } from './auth.ts'
export { challengeOf, credentialsOf } from './authorization.ts'
export { type BasicOptions, basic } from './basic.ts'
export { hashPassword, needsRehash, PasswordHasher, verifyPassword } from './password.ts'
export { type Access, type AuthDescription, accessOf } from './plan.ts'
export { principalKey as principalKeyOf, shortKey } from './principal-key.ts'
export { checkAfterPrincipal, notePrincipalSetter } from './principal-order.ts'
export { type ProtectedResource, type ProtectedResourceOptions, protectedResource } from './protected-resource.ts'
export { type AnyPrincipal, CredentialsError, type Principal, type PrincipalOf, type Scheme, type SecurityScheme } from './scheme.ts'
