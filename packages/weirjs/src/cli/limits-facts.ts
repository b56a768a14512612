// What `weirjs limits` shows: every limit and timeout of a server, and the routes that have their own.

import { limitText, setBy } from '../app/explain/limit-text.ts'
import type { RouteLimits } from '../app/routes/route-listing.ts'
import type { Level } from '../app/routes/scope.ts'
import { type HttpServer, hostOf } from '../server.ts'

import { routeLabel } from './route-facts.ts'
import { tableOf } from './table.ts'

export interface ServerLimit {
  readonly name: string
  /** Null: no limit. */
  readonly value: number | null
  /** Who has set it. `default`: it has the default value. */
  readonly level: Level | 'default'
}

export interface RouteLimit {
  /** The routes that it applies to. */
  readonly routes: readonly string[]
  readonly name: string
  readonly value: number | null
  readonly level: Level
}

export interface LimitsFacts {
  readonly server: readonly ServerLimit[]
  /** Limits that a group, a class or a route has set. */
  readonly routes: readonly RouteLimit[]
}

export function limitsFactsOf(server: HttpServer): LimitsFacts {
  const { limits, timeouts } = hostOf(server)
  const all = Object.entries({ ...limits, ...timeouts }).map(
    ([name, value]): ServerLimit => ({ name, value, level: setBy(name, value, 'server') }),
  )
  const own = new Map<string, RouteLimit & { readonly routes: string[] }>()
  for (const route of server.routes)
    for (const [name, { value, level }] of Object.entries(route.limits) as [keyof RouteLimits, { value: number | null; level: Level }][]) {
      if (level === 'server') continue
      const key = `${name} ${value} ${level}`
      const known = own.get(key)
      if (known === undefined) own.set(key, { routes: [routeLabel(route)], name, value, level })
      else known.routes.push(routeLabel(route))
    }
  return { server: all, routes: [...own.values()] }
}

export function limitsText({ server, routes }: LimitsFacts): string {
  const text = tableOf(
    ['LIMIT', 'VALUE', 'SET BY'],
    server.map(({ name, value, level }) => [name, limitText(name, value), level]),
  )
  if (routes.length === 0) return text
  const rows = routes.flatMap(({ routes: labels, name, value, level }) =>
    labels.map((label) => [label, name, limitText(name, value), level]),
  )
  return `${text}\n\n${tableOf(['ROUTE', 'LIMIT', 'VALUE', 'SET BY'], rows)}`
}
