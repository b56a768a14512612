// `@weirjs/openapi`: a document of OpenAPI from the declarations of routes, and a page that shows it.

import type { HttpSession, Module, ModuleHost, Policy, RouteListing, Usable } from 'weirjs'
import { invalid, launch, noteDocument, option, rules, shown } from 'weirjs/kit'
import type { DocumentSettings, OpenApiInfo, OpenApiServer } from './document.ts'
import { PAGE_POLICY, pageFiles, pageOf, START_NAME, START_SCRIPT } from './page.ts'
import { relativePath } from './paths.ts'
import { ServedDocument } from './served-document.ts'

const { flag, func, list, oneOf, readBy, text } = option

export interface OpenApiOptions {
  /** `title` and `version` of the API, and other members that OpenAPI allows. */
  readonly info: OpenApiInfo
  /** Where the API is. Default: where the document is. */
  readonly servers?: readonly OpenApiServer[]
  /** `auto` (default): 3.2 if a route has the method QUERY or responds with an event stream, which 3.1 cannot describe, otherwise 3.1. */
  readonly version?: 'auto' | '3.1' | '3.2'
  /** Where the document is served. Default `/openapi.json`. */
  readonly path?: string
  /** Where the page is served. Default null: there is no page. */
  readonly ui?: string | null
  /** Whether `start` fails if the document would not describe a route completely. Default false: the logger is warned. */
  readonly strict?: boolean
  /** Whether document and page are served if NODE_ENV is `production`. Default false: neither has a route. */
  readonly expose?: boolean
  /**
   * Which routes the document describes. Default: those that clients can reach where the document is served. Routes of another `endpoint` are
   * not among them. Never the routes of this module.
   */
  readonly include?: (route: RouteListing) => boolean
  /** Document and page are served only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** Policies for document and page, such as `auth.open`. */
  readonly use?: readonly Usable[]
  /** The name of the module, for a server that has several documents. Default `openapi`. */
  readonly name?: string
}

const OWNER = 'openapi'
const PATH = text('a path such as /docs', (path) => /^(?:\/[\w.~-]+)+$/.test(path))
/** @internal */
export const OPENAPI_RULES = rules<OpenApiOptions>(OWNER)({
  info: readBy(checkedInfo),
  servers: readBy(checkedServers).or([], "[{ url: '/' }]"),
  version: oneOf('auto', '3.1', '3.2').or('auto'),
  path: PATH.or('/openapi.json'),
  ui: PATH.nullable().or(null, 'no page'),
  strict: flag(false),
  expose: flag(false),
  include: func({ decides: true }).orNull('[reachable routes](#which-routes)'),
  endpoint: text().optional('every endpoint'),
  use: list<Usable>().or([]),
  name: text().or(OWNER),
})

/**
 * Returns a module that serves a document of OpenAPI from the declarations of all routes, with an ETag, and a page that shows it. In
 * production, where NODE_ENV is `production`, neither is served unless `expose` is set.
 *
 * Installed on a group, it describes the routes of the group.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function openapi(options: OpenApiOptions): Module {
  const { info, servers, version, path, ui, strict, expose, include, endpoint, use, name } = OPENAPI_RULES.read(options)
  if (ui === path) throw invalid(OWNER, `path and ui are both ${JSON.stringify(path)}: give one of them another path`)
  const isServed = expose || process.env['NODE_ENV'] !== 'production'
  const files = isServed && ui !== null ? pageFiles() : null
  const settings: DocumentSettings = { info, servers, version }
  return {
    name,
    install(host: ModuleHost): void {
      const served = new ServedDocument(host, { ...settings, endpoint: endpoint ?? null, include, isStrict: strict })
      noteDocument(host, name, () => served.text)
      if (!isServed) return
      const own: Policy = { name: `${OWNER} route`, describe: () => served.ownRoute, check: () => void served.text }
      const declaration = { use: [own, ...use], ...(endpoint === undefined ? {} : { endpoint }) }
      host.mapGet(path, { ...declaration, etag: true }, (_, session) => served.answer(session))
      if (ui === null || files === null) return
      const runner = launch.launchHost()
      if (runner !== null) host.observe({ started: () => tellPage(runner, host, ui, endpoint), end: () => {} })
      const base = relativePath(ui, `${ui}/`)
      const page = pageOf(info.title, relativePath(ui, path), base)
      host.mapGet(ui, { ...declaration, etag: true }, (_, session) => secured(session).contentType('text/html; charset=utf-8').text(page))
      host.mapGet(`${ui}/${START_NAME}`, { ...declaration, etag: true }, (_, session) =>
        secured(session).contentType('text/javascript; charset=utf-8').text(START_SCRIPT),
      )
      for (const [file, location] of files) host.mapGet(`${ui}/${file}`, declaration, (_, session) => secured(session).file(location))
    },
  }
}

/** Tells the developer of the program where the page is. */
function tellPage(runner: launch.LaunchHost, host: ModuleHost, path: string, endpoint: string | undefined): void {
  for (const one of host.endpoints)
    if (!one.isUnixSocket && (endpoint === undefined || one.name === endpoint))
      runner.tell('documents', `${launch.endpointOrigin(one)}${host.basePath}${host.prefix}${path}`)
}

function secured({ response }: HttpSession): HttpSession['response'] {
  return response
    .header('Cache-Control', 'no-cache')
    .header('Content-Security-Policy', PAGE_POLICY)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Referrer-Policy', 'no-referrer')
}

function checkedInfo(info: OpenApiInfo): OpenApiInfo {
  const given: unknown = info
  if (typeof given !== 'object' || given === null) throw invalid(OWNER, `info is ${shown(given)}, not an object with title and version`)
  for (const name of ['title', 'version'] as const) {
    const value = info[name] as unknown
    if (typeof value !== 'string' || value === '') throw invalid(OWNER, `info.${name} is ${shown(value)}, not a string that is not empty`)
  }
  return inJson('info', info)
}

function checkedServers(servers: readonly OpenApiServer[]): readonly OpenApiServer[] {
  const hasUrl = (server: unknown): boolean => typeof Object(server).url === 'string' && Object(server).url !== ''
  list('an object with a url', hasUrl).read(servers, { owner: OWNER, option: 'servers' })
  return inJson('servers', servers)
}

function inJson<T>(option: 'info' | 'servers', value: T): T {
  try {
    JSON.stringify(value)
    return value
  } catch (error) {
    throw invalid(OWNER, `${option} cannot be written as JSON: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}
