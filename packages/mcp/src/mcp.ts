// `@weirjs/mcp`: routes as tools of a Model Context Protocol server, over Streamable HTTP without sessions.

import {
  HttpError,
  type HttpResponse,
  type HttpSession,
  type Module,
  type ModuleHost,
  type Policy,
  type Size,
  type Usable,
  WeirError,
} from 'weirjs'
import { challengeOf, type ProtectedResourceOptions, protectedResource } from 'weirjs/auth'
import type { Contract, Entry } from 'weirjs/contract'
import { type CorsOptions, predicateOf } from 'weirjs/cors'
import { isInstance, kindOf, option, qualityOf, responseHandle, rules } from 'weirjs/kit'
import { sse } from 'weirjs/sse'

import { callTool } from './tool-call.ts'
import type { ToolResult } from './tool-result.ts'
import { type Tool, toolsOf } from './tools.ts'

export interface McpOptions {
  /** Where clients connect. Default `/mcp`. */
  readonly path?: string
  /** Entries of contracts, which must be declared with `tool`. Default: all routes of the server, or of the group, that have `tool`. */
  readonly tools?: readonly Entry[] | Contract
  /**
   * The information that clients receive about the server: `name`, `version`, and other members that the protocol allows. Default `weir`, in
   * version `0`.
   */
  readonly info?: { readonly name: string; readonly version: string; readonly [member: string]: unknown }
  /** For the model: how the tools belong together. Default: none. */
  readonly instructions?: string
  /** Which pages may connect. Default: `'same'` and the server's `frontEnds`. Others get 403. A client without Origin is not a page, and may connect. */
  readonly origins?: CorsOptions['origins']
  /**
   * Serves protected resource metadata (RFC 9728), and names them in each 401. If the route of a tool refuses the credentials, the call then gets
   * 401, so that clients ask for others. Default: none.
   */
  readonly resource?: ProtectedResourceOptions
  /** The largest response of a tool. Default 1 MiB. A larger one is an error for the model. */
  readonly maxResultSize?: Size
  /** The largest message. Default: the server's `maxRequestBodySize`. */
  readonly maxRequestBodySize?: Size
  /** Answers requests of other methods, such as `resources/list`: a server of the official SDK. Default: they are refused. */
  readonly handler?: (request: Request, session: HttpSession) => Response | Promise<Response>
  /** What `handler` can do, such as `{ resources: {} }`. Default none. */
  readonly capabilities?: object
  /** Clients connect only at endpoints with this name in `listen`. Default: at every endpoint. */
  readonly endpoint?: string
  /** Policies of the route, such as `auth.required()` and `rateLimit`. */
  readonly use?: readonly Usable[]
}

const OWNER = 'mcp()'
/** @internal */
export const MCP_RULES = rules<McpOptions>(OWNER)(
  {
    path: option.text('a path such as /mcp', (path) => /^(?:\/[\w.~-]+)+$/.test(path)).or('/mcp'),
    tools: option
      .matching<NonNullable<McpOptions['tools']>>(
        'a list of entries, or a contract',
        (tools) => typeof tools === 'object' && tools !== null,
      )
      .orNull('all routes with tool'),
    info: option.readBy(checkedInfo).or({ name: 'weir', version: '0' }, "{ name: 'weir', version: '0' }"),
    instructions: option.text().optional(),
    origins: option
      .readBy((origins: NonNullable<CorsOptions['origins']>, owner) => predicateOf(owner, origins))
      .orNull("'same', frontEnds"),
    resource: option.readBy(protectedResource).orNull(),
    maxResultSize: option.size({ least: 1 }).or('1MiB'),
    maxRequestBodySize: option.size({ least: 1 }).optional("the server's"),
    handler: option.func().orNull(),
    capabilities: option.object().or({}, '{}'),
    endpoint: option.text().optional('every endpoint'),
    use: option.list<Usable>().or([]),
  },
  { needs: { capabilities: 'handler' } },
)
type Settings = typeof MCP_RULES.settings

/** The newest first: clients that ask for another version get this one. */
const VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']

// JSON-RPC 2.0 §5.1.
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602

/** Characters of `progressToken`, which each notification repeats: a client could have megabytes sent for each event. */
const LONGEST_TOKEN = 256

const isOwnPage = predicateOf(OWNER, 'same')

/**
 * Maps a route at which clients of the Model Context Protocol find the tools, and call them. The route of a tool runs as if its client had sent the
 * request: with the credentials of the call, and all policies, limits and observers.
 *
 * @throws WEIR_OPTION_INVALID. `start` rejects with WEIR_ROUTE_DECLARATION for a route that cannot be a tool
 */
