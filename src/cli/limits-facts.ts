// What `weir limits` shows: every limit and timeout of a server, and the routes that have their own.

import type { RouteLimits } from '../app/routes/route-listing.ts'
import type { Level } from '../app/routes/scope.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../base/limits.ts'
import { type HttpServer, hostOf } from '../server.ts'

import { routeLabel } from './route-facts.ts'
import { tableOf } from './table.ts'

export interface ServerLimit {
  readonly name: string
  /** Null: no limit. */
  readonly value: number | null
  /** `default`: it has the default value. */
  readonly setBy: 'default' | 'server'
}

export interface RouteLimit {
  /** The routes that it applies to. */
  readonly routes: readonly string[]
  readonly name: string
  readonly value: number | null
  readonly setBy: Level
}

export interface LimitsFacts {
  readonly server: readonly ServerLimit[]
  /** Limits that a group, a class or a route has set. */
  readonly routes: readonly RouteLimit[]
}

export function limitsFactsOf(server: HttpServer): LimitsFacts {
  const { limits, timeouts } = hostOf(server)
  const defaults: Readonly<Record<string, number | null>> = { ...DEFAULT_LIMITS, ...DEFAULT_TIMEOUTS }
  const all = Object.entries({ ...limits, ...timeouts }).map(
    ([name, value]): ServerLimit => ({ name, value, setBy: value === defaults[name] ? 'default' : 'server' }),
  )
  const own = new Map<string, RouteLimit & { readonly routes: string[] }>()
  for (const route of server.routes)
    for (const [name, { value, level }] of Object.entries(route.limits) as [keyof RouteLimits, { value: number | null; level: Level }][]) {
      if (level === 'server') continue
      const key = `${name} ${value} ${level}`
      const known = own.get(key)
      if (known === undefined) own.set(key, { routes: [routeLabel(route)], name, value, setBy: level })
      else known.routes.push(routeLabel(route))
    }
  return { server: all, routes: [...own.values()] }
}

const SIZES: ReadonlySet<string> = new Set(['maxRequestHeaderSize', 'maxRequestBodySize', 'maxChunkExtensionSize', 'maxDrainSize'])
const UNITS = [
  [1024 * 1024 * 1024, 'GiB'],
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
] as const

/** A value with its unit: `10 MiB`, `5 s`, `none`. */
function shownLimit(name: string, value: number | null): string {
  if (value === null) return 'none'
  if (SIZES.has(name)) {
    const unit = UNITS.find(([size]) => value >= size && value % size === 0)
    return unit === undefined ? `${value} B` : `${value / unit[0]} ${unit[1]}`
  }
  if (name === 'minBodyRate') return `${value} B/s`
  if (!/(?:Timeout|Period)$/.test(name)) return String(value)
  return value >= 1000 && value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`
}

export function limitsText({ server, routes }: LimitsFacts): string {
  const text = tableOf(
    ['LIMIT', 'VALUE', 'SET BY'],
    server.map(({ name, value, setBy }) => [name, shownLimit(name, value), setBy]),
  )
  if (routes.length === 0) return text
  const rows = routes.flatMap(({ routes: labels, name, value, setBy }) =>
    labels.map((label) => [label, name, shownLimit(name, value), setBy]),
  )
  return `${text}\n\n${tableOf(['ROUTE', 'LIMIT', 'VALUE', 'SET BY'], rows)}`
}
