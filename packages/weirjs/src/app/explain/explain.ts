// Explains how a request would be answered. It asks the functions that decide about real requests (matching, the mode of the body, limits,
// binding), in the same order. It runs no policy and no handler, and passes nothing of the request to a schema of another library.

import { originOf } from '../../base/authority.ts'
import { PayloadTooLargeError, WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { Limits, Timeouts } from '../../base/limits.ts'
import type { Application, RequestHead } from '../../http/application.ts'
import { bodyLimit, isTooLarge, streamsBody } from '../../http/body/body-mode.ts'
import { TypedBody } from '../../http/body/typed-body.ts'
import type { ConnectionInfo, HostRule } from '../../http/connection-info.ts'
import type { Exchange } from '../../http/exchange.ts'
import { RPC } from '../../http/notes.ts'
import { checkContentType } from '../../http/request/accepted-types.ts'
import { HttpRequest } from '../../http/request/request.ts'
import { problemFor } from '../../http/response/error-problem.ts'
import { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { isResponse, outgoingOf } from '../../http/response/response.ts'
import type { RouteMatch } from '../../http/route-info.ts'
import { checkUpgrade } from '../reply.ts'
import { type ConsideredRoute, consideredRoutes } from '../routes/considered-routes.ts'
import { chainOf, type Route } from '../routes/route.ts'
import { limitsOf } from '../routes/route-listing.ts'
import type { RouteTable } from '../routes/route-table.ts'
import { gatedPolicies, type NoRoute, type Scope, type Setting } from '../routes/scope.ts'
import { secretsOf } from '../routes/shown-target.ts'
import { ShownTexts } from '../routes/shown-texts.ts'

import { explainArguments } from './arguments.ts'
import { type AskedContent, type CheckedBody, checkedBody } from './checked-body.ts'
import type {
  ExplainedAnswer,
  ExplainedArgument,
  ExplainedBody,
  ExplainedClient,
  ExplainedPolicy,
  ExplainedResponse,
  Explanation,
  RejectedRoute,
  Rejection,
} from './explanation.ts'
import { textOf } from './explanation-text.ts'
import { explainedRoute, type OtherRoutes, otherRoutes } from './other-routes.ts'

/** What a server knows about its requests before they arrive. */
export interface ExplainedServer {
  readonly routes: RouteTable
  readonly limits: Limits
  readonly timeouts: Timeouts
  /** Which hosts are answered at an endpoint: for requests that have not arrived there. Null if that is not known. */
  hostsAt(endpointName: string | null): HostRule | null
}

/** A request with a valid head. */
export interface AskedRequest {
  readonly head: RequestHead
  readonly connection: ConnectionInfo
  /** Why it may not arrive on this connection; null if it may. */
  readonly refusal: WeirError | null
  /** Methods that middleware answers at its path. */
  readonly otherMethods: readonly string[]
  /** Its body; null if it is not known, or is a form in parts. */
  readonly content: AskedContent | null
  /** Opens an exchange, which has not begun, to ask the gates. Null: they have run. */
  readonly application: Application | null
}

/** The response that was actually sent. */
export interface Actual {
  readonly status: number
  /** The error; null where the program has responded by itself. */
  readonly error: unknown
}

/** @param actual null: nothing yet, and the response is what it would be */
export function explain(server: ExplainedServer, asked: AskedRequest, actual: Actual | null): Explanation {
  const { routes, limits } = server
  const { head, connection, refusal, application } = asked
  const { endpointName } = connection
  const hosts = connection.hosts ?? server.hostsAt(endpointName)
  const match = routes.find(head, endpointName)
  const route = match.route as Route | null
  const scope = route === null ? (match as NoRoute).scope : route.scope
  const request = new HttpRequest(head, null, connection, match, { limits, jsonEngine: null, invalidBodyStatus: 400 })
  // Both take time for each route of the server, and a caller that only asks which route answers needs neither.
  let considered: readonly ConsideredRoute[] | null = null
  const consider = (): readonly ConsideredRoute[] => (considered ??= consideredRoutes(routes, head.path))
  const secrets = secretsOf(route, consider)
  const texts = new ShownTexts(routes)
  let found: OtherRoutes | null = null
  const others = (): OtherRoutes => (found ??= otherRoutes(routes, head, endpointName, consider(), secrets, texts, route))
  const checked = isTooLarge(head, bodyLimit(match, limits)) ? checkedBody(null, head, null) : checkedBody(route, head, asked.content)
  const args = route === null ? [] : explainArguments(route, request, match.values, secrets, texts, checked)
  const body = explainBody(head, match, limits, texts)
  const exchange = application === null || refusal !== null ? null : application.open(head, null, connection, match)
  const planned = plannedResponse(server, asked, match, exchange, args, checked)
  return withText({
    method: head.method,
    target: texts.target(secrets.shownTarget(head), route),
    path: texts.target(secrets.shownPath(head.path), route),
    basePath: head.basePath,
    host: hostName(head.host),
    hostRule: hosts === null ? null : { answered: hosts.answered, isServed: hosts.serves(head.host) },
    endpoint: endpointName,
    client: explainClient(head, connection),
    response: withSuggestion(actual === null ? planned : actualResponse(actual, planned), () => others().others),
    rpc: exchange === null ? null : explainCall(exchange, planned),
    route: route === null ? null : explainedRoute(routes, route),
    get others() {
      return others().others
    },
    get othersLeftOut() {
      return others().othersLeftOut
    },
    policies: explainPolicies(scope, route),
    arguments: args,
    body,
    answers: explainAnswers(scope, route),
    limits: explainLimits(server, route),
  })
}

/** The explanation of a request whose head is refused, so that there is no request. */
export function explainRefusedHead(
  server: ExplainedServer,
  method: string,
  target: string,
  refusal: WeirError,
  connection: ConnectionInfo,
): Explanation {
  const { clientAddress, isSecure, endpointName } = connection
  return withText({
    method,
    target: new ShownTexts(server.routes).target(target, null),
    path: null,
    basePath: '',
    host: '',
    hostRule: null,
    endpoint: endpointName,
    client: { address: clientAddress, isSecure, origin: originOf('', isSecure), isForwarded: connection.forwarding !== null },
    response: responseOf(refusal),
    rpc: null,
    route: null,
    others: [],
    othersLeftOut: 0,
    policies: [],
    arguments: [],
    body: { mode: 'none', length: 0, contentType: null, accepts: null },
    answers: [],
    limits: explainLimits(server, null),
  })
}

/** In the order of the request cycle: the connection, gates, what the head states of the body, the route, its arguments, its protocol. */
function plannedResponse(
  server: ExplainedServer,
  asked: AskedRequest,
  match: RouteMatch,
  exchange: Exchange | null,
  args: readonly ExplainedArgument[],
  checked: CheckedBody,
): ExplainedResponse {
  const { head, refusal } = asked
  const route = match.route as Route | null
  const limit = bodyLimit(match, server.limits)
  if (refusal !== null) return responseOf(refusal)
  let unforeseen: readonly string[] = []
  try {
    const gates = exchange === null ? null : foreseen(exchange)
    if (gates?.response) return gates.response
    unforeseen = gates?.unforeseen ?? []
    if (route?.checksContentType === true) checkContentType(route.body, head)
    if (isTooLarge(head, limit)) throw new PayloadTooLargeError('maxRequestBodySize', limit, head.contentLength)
    if (route === null) return responseWithoutRoute(server, asked)
    const misfit = args.find(({ in: place, failures }) => place !== 'body' && failures.length > 0)
    if (misfit !== undefined)
      return responseOf(new WeirError('WEIR_PARAMETER_INVALID', `${misfit.name}: expected ${misfit.failures[0]!.expected}`))
    if (head.contentLength === 0 && route.body?.lacksContent(head.contentType) === true) throw new WeirError('WEIR_BODY_MISSING')
    if (checked.error !== null) throw checked.error
    if (route.upgradesTo !== null) checkUpgrade(head, new OutgoingResponse(), route.upgradesTo)
  } catch (error) {
    return responseOf(error)
  }
  return { status: null, code: null, detail: handlerOf(route, head) + unless(unforeseen), allow: null }
}

function unless(gates: readonly string[]): string {
  return gates.length === 0 ? '' : `, unless a gate responds first: ${gates.join(', ')}`
}

function handlerOf({ label, source, method }: Route, head: RequestHead): string {
  if (source === 'fallback') return 'no route has this path: a fallback answers'
  if (head.method === 'HEAD' && method === 'GET') return `HEAD is answered by the handler of ${label}, without the content`
  return `the handler of ${label} answers`
}

function responseWithoutRoute({ routes }: ExplainedServer, { head, connection, otherMethods }: AskedRequest): ExplainedResponse {
  const offer = routes.offerAt(head, connection.endpointName, otherMethods)
  if (offer === null) return responseOf(new WeirError('WEIR_ROUTE_NOT_FOUND'))
  const { methods: allow } = offer
  if (head.method === 'OPTIONS') return { status: 204, code: null, detail: 'the server answers OPTIONS', allow }
  return { ...responseOf(new WeirError('WEIR_METHOD_NOT_ALLOWED')), allow }
}

function responseOf(error: unknown): ExplainedResponse {
  const { status, code = null, title, detail = title } = problemFor(error, true)
  return { status, code, detail, allow: null }
}

/** Differences that are probably typing mistakes. */
const SLIPS: ReadonlySet<Rejection['kind']> = new Set(['spelling', 'case', 'slash'])
const MOST_MEANT = 3

/** Asks whether another path was meant, where no route has this one. */
function withSuggestion(response: ExplainedResponse, others: () => readonly RejectedRoute[]): ExplainedResponse {
  if (response.code !== 'WEIR_ROUTE_NOT_FOUND') return response
  const close = others()
    .filter(({ reasons }) => reasons.every(({ kind }) => SLIPS.has(kind)))
    .slice(0, MOST_MEANT)
  if (close.length === 0) return response
  return {
    ...response,
    detail: `${response.detail}: did you mean ${close.map(({ method, path }) => `${method ?? 'ANY'} ${path}`).join(' or ')}?`,
  }
}

function actualResponse({ status, error }: Actual, { allow, ...planned }: ExplainedResponse): ExplainedResponse {
  if (error === null) return { status, code: null, detail: 'the program has responded with it', allow: null }
  const actual = responseOf(error)
  return { ...actual, status, allow: planned.code === actual.code ? allow : null }
}

/** The gates know which call the request makes. */
function explainCall(exchange: Exchange, { status, code }: ExplainedResponse): Explanation['rpc'] {
  const call = exchange.note(RPC) ?? null
  if (call === null) return null
  return { system: call.system, method: call.method, status: status === null ? null : (call.statusOf?.(status, code) ?? null) }
}

function explainClient(head: RequestHead, connection: ConnectionInfo): ExplainedClient {
  const forwarded = connection.forwarding?.clientOf(head, connection)
  const { clientAddress, isSecure } = forwarded ?? connection
  return {
    address: clientAddress,
    isSecure,
    origin: originOf(forwarded?.host ?? head.host, isSecure),
    isForwarded: forwarded !== undefined,
  }
}

function explainPolicies(scope: Scope, route: Route | null): ExplainedPolicy[] {
  return [
    ...(route ?? scope).chain.policies.map(({ policy, level, replaces }) => ({
      name: policy.label,
      level,
      replaces,
      hooks: (['gate', 'middleware', 'beforeSend'] as const).filter((hook) => policy[hook] !== null),
    })),
    ...scope.addedHooks.map(({ hook, level }) => ({
      name: hook.name === '' ? '(anonymous)' : hook.name,
      level,
      replaces: [],
      hooks: ['beforeSend'] as const,
    })),
  ]
}

function explainBody(head: RequestHead, match: RouteMatch, limits: Limits, texts: ShownTexts): ExplainedBody {
  const { contentLength, contentType } = head
  const limit = bodyLimit(match, limits)
  const isDiscarded = match.route === null || isTooLarge(head, limit)
  return {
    mode: contentLength === 0 ? 'none' : isDiscarded ? 'discard' : streamsBody(head, match, limit) ? 'stream' : 'buffer',
    length: contentLength === -1 ? null : contentLength,
    contentType: contentType === null ? null : texts.field('content-type', contentType),
    accepts: (match.route as Route | null)?.body?.types ?? null,
  }
}

/** Numeric keys of an object are in ascending order. */
function explainAnswers({ answers }: Scope, route: Route | null): ExplainedAnswer[] {
  if (route === null) return []
  return Object.entries(answers).map(([status, answer]) => ({
    status: Number(status),
    body: answer === null ? null : answer instanceof TypedBody ? (answer.kind as 'json' | 'text' | 'bytes') : 'json',
  }))
}

function explainLimits({ limits, timeouts }: ExplainedServer, route: Route | null): Explanation['limits'] {
  const server = { ...limits, ...timeouts }
  const all: Record<string, Setting<number | null>> = {}
  for (const [name, value] of Object.entries(server)) all[name] = { value, level: 'server' }
  return { ...all, ...(route === null ? {} : limitsOf(route, server)) } as Explanation['limits']
}

/** The text is made when it is read. It is inherited, so that JSON holds the data only. */
const WITH_TEXT = {
  toString(this: Explanation): string {
    return textOf(this)
  },
}

function withText(data: Omit<Explanation, 'toString'>): Explanation {
  return Object.setPrototypeOf(data, WITH_TEXT) as Explanation
}

interface Foreseen {
  /** The response of the first gate that would respond; null if no gate that can tell would respond. */
  readonly response: ExplainedResponse | null
  /** The names of the policies whose gates cannot tell. */
  readonly unforeseen: readonly string[]
}

/** Asks the gates of a request what they would do, as far as they can tell. @throws what a gate would throw */
function foreseen({ match, session }: Exchange): Foreseen {
  const unforeseen: string[] = []
  for (const { foresee, label } of gatedPolicies(chainOf(match).policies)) {
    const result = foresee === null ? 'unknown' : foresee(session)
    if (typeof result === 'object' && result !== null && isResponse(result)) {
      const status = outgoingOf(result).statusCode
      return { response: { status, code: null, detail: `the gate of ${label} responds`, allow: null }, unforeseen }
    }
    if (result !== undefined) unforeseen.push(label)
  }
  return { response: null, unforeseen }
}