export function mcp(server: { use(module: Module): unknown }, options: McpOptions = {}): void {
  const settings = MCP_RULES.read(options)
  const { path, resource, endpoint, maxRequestBodySize, use } = settings
  server.use({
    name: `mcp ${path}`,
    install(host) {
      if (resource !== null) host.use(resource)
      const own = new McpEndpoint(host, settings)
      const declaration = {
        use: [own.policy, ...use],
        body: 'buffer' as const,
        requestTimeout: null, // the tool's own counts
        ...(endpoint !== undefined && { endpoint }),
        ...(maxRequestBodySize !== undefined && { maxRequestBodySize }),
      }
      host.mapPost(path, declaration, (_, session) => own.respond(session))
    },
  })
}

function checkedInfo(info: { readonly name: string; readonly version: string }): { readonly name: string; readonly version: string } {
  for (const name of ['name', 'version'] as const)
    option.text('a string that is not empty', (text) => text !== '').read(Object(info)[name], { owner: OWNER, option: `info.${name}` })
  return info
}

type Id = string | number | null
interface Message {
  readonly id: Id
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

class McpEndpoint {
  readonly policy: Policy
  readonly #host: ModuleHost
  readonly #settings: Settings
  /** The list of routes from which the tools were made. */
  #routes: ModuleHost['routes'] | null = null
  #tools: ReadonlyMap<string, Tool> = new Map()
  /** For each endpoint, in JSON: clients ask for it in a few bytes, and may do so 64 times in a turn of the event loop. */
  readonly #lists = new Map<string | null, string>()

  constructor(host: ModuleHost, settings: Settings) {
    this.#host = host
    this.#settings = settings
    const { resource } = settings
    this.policy = {
      name: OWNER,
      gate: (session) => this.#admit(session),
      ...(resource !== null && { beforeSend: (_: HttpSession, response: HttpResponse) => nameMetadata(response, resource.url) }),
      check: () => this.#check(),
      describe: () => ({ isDocumented: false }),
    }
  }

  /** @throws WEIR_ROUTE_DECLARATION */
  #check(): void {
    const { path, handler } = this.#settings
    if (this.#all.size === 0 && handler === null)
      this.#host.logger?.warn?.(`weir: clients find no tools at ${path}: write tool: true in the declarations of routes`)
  }

  /** The host makes another list of routes when something was added. @throws WEIR_ROUTE_DECLARATION */
  get #all(): ReadonlyMap<string, Tool> {
    const { routes } = this.#host
    if (routes === this.#routes) return this.#tools
    this.#tools = toolsOf(routes, this.#settings.tools)
    this.#lists.clear()
    this.#routes = routes
    return this.#tools
  }

  /** Refuses pages of others, which could use the credentials of a visitor, or the network that the server is in. */
  async #admit(session: HttpSession): Promise<undefined> {
    const origin = session.request.headers.get('origin')
    if (origin === null) return undefined
    const { origins } = this.#settings
    const isAllowed =
      origins === null ? session.server.frontEnds.includes(origin) || (await isOwnPage(origin, session)) : await origins(origin, session)
    if (!isAllowed) throw new WeirError('WEIR_CROSS_ORIGIN', `Origin is ${JSON.stringify(origin.slice(0, 100))}`)
    return undefined
  }

