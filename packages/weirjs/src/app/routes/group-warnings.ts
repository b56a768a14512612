// Routes that a program has probably meant to be in a group with policies, and that are in none. A warning, because the program may mean it
// after all.

import type { Route } from './route.ts'
import { commonScope, type PlacedPolicy, type Scope } from './scope.ts'

/**
 * What to tell the program about groups whose policies leave routes below their paths alone: those on which nothing is mapped, and those whose
 * path another group got later, as if it were the same one.
 * @param groups in the order in which they were made
 * @param used those to which requests belong
 */
export function groupWarnings(groups: readonly Scope[], routes: readonly Route[], used: ReadonlySet<Scope>): string[] {
  return groups.flatMap((group, i) => {
    const { chain, depth, prefix, settings } = group
    const base = baseOf(group)
    const guards = chain.policies.filter((placed) => placed.depth === depth && isGuard(placed)).map(({ policy }) => policy.label)
    // Without a path, it is there for its policies. One for a host or an endpoint is not what another of its path is.
    if (base === '' || guards.length === 0 || settings.host !== undefined || settings.endpoint !== undefined) return []
    const namesakes = groups.slice(i + 1).filter((other) => baseOf(other) === base)
    const missed = routes.find(({ template, scope, chain: { policies } }) => {
      const { lineage } = scope
      return (
        `${template.text}/`.startsWith(`${base}/`) &&
        !lineage.includes(group) &&
        (!used.has(group) || namesakes.some((other) => lineage.includes(other))) &&
        // It has no policies but those around both.
        policies.every((placed) => placed.depth <= commonScope([group, scope]).depth)
      )
    })
    if (missed === undefined) return []
    return `${missed.place} is without ${guards.join(', ')} of group(${JSON.stringify(prefix)}): map it on the same group or, if all may pass, on the server (docs/guide/traps.md)`
  })
}

/** Whether it can refuse a request. One in the place of an outer one, or that opens, is no loss to routes elsewhere. */
function isGuard({ policy: { gate, middleware, name, runsFirst, label }, replaces }: PlacedPolicy): boolean {
  return replaces.length === 0 && label !== 'auth.open' && (gate === null ? middleware !== null && name === null : !runsFirst)
}

function baseOf({ prefix }: Scope): string {
  return prefix.replace(/\/$/, '')
}
