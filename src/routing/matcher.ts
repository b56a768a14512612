// Which route answers this request? Knows methods, hosts and paths, and nothing else of HTTP.
//
// In this order: routes of the very host, routes of `*.` hosts (the longest first), routes of no host. Among those a path without parameters,
// then templates, the most exact first. At one template a route of the method beats one of any method, and HEAD is answered by GET.
// A template that does not have the method is passed over for a less exact one that does; only when there is none is it a 405.

import { isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'

import { type Match, MethodTable, NO_VALUES } from './method-table.ts'
import type { Template } from './template.ts'
import { Trie } from './trie.ts'

/** DNS names end at 253 characters: a longer Host is nobody's, and not worth looking up label by label. */
const MAX_HOST_CHARACTERS = 253

const HOST = /^(?:(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/

/** Where a route comes from, for messages: `UserController.show`, `inline`. */
export interface Sourced {
  readonly source: string
}

export class Matcher<R extends Sourced> {
  readonly #unbound = new RouteSet<R>()
  /** By host, and by what follows the asterisk of a `*.` host. Null until there is one, so that nobody pays for what nobody uses. */
  #bound: Map<string, RouteSet<R>> | null = null

  /**
   * @param method null for any method
   * @param host such as `api.example.com` or `*.example.com` (one label or more in place of the asterisk); null for any host
   * @throws WEIR_ROUTE_CLASH if another route claims the same requests, whatever its parameters are called
   * @throws WEIR_ROUTE_DECLARATION for a method that is no token, or a host that is no name
   */
  add(method: string | null, template: Template, host: string | null, route: R): void {
    if (method !== null && !isToken(method)) throw new WeirError('WEIR_ROUTE_DECLARATION', `${JSON.stringify(method)} is no method`)
    const name = host === null ? null : host.toLowerCase()
    const title = `${method ?? 'any method'} ${name ?? ''}${template.text} (${route.source})`
    const table = this.#routesOf(name).tableOf(template)
    const taken = table.add(method, { route, valueCount: template.parameters.length, match: { route, values: NO_VALUES }, title })
    if (taken !== null) throw new WeirError('WEIR_ROUTE_CLASH', `${taken.title} and ${title}`)
  }

  /**
   * @param path decoded once, but for `%2F`, which stays as these three characters
   * @param host in lower case, without port; empty if it is not known
   */
  find(method: string, path: string, host: string): Match<R> | null {
    if (this.#bound !== null) {
      for (const routes of this.#routesFor(host)) {
        const match = routes.find(method, path)
        if (match !== null) return match
      }
    }
    return this.#unbound.find(method, path)
  }

  /** The methods that some template has for this path, in alphabetical order; HEAD is among them where GET is. Not asked where a route of any method answers. */
  methodsFor(path: string, host: string): string[] {
    const methods = new Set<string>()
    for (const table of this.#tablesFor(path, host)) for (const method of table.methods()) methods.add(method)
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods].sort()
  }

  #routesOf(host: string | null): RouteSet<R> {
    if (host === null) return this.#unbound
    if (!HOST.test(host) || host.length > MAX_HOST_CHARACTERS)
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${JSON.stringify(host)} is no host name`)
    this.#bound ??= new Map()
    const key = host.startsWith('*') ? host.slice(1) : host
    const known = this.#bound.get(key)
    if (known !== undefined) return known
    const routes = new RouteSet<R>()
    this.#bound.set(key, routes)
    return routes
  }

  /** The routes bound to `host`, the most exact first. */
  #routesFor(host: string): RouteSet<R>[] {
    const found: RouteSet<R>[] = []
    // One that begins with a dot is no host, and would be taken for the end of one.
    if (host.length > MAX_HOST_CHARACTERS || host.startsWith('.')) return found
    // From the host itself to ever shorter ends of it, each beginning with a dot, as the keys of `*.` hosts do.
    for (let at = 0; at !== -1; at = host.indexOf('.', at + 1)) {
      const routes = this.#bound?.get(at === 0 ? host : host.slice(at))
      if (routes !== undefined) found.push(routes)
    }
    return found
  }

  #tablesFor(path: string, host: string): MethodTable<R>[] {
    return [...this.#routesFor(host), this.#unbound].flatMap((routes) => routes.tablesFor(path))
  }
}

/** Lengths modulo 32 times ASCII codes. */
const ENDINGS = 32 * 128

/** The routes of one host, or of none. */
class RouteSet<R> {
  readonly #exact = new Map<string, MethodTable<R>>()
  /**
   * Which lengths and last characters exact paths have. To look a path up in a Map is to hash it, 25 ns for nothing when it is
   * matched by a template; a path that ends in a number or a UUID is mostly told from `/users` by this alone.
   */
  readonly #endings = new Uint8Array(ENDINGS)
  #patterns: Trie<R> | null = null

  tableOf(template: Template): MethodTable<R> {
    const path = template.exactPath
    if (path === null) {
      this.#patterns ??= new Trie()
      return this.#patterns.tableOf(template)
    }
    const table = this.#exact.get(path) ?? new MethodTable<R>()
    this.#exact.set(path, table)
    this.#endings[endingOf(path)] = 1
    return table
  }

  find(method: string, path: string): Match<R> | null {
    if (this.#endings[endingOf(path)] === 1) {
      const entry = this.#exact.get(path)?.find(method) ?? null
      if (entry !== null) return entry.match
    }
    return this.#patterns === null ? null : this.#patterns.find(method, path)
  }

  tablesFor(path: string): MethodTable<R>[] {
    const exact = this.#exact.get(path)
    const tables = exact === undefined ? [] : [exact]
    this.#patterns?.collect(path, tables)
    return tables
  }
}

function endingOf(path: string): number {
  return ((path.length << 7) ^ path.charCodeAt(path.length - 1)) & (ENDINGS - 1)
}
