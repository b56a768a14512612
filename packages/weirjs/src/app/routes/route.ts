// One route: which requests it matches, what it binds, and what it calls.

import { isToken } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { type CallSite, programPlace } from '../../base/program-frames.ts'
import type { BodyReader } from '../../http/body/body-reader.ts'
import { MergePatchBody } from '../../http/body/merge-patch-body.ts'
import { hasUnusedPatch } from '../../http/body/merge-patch-reader.ts'
import { VerifiedBody } from '../../http/body/verified-body.ts'
import { noteFailing } from '../../http/body/verified-body-reader.ts'
import { exchangeOf } from '../../http/exchange.ts'
import { type AcceptField, acceptFieldOf } from '../../http/request/accepted-types.ts'
import { type HttpRequest, isEndedBy } from '../../http/request/request.ts'
import type { DeclaredAnswers } from '../../http/response/declared-answers.ts'
import type { HttpResponse } from '../../http/response/response.ts'
import type { RouteInfo, RouteMatch, RouteMetadata } from '../../http/route-info.ts'
import type { HttpSession } from '../../http/session.ts'
import { Template } from '../../routing/template.ts'

import { reportMistake } from '../debugged.ts'
import type { BeforeSend, Next } from '../policies/middleware.ts'
import { type CheckedPolicy, checkPolicies } from '../policies/policy.ts'
import { type Args, Binder, type Step } from './binder.ts'
import { type Binding, bindingsOf } from './binding.ts'
import type { Entry } from './contract.ts'
import { STANDARD_METHODS, type ToolOptions } from './declaration.ts'
import { isSafe, REQUIRED_CONDITION } from './required-condition.ts'
import { declaredAnswers } from './route-answers.ts'
import { bodyModeOf, bodyReaderOf } from './route-body.ts'
import { type Chain, type NoRoute, Scope } from './scope.ts'
import { splitDeclaration } from './split-declaration.ts'
import { type MessageSchemas, upgradeOfHandler } from './upgrade-handler.ts'

/** What a handler may return: see `reply.ts`. */
export type Handler = (args: Args, session: HttpSession) => unknown

/** What documents state about a route. */
interface RouteDocumentation {
  readonly summary: string | null
  readonly description: string | null
  readonly operationId: string | null
  readonly deprecated: boolean | Date
  /** Null: it is no tool. */
  readonly tool: ToolOptions | null
}

/** The arguments of a handler whose route binds nothing. */
const NO_ARGS: Args = Object.freeze(Object.create(null) as Args)

const NO_OPTIONS: ToolOptions = Object.freeze({})
const NO_STEPS: readonly Step[] = Object.freeze([])
const INLINE = 'inline'

/**
 * On routes whose body is verified: reports failed requests to the code that verified them. A handler that has timed out may still run when its
 * client gets a 503. The same request must not reach another handler before it has ended.
 */
const NOTE_FAILING: CheckedPolicy = checkPolicies('verified()', [
  {
    name: 'verified()', // a policy of a program may be called "verified", and must not be replaced
    async middleware(session: HttpSession, next: Next): Promise<HttpResponse> {
      try {
        return await next()
      } finally {
        noteFailing(exchangeOf(session).head, 'hasEnded')
      }
    },
    beforeSend(session: HttpSession, { statusCode }: HttpResponse): void {
      const { failure, head, request } = exchangeOf(session)
      const hasStopped = failure !== null && isEndedBy(request, failure) // because its client has left: a 400 that no client receives
      if (statusCode >= 500 || hasStopped) noteFailing(head, 'hasFailed')
    },
  },
])[0]!

