// Finds the routes that do not answer a request, and why. The matcher decides which route answers. For a condition that a template does not state
// itself, a matcher with only that condition decides.

import { hostName } from '../../base/host-name.ts'
import type { RequestHead } from '../../http/application.ts'
import { Matcher } from '../../routing/matcher.ts'
import { type Miss, segmentsOf } from '../../routing/miss.ts'
import { Template } from '../../routing/template.ts'
import { NOT_SHOWN, shorten } from '../../schema/mismatch.ts'
import type { ConsideredRoute } from '../routes/considered-routes.ts'
import type { Route } from '../routes/route.ts'
import type { RouteTable } from '../routes/route-table.ts'
import type { Secrets } from '../routes/shown-target.ts'
import type { ShownTexts } from '../routes/shown-texts.ts'

import type { ExplainedRoute, RejectedRoute, Rejection } from './explanation.ts'

const MAX_SHOWN = 10
/** For how many routes, the nearest by their paths, all reasons are computed. */
const MAX_COMPARED = 200

const ROOT = new Template('/')

export interface OtherRoutes {
  readonly others: readonly RejectedRoute[]
  readonly othersLeftOut: number
}

interface Candidate extends ConsideredRoute {
  /** The less, the nearer. */
  readonly distance: number
}

/**
 * @param considered with the route that answers, if one does
 * @param secrets of these routes
 * @param texts what else is secret
 * @param chosen the route that answers; null if none does
 */
export function otherRoutes(
  table: RouteTable,
  head: RequestHead,
  endpoint: string | null,
  considered: readonly ConsideredRoute[],
  secrets: Secrets,
  texts: ShownTexts,
  chosen: Route | null,
): OtherRoutes {
  const segments = segmentsOf(texts.target(head.path, chosen)).map((segment, i) =>
    segment !== '' && secrets.hidesSegment(i) ? NOT_SHOWN : segment,
  )
  const candidates = considered
    .filter(({ route }) => route !== chosen)
    .map(({ route, miss }): Candidate => ({ route, miss, distance: distanceOf(route, miss, segments.length) }))
  const nearest = candidates
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_COMPARED)
    .map((candidate) => ({ ...candidate, reasons: reasonsOf(table, head, segments, endpoint, candidate, chosen) }))
    .sort((a, b) => a.distance - b.distance || a.reasons.length - b.reasons.length)
    .slice(0, MAX_SHOWN)
  return {
    others: nearest.map(({ route, reasons }) => ({ ...explainedRoute(table, route), reasons })),
    othersLeftOut: candidates.length - nearest.length,
  }
}

export function explainedRoute(table: RouteTable, route: Route): ExplainedRoute {
  const { method, template, host, endpoint, source } = route
  return { method, path: template.text, host, endpoint, source, isFallback: table.fallbackRoutes.includes(route) }
}

function distanceOf({ template }: Route, miss: Miss | null, segmentCount: number): number {
  if (miss === null) return 0
  return miss.edits !== null ? 1 + miss.edits : 4 + Math.max(template.segments.length, segmentCount) - miss.segmentIndex
}

function reasonsOf(
  table: RouteTable,
  head: RequestHead,
  segments: readonly string[],
  endpoint: string | null,
  { route, miss }: Candidate,
  chosen: Route | null,
): Rejection[] {
  const reasons: Rejection[] = []
  const host = hostName(head.host)
  if (route.endpoint !== null && route.endpoint !== endpoint)
    reasons.push({
      kind: 'endpoint',
      detail: `it is for endpoint ${quote(route.endpoint)}, not ${endpoint === null ? 'one without a name' : quote(endpoint)}`,
    })
  if (route.host !== null && !accepts(null, route.host, head.method, host))
    reasons.push({ kind: 'host', detail: `it is for host ${route.host}, not ${quote(host)}` })
  if (miss !== null) reasons.push({ kind: kindOf(miss), detail: detailOf(miss, route.template, segments) })
  if (!accepts(route.method, null, head.method, ''))
    reasons.push({ kind: 'method', detail: `it is for ${route.method}, not ${head.method}` })
  if (reasons.length === 0) reasons.push({ kind: 'order', detail: orderOf(table, route, chosen) })
  return reasons
}

function kindOf({ kind, edits, fits }: Miss): Rejection['kind'] {
  if (kind === 'case') return fits ? 'case' : 'text'
  return kind === 'text' && fits && edits !== null ? 'spelling' : kind
}

/** Whether a route with nothing but that method or that host would answer. */
function accepts(method: string | null, host: string | null, askedMethod: string, askedHost: string): boolean {
  const matcher = new Matcher<{ readonly source: string }>()
  matcher.add(method, ROOT, host, { source: '' })
  return matcher.find(askedMethod, '/', askedHost) !== null
}

function detailOf({ kind, segmentIndex }: Miss, { segments: wanted }: Template, segments: readonly string[]): string {
  const segment = wanted[segmentIndex]
  const text = segment?.kind === 'text' ? quote(segment.text) : `parameter "${segment?.name ?? ''}"`
  const received = segments[segmentIndex] ?? ''
  const came = received === NOT_SHOWN ? NOT_SHOWN : quote(received)
  const place = `segment ${segmentIndex + 1}`
  switch (kind) {
    case 'text':
      return `${place} is ${came}, not ${text}`
    case 'case':
      return `${place} is ${came}, not ${text}: upper and lower case differ`
    case 'slash':
      return segment === undefined ? 'the path ends with a slash' : 'the path does not end with a slash'
    case 'empty':
      return `${text} would be empty`
    case 'short':
      return `the path ends before ${text}`
    default:
      return `the path continues with ${came}`
  }
}

/** Both match. @param chosen null where the path has routes for other methods */
function orderOf(table: RouteTable, route: Route, chosen: Route | null): string {
  if (table.fallbackRoutes.includes(route) && (chosen === null || !table.fallbackRoutes.includes(chosen)))
    return 'a fallback answers only where no route has the path'
  if (chosen === null) return 'another one comes first'
  if (chosen.endpoint !== route.endpoint) return `routes of endpoint ${quote(chosen.endpoint ?? '')} come first`
  if (chosen.host !== route.host) return `host ${chosen.host} is more specific than ${route.host ?? 'any host'}`
  if (chosen.method !== route.method && shapeOf(chosen) === shapeOf(route)) return `the route for ${chosen.method} comes first`
  return `${chosen.template.text} is more specific`
}

/** The same for templates that differ only in the names of their parameters. */
function shapeOf({ template }: Route): string {
  return template.segments.map((segment) => (segment.kind === 'text' ? `=${segment.text}` : segment.kind)).join('/')
}

function quote(text: string): string {
  return JSON.stringify(shorten(text))
}
