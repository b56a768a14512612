// The routes of code that is mounted below a prefix: they match every path there that no other route does, with any method.

import type { ModuleHost } from '../app/module-host.ts'
import type { Policy } from '../app/policies/policy.ts'
import { kindOf } from '../base/kind-of.ts'
import { invalid } from '../base/options.ts'
import type { HttpSession } from '../http/session.ts'
import { MOUNTED_REST } from '../modules/metrics/http-conventions.ts'

/** A server, or a group of its routes. */
export type MountHost = Pick<ModuleHost, 'prefix' | 'logger' | 'isListening'>

const NOT_DOCUMENTED = Object.freeze({ isDocumented: false })
/** Mounted code has its own routes, which documents do not describe. */
const mounted: Policy = { name: 'mounted', describe: () => NOT_DOCUMENTED }

/** @throws WEIR_OPTION_INVALID for anything but a server or a group */
export function checkMountHost(owner: string, server: MountHost): void {
  if (typeof (server as Partial<MapsBelow>).mapBelow !== 'function')
    throw invalid(owner, `the first argument is ${kindOf(server)}, not a server or a group`)
}

/** A member of servers and groups that is not public. */
interface MapsBelow {
  mapBelow(path: string, rest: string, policy: Policy, handler: (args: unknown, session: HttpSession) => unknown): void
}

/** @throws WEIR_ROUTE_TEMPLATE, WEIR_ROUTE_CLASH */
export function mapBelow(server: MountHost, path: string, answer: (session: HttpSession) => unknown): void {
  ;(server as MountHost & MapsBelow).mapBelow(path, MOUNTED_REST, mounted, (_, session) => answer(session))
}

/** How many segments of a path below the mount belong to the prefix. */
export function countPrefixSegments({ prefix }: MountHost, path: string): number {
  return `${prefix}${path.replace(/\/$/, '')}`.split('/').length - 1
}
