// Names of limits. Clients see them, in structured fields and in problem documents.

import type { UsedPolicy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import { text } from '../../base/option-kinds.ts'

export const NAME = text('1 to 64 letters, digits, "-", "_" and "."', (name) => /^[\w.-]{1,64}$/.test(name))

/**
 * For a limit without a name, in its `check`: refuses one that takes the place of another, which then no longer counts the requests of a route. Its
 * program has probably meant both.
 * @throws WEIR_ROUTE_DECLARATION
 */
export function checkNameless(name: string, policies: readonly UsedPolicy[], where: string): void {
  const level = policies.find((policy) => policy.name === name)?.replaces[0]
  if (level === undefined) return
  throw new WeirError(
    'WEIR_ROUTE_DECLARATION',
    `${where}: "${name}" replaces the one of its ${level}, because neither has a name: give each its own name, such as name: 'login', and both count, or write name: 'default' to replace it`,
  )
}
