// Decides by its name whether a field, parameter or property is a secret.

import { ownText } from '../../base/own-text.ts'

/** Parts that make a name secret, without `-` and `_`. */
const PARTS =
  /passw(?:or)?d|passphrase|passcode|passkey|bearer|samlresponse|codeverifier|signingkey|encryptionkey|secret|token|apikey|authkey|accesskey|privatekey|credential|authorization|cookie|session|assertion|subscriptionkey/
/** Whole names that are secret. */
const WHOLE: ReadonlySet<string> = new Set(['pass', 'pwd', 'pin', 'otp', 'totp', 'cvv', 'cvc', 'auth', 'dpop', 'jwt', 'sid'])

/**
 * Parameters of queries whose values are usually secret: parameters of OAuth, and of URLs that are signed. Elsewhere, a `code` or a `signature`
 * usually is not.
 */
export const SECRET_QUERY: readonly string[] = [
  'access_token',
  'api_key',
  'apikey',
  'client_secret',
  'code',
  'id_token',
  'password',
  'refresh_token',
  'secret',
  'sig',
  'signature',
  'token',
]
const IN_QUERIES: ReadonlySet<string> = new Set(SECRET_QUERY.map(plainName))
const MOST_KNOWN = 1_000
const MOST_KNOWN_CHARS = 100

export class SecretNames {
  readonly #more: Set<string>
  /** Names that have been looked at: most requests have the same ones. */
  readonly #known = new Map<string, boolean>()
  readonly #knownInQueries = new Map<string, boolean>()

  /** @param more names that are secret too, in any case */
  constructor(more: Iterable<string> = []) {
    this.#more = new Set([...more].map(plainName))
  }

  add(names: Iterable<string>): void {
    for (const name of names) this.#more.add(plainName(name))
    this.#known.clear()
    this.#knownInQueries.clear()
  }

  has(name: string): boolean {
    return this.#known.get(name) ?? remember(this.#known, name, this.#isSecret(plainName(name)))
  }

  #isSecret(text: string): boolean {
    if (PARTS.test(text)) return true
    // Fields are often written with `X-` before their name, and `-bin` after it where their values are bytes.
    const name = text.endsWith('bin') ? text.slice(0, -'bin'.length) : text
    return WHOLE.has(name) || WHOLE.has(name.replace(/^x/, '')) || this.#more.has(text) || this.#more.has(name)
  }

  /** Whether a parameter of a query with this name is secret. */
  hasInQuery(name: string): boolean {
    return this.#knownInQueries.get(name) ?? remember(this.#knownInQueries, name, this.has(name) || isInQueries(plainName(name)))
  }
}

/** `X-Amz-Signature` and `X-Goog-Signature` are in URLs that clouds have signed. */
function isInQueries(text: string): boolean {
  return IN_QUERIES.has(text) || text.endsWith('signature')
}

/** The secret names of every program. */
export const USUAL_SECRETS: SecretNames = new SecretNames()

function remember(known: Map<string, boolean>, name: string, isSecret: boolean): boolean {
  if (known.size < MOST_KNOWN && name.length <= MOST_KNOWN_CHARS) known.set(ownText(name), isSecret)
  return isSecret
}

/** The name in a form in which `access_token`, `accessToken` and `Access-Token` are the same. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}
