// Which properties of a model are secret: their values are never repeated to anybody.

/** Names and key paths. Case does not count: a client may misspell a name that is looked at only because it fits no property. */
export class SecretPaths {
  readonly #names: ReadonlySet<string>
  readonly #paths: readonly string[]

  /** @param secrets a name (`password`) is secret wherever it stands; a key path (`card.number`) is counted from the model */
  constructor(secrets: readonly string[]) {
    const lower = secrets.map((secret) => secret.toLowerCase())
    this.#names = new Set(lower.filter((secret) => !secret.includes('.')))
    this.#paths = lower.filter((secret) => secret.includes('.'))
  }

  /** Whether the value at `path` is a secret, a part of one, or holds one. Indexes (`cards[2].number`) do not count. */
  covers(path: string): boolean {
    const plain = path.replace(/\[\d+\]/g, '').toLowerCase()
    if (plain.split('.').some((name) => this.#names.has(name))) return true
    return this.#paths.some((secret) => secret === plain || plain.startsWith(`${secret}.`) || secret.startsWith(`${plain}.`))
  }
}
