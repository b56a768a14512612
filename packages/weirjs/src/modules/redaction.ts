// What logs and traces do not repeat: values of chosen query parameters, credentials in URLs and fields, and parameters with a secret
// schema.

import { isSecret } from '../app/routes/binder.ts'
import { DeclaredSecrets } from '../app/routes/declared-secrets.ts'
import type { Route } from '../app/routes/route.ts'
import type { RouteListing } from '../app/routes/route-listing.ts'
import type { NoRoute } from '../app/routes/scope.ts'
import { NOT_SHOWN } from '../app/routes/shown-target.ts'
import { invalid, listOf } from '../base/options.ts'
import { urlPairSecrets } from '../formats/masking/pairs.ts'
import { masked } from '../formats/masking/ranges.ts'
import { isRequestLine, refusedHeadSecrets } from '../formats/masking/refused-head.ts'
import { plainName, SECRET_QUERY, USUAL_SECRETS } from '../formats/masking/secret-words.ts'
import type { Exchange } from '../http/exchange.ts'

const USER_INFO = /^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i

export { SECRET_QUERY }

/** The option `secretQuery`. @throws WEIR_OPTION_INVALID */
export const secretQueryOf = (names: readonly string[], owner: string, option: string): Redaction => new Redaction(owner, option, names)

export class Redaction {
  readonly #chosen: readonly string[]
  readonly #isSecret: (name: string) => boolean
  #declared: DeclaredSecrets

  /**
   * @param names of query parameters, in any case, with or without `-` and `_`. Default: those that are usually secret
   * @throws WEIR_OPTION_INVALID
   */
  constructor(owner: string, option: string, names: readonly string[] = SECRET_QUERY) {
    for (const name of listOf<unknown>(owner, option, names))
      if (typeof name !== 'string' || name === '') throw invalid(owner, `${option} has a name that is not a string, or empty`)
    const chosen = new Set(names.map(plainName))
    this.#isSecret = names === SECRET_QUERY ? (name) => USUAL_SECRETS.hasInQuery(name) : (name) => chosen.has(plainName(name))
    this.#chosen = names
    this.#declared = new DeclaredSecrets({ routes: [] }, names)
  }

  /** Path and query of a request. */
  urlOf({ head, match }: Exchange): string {
    const route = match.route as Route | null
    if (route !== null && factsOf(route).isPlain) return this.query(head.url)
    const { showUrl } = route === null ? (match as NoRoute).scope : route.scope
    return this.query(showUrl(head, route))
  }

  /** Hides the values of the chosen parameters in a URL or a part of one. */
  query(url: string): string {
    if (this.#chosen.length === 0 || !url.includes('=')) return url
    const secrets = urlPairSecrets(url, this.#isSecret)
    return secrets.length === 0 ? url : masked(url, secrets, () => NOT_SHOWN)
  }

  /** From now on, what its routes declare secret is not shown where no route has read it either. */
  declare(host: { readonly routes: readonly RouteListing[] }): void {
    this.#declared = new DeclaredSecrets(host, this.#chosen)
  }

  /** The first line of a head that was refused. */
  excerpt(line: string): string {
    const { names, segments } = this.#secrets
    const secrets = refusedHeadSecrets(line, names, segments, true)
    return isRequestLine(line) ? masked(line, secrets, () => NOT_SHOWN) : masked(line, secrets)
  }

  get #secrets(): DeclaredSecrets {
    this.#declared.refresh() // which does nothing if no route was mapped since
    return this.#declared
  }

  /** A URL in a field, which may have a user name and a password. */
  link(url: string): string {
    const paths = masked(url, this.#secrets.segments.in(url), () => NOT_SHOWN)
    return this.query(paths.includes('@') ? paths.replace(USER_INFO, `$1${NOT_SHOWN}@`) : paths)
  }

  /** The value of a field of the request; null if it has none. @param name in lower case */
  field({ head, match }: Exchange, name: string): string | null {
    const value = head.get(name)
    return value === null ? null : this.#shown(name, value, match.route as Route | null)
  }

  /** The values of several fields, in the order of `names`. @param names in lower case */
  fields({ head, match }: Exchange, names: readonly string[]): (string | null)[] {
    const values = head.pick(names)
    for (let i = 0; i < names.length; i++) {
      const value = values[i]!
      if (value !== null) values[i] = this.#shown(names[i]!, value, match.route as Route | null)
    }
    return values
  }

  #shown(name: string, value: string, route: Route | null): string {
    if (USUAL_SECRETS.has(name) || (route !== null && factsOf(route).secretFields.has(name))) return NOT_SHOWN
    return name === 'referer' ? this.link(value) : value
  }
}

/** What a route declares secret. */
interface RouteFacts {
  /** No URL of it contains a secret. */
  readonly isPlain: boolean
  /** Fields that are secret parameters, in lower case. */
  readonly secretFields: ReadonlySet<string>
}

const facts = new WeakMap<Route, RouteFacts>()
let lastRoute: Route | null = null
let lastFacts: RouteFacts | null = null

function factsOf(route: Route): RouteFacts {
  if (route === lastRoute) return lastFacts!
  let found = facts.get(route)
  if (found === undefined) {
    const secrets = route.steps.filter(isSecret)
    found = {
      // What a rest matches may have been meant for another route.
      isPlain:
        !secrets.some(({ source }) => source === 'path' || source === 'query') && !route.template.parameters.some(({ rest }) => rest),
      secretFields: new Set(secrets.filter(({ source }) => source === 'header').map(({ key }) => key.toLowerCase())),
    }
    facts.set(route, found)
  }
  lastRoute = route
  lastFacts = found
  return found
}
