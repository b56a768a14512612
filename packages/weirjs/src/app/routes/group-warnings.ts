// Routes that a program has probably meant to be in a group with policies, and that are in none. A warning, because the program may mean it
// after all.

import type { Route } from './route.ts'
import { commonScope, type PlacedPolicy, type Scope } from './scope.ts'

/**
 * What to tell the program about groups whose policies leave routes below their paths alone: those on which nothing is mapped, and those whose
 * path another group got later, as if it were the same one.
 * @param groups in the order in which they were made
 * @param isUsed whether requests belong to the group
 */
export function groupWarnings(groups: readonly Scope[], routes: readonly Route[], isUsed: (group: Scope) => boolean): string[] {
  return groups.flatMap((group, i) => {
    const guards = guardsOf(group)
    if (guards.length === 0) return []
    const namesakes = groups.slice(i + 1).filter((other) => baseOf(other) === baseOf(group))
    const isMeant = (route: Route): boolean => !isUsed(group) || route.scope.lineage.some((scope) => namesakes.includes(scope))
    const missed = routes.filter((route) => isMissed(route, group) && isMeant(route))
    const [first] = missed
    if (first === undefined) return []
    const others = missed.length === 1 ? '' : ` and ${missed.length - 1} more`
    const names = guards.map(({ policy }) => policy.label).join(', ')
    return `${first.place}${others} without ${names}, which group(${JSON.stringify(group.prefix)}) has: map it on the same group or, if all may pass, on the server (docs/guide/traps.md)`
  })
}

/** The policies of its own that can refuse a request. One in the place of an outer one, or that opens, is no loss to routes elsewhere. */
function guardsOf({ chain, depth, prefix }: Scope): PlacedPolicy[] {
  if (prefix === '') return [] // it is there for its policies, and says nothing about paths
  return chain.policies.filter(({ policy, depth: at, replaces }) => {
    const { gate, middleware, name, runsFirst, label } = policy
    return (
      at === depth && replaces.length === 0 && label !== 'auth.open' && (gate === null ? middleware !== null && name === null : !runsFirst)
    )
  })
}

/** Whether a route below the path of a group has no policies but those around both. */
function isMissed({ template, scope, chain, host, endpoint }: Route, group: Scope): boolean {
  if (!`${template.text}/`.startsWith(`${baseOf(group)}/`) || scope.lineage.includes(group)) return false
  const { depth } = commonScope([group, scope])
  if (chain.policies.some((placed) => placed.depth > depth)) return false
  const { settings } = group
  return (settings.host?.value?.toLowerCase() ?? host) === host && (settings.endpoint?.value ?? endpoint) === endpoint
}

function baseOf({ prefix }: Scope): string {
  return prefix.replace(/\/$/, '')
}
