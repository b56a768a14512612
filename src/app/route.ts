// One route: what it answers to, what it binds, and whom it calls.

import { isToken } from '../base/ascii.ts'
import { WeirError } from '../base/errors.ts'
import { kindOf, shown } from '../base/kind-of.ts'
import { namesOf } from '../base/options.ts'
import { acceptQueryOf } from '../http/request/query-method.ts'
import type { HttpRequest } from '../http/request/request.ts'
import type { RouteInfo, RouteMetadata } from '../http/route-info.ts'
import type { HttpSession } from '../http/session.ts'
import { Template } from '../routing/template.ts'
import { type AnySchema, isSchema } from '../schema/standard.ts'

import { type Args, Binder } from './binder.ts'
import { type RouteOptions, STANDARD_METHODS } from './declaration.ts'

/** What a handler may return: see `reply.ts`. */
export type Handler = (args: Args, session: HttpSession) => unknown

const OPTION_NAMES: ReadonlySet<string> = new Set(
  namesOf<RouteOptions>()(['host', 'absolute', 'body', 'maxRequestBodySize', 'requestTimeout', 'writeTimeout', 'metadata']),
)
/** What a handler gets whose route binds nothing. */
const NO_ARGS: Args = Object.freeze(Object.create(null) as Args)
const NO_METADATA: RouteMetadata = Object.freeze({})

export class Route implements RouteInfo {
  /** Null: any method. */
  readonly method: string | null
  readonly template: Template
  readonly host: string | null
  readonly bindings: Readonly<Record<string, AnySchema>>
  readonly metadata: RouteMetadata
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  readonly maxRequestBodySize: number | null | undefined
  readonly requestTimeout: number | null | undefined
  readonly writeTimeout: number | null | undefined
  readonly parameterNames: readonly string[]
  readonly label: string
  /** The value of Accept-Query; null unless the method is QUERY. */
  readonly acceptQuery: string | null
  /** Where it was declared, for messages: `UserController.show`, or `inline`. */
  readonly source: string
  readonly #handler: Handler
  /** Null when there is nothing to bind. */
  readonly #binder: Binder | null

  constructor(method: string | null, path: string, declaration: object, handler: Handler, source = 'inline') {
    if (method !== null) checkMethod(method, path)
    this.template = new Template(path)
    const { bindings, options } = splitDeclaration(declaration, path)
    this.method = method
    this.host = options.host?.toLowerCase() ?? null
    this.bindings = Object.freeze(bindings)
    this.metadata = options.metadata === undefined ? NO_METADATA : Object.freeze({ ...options.metadata })
    this.bodyMode = options.body ?? 'auto'
    this.maxRequestBodySize = options.maxRequestBodySize
    this.requestTimeout = options.requestTimeout
    this.writeTimeout = options.writeTimeout
    this.parameterNames = this.template.parameters.map(({ name }) => name)
    this.label = `${method ?? 'ANY'} ${this.host ?? ''}${path}`
    this.source = source
    if (typeof handler !== 'function') throw new WeirError('WEIR_ROUTE_DECLARATION', `${this.label} has no handler`)
    this.acceptQuery = method === 'QUERY' ? acceptQueryOf(null) : null
    this.#handler = handler
    this.#binder = this.parameterNames.length === 0 && Object.keys(bindings).length === 0 ? null : new Binder(this.template, bindings)
  }

  /** Calls the handler with what the request gives. @throws BindingError, and whatever the handler throws */
  run(session: HttpSession, request: HttpRequest, values: readonly string[]): unknown {
    if (this.#binder === null) return this.#handler(NO_ARGS, session)
    const args = this.#binder.bind(request, values)
    if (!(args instanceof Promise)) return this.#handler(args, session)
    return args.then((bound) => this.#handler(bound, session))
  }
}

/** Methods are case-sensitive (RFC 9110 §9.1): no client would ever ask for `get`. @throws WEIR_ROUTE_DECLARATION */
function checkMethod(method: string, path: string): void {
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `${shown(method)} ${why}`)
  }
  if (typeof method !== 'string' || !isToken(method)) refuse('is no method')
  const meant = method.toUpperCase()
  if (meant !== method && STANDARD_METHODS.has(meant)) refuse(`of ${path} is no method: methods are case-sensitive, write "${meant}"`)
}

/** Schemas on one side, options on the other. @throws WEIR_ROUTE_DECLARATION for what is neither */
export function splitDeclaration(
  declaration: object,
  where: string,
): { bindings: Readonly<Record<string, AnySchema>>; options: RouteOptions } {
  const bindings: Record<string, AnySchema> = Object.create(null)
  const options: Record<string, unknown> = {}
  if (typeof declaration !== 'object' || declaration === null)
    throw new WeirError('WEIR_ROUTE_DECLARATION', `the declaration of ${where} is an object, not ${kindOf(declaration)}`)
  for (const [name, value] of Object.entries(declaration)) {
    if (value === undefined) continue
    if (isSchema(value)) bindings[name] = value
    else if (OPTION_NAMES.has(name)) options[name] = value
    else throw new WeirError('WEIR_ROUTE_DECLARATION', `"${name}" of ${where} is neither a schema nor an option of a route`)
  }
  checkOptions(options, where)
  return { bindings, options: options as RouteOptions }
}

function checkOptions(options: RouteOptions, where: string): void {
  const refuse = (name: keyof RouteOptions, expected: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `option "${name}" of ${where} is ${shown(options[name])}, not ${expected}`)
  }
  const { host, body, maxRequestBodySize: size } = options
  if (host !== undefined && !(typeof host === 'string' && /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$/.test(host)))
    refuse('host', 'a name such as api.example.com or *.example.com, without a port')
  if (body !== undefined && body !== 'buffer' && body !== 'stream') refuse('body', '"buffer" or "stream"')
  if (size !== undefined && size !== null && !(Number.isSafeInteger(size) && size >= 0))
    refuse('maxRequestBodySize', 'a whole number of bytes or null')
  for (const name of ['requestTimeout', 'writeTimeout'] as const) {
    const time = options[name]
    if (time !== undefined && time !== null && !(Number.isSafeInteger(time) && time >= 1))
      refuse(name, 'a whole number of milliseconds from 1 on, or null')
  }
  const { metadata = {} } = options
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) refuse('metadata', 'an object')
}
