// What messages may show of a request: everything except the values that a route declares secret, whether that route answers or the client may only
// have meant it.

import { parseForm } from '../../formats/form.ts'
import { beginningOf, writtenOf } from '../../formats/masking/beginning.ts'
import { masked, urlSecrets } from '../../formats/masking/ranges.ts'
import { USUAL_SECRETS } from '../../formats/masking/secret-words.ts'
import { segmentsOf } from '../../routing/miss.ts'
import type { Template } from '../../routing/template.ts'
import { NOT_SHOWN } from '../../schema/mismatch.ts'
import { isSecret, type Step } from './binder.ts'
import { type ConsideredRoute, consideredAmong } from './considered-routes.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'
import type { ShownHead } from './scope.ts'

export { NOT_SHOWN }

/**
 * Path and query for log lines.
 * @param route the one that answers; null if none does
 */
export function shownUrl(head: ShownHead, route: Route | null, { secretRoutes }: RouteTable): string {
  if (secretRoutes.length === 0) return head.url // the usual case: logs call this for every request
  const secrets = secretsOf(route, () => consideredAmong(secretRoutes, head.path))
  return secrets.isEmpty ? head.url : secrets.shownTarget(head)
}

/**
 * What must be hidden in a request. A route without a rest determines what each segment of its paths is. Otherwise the client may have meant
 * another route, and the secrets of all routes in question are hidden.
 * @param route the one that answers; null if none does
 */
export function secretsOf(route: Route | null, considered: () => readonly ConsideredRoute[]): Secrets {
  const isSure = route !== null && !hasRest(route)
  return new Secrets(isSure ? [{ route, miss: null }] : considered(), route)
}

export function hasRest({ template }: Route): boolean {
  return template.parameters.some(({ rest }) => rest)
}

/** The same for reports of the server itself, which also hide what is usually secret, because the program has chosen no names for them. */
export function reportedUrl(head: ShownHead, route: Route | null, table: RouteTable): string {
  const whole = shownUrl(head, route, table)
  const url = beginningOf(whole)
  return writtenOf(
    whole,
    masked(url, urlSecrets(url, USUAL_SECRETS), () => NOT_SHOWN),
  )
}

/** What must be hidden in one request. */
export class Secrets {
  /** Names of fields, in lower case. */
  readonly fields: ReadonlySet<string>
  readonly #queryNames: ReadonlySet<string>
  /** Indexes of segments. */
  readonly #segments = new Set<number>()
  /** This segment and all that follow. */
  #from = Number.POSITIVE_INFINITY
  /** Its texts are known from the template, and so not secret. */
  readonly #template: Template | null

  /** @param answering the route that answers; null if none does */
  constructor(considered: readonly ConsideredRoute[], answering: Route | null) {
    const keysIn = (source: Step['source']): string[] =>
      considered.flatMap(({ route }) => route.steps.filter((step) => step.source === source && isSecret(step)).map(({ key }) => key))
    this.fields = new Set(keysIn('header'))
    this.#queryNames = new Set(keysIn('query'))
    this.#template = answering?.template ?? null
    for (const one of considered) this.#addSegments(one)
  }

  /**
   * Before the place where template and path differ, each segment is the value of its parameter. From there on, the path may have segments
   * more or fewer than the template.
   */
  #addSegments({ route: { template, steps }, miss }: ConsideredRoute): void {
    const sureUntil = miss?.segmentIndex ?? template.segments.length
    for (const step of steps) {
      const parameter = step.source === 'path' && isSecret(step) ? template.parameters[step.index] : undefined
      if (parameter === undefined) continue
      const { segmentIndex, rest } = parameter
      if (rest || segmentIndex >= sureUntil) this.#from = Math.min(this.#from, segmentIndex)
      else this.#segments.add(segmentIndex)
    }
  }

  get isEmpty(): boolean {
    return this.#segments.size === 0 && this.#from === Number.POSITIVE_INFINITY && this.#queryNames.size === 0
  }

  /** Whether the segment of the path with that index is hidden, counted from 0. */
  hidesSegment(index: number): boolean {
    return (index >= this.#from || this.#segments.has(index)) && this.#template?.segments[index]?.kind !== 'text'
  }

  /** Whether it, or a segment after it, is hidden. */
  hidesRest(index: number): boolean {
    return this.#from !== Number.POSITIVE_INFINITY || [...this.#segments].some((segment) => segment >= index)
  }

  shownTarget({ target, rawPath, queryString }: ShownHead): string {
    if (this.isEmpty) return target
    return this.shownPath(rawPath) + (queryString === '' ? '' : `?${this.#shownQuery(queryString)}`)
  }

  /** @param path raw or decoded, which have the same segments */
  shownPath(path: string): string {
    if (this.isEmpty || !path.startsWith('/')) return path
    const segments = segmentsOf(path)
    const shown: string[] = []
    segments.forEach((segment, i) => {
      if (segment === '' || !this.hidesSegment(i)) shown.push(segment)
      else if (i <= this.#from || shown.at(-1) !== NOT_SHOWN) shown.push(NOT_SHOWN)
    })
    return `/${shown.join('/')}`
  }

  hidesQuery(name: string): boolean {
    return this.#queryNames.has(name)
  }

  /** All names are read at once: a query may have thousands, and be sent in a byte (HTTP/2). */
  #shownQuery(sent: string): string {
    if (this.#queryNames.size === 0) return sent
    const read = parseForm(sent, Number.POSITIVE_INFINITY)
    let next = 0
    const shown = (pair: string): string => {
      if (pair === '') return pair // the rest is not read
      const name = read[next]!
      next += 2
      return this.hidesQuery(name.replace(/^\?/, '')) ? `${pair.split('=', 1)[0]}=${NOT_SHOWN}` : pair
    }
    return sent.split('&').map(shown).join('&')
  }
}