  async respond(session: HttpSession): Promise<HttpResponse | Response> {
    const { request } = session
    const version = request.headers.get('mcp-protocol-version')
    let sent: unknown
    try {
      sent = request.bodyJson()
    } catch (error) {
      if (!isInstance(error, HttpError) || error.status !== 400) throw error
      return refuse(session, PARSE_ERROR, error.message)
    }
    const { jsonrpc, id, method, params = {} } = Object(sent) as Readonly<Record<string, unknown>>
    if (Array.isArray(sent)) return refuse(session, INVALID_REQUEST, 'batches are not supported')
    if (jsonrpc !== '2.0') return refuse(session, INVALID_REQUEST, 'jsonrpc must be "2.0"')
    if (method !== 'initialize' && version !== null && !VERSIONS.includes(version))
      return refuse(session, INVALID_REQUEST, `MCP-Protocol-Version must be one of ${VERSIONS.join(', ')}`)
    if (id === undefined || (method === undefined && ('result' in Object(sent) || 'error' in Object(sent))))
      return session.response.status(202)
    if (typeof method !== 'string') return refuse(session, INVALID_REQUEST, 'method must be a string')
    if (typeof id !== 'string' && !Number.isInteger(id)) return refuse(session, INVALID_REQUEST, 'id must be a string or an integer')
    const message = { id: id as Id, method, params: Object(params) as Message['params'] }
    return (await this.#result(session, message)) ?? this.#others(session, sent, message)
  }

  /** Undefined for a method that is not one of these. */
  #result(session: HttpSession, { id, method, params }: Message): HttpResponse | Promise<HttpResponse> | undefined {
    const { info, instructions, capabilities } = this.#settings
    if (method === 'ping') return reply(session, id, {})
    if (method === 'tools/call') return this.#call(session, id, params)
    if (method === 'tools/list') {
      if (params['cursor'] !== undefined) return fail(session, id, INVALID_PARAMS, 'there is one page of tools, so there is no cursor')
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${this.#listAt(session.endpoint)}}}`
      return session.response.text(text).contentType('application/json')
    }
    if (method !== 'initialize') return undefined
    const asked = params['protocolVersion']
    return reply(session, id, {
      protocolVersion: VERSIONS.find((version) => version === asked) ?? VERSIONS[0],
      capabilities: { ...capabilities, tools: {} },
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    })
  }

  #listAt(endpoint: string | null): string {
    const all = [...this.#all.values()] // it may forget the lists
    let list = this.#lists.get(endpoint)
    if (list === undefined) {
      const known = all.filter(({ route }) => route.endpoint === null || route.endpoint === endpoint)
      list = JSON.stringify(known.map(({ description }) => description))
      this.#lists.set(endpoint, list)
    }
    return list
  }

  async #call(session: HttpSession, id: Id, params: Message['params']): Promise<HttpResponse> {
    const { name, arguments: args = {}, _meta } = params
    if (typeof name !== 'string') return fail(session, id, INVALID_PARAMS, `name is ${kindOf(name)}, not a string`)
    const tool = this.#all.get(name)
    if (tool === undefined) return fail(session, id, INVALID_PARAMS, `there is no tool ${JSON.stringify(name.slice(0, 128))}`)
    const { progressToken } = Object(_meta) as { readonly progressToken?: unknown }
    if (typeof progressToken === 'string' && progressToken.length > LONGEST_TOKEN)
      return fail(session, id, INVALID_PARAMS, `progressToken has ${progressToken.length} characters, and may have ${LONGEST_TOKEN}`)
    const { maxResultSize, resource } = this.#settings
    const called = await callTool(session, tool, args, maxResultSize, resource !== null)
    if (!(Symbol.asyncIterator in called)) return reply(session, id, called)
    const accept = session.request.headers.get('accept') ?? ''
    if (!isId(progressToken) || qualityOf(accept, 'text/event-stream') === 0) return reply(session, id, await resultOf(called))
    return sse(session, messages(called, id, progressToken))
  }

  #others(session: HttpSession, sent: unknown, { id, method }: Message): HttpResponse | Response | Promise<Response> {
    const { handler } = this.#settings
    if (handler === null) return fail(session, id, METHOD_NOT_FOUND, `there is no method ${JSON.stringify(method.slice(0, 100))}`)
    const { url, headers, signal } = session.request.toWeb()
    return (handler as NonNullable<McpOptions['handler']>)(
      new Request(url, { method: 'POST', headers, signal, body: JSON.stringify(sent) }),
      session,
    )
  }
}

/** The events of a tool as notifications of progress, and then its result. */
async function* messages(
  events: AsyncGenerator<string, ToolResult>,
  id: Id,
  progressToken: unknown,
): AsyncGenerator<{ data: string }, void> {
  try {
    for (let progress = 1; ; progress++) {
      const { done, value } = await events.next()
      if (done === true) {
        yield { data: JSON.stringify({ jsonrpc: '2.0', id, result: value }) }
        return
      }
      const params = { progressToken, progress, message: value }
      yield { data: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }) }
    }
  } finally {
    await events.return({ content: [] })
  }
}

async function resultOf(events: AsyncGenerator<string, ToolResult>): Promise<ToolResult> {
  for (;;) {
    const { done, value } = await events.next()
    if (done === true) return value
  }
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isInteger(value)
}

function reply({ response }: HttpSession, id: Id, result: object): HttpResponse {
  return response.json({ jsonrpc: '2.0', id, result })
}

function fail({ response }: HttpSession, id: Id, code: number, message: string): HttpResponse {
  return response.json({ jsonrpc: '2.0', id, error: { code, message } })
}

/** The message is not a request of the protocol. */
function refuse({ response }: HttpSession, code: number, message: string): HttpResponse {
  return response.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } })
}

/** Tells a client without credentials where to get them (RFC 9728 §5.1). */
function nameMetadata(response: HttpResponse, url: string): void {
  const outgoing = responseHandle(response)
  if (outgoing.statusCode !== 401) return
  const challenges = outgoing.listHeader('WWW-Authenticate') ?? ''
  if (challenges.includes('resource_metadata=')) return
  const own = challengeOf('Bearer', { resource_metadata: url })
  if (/^Bearer(?: |$)/i.test(challenges)) response.header('WWW-Authenticate', [own, challenges.slice(7)].filter(Boolean).join(', '))
  else response.appendHeader('WWW-Authenticate', own)
}
