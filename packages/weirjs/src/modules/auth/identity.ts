// What a program knows about the owner of credentials, and the principal that is made from it.

import { invalid } from '../../base/options.ts'
import type { Principal } from './scheme.ts'

/** The owner of credentials. What is missing is empty. */
export interface Identity<Claims extends object = Readonly<Record<string, unknown>>> {
  /** Default: the name under which the program knows the credentials. */
  readonly id?: string
  /** Default: `id`. */
  readonly name?: string | null
  readonly roles?: readonly string[]
  readonly scopes?: readonly string[]
  readonly claims?: Claims
}

const NONE: readonly string[] = Object.freeze([])
const NO_CLAIMS = Object.freeze({})

/** @param key the `id` if the identity has none @throws WEIR_OPTION_INVALID for what is not an identity */
export function principalFor<N extends string, C extends object>(scheme: N, key: string, identity: Identity<C>): Principal<N, C> {
  if (typeof identity !== 'object' || identity === null) throw invalid(scheme, 'an object with roles and so on is needed for each identity')
  const { id = key, name = id, roles = NONE, scopes = NONE, claims = NO_CLAIMS as C } = identity
  if (typeof id !== 'string' || id === '') throw invalid(scheme, 'id of an identity must be a string that is not empty')
  return Object.freeze({ id, name, roles: listOf(scheme, 'roles', roles), scopes: listOf(scheme, 'scopes', scopes), claims, scheme })
}

function listOf(scheme: string, what: string, names: readonly string[]): readonly string[] {
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw invalid(scheme, `${what} of an identity must be a list of strings`)
  return Object.freeze([...names])
}