export class Route implements RouteInfo {
  /** Null: any method. */
  readonly method: string | null
  readonly template: Template
  readonly host: string | null
  /** Null: any endpoint. */
  readonly endpoint: string | null
  /** Its parameters, by the names that handlers know them by. Without a prototype. */
  readonly bindings: Readonly<Record<string, Binding>>
  /** How its body is read for the handler; null where the handler does that. */
  readonly body: BodyReader | null
  readonly documentation: RouteDocumentation
  /** What its handler may answer with; null if nothing is declared. */
  readonly answers: DeclaredAnswers | null
  readonly metadata: RouteMetadata
  readonly bodyMode: 'auto' | 'buffer' | 'stream'
  readonly maxRequestBodySize: number | null | undefined
  readonly requestTimeout: number | null | undefined
  readonly writeTimeout: number | null | undefined
  readonly minBodyRate: number | undefined
  readonly parameterNames: readonly string[]
  readonly label: string
  /** The field with which OPTIONS and refusals state the types that it accepts; null for none. */
  readonly acceptField: AcceptField | null
  /** Whether the head of a request has to pass `checkContentType`. */
  readonly checksContentType: boolean
  /** Where it was declared, for messages: `UserController.show`, or `inline`. */
  readonly source: string
  /** The call that mapped it; null once a server without `debug` starts, because a stack takes as much memory as a small route. */
  mappedBy: CallSite | null = null
  /** The entry of a contract that it was mapped for; null for others. */
  entry: Entry | null = null
  /** The protocol that its handler always switches to; null for an ordinary one. */
  readonly upgradesTo: string | null
  /** The schemas of that protocol's messages; null for an ordinary handler. */
  readonly messages: MessageSchemas | null
  /** Its own level, the innermost. */
  readonly scope: Scope
  /** The gates, middleware and hooks of all its levels. Not read from the scope for every request, which would take two more steps. */
  chain: Chain
  readonly #handler: Handler
  /** Null if there is nothing to bind. */
  readonly #binder: Binder | null

