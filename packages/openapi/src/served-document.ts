// The document of one server or group, made again when its routes have changed.

import { createHash } from 'node:crypto'
import { type HttpResponse, type HttpSession, type ModuleHost, type RouteListing, WeirError } from 'weirjs'
import { KeptResponse, responseHandle } from 'weirjs/kit'
import { buildDocument, type DocumentSettings } from './document.ts'

interface ServedSettings extends DocumentSettings {
  /** The only endpoint at which the document is served; null for each endpoint of the host. */
  readonly endpoint: string | null
  /** Which routes are described; null for those that clients can reach where the document is served. */
  readonly include: ((route: RouteListing) => boolean) | null
  /** Whether an incomplete description is an error. */
  readonly isStrict: boolean
}

/** In the text of a document whose options name none. Only a member of the document itself begins a line with so few blanks: no text in JSON has a line end. */
const OWN_SERVER = '\n  "servers": [\n    {\n      "url": "/"\n    }\n  ],'

export class ServedDocument {
  /** For `describe` of a policy on the routes that serve this document. */
  readonly ownRoute: object = Object.freeze({ isDocumented: false })
  readonly #host: ModuleHost
  readonly #settings: ServedSettings
  readonly #reported = new Set<string>()
  /** The list of routes that the text was made from. */
  #routes: readonly RouteListing[] | null = null
  #text = ''
  /** The response for the last base path. */
  #kept: { readonly text: string; readonly basePath: string; readonly response: KeptResponse } | null = null

  constructor(host: ModuleHost, settings: ServedSettings) {
    this.#host = host
    this.#settings = settings
  }

  /** As JSON. @throws WEIR_OPENAPI_INCOMPLETE if it has to be complete, and is not */
  get text(): string {
    const { routes } = this.#host
    if (routes === this.#routes) return this.#text // the host makes another list when something was added
    const { document, faults } = buildDocument(this.#described(routes), this.#settings)
    if (this.#settings.isStrict && faults.length > 0) throw new WeirError('WEIR_OPENAPI_INCOMPLETE', faults.join('; '))
    for (const fault of faults) this.#report(fault)
    this.#text = JSON.stringify(document, null, 2)
    this.#routes = routes
    return this.#text
  }

  /** Sends it, with the path that the application is below. Its ETag and its compressed forms are made once: it may have megabytes. */
  answer(session: HttpSession): HttpResponse {
    const { text } = this
    const basePath = this.#settings.servers.length > 0 ? '' : session.basePath
    if (this.#kept?.text !== text || this.#kept.basePath !== basePath) {
      const below = OWN_SERVER.replace('"/"', () => JSON.stringify(basePath))
      const body = Buffer.from(basePath === '' ? text : text.replace(OWN_SERVER, () => below))
      const tag = createHash('sha256').update(body).digest('base64url')
      const fields = ['Cache-Control', 'no-cache', 'ETag', `"${tag}"`]
      const response = new KeptResponse({ status: 200, reason: '', type: 'application/json', fields, body })
      response.keepForms(() => {})
      this.#kept = { text, basePath, response }
    }
    const { response } = this.#kept
    const sent = response.send(session)
    response.lendForms(responseHandle(sent))
    return sent
  }

  #described(routes: readonly RouteListing[]): RouteListing[] {
    const others = routes.filter(({ policies }) => policies.every(({ description }) => !isHidden(description)))
    const { include } = this.#settings
    if (include !== null) return others.filter((route) => include(route))
    const place = this.#endpointIn(routes)
    return others.filter(({ endpoint }) => endpoint === null || endpoint === place)
  }

  /** Where the document is served: a group may have an endpoint. Without a route of its own, it belongs to the only one that there is. */
  #endpointIn(routes: readonly RouteListing[]): string | null {
    if (this.#settings.endpoint !== null) return this.#settings.endpoint
    const own = routes.find(({ policies }) => policies.some(({ description }) => description === this.ownRoute))
    if (own !== undefined) return own.endpoint
    const [first = null, ...more] = new Set(routes.map(({ endpoint }) => endpoint))
    return more.length === 0 ? first : null
  }

  #report(fault: string): void {
    if (this.#reported.has(fault)) return
    this.#reported.add(fault)
    this.#host.logger?.warn?.(`weir: openapi: ${fault}`)
  }
}

/** A policy may state that documents leave out its routes. */
function isHidden(description: unknown): boolean {
  return typeof description === 'object' && description !== null && 'isDocumented' in description && description.isDocumented === false
}
