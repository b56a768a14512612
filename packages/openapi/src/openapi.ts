// `@weirjs/openapi`: a document of OpenAPI from the declarations of routes, and a page that shows it.

import type { HttpSession, Module, ModuleHost, Policy, RouteListing, Usable } from 'weirjs'
import { checkFunction, checkNames, checkText, flag, invalid, listOf, namesOf, noteDocument, shown } from 'weirjs/kit'
import type { DocumentSettings, OpenApiInfo, OpenApiServer } from './document.ts'
import { PAGE_POLICY, pageFiles, pageOf, START_NAME, START_SCRIPT } from './page.ts'
import { relativePath } from './paths.ts'
import { ServedDocument } from './served-document.ts'

export interface OpenApiOptions {
  /** `title` and `version` of the API, and whatever else OpenAPI allows there. */
  readonly info: OpenApiInfo
  /** Where the API is. Default: where the document is. */
  readonly servers?: readonly OpenApiServer[]
  /** `auto` (default): 3.2 if a route has the method QUERY or answers with an event stream, which 3.1 cannot describe, otherwise 3.1. */
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
   * not among them. Never the routes of this module, and never WebSockets.
   */
  readonly include?: (route: RouteListing) => boolean
  /** Document and page are served only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** Policies for document and page, such as `auth.open`. */
  readonly use?: readonly Usable[]
  /** The name of the module, for a server that has several documents. Default `openapi`. */
  readonly name?: string
}

const OPTION_NAMES = namesOf<OpenApiOptions>()([
  'info',
  'servers',
  'version',
  'path',
  'ui',
  'strict',
  'expose',
  'include',
  'endpoint',
  'use',
  'name',
])
const OWNER = 'openapi'
const DEFAULT_PATH = '/openapi.json'
const VERSIONS: ReadonlySet<unknown> = new Set(['auto', '3.1', '3.2'])

/**
 * Returns a module that serves a document of OpenAPI from the declarations of all routes, with an ETag, and a page that shows it. In
 * production, where NODE_ENV is `production`, neither is served unless `expose` is set.
 *
 * Installed on a group, it describes the routes of the group.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function openapi(options: OpenApiOptions): Module {
  checkNames(OWNER, options, OPTION_NAMES)
  const { info, servers = [], version = 'auto', path = DEFAULT_PATH, ui = null, endpoint, use = [], name = OWNER } = options
  checkInfo(info)
  for (const server of listOf<unknown>(OWNER, 'servers', servers)) checkServer(server)
  checkJson('info', info)
  checkJson('servers', servers)
  if (!VERSIONS.has(version)) throw invalid(OWNER, `version is ${shown(version)}, not "auto", "3.1" or "3.2"`)
  checkPath('path', path)
  if (ui !== null) checkPath('ui', ui)
  if (ui === path) throw invalid(OWNER, `path and ui are both ${JSON.stringify(path)}`)
  checkFunction(OWNER, 'include', options.include)
  checkText(OWNER, 'endpoint', endpoint)
  checkText(OWNER, 'name', name)
  listOf(OWNER, 'use', use)
  const isStrict = flag(OWNER, 'strict', options.strict)
  const isServed = flag(OWNER, 'expose', options.expose) || process.env['NODE_ENV'] !== 'production'
  const files = isServed && ui !== null ? pageFiles() : null
  const settings: DocumentSettings = { info, servers, version }
  return {
    name,
    install(host: ModuleHost): void {
      const served = new ServedDocument(host, { ...settings, endpoint: endpoint ?? null, include: options.include ?? null, isStrict })
      noteDocument(host, name, () => served.text)
      if (!isServed) return
      const own: Policy = { name: `${OWNER} route`, describe: () => served.ownRoute, check: () => void served.text }
      const declaration = { use: [own, ...use], ...(endpoint === undefined ? {} : { endpoint }) }
      host.mapGet(path, { ...declaration, etag: true }, (_, { response }) =>
        response.header('Cache-Control', 'no-cache').contentType('application/json').text(served.text),
      )
      if (ui === null || files === null) return
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

function secured({ response }: HttpSession): HttpSession['response'] {
  return response
    .header('Cache-Control', 'no-cache')
    .header('Content-Security-Policy', PAGE_POLICY)
    .header('X-Content-Type-Options', 'nosniff')
    .header('Referrer-Policy', 'no-referrer')
}

function checkInfo(info: unknown): void {
  if (typeof info !== 'object' || info === null) throw invalid(OWNER, `info is ${shown(info)}, not an object with title and version`)
  for (const name of ['title', 'version'] as const) {
    const value = (info as OpenApiInfo)[name] as unknown
    if (typeof value !== 'string' || value === '') throw invalid(OWNER, `info.${name} is ${shown(value)}, not a string that is not empty`)
  }
}

function checkServer(server: unknown): void {
  const url = typeof server === 'object' && server !== null ? (server as OpenApiServer).url : null
  if (typeof url !== 'string' || url === '') throw invalid(OWNER, `servers has ${shown(server)}, not an object with a url`)
}

function checkJson(option: 'info' | 'servers', value: unknown): void {
  try {
    JSON.stringify(value)
  } catch (error) {
    throw invalid(OWNER, `${option} cannot be written as JSON: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}

function checkPath(option: 'path' | 'ui', path: unknown): void {
  if (typeof path !== 'string' || !/^(?:\/[\w.~-]+)+$/.test(path))
    throw invalid(OWNER, `${option} is ${shown(path)}, not a path such as /docs`)
}
