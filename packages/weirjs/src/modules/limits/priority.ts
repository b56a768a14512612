// How important a route is when the server cannot serve all requests.

import { type MetadataKey, metadataKey } from '../../app/routes/typed-keys.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { RouteMetadata } from '../../http/route-info.ts'

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

/**
 * @param declared the route, or a request to it @param where names the route for messages
 * @throws WEIR_OPTION_INVALID for another value in the metadata
 */
export function priorityOf(owner: string, declared: { readonly metadata: RouteMetadata }, where: string | null): Priority {
  const found = priority.of(declared) ?? 'normal'
  if (PRIORITIES.includes(found)) return found
  throw invalid(owner, `the priority of ${where} is ${shown(found)}, not "low", "normal", "high" or "critical"`)
}
