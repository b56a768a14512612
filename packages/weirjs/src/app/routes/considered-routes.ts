// Which routes have enough in common with a path that the client may have meant them.

import { type Miss, missOf, segmentsOf } from '../../routing/miss.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'

export interface ConsideredRoute {
  readonly route: Route
  /** Null: the template matches the path. Method, host or endpoint may still differ. */
  readonly miss: Miss | null
}

/** @param path decoded except `%2F` */
export function consideredRoutes(table: RouteTable, path: string): ConsideredRoute[] {
  const segments = segmentsOf(path)
  const considered = consideredAmong(table.routesIn(table.root), path)
  for (const route of table.fallbackRoutes) if (missOf(route.template, segments) === null) considered.push({ route, miss: null })
  return considered
}

/** The routes that are considered. */
export function consideredAmong(routes: readonly Route[], path: string): ConsideredRoute[] {
  const segments = segmentsOf(path)
  return routes.map((route) => ({ route, miss: missOf(route.template, segments) })).filter(({ miss }) => isConsidered(miss))
}

/** A template whose first segment is another text has nothing in common with the path. */
function isConsidered(miss: Miss | null): boolean {
  return miss === null || miss.segmentIndex > 0 || miss.edits !== null
}
