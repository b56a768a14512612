// The output of `weir limits`: every limit and timeout of a server, and the routes that have their own.

import type { HttpServer, RouteLimits } from 'weirjs'
import type { Level } from 'weirjs/explain'
import { dev } from 'weirjs/kit'

import { routeLabel } from './route-facts.ts'
import { tableOf } from './table.ts'

interface RouteLimit {
  /** The routes that it applies to. */
  readonly routes: readonly string[]
  readonly name: string
  readonly value: number | null
  readonly level: Level
}

export interface LimitsFacts {
  readonly server: readonly dev.ServerLimit[]
  /** Limits that a group, a class or a route has set. */
  readonly routes: readonly RouteLimit[]
}

export function limitsFactsOf(server: HttpServer): LimitsFacts {
  const own = new Map<string, RouteLimit & { readonly routes: string[] }>()
  for (const route of server.routes)
    for (const [name, { value, level }] of Object.entries(route.limits) as [keyof RouteLimits, { value: number | null; level: Level }][]) {
      if (level === 'server') continue
      const key = `${name} ${value} ${level}`
      const known = own.get(key)
      if (known === undefined) own.set(key, { routes: [routeLabel(route)], name, value, level })
      else known.routes.push(routeLabel(route))
    }
  return { server: dev.limitsOf(server), routes: [...own.values()] }
}

export function limitsText({ server, routes }: LimitsFacts): string {
  const text = tableOf(
    ['LIMIT', 'VALUE', 'SET BY'],
    server.map(({ name, value, level }) => [name, dev.limitText(name, value), level]),
  )
  if (routes.length === 0) return text
  const rows = routes.flatMap(({ routes: labels, name, value, level }) =>
    labels.map((label) => [label, name, dev.limitText(name, value), level]),
  )
  return `${text}\n\n${tableOf(['ROUTE', 'LIMIT', 'VALUE', 'SET BY'], rows)}`
}
