// Decides by its name whether a field, parameter or property is a secret.

/** Parts of names that are always secret, without `-` and `_`. */
const PARTS = /passw(?:or)?d|passphrase|secret|token|apikey|accesskey|privatekey|credential|authorization|cookie|session/
/** Whole names that are. */
const WHOLE: ReadonlySet<string> = new Set(['pwd', 'pin', 'otp', 'totp', 'cvv', 'cvc', 'auth', 'jwt', 'sid'])

export class SecretNames {
  readonly #more: Set<string>

  /** @param more names that are secret too, in any case */
  constructor(more: Iterable<string> = []) {
    this.#more = new Set([...more].map(plain))
  }

  add(names: Iterable<string>): void {
    for (const name of names) this.#more.add(plain(name))
  }

  has(name: string): boolean {
    const text = plain(name)
    return PARTS.test(text) || WHOLE.has(text) || this.#more.has(text)
  }
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '')
}