  /**
   * @param outer the level at which it is mapped: a server, a group or a class
   * @param path the full template
   */
  constructor(outer: Scope, method: string | null, path: string, declaration: unknown, handler: Handler, source = INLINE) {
    if (method !== null) checkMethod(method, path)
    this.template = new Template(path)
    const declared = splitDeclaration(declaration, 'route', path)
    const scope = new Scope(outer, 'route', path, declared)
    const { settings } = scope
    const { options } = declared
    this.method = method
    this.host = settings.host?.value?.toLowerCase() ?? null
    this.endpoint = settings.endpoint?.value ?? null
    this.metadata = scope.metadata
    this.maxRequestBodySize = settings.maxRequestBodySize?.value
    this.requestTimeout = settings.requestTimeout?.value
    this.writeTimeout = settings.writeTimeout?.value
    this.minBodyRate = settings.minBodyRate?.value ?? undefined
    this.parameterNames = this.template.parameters.map(({ name }) => name)
    this.label = `${method ?? 'ANY'} ${this.host ?? ''}${path}`
    this.source = source
    const where = `${this.label} (${source})`
    this.bindings = bindingsOf(this.template, scope.bindings, where)
    this.body = bodyReaderOf(options.body, method, where)
    this.answers = declaredAnswers(this.label, scope.answers)
    this.bodyMode = bodyModeOf(options.body, this.body)
    const { summary = null, description = null, operationId = null, deprecated = false, tool = false } = options
    this.documentation = { summary, description, operationId, deprecated, tool: tool === true ? NO_OPTIONS : tool || null }
    if (this.body?.declared instanceof VerifiedBody) scope.use(NOTE_FAILING)
    if (this.body?.declared instanceof MergePatchBody) scope.beforeSend(reportUnusedPatch)
    if (deprecated !== false) scope.beforeSend(deprecation(deprecated))
    if (settings.requireIfMatch?.value === true && !isSafe(method)) scope.use(REQUIRED_CONDITION)
    else if (options.requireIfMatch === true)
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${where} cannot require If-Match: ${method} changes nothing`)
    if (options.etag === true && method !== null && method !== 'GET' && method !== 'HEAD')
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${where} cannot have etag: only responses to GET and HEAD get a tag of their bytes`)
    if (options.absolute === true && source === INLINE)
      throw new WeirError('WEIR_ROUTE_DECLARATION', `${where} cannot be absolute: only a controller has a prefix to leave out`)
    this.scope = scope
    this.chain = scope.chain
    if (typeof handler !== 'function')
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${this.label} has no handler: the last argument is ${kindOf(handler)}, not a function${'name' in Object(handler) ? ': policies and modules go to use()' : ''}`,
      )
    this.acceptField = acceptFieldOf(method, this.body?.types ?? null)
    this.checksContentType = method === 'QUERY' || this.body !== null
    const upgrade = upgradeOfHandler(handler)
    this.upgradesTo = upgrade?.protocol ?? null
    this.messages = upgrade?.messages ?? null
    this.#handler = handler
    const binds = this.body !== null || Object.keys(this.bindings).length > 0
    this.#binder = binds ? new Binder(this.bindings, this.body) : null
    if (this.body !== null && 'body' in this.bindings)
      throw new WeirError(
        'WEIR_ROUTE_DECLARATION',
        `${where} has a body, and a parameter of its path is called "body" too: rename the parameter`,
      )
  }

  /** Calls the handler with the arguments from the request. @throws BindingError, and whatever the handler throws */
  run(session: HttpSession, request: HttpRequest, values: readonly string[]): unknown {
    if (this.#binder === null) return this.#handler(NO_ARGS, session)
    const args = this.#binder.bind(request, values)
    if (!(args instanceof Promise)) return this.#handler(args, session)
    return args.then((bound) => this.#handler(bound, session))
  }

  get place(): string {
    const line = this.mappedBy === null ? null : programPlace(this.mappedBy)
    return `${this.label} (${this.source})${line === null ? '' : ` at ${line}`}`
  }

  get depth(): number {
    return this.scope.depth
  }

  /** The code of its handler. */
  get handlerText(): string {
    return Function.prototype.toString.call(this.#handler)
  }

  /** How its arguments are made, in order. */
  get steps(): readonly Step[] {
    return this.#binder?.steps ?? NO_STEPS
  }

  /** A level around it has a new policy or hook. */
  recompose(): void {
    this.chain = this.scope.chain
  }
}

/** The chain of the route that was found, or of the level to which a request without a route belongs. */
export function chainOf(match: RouteMatch): Chain {
  return match.route === null ? (match as NoRoute).scope.chain : (match.route as Route).chain
}

/** Sends when the route was, or will be, deprecated (RFC 9745 §2). */
function deprecation(deprecated: true | Date): BeforeSend {
  const value = `@${deprecated === true ? 0 : Math.floor(deprecated.getTime() / 1000)}`
  return (_session, response) => {
    response.header('Deprecation', value)
  }
}

/** Methods are case-sensitive (RFC 9110 §9.1), so no client would ever send `get`. @throws WEIR_ROUTE_DECLARATION */
function checkMethod(method: string, path: string): void {
  const refuse = (why: string): never => {
    throw new WeirError('WEIR_ROUTE_DECLARATION', `${shown(method)} ${why}`)
  }
  if (typeof method !== 'string' || !isToken(method))
    refuse(
      typeof method === 'string' && method.startsWith('/')
        ? 'is a path, not a method: write map(method, path, handler)'
        : `is not a method such as "GET"${typeof method === 'object' ? ': a contract is mapped by mapContract(contract, handlers)' : ''}`,
    )
  const meant = method.toUpperCase()
  if (meant !== method && STANDARD_METHODS.has(meant)) refuse(`of ${path} is not a method: methods are case-sensitive, write "${meant}"`)
}

/** A handler may take a merge patch for an object with the changes: `{ ...user, ...body }` is the old object, and the client would get 200. */
function reportUnusedPatch(session: HttpSession, { statusCode }: HttpResponse): void {
  const exchange = exchangeOf(session)
  // 202: the patch may be applied later.
  if (statusCode >= 300 || statusCode === 202 || exchange.failure !== null || !hasUnusedPatch(exchange.head)) return
  reportMistake(
    exchange,
    'its handler neither called applyTo() of the merge patch nor read its changes, so it changes nothing: body.applyTo(current), not { ...current, ...body }',
  )
}
