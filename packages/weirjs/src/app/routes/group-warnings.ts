// Warns about routes that a program probably meant to be in a group with policies, but that are in none. They are warnings, because the program may
// have a reason.

import type { Route } from './route.ts'
import { commonScope, type PlacedPolicy, type Scope } from './scope.ts'

/**
 * Warnings about groups whose policies do not apply to routes below their paths: groups on which nothing is mapped, and groups whose path was later
 * given to another group, as if it were the same one.
 * @param groups in the order in which they were made
 * @param used those to which requests belong
 */
export function groupWarnings(groups: readonly Scope[], routes: readonly Route[], used: ReadonlySet<Scope>): string[] {
  return groups.flatMap((group, i) => {
    const { chain, depth, prefix, settings } = group
    const base = baseOf(group)
    const guards = chain.policies.filter((placed) => placed.depth === depth && isGuard(placed)).map(({ policy }) => policy.label)
    // A group without a path exists for its policies. A group for a host or an endpoint differs from another group with the same path.
    if (base === '' || guards.length === 0 || settings.host !== undefined || settings.endpoint !== undefined) return []
    const namesakes = groups.slice(i + 1).filter((other) => baseOf(other) === base)
    const missed = routes.find(({ template, scope, chain: { policies } }) => {
      const { lineage } = scope
      return (
        `${template.text}/`.startsWith(`${base}/`) &&
        !lineage.includes(group) &&
        (!used.has(group) || namesakes.some((other) => lineage.includes(other))) &&
        // It has only the policies around both.
        policies.every((placed) => placed.depth <= commonScope([group, scope]).depth)
      )
    })
    if (missed === undefined) return []
    return `${missed.place} is without ${guards.join(', ')} of group(${JSON.stringify(prefix)}): map it on the same group or, if all may pass, on the server (docs/guide/traps.md)`
  })
}

/** Whether it can refuse a request. Routes elsewhere do not need a policy that replaces an outer one or opens access. */
function isGuard({ policy: { gate, middleware, name, runsFirst, label }, replaces }: PlacedPolicy): boolean {
  return replaces.length === 0 && label !== 'auth.open' && (gate === null ? middleware !== null && name === null : !runsFirst)
}

function baseOf({ prefix }: Scope): string {
  return prefix.replace(/\/$/, '')
}
