// How important a route is when the server cannot serve all requests.

import { type MetadataKey, metadataKey } from '../../app/routes/typed-keys.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'

/**
 * - `low`: refused as soon as the server is overloaded.
 * - `normal`: most routes.
 * - `high`: refused after all others.
 * - `critical`: never refused, such as health checks.
 */
export type Priority = 'low' | 'normal' | 'high' | 'critical'

/** The priority of a route, or of a group, for `shed`: `{ metadata: priority('critical') }`. Default `normal`. */
export const priority: MetadataKey<Priority> = metadataKey<Priority>('priority')

const PRIORITIES: readonly unknown[] = ['low', 'normal', 'high', 'critical']

/** @throws WEIR_OPTION_INVALID for another value in the metadata */
export function priorityOf(owner: string, session: HttpSession): Priority {
  const declared = priority.of(session) ?? 'normal'
  if (PRIORITIES.includes(declared)) return declared
  throw invalid(owner, `the priority of ${session.route} is ${shown(declared)}, not "low", "normal", "high" or "critical"`)
}
