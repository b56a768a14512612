// What routes require of their principals. A requirement is a policy that decides nothing itself: the `auth` around it does, see plan.ts. Where
// there is no `auth`, its gate refuses every request, and `start` rejects.

import type { Gate, Policy, UsedPolicy } from '../../app/policies/policy.ts'
import { kindOf } from '../../base/kind-of.ts'
import { func } from '../../base/option-kinds.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'

import { type Allows, checkPlan, noteRequirement, planOf, type RequirementDescription } from './plan.ts'
import type { AnyPrincipal, Principal } from './scheme.ts'

/** The policies by which a server, a group, a class or a route states who may pass. */
export interface Requirements<P extends AnyPrincipal = Principal, Role extends string = string> {
  /**
   * Anyone may pass. It removes what outer levels require. If the request has valid credentials, `session.principal` is set; invalid ones
   * are ignored.
   */
  readonly open: Policy
  /** A principal is required. @param schemes names of those whose credentials are accepted; default: all */
  required(...schemes: readonly P['scheme'][]): Policy
  /** A principal with one of these roles is required. Each must be in `roles` of `auth`. */
  roles(...anyOf: readonly [Role, ...Role[]]): Policy
  /** A principal with all of these scopes is required. */
  scopes(...allOf: readonly [string, ...string[]]): Policy
  /** A principal for whom `allows` returns true, or a promise of true, is required. What it throws becomes the response. */
  policy(allows: Allows<P>): Policy
}

/** It has no name, so that no inner policy can replace it. Lists call it by the name of its gate. */
class Requirement implements Policy {
  readonly gate: Gate
  readonly #description: RequirementDescription

  constructor(label: string, description: RequirementDescription) {
    this.#description = description
    this.gate = Object.defineProperty((session: HttpSession) => void planOf(session), 'name', { value: label })
  }

  describe(): RequirementDescription {
    return this.#description
  }

  check(policies: readonly UsedPolicy[], where: string): void {
    checkPlan(policies, where)
  }
}

/** Requirements for any `auth`: names of roles and schemes are checked when the server starts. */
export const requirements: Requirements = {
  open: policyOf('auth.open', { open: true }),
  required: (...schemes) => policyOf('auth.required', { required: textsOf('required', schemes) }),
  roles: (...anyOf) => policyOf('auth.roles', { roles: atLeastOne('roles', anyOf) }),
  scopes: (...allOf) => policyOf('auth.scopes', { scopes: atLeastOne('scopes', allOf) }),
  policy(allows) {
    if (allows === undefined) throw invalid('auth.policy()', 'a function is needed, such as (principal) => principal.id === "ada"')
    refuseSession('auth.policy', allows)
    FUNCTION.read(allows, { owner: 'auth.policy()', option: 'the argument' })
    return policyOf('auth.policy', { policy: allows.name === '' ? '(anonymous)' : allows.name }, allows)
  },
}

const FUNCTION = func()

/** A function such as `auth.roles` that was added itself is called with a session. */
function refuseSession(owner: string, given: unknown): void {
  if (kindOf(given) === 'an HttpSession')
    throw invalid(owner, 'the function itself was added to a server or a route: call it, and add what it returns')
}

function policyOf(label: string, description: RequirementDescription, allows: Allows | null = null): Policy {
  noteRequirement(Object.freeze(description), allows)
  return Object.freeze(new Requirement(label, description))
}

function textsOf(owner: string, names: readonly string[]): readonly string[] {
  refuseSession(`auth.${owner}`, names[0])
  for (const name of names as readonly unknown[])
    if (typeof name !== 'string' || name === '') throw invalid(`auth.${owner}()`, 'every name must be a string that is not empty')
  return Object.freeze([...new Set(names)])
}

/** No one could have one of no roles, and everyone would have all of no scopes. */
function atLeastOne(owner: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) throw invalid(`auth.${owner}()`, 'at least one name is needed')
  return textsOf(owner, names)
}
