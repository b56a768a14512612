// One route: what it answers to, what it binds, and whom it calls.

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { shown } from '../../base/kind-of.ts'
import { acceptQueryOf } from '../../http/request/query-method.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { RouteInfo, RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'
import { Template } from '../../routing/template.ts'
import type { AnySchema } from '../../schema/standard.ts'

import { type Args, Binder, type Step } from './binder.ts'
import { STANDARD_METHODS } from './declaration.ts'
import { type Chain, Scope } from './scope.ts'
import { splitDeclaration } from './split-declaration.ts'
import { upgradeOfHandler } from './upgrade-handler.ts'

/** What a handler may return: see `reply.ts`. */
export type Handler = (args: Args, session: HttpSession) => unknown

/** What a handler gets whose route binds nothing. */
const NO_ARGS: Args = Object.freeze(Object.create(null) as Args)

const NO_STEPS: readonly Step[] = Object.freeze([])

export class Route implements RouteInfo {
  /** Null: any method. */
  readonly method: string | null
  readonly template: Template
  readonly host: string | null
  /** Null: any endpoint. */
  readonly endpoint: string | null
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
  /** The protocol that its handler always switches to; null for an ordinary one. */
  readonly upgradesTo: string | null
  /** Its own level, the innermost. */
  readonly scope: Scope
  /** The gates, middleware and hooks of all its levels. Not read from the scope for every request: that would be two more steps. */
  chain: Chain
  readonly #handler: Handler
  /** Null when there is nothing to bind. */
  readonly #binder: Binder | null

  /**
   * @param outer the level at which it is mapped: a server, a group or a class
   * @param path the full template
   */
  constructor(outer: Scope, method: string | null, path: string, declaration: unknown, handler: Handler, source = 'inline') {
    if (method !== null) checkMethod(method, path)
    this.template = new Template(path)
    const declared = splitDeclaration(declaration, 'route', path)
    const scope = new Scope(outer, 'route', path, declared)
    const { bindings, settings } = scope
    this.method = method
    this.host = settings.host?.value?.toLowerCase() ?? null
    this.endpoint = settings.endpoint?.value ?? null
    this.bindings = bindings
    this.metadata = scope.metadata
    this.bodyMode = declared.options.body ?? 'auto'
    this.maxRequestBodySize = settings.maxRequestBodySize?.value
    this.requestTimeout = settings.requestTimeout?.value
    this.writeTimeout = settings.writeTimeout?.value
    this.parameterNames = this.template.parameters.map(({ name }) => name)
    this.label = `${method ?? 'ANY'} ${this.host ?? ''}${path}`
    this.source = source
    this.scope = scope
    this.chain = scope.chain
    if (typeof handler !== 'function') throw new WeirError('WEIR_ROUTE_DECLARATION', `${this.label} has no handler`)
    this.acceptQuery = method === 'QUERY' ? acceptQueryOf(null) : null
    this.upgradesTo = upgradeOfHandler(handler)
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

  /** How its arguments are made, in order. */
  get steps(): readonly Step[] {
    return this.#binder?.steps ?? NO_STEPS
  }

  /** A level around it has another policy or hook. */
  recompose(): void {
    this.chain = this.scope.chain
  }
}

/** Methods are case-sensitive (RFC 9110 §9.1): no client would ever ask for `get`. @throws WEIR_ROUTE_DECLARATION */
function checkMethod(method: string, path: string): void {
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `${shown(method)} ${why}`)
  }
  if (typeof method !== 'string' || !isToken(method))
    refuse(
      typeof method === 'string' && method.startsWith('/')
        ? 'is a path, not a method: write map(method, path, handler)'
        : 'is not a method',
    )
  const meant = method.toUpperCase()
  if (meant !== method && STANDARD_METHODS.has(meant)) refuse(`of ${path} is not a method: methods are case-sensitive, write "${meant}"`)
}
