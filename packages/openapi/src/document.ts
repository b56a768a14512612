// A document of OpenAPI, from the declarations of routes.

import type { RouteListing } from 'weirjs'
import { nameOf, operationOf, type Shared } from './operation.ts'
import { type DocumentPath, documentPath } from './paths.ts'
import { DocumentResponses, isEventStream, type Part } from './responses.ts'
import { DocumentSchemas } from './schemas.ts'
import { SecuritySchemes } from './security.ts'

/** The Info Object of OpenAPI: the title of the API, and other members that the specification allows. */
export interface OpenApiInfo {
  readonly title: string
  /** Of the API, not of OpenAPI. */
  readonly version: string
  readonly [member: string]: unknown
}

/** A Server Object of OpenAPI: where the API is. */
export interface OpenApiServer {
  /** Absolute, or relative to the document. */
  readonly url: string
  readonly [member: string]: unknown
}

interface OpenApiDocument {
  readonly openapi: string
  readonly info: OpenApiInfo
  readonly paths: Readonly<Record<string, Part>>
  readonly [member: string]: unknown
}

export interface DocumentSettings {
  readonly info: OpenApiInfo
  readonly servers: readonly OpenApiServer[]
  readonly version: 'auto' | '3.1' | '3.2'
}

interface BuiltDocument {
  readonly document: OpenApiDocument
  /** The parts of routes that it does not describe, with the reasons. */
  readonly faults: readonly string[]
}

/** The methods that a Path Item of OpenAPI 3.1 has. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE'])
const VERSIONS = { '3.1': '3.1.1', '3.2': '3.2.0' } as const

/** Of a WebSocket, OpenAPI describes the handshake, and the extension `x-websocket` the messages. Other protocols are left out. */
export function buildDocument(listed: readonly RouteListing[], settings: DocumentSettings): BuiltDocument {
  const routes = listed.filter(({ upgradesTo, messages }) => upgradesTo === null || messages !== null)
  const version = settings.version === 'auto' ? (routes.some(needs32) ? '3.2' : '3.1') : settings.version
  const schemas = new DocumentSchemas()
  const shared: Shared = { schemas, security: new SecuritySchemes(), responses: new DocumentResponses(schemas, version === '3.2') }
  const items = new PathItems(version === '3.2')
  for (const route of routes) items.add(route, shared)
  const tags = [...new Set(routes.flatMap((route) => route.tags))]
  const { servers } = settings
  const components = componentsOf(shared)
  const document: OpenApiDocument = {
    openapi: VERSIONS[version],
    info: settings.info,
    servers: servers.length === 0 ? [{ url: '/' }] : servers,
    security: [],
    paths: items.all,
    ...(Object.keys(components).length === 0 ? {} : { components }),
    ...(tags.length === 0 ? {} : { tags: tags.map((name) => ({ name })) }),
  }
  return { document, faults: [...items.faults, ...shared.schemas.faults] }
}

/** Whether only OpenAPI 3.2 can describe it. */
function needs32({ method, answers }: RouteListing): boolean {
  return method === 'QUERY' || Object.values(answers).some(isEventStream)
}

function componentsOf({ schemas, security, responses }: Shared): Part {
  const others = responses.components // it may add a schema
  return {
    ...(Object.keys(schemas.all).length === 0 ? {} : { schemas: schemas.all }),
    ...others,
    ...(Object.keys(security.all).length === 0 ? {} : { securitySchemes: security.all }),
  }
}

interface PathItem {
  /** The path of the first route that has it. */
  readonly path: DocumentPath
  readonly operations: Record<string, Part>
  /** By methods that have no member of their own. */
  readonly others: Record<string, Part>
}

class PathItems {
  readonly faults: string[] = []
  readonly #is32: boolean
  readonly #items = new Map<string, PathItem>()

  constructor(is32: boolean) {
    this.#is32 = is32
  }

  get all(): Readonly<Record<string, Part>> {
    return Object.fromEntries(
      [...this.#items.values()].map(({ path, operations, others }) => [
        path.text,
        { ...operations, ...(Object.keys(others).length === 0 ? {} : { additionalOperations: others }) },
      ]),
    )
  }

  add(route: RouteListing, shared: Shared): void {
    const reason = this.#place(route, shared)
    if (reason !== null) this.faults.push(`${nameOf(route)} is left out: ${reason}`)
  }

  /** Why the route is left out; null if it is not. */
  #place(route: RouteListing, shared: Shared): string | null {
    const { method } = route
    if (method === null) return 'OpenAPI cannot describe a route for any method'
    const isOwn = METHODS.has(method) || (this.#is32 && method === 'QUERY')
    if (!isOwn && !this.#is32) return `OpenAPI 3.1 has no method ${method}`
    const path = documentPath(route.path)
    const item = this.#items.get(path.key) ?? { path, operations: {}, others: {} }
    const operations = isOwn ? item.operations : item.others
    const key = isOwn ? method.toLowerCase() : method
    if (operations[key] !== undefined) return `there already is an operation ${method} ${item.path.text}`
    this.#items.set(path.key, item)
    operations[key] = operationOf(route, path, item.path.names, shared)
    return null
  }
}
