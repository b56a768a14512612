// What messages may repeat of the target of a request: all of it but the values of parameters whose schema is secret.

import { NOT_SHOWN } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import type { Step } from './binder.ts'
import type { Route } from './route.ts'

export { NOT_SHOWN }

/** The parts of a head that may contain values of parameters. */
interface Target {
  /** As in the request line. */
  readonly target: string
  /** Path and query as sent. */
  readonly url: string
  readonly rawPath: string
  /** Decoded. */
  readonly path: string
  readonly queryString: string
}

export function isSecret({ schema }: Step): boolean {
  return schema instanceof Schema && schema.holdsSecret
}

/** Path and query for log lines. @param route the one that answers; null if none does */
export function shownUrl(head: Target, route: Route | null): string {
  return route === null || !route.steps.some(isSecret) ? head.url : shownTarget(head, [route]).target
}

/** Target and decoded path. @param routes the one that answers, or those that the path has for other methods */
export function shownTarget(head: Target, routes: readonly Route[]): { target: string; path: string } {
  const secrets = routes.flatMap(({ steps }) => steps.filter(isSecret))
  if (secrets.length === 0) return { target: head.target, path: head.path }
  const names = new Set(secrets.filter(({ source }) => source === 'query').map(({ key }) => key))
  const query = head.queryString
    .split('&')
    .map((pair) => hidePair(pair, names))
    .join('&')
  return { target: hideSegments(head.rawPath, routes) + (query === '' ? '' : `?${query}`), path: hideSegments(head.path, routes) }
}

function hideSegments(path: string, routes: readonly Route[]): string {
  const segments = path.split('/')
  for (const { template, steps } of routes)
    for (const { source, index } of steps.filter(isSecret)) {
      const parameter = source === 'path' ? template.parameters[index] : undefined
      if (parameter !== undefined) segments.splice(parameter.segmentIndex + 1, parameter.rest ? segments.length : 1, NOT_SHOWN)
    }
  return segments.join('/')
}

/** @param pair of the query, as sent */
function hidePair(pair: string, names: ReadonlySet<string>): string {
  const [name] = new URLSearchParams(pair).keys()
  return name !== undefined && names.has(name) ? `${pair.split('=', 1)[0]}=${NOT_SHOWN}` : pair
}
