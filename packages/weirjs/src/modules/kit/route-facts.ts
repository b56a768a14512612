// What a route declares, as modules see it. Made once for each route and each chain of policies.

import type { UsedPolicy } from '../../app/policies/policy.ts'
import type { Binding } from '../../app/routes/binding.ts'
import { chainOf, type Route } from '../../app/routes/route.ts'
import { type Chain, usedPolicies } from '../../app/routes/scope.ts'
import type { RouteMatch } from '../../http/route-info.ts'

const NO_BINDINGS: readonly Binding[] = Object.freeze([])
const bindings = new WeakMap<Route, readonly Binding[]>()
const policies = new WeakMap<Chain, readonly UsedPolicy[]>()

export function bindingsOf(match: RouteMatch): readonly Binding[] {
  const route = match.route as Route | null
  if (route === null) return NO_BINDINGS
  let found = bindings.get(route)
  if (found === undefined) bindings.set(route, (found = Object.freeze(Object.values(route.bindings))))
  return found
}

export function policiesOf(match: RouteMatch): readonly UsedPolicy[] {
  const chain = chainOf(match)
  let found = policies.get(chain)
  if (found === undefined) policies.set(chain, (found = Object.freeze(usedPolicies(chain))))
  return found
}
