// What explanations and the page of `debug` show of a request: everything, in any spelling, except what is secret by its name or by the declaration
// of a route, even a route that the client has missed.

import { fieldSecrets } from '../../formats/masking/contents.ts'
import { masked, urlSecrets, valueSecrets } from '../../formats/masking/ranges.ts'
import { SecretSegments } from '../../formats/masking/secret-segments.ts'
import { SecretNames } from '../../formats/masking/secret-words.ts'
import { NOT_SHOWN } from '../../schema/mismatch.ts'
import { isSecret } from './binder.ts'
import type { Route } from './route.ts'
import type { RouteTable } from './route-table.ts'
import { hasRest } from './shown-target.ts'

export class ShownTexts {
  readonly #names: SecretNames
  readonly #segments: SecretSegments

  /** @param table the routes of the server */
  constructor({ secretRoutes, basePath }: Pick<RouteTable, 'secretRoutes' | 'basePath'>) {
    this.#segments = new SecretSegments(basePath)
    const names: string[] = []
    for (const { template, steps } of secretRoutes) {
      const secret = steps.filter(isSecret)
      names.push(...secret.filter(({ source }) => source !== 'path').map(({ key }) => key))
      this.#segments.add(
        template.text,
        secret.filter(({ source }) => source === 'path').map(({ name }) => name),
      )
    }
    this.#names = new SecretNames(names)
  }

  /**
   * The target of the request, or its path.
   * @param route the one that answers. A route without a rest determines what each segment is; otherwise the client may have meant another route
   */
  target(text: string, route: Route | null): string {
    const isSure = route !== null && !hasRest(route)
    const inSegments = isSure ? this.#segments.inQuery(text) : this.#segments.in(text)
    return masked(text, [...urlSecrets(text, this.#names), ...inSegments], () => NOT_SHOWN)
  }

  /** A value of the query or the path. */
  value(name: string, text: string): string {
    if (this.#names.hasInQuery(name)) return NOT_SHOWN
    const found = valueSecrets(text, this.#names)
    return masked(text, text.includes('/') ? [...found, ...this.#segments.inLink(text)] : found, () => NOT_SHOWN)
  }

  field(name: string, text: string): string {
    if (this.#names.hasInQuery(name)) return NOT_SHOWN
    return masked(text, fieldSecrets(name, text, this.#names, this.#segments), () => NOT_SHOWN)
  }
}
