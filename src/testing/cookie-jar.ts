// The cookies of one client, by name alone: path, domain and Secure are not looked at, an expiry in the past removes.

export class CookieJar {
  readonly #values = new Map<string, string>()

  /** What a request carries; null when there is nothing. */
  get header(): string | null {
    return this.#values.size === 0 ? null : [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair, ...attributes] = line.split(';')
      const [name, value] = splitAtEquals(pair!)
      if (attributes.some(isPast)) this.#values.delete(name)
      else this.#values.set(name, value)
    }
  }
}

function isPast(attribute: string): boolean {
  const [name, value] = splitAtEquals(attribute)
  if (name.toLowerCase() === 'max-age') return Number(value) <= 0
  return name.toLowerCase() === 'expires' && Date.parse(value) <= Date.now()
}

function splitAtEquals(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  return at === -1 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}
