// Finds the route for a request, by method, host and path.
//
// Routes for the exact host are tried first, then those for `*.` hosts (the longest first), then those for any host. Among these, a path
// without parameters comes before templates, and more specific templates before less specific ones. For the same template, a route for the
// method beats one for any method, and HEAD is handled by GET. A template without a route for the method is skipped in favour of a less
// specific one that has such a route; the response is 405 only if there is none.

import { isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import { type CallSite, programPlace } from '../base/program-frames.ts'

import { type Match, MethodTable, NO_VALUES } from './method-table.ts'
import type { Template } from './template.ts'
import { Trie } from './trie.ts'

/** DNS names have at most 253 characters. A longer Host matches nothing, so its labels are not looked up. */
const MAX_HOST_CHARACTERS = 253

const HOST = /^(?:(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/

/** Where a route was declared, for messages: `UserController.show`, `inline`. */
interface Sourced {
  readonly source: string
  /** The call that mapped it; absent if that is not known, or no longer known. */
  readonly mappedBy?: CallSite | null
}

export class Matcher<R extends Sourced> {
  readonly #unbound = new RouteSet<R>()
  /** By host; for `*.` hosts, by what follows the asterisk. Null until the first one, so that programs without them pay nothing. */
  #bound: Map<string, RouteSet<R>> | null = null

  /**
   * @param method null for any method
   * @param host such as `api.example.com` or `*.example.com` (the asterisk means one or more labels); null for any host
   * @throws WEIR_ROUTE_CLASH if another route claims the same requests, whatever the names of its parameters
   * @throws WEIR_ROUTE_DECLARATION for a method that is not a token, or a host that is not a valid name
   */
  add(method: string | null, template: Template, host: string | null, route: R): void {
    if (method !== null && !isToken(method))
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${JSON.stringify(method)} is not a valid method, such as "GET"`)
    const name = host === null ? null : host.toLowerCase()
    const title = `${method ?? 'any method'} ${name ?? ''}${template.text} (${route.source})`
    const table = this.#routesOf(name).tableOf(template)
    const { takesSlashes, parameters } = template
    const match = { route, values: NO_VALUES }
    const taken = table.add(method, { route, takesSlashes, valueCount: parameters.length, match, title })
    if (taken !== null)
      throw new WeirError('WEIR_ROUTE_CLASH', `${placed(taken)} and ${placed({ title, route })}: remove one, or change its path`)
  }

  /**
   * @param path decoded once, except for `%2F`, which keeps its three characters
   * @param host in lower case, without a port; empty if it is not known
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

  /**
   * The methods of all templates that match this path, in alphabetical order, with HEAD if there is GET. Only for paths that no route for
   * any method matches.
   */
  methodsFor(path: string, host: string): string[] {
    const methods = new Set<string>()
    for (const table of this.#tablesFor(path, host)) for (const method of table.methods()) methods.add(method)
    if (methods.has('GET')) methods.add('HEAD')
    return [...methods].sort()
  }

  /** The routes of all templates that match this path, whatever their methods. */
  routesAt(path: string, host: string): R[] {
    return this.#tablesFor(path, host).flatMap((table) => [...table.routes()])
  }

  #routesOf(host: string | null): RouteSet<R> {
    if (host === null) return this.#unbound
    if (!HOST.test(host) || host.length > MAX_HOST_CHARACTERS)
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${JSON.stringify(host)} is not a valid host name, such as "api.example.com"`)
    this.#bound ??= new Map()
    const key = host.startsWith('*') ? host.slice(1) : host
    const known = this.#bound.get(key)
    if (known !== undefined) return known
    const routes = new RouteSet<R>()
    this.#bound.set(key, routes)
    return routes
  }

  /** The routes bound to `host`, the most specific first. */
  #routesFor(host: string): RouteSet<R>[] {
    const found: RouteSet<R>[] = []
    // A host that begins with a dot is invalid, and would be mistaken for the end of another host.
    if (host.length > MAX_HOST_CHARACTERS || host.startsWith('.')) return found
    // Look up the host itself, then shorter and shorter ends of it, each beginning with a dot like the keys of `*.` hosts.
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

/** A route with the line of the program that maps it, for messages. */
function placed({ title, route }: { readonly title: string; readonly route: Sourced }): string {
  const place = route.mappedBy ? programPlace(route.mappedBy) : null
  return place === null ? title : `${title} at ${place}`
}

/** Lengths modulo 32 times ASCII codes. */
const ENDINGS = 32 * 128

/** The routes for one host, or for any host. */
class RouteSet<R> {
  readonly #exact = new Map<string, MethodTable<R>>()
  /**
   * The lengths and last characters of the exact paths. Looking a path up in a Map means hashing it: 25 ns for nothing if a template
   * matches it. A path that ends in a number or a UUID can usually be told from `/users` by this alone.
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
