// Checks that gates that read the principal run after the gates that set it. Otherwise, they would silently treat every client as unknown.

import type { UsedPolicy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'

import { notePrincipalCookie } from './principal-cookie.ts'

/** What policies that set `session.principal` state about themselves, and their names. */
const SETTERS = new WeakMap<object, 'auth' | 'sessions'>()
/** For each scheme, the function that returns what it lacks where it is used. */
const LACKS = new WeakMap<object, (policies: readonly UsedPolicy[]) => string | null>()

/**
 * For modules: notes that a description belongs to a policy whose gate sets the principal.
 * @param description the object that `describe` of the policy returns each time, or a scheme whose principals it sets, or such a principal
 * @param lack of a scheme: returns what it lacks where it is used with these policies, or null
 * @param cookie of a scheme and its principals: the name of the cookie, if other schemes with the same name have others
 */
export function notePrincipalSetter(
  description: object,
  name: 'auth' | 'sessions',
  lack: ((policies: readonly UsedPolicy[]) => string | null) | null = null,
  cookie?: string,
): void {
  SETTERS.set(description, name)
  if (lack !== null) LACKS.set(description, lack)
  if (cookie !== undefined) notePrincipalCookie(description, cookie)
}

/** @param schemes of an `auth` @param policies of a route around which it is used @param where names the route @throws WEIR_AUTH_SETUP */
export function checkLacks(schemes: readonly object[], policies: readonly UsedPolicy[], where: string): void {
  for (const scheme of schemes) {
    const lack = LACKS.get(scheme)?.(policies) ?? null
    if (lack !== null) throw new WeirError('WEIR_AUTH_SETUP', `${where}: ${lack}`)
  }
}

/**
 * For modules: checks a policy whose gate reads the principal, in its `check`. If there is an `auth`, only it decides who the principal is:
 * `sessions` before it is not enough.
 * @param name the policy's own
 * @param policies all of the route, the outermost first
 * @param where names the route
 * @throws WEIR_POLICY_ORDER
 */
export function checkAfterPrincipal(name: string, policies: readonly UsedPolicy[], where: string): void {
  const setters = policies.map(({ description }) =>
    typeof description === 'object' && description !== null ? SETTERS.get(description) : undefined,
  )
  const setter = setters.includes('auth') ? 'auth' : 'sessions'
  if (setters.indexOf(setter) > policies.findIndex((policy) => policy.name === name))
    throw new WeirError(
      'WEIR_POLICY_ORDER',
      `${where}: "${name}" has the key "principal", but runs before ${setter}, which sets session.principal: add it after ${setter}, at the same level or further inside`,
    )
}
