// Decides which properties of a model are secret: errors and logs never contain their values.

/** Names and key paths, case-insensitive: unknown names are checked too, and a client may send a secret under a misspelt one. */
export class SecretPaths {
  readonly #names: ReadonlySet<string>
  readonly #paths: readonly string[]

  /** @param secrets a name (`password`) applies at any depth; a key path (`card.number`) starts at the model */
  constructor(secrets: readonly string[]) {
    const lower = secrets.map((secret) => secret.toLowerCase())
    this.#names = new Set(lower.filter((secret) => !secret.includes('.')))
    this.#paths = lower.filter((secret) => secret.includes('.'))
  }

  /** Whether the value at `path` is a secret, is part of one, or contains one. Indexes (`cards[2].number`) are ignored. */
  covers(path: string): boolean {
    const plain = path.replace(/\[\d+\]/g, '').toLowerCase()
    if (plain.split('.').some((name) => this.#names.has(name))) return true
    return this.#paths.some((secret) => secret === plain || plain.startsWith(`${secret}.`) || secret.startsWith(`${plain}.`))
  }
}
