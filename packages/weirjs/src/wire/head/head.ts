// A request head, in either protocol: one string with the whole block, in which fields are looked up when they are read. An object with all
// fields is never built.

import { COLON, CR, LOWER, SLASH, trimBlanks } from '../../base/ascii.ts'
import { plainTarget, type Target } from './target.ts'

/** A complete request head. It owns its text, so it may be kept after the request. */
export type Head = Readonly<MutableHead>

/** A head while it is being read: only readers set its properties. */
export class MutableHead {
  readonly #block: string
  readonly #targetStart: number
  readonly #targetEnd: number
  readonly #fieldsStart: number
  /** Size of the head in bytes. */
  readonly size: number
  readonly method: string
  /** Path and query, as sent. */
  url: string
  rawPath: string
  /** Percent-decoded once, except `%2F`. */
  path: string
  readonly queryString: string
  /** The scheme of an absolute-form target; null in the other forms, and in HTTP/2. */
  readonly scheme: 'http' | 'https' | null
  readonly minorVersion: 0 | 1
  /**
   * Host, or the authority of an absolute-form target, as sent. Empty if the client sent an empty Host or, in HTTP/1.0, neither of the two.
   */
  readonly host: string
  /** Whether the client allows another request on the connection. `ConnectionState` decides whether the connection stays open. */
  keepAlive: boolean
  /** Whether the client waits for `100 Continue` before it sends the body. */
  expectsContinue = false
  /** Whether there are `Connection: upgrade` and an Upgrade field. */
  upgrade = false
  /** Content-Type as `get` returns it; null when there is none. */
  contentType: string | null = null
  /** Whether it arrived over HTTP/2. It is interpreted like an HTTP/1.1 head. */
  isHttp2 = false
  /** Length of the body in bytes; 0 without a body, -1 (`CHUNKED`) when it is known only at its end. */
  contentLength = 0
  /** Whether code of the program has been shown the cookies, or that there are none. */
  hasShownCookies = false
  /** The path below which the application is, which `path` and `url` do not contain; empty without one. */
  basePath = ''
  /** What takes the place of fields, by names in lower case; null for all fields as they were received. */
  #standIns: StandIns | null = null

  constructor(
    block: string,
    method: string,
    target: Target,
    targetStart: number,
    targetEnd: number,
    minorVersion: 0 | 1,
    fieldsStart: number,
    host: string,
  ) {
    this.#block = block
    this.#targetStart = targetStart
    this.#targetEnd = targetEnd - 1
    this.#fieldsStart = fieldsStart
    this.size = block.length
    this.method = method
    this.url = target.url
    this.rawPath = target.rawPath
    this.path = target.path
    this.queryString = target.queryString
    this.scheme = target.authority === null ? null : block.charCodeAt(targetStart + 'http'.length) === COLON ? 'http' : 'https'
    this.minorVersion = minorVersion
    this.host = host
    this.keepAlive = minorVersion === 1
  }

  /** The request target as sent. */
  get target(): string {
    return this.#block.slice(this.#targetStart, this.#targetEnd)
  }

  get protocol(): 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0' {
    return this.isHttp2 ? 'HTTP/2.0' : this.minorVersion === 0 ? 'HTTP/1.0' : 'HTTP/1.1'
  }

  /**
   * The value of a field, or null when there is none. The name must be in lower case. Repeated fields are joined in order with `, `
   * (RFC 9110 §5.2), cookies with `; ` (RFC 6265 §5.4).
   */
  get(name: string): string | null {
    if (this.#standIns !== null) {
      const other = this.#standIns.get(name)
      if (other !== undefined) return other
    }
    if (name.includes(':')) return null // no field has such a name, but it could match a name and part of a value
    const block = this.#block
    const first = name.charCodeAt(0) | LOWER
    let value: string | null = null
    for (let line = this.#fieldsStart; block.charCodeAt(line) !== CR; line = block.indexOf('\n', line) + 1) {
      // The first letter and the position of the colon rule out most lines.
      const colon = line + name.length
      if ((block.charCodeAt(line) | LOWER) !== first || block.charCodeAt(colon) !== COLON) continue
      if (!isNamed(block, line, name)) continue
      const more = trimBlanks(block, colon + 1, block.indexOf('\r', colon))
      value = value === null ? more : value + (name === 'cookie' ? '; ' : ', ') + more
    }
    return value
  }

  /**
   * The values of several fields, each as `get` returns it, in the order of `names`. The head is searched once. The names must be in lower
   * case, without colons.
   */
  pick(names: readonly string[]): (string | null)[] {
    if (this.#standIns !== null) return names.map((name) => this.get(name))
    const block = this.#block
    const values: (string | null)[] = []
    for (let i = 0; i < names.length; i++) values.push(null)
    for (let line = this.#fieldsStart; block.charCodeAt(line) !== CR; line = block.indexOf('\n', line) + 1) {
      const first = block.charCodeAt(line) | LOWER
      for (let i = 0; i < names.length; i++) {
        const name = names[i]!
        const colon = line + name.length
        if (name.charCodeAt(0) !== first || block.charCodeAt(colon) !== COLON || !isNamed(block, line, name)) continue
        // A field that is repeated is rare here, and has rules of its own.
        values[i] = values[i] === null ? trimBlanks(block, colon + 1, block.indexOf('\r', colon)) : this.get(name)
      }
    }
    return values
  }

  /** The fields in order: names as sent, values without surrounding blanks. */
  *entries(): IterableIterator<[name: string, value: string]> {
    const block = this.#block
    const standIns = this.#standIns
    for (let line = this.#fieldsStart; block.charCodeAt(line) !== CR; ) {
      const colon = block.indexOf(':', line)
      const end = block.indexOf('\r', colon)
      const name = block.slice(line, colon)
      if (standIns?.has(name.toLowerCase()) !== true) yield [name, trimBlanks(block, colon + 1, end)]
      line = end + 2
    }
    if (standIns !== null) for (const [name, value] of standIns) if (value !== null) yield [name, value]
  }

  /** The application is below a path. @param prefixLength how many characters of `url` are that path */
  moveBelow(basePath: string, prefixLength: number): void {
    this.basePath = basePath
    if (prefixLength === 0) return
    const within = (whole: string): string =>
      whole.charCodeAt(prefixLength) === SLASH ? whole.slice(prefixLength) : `/${whole.slice(prefixLength)}`
    this.rawPath = within(this.rawPath)
    this.path = within(this.path)
    this.url = within(this.url)
  }

  noteCookies(): void {
    this.hasShownCookies = true
  }

  /**
   * Shows other values of some fields from now on, or with null the received ones again. A cache that needs a complete response hides the
   * client's conditions from the handler.
   */
  show(standIns: StandIns | null): void {
    this.#standIns = standIns
  }
}

/** Values of fields by their names in lower case; null hides a field. */
type StandIns = ReadonlyMap<string, string | null>

/** Whether the field that begins at `line` is named `name`, which is in lower case. The lengths are known to be equal. */
function isNamed(block: string, line: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = block.charCodeAt(line + i)
    const wanted = name.charCodeAt(i)
    if (code !== wanted && (code < 0x41 || code > 0x5a || code + 0x20 !== wanted)) return false
  }
  return true
}

/** The head while there is no request. */
export const NO_HEAD: Head = Object.freeze(new MutableHead('\r\n', '', plainTarget(''), 0, 0, 1, 0, ''))
