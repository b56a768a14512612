// The path below which the whole application is: from the options, or stated by a proxy for each request.

import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Head } from '../../wire/head/head.ts'

/** Fields in which a proxy states the prefix that it has removed: one of Traefik and others, and one of Home Assistant. */
const FIELDS: ReadonlySet<string> = new Set(['x-forwarded-prefix', 'x-ingress-path'])
const MAX_CHARS = 256
/** A path without characters that a URL, a cookie or a page could read differently: percent signs, quotes, semicolons. */
const PATH = /^(?:\/[\w.~@:+=-]+)+$/
const DOT_SEGMENT = /\/\.\.?(?:\/|$)/

export class BasePath {
  /** The beginning of all paths; null if a proxy states it. */
  readonly #path: string | null
  readonly #field: string

  private constructor(path: string | null, field: string) {
    this.#path = path
    this.#field = field
  }

  /** @returns null for the root @throws WEIR_OPTION_INVALID */
  static read(given: string, owner: string, option: string): BasePath | null {
    if (typeof given === 'string') {
      if (FIELDS.has(given.toLowerCase())) return new BasePath(null, given.toLowerCase())
      const path = given.replace(/\/$/, '')
      if (path === '' && given === '/') return null
      if (isBasePath(path)) return new BasePath(path, '')
    }
    const expected = `a path such as "/app", or ${[...FIELDS].map((field) => JSON.stringify(field)).join(' or ')}`
    throw invalid(owner, `${option} is ${shown(given)}, not ${expected}`)
  }

  /** The base path of one request. @returns null for the root */
  static of(path: string): BasePath | null {
    return path === '' ? null : new BasePath(path, '')
  }

  /** Empty if a proxy states it. */
  get path(): string {
    return this.#path ?? ''
  }

  /** Whether only a proxy can state it. */
  get isStated(): boolean {
    return this.#path === null
  }

  /** From now on, the path of the request is its path within the application. @returns the refusal of a request outside of it */
  enter(head: Head, { forwarding }: Pick<ConnectionInfo, 'forwarding'>): WeirError | null {
    if (this.#path === null) {
      const stated = forwarding === null ? null : head.get(this.#field)
      const path = stated?.replace(/\/$/, '') ?? ''
      // A value that no proxy would state is ignored, so that no part of it reaches a page.
      if (isBasePath(path)) head.moveBelow(path, 0)
      return null
    }
    const { rawPath } = head
    const { length } = this.#path
    if (rawPath === '*') return null
    // Percent-encoded forms of the prefix do not match: in the decoded path, the rest would begin at another place.
    if (!rawPath.startsWith(this.#path) || (rawPath.length > length && rawPath[length] !== '/'))
      return new WeirError('WEIR_ROUTE_NOT_FOUND')
    head.moveBelow(this.#path, length)
    return null
  }
}

function isBasePath(path: string): boolean {
  return path.length <= MAX_CHARS && PATH.test(path) && !DOT_SEGMENT.test(path)
}
