// The cookies of one client, by name alone. Path, domain and Secure are ignored; a cookie that expires in the past is removed.

export class CookieJar {
  readonly #values = new Map<string, string>()

  /** The value of the Cookie field for a request; null without cookies. */
  get header(): string | null {
    return this.#values.size === 0 ? null : [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair, ...attributes] = line.split(';')
      const [name, value] = splitAtEquals(pair!)
      if (isOver(attributes)) this.#values.delete(name)
      else this.#values.set(name, value)
    }
  }
}

/** Max-Age takes precedence over Expires (RFC 6265 §5.3), and the last value of several counts. An invalid number or date counts as absent. */
function isOver(attributes: readonly string[]): boolean {
  let maxAge: number | null = null
  let expires: number | null = null
  for (const attribute of attributes) {
    const [name, value] = splitAtEquals(attribute)
    if (/^max-age$/i.test(name) && /^-?\d+$/.test(value)) maxAge = Number(value)
    if (/^expires$/i.test(name) && !Number.isNaN(Date.parse(value))) expires = Date.parse(value)
  }
  return maxAge !== null ? maxAge <= 0 : expires !== null && expires <= Date.now()
}

function splitAtEquals(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  return at === -1 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}
