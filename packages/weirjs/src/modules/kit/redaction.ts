// Hides secrets in logs and traces: values of chosen query parameters, credentials in URLs and fields, and parameters with a secret schema.

import { isSecret } from '../../app/routes/binder.ts'
import { DeclaredSecrets, type SecretsHost } from '../../app/routes/declared-secrets.ts'
import type { Route } from '../../app/routes/route.ts'
import type { NoRoute } from '../../app/routes/scope.ts'
import { NOT_SHOWN } from '../../app/routes/shown-target.ts'
import { invalid, listOf } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import { beginningOf, writtenOf } from '../../formats/masking/beginning.ts'
import { fieldSecrets } from '../../formats/masking/contents.ts'
import { looseSecrets } from '../../formats/masking/loose-secrets.ts'
import { urlPairSecrets } from '../../formats/masking/pairs.ts'
import { credentialsIn, masked } from '../../formats/masking/ranges.ts'
import { isRequestLine, refusedHeadSecrets } from '../../formats/masking/refused-head.ts'
import { plainName, SECRET_QUERY, type SecretNames, USUAL_SECRETS } from '../../formats/masking/secret-words.ts'
import { exchangeOf } from '../../http/exchange.ts'
import type { HttpSession } from '../../http/session.ts'

/** How many texts without a secret are remembered: clients repeat the same User-Agent and Referer, and looking for secrets takes 1 to 2 µs. */
const MOST_HARMLESS = 256
/** No longer text is remembered. */
const MOST_HARMLESS_CHARS = 256

/** User name and password of a URL, in whatever text. */
const USER_INFO = /\/\/[^/?#\s]*@/g

/** Reads requests without their secrets, for logs and traces: secrets in declared parameters, in usual fields and in query parameters. */
export interface RedactedReader {
  /** From now on, what the routes of a server declare secret is not shown where no route has read it either. */
  declare(host: SecretsHost): void
  /** The target of the request, as it came. Of more than 4,096 characters, the beginning. */
  urlOf(session: HttpSession): string
  /** The same for a field. @param name in lower case @returns null without it */
  field(session: HttpSession, name: string): string | null
  /** The values of several fields, in the order of `names`. @param names in lower case */
  fields(session: HttpSession, names: readonly string[]): (string | null)[]
  /** The first line of a head that was refused, as observers are told its first bytes. */
  excerpt(firstBytes: string): string
}

/**
 * Makes a reader for a module that writes requests down.
 * @param owner the module, for the error
 * @param option the option that names further query parameters, for its error
 * @param names its value; undefined for the usual ones
 * @throws WEIR_OPTION_INVALID
 */
export function redaction(owner: string, option: string, names: readonly string[] | undefined): RedactedReader {
  return new Redaction(owner, option, names)
}

export class Redaction implements RedactedReader {
  readonly #chosen: readonly string[]
  readonly #isSecret: (name: string) => boolean
  #declared: DeclaredSecrets
  /** Fields in which nothing was secret, by what `#harmlessBy` declares. */
  readonly #harmless = new Set<string>()
  #harmlessBy: SecretNames | null = null

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
  urlOf(session: HttpSession): string {
    const { head, match } = exchangeOf(session)
    const route = match.route as Route | null
    if (route !== null && factsOf(route).isPlain) {
      const url = beginningOf(head.url)
      const nested = url.includes('=') ? this.#secrets.segments.inQuery(url) : []
      return writtenOf(head.url, this.query(nested.length === 0 ? url : masked(url, nested, () => NOT_SHOWN)))
    }
    const { showUrl } = route === null ? (match as NoRoute).scope : route.scope
    const whole = showUrl(head, route)
    const shown = beginningOf(whole)
    const meant = route === null ? this.#secrets.segments.in(shown) : []
    return writtenOf(whole, this.query(meant.length === 0 ? shown : masked(shown, meant, () => NOT_SHOWN)))
  }

  /** Hides the values of the chosen parameters in a URL or a part of one. */
  query(url: string): string {
    if (this.#chosen.length === 0 || (!url.includes('=') && !url.includes('%'))) return url
    const secrets = urlPairSecrets(url, this.#isSecret)
    return secrets.length === 0 ? url : masked(url, secrets, () => NOT_SHOWN)
  }

  /** From now on, what its routes declare secret is not shown where no route has read it either. */
  declare(host: SecretsHost): void {
    this.#declared = new DeclaredSecrets(host, this.#chosen)
  }

  /** The first line of a head that was refused. */
  excerpt(firstBytes: string): string {
    const line = firstLineOf(firstBytes)
    const { names, segments } = this.#secrets
    const secrets = refusedHeadSecrets(line, names, segments, true)
    return isRequestLine(line) ? masked(line, secrets, () => NOT_SHOWN) : masked(line, secrets)
  }

  get #secrets(): DeclaredSecrets {
    this.#declared.refresh() // which does nothing if no route was mapped since
    return this.#declared
  }

  /** A field, which may have URLs, with user names and passwords. */
  link(url: string): string {
    const paths = masked(url, this.#secrets.segments.inLink(url), () => NOT_SHOWN)
    return this.query(paths.includes('@') ? paths.replace(USER_INFO, `//${NOT_SHOWN}@`) : paths)
  }

  /** The value of a field of the request; null if it has none. @param name in lower case */
  field(session: HttpSession, name: string): string | null {
    const { head, match } = exchangeOf(session)
    const value = head.get(name)
    return value === null ? null : this.#shown(name, value, match.route as Route | null)
  }

  /** The values of several fields, in the order of `names`. @param names in lower case */
  fields(session: HttpSession, names: readonly string[]): (string | null)[] {
    const { head, match } = exchangeOf(session)
    const values = head.pick(names)
    for (let i = 0; i < names.length; i++) {
      const value = values[i]!
      if (value !== null) values[i] = this.#shown(names[i]!, value, match.route as Route | null)
    }
    return values
  }

  #shown(name: string, value: string, route: Route | null): string {
    const { names, segments } = this.#secrets
    // What any route declares secret may have been sent to another one, or with another method.
    if (names.has(name) || (route !== null && factsOf(route).secretFields.has(name))) return NOT_SHOWN
    // Their form is their own, so what is harmless in another field may be a secret there.
    if (name === 'sec-websocket-protocol' || name.startsWith('upload-')) {
      const text = beginningOf(value)
      return writtenOf(
        value,
        masked(text, fieldSecrets(name, text, names, segments), () => NOT_SHOWN),
      )
    }
    if (names !== this.#harmlessBy) this.#harmless.clear()
    this.#harmlessBy = names
    if (this.#harmless.has(value)) return value
    const text = beginningOf(value)
    if (!/[/=: \t+]/.test(text)) return writtenOf(value, text)
    const found = [...looseSecrets(text, names), ...credentialsIn(text)]
    const loose = found.length === 0 ? text : masked(text, found, () => NOT_SHOWN)
    const shown = writtenOf(value, loose.includes('/') ? this.link(loose) : loose)
    if (shown === value && value.length <= MOST_HARMLESS_CHARS) this.#remember(value)
    return shown
  }

  #remember(harmless: string): void {
    if (this.#harmless.size === MOST_HARMLESS) this.#harmless.clear()
    this.#harmless.add(ownText(harmless))
  }
}

/** The fields of a request may follow in the excerpt, and with them credentials. */
function firstLineOf(excerpt: string): string {
  return /^(?:[^\\]|\\[^rn])*/.exec(excerpt)![0]
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
