// The routes of a contract: an entry, its handler, and what only the server knows of it.

import { WeirError } from '../../base/errors.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { perhaps } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { isPlainObject } from '../../schema/composite.ts'

import type { Contract, Entry, EntryOptions, WebSocketEntry } from './contract.ts'
import type { ArgsOf, Below, GroupOptions, Merged, NoDeclaration } from './declaration.ts'
import { type Handler, Route } from './route.ts'
import type { ResultOf } from './route-answers.ts'
import type { Scope } from './scope.ts'
import { isOption } from './split-declaration.ts'
import { upgradeOfHandler } from './upgrade-handler.ts'

/** The handler of an entry: what it gets, and what it may return. `P` and `D` are the path and the declaration of a group around it. */
export type ContractHandler<E extends Entry, P extends string = '', D = NoDeclaration> = (
  args: ArgsOf<Below<P, E['path']>, Merged<D, E['declaration']>>,
  session: HttpSession,
) => ResultOf<Merged<D, E['declaration']>>

/** What serves a WebSocket entry: `websocket(entry, options)` of `weirjs/websocket` returns it. */
export interface EntryServer<E extends Entry = Entry> {
  readonly entry: E
  /** The handler of its route. @param host the `ModuleHost` where it is mapped */
  handlerOn(host: never): (args: never, session: HttpSession) => unknown
}

/**
 * A handler for each entry of a contract. A class may implement it: `class Shop implements ContractHandlers<typeof api>`.
 * @example
 * const api = contract({ hello: get('/hello', { answers: { 200: t.string } }) })
 * const handlers: ContractHandlers<typeof api> = { hello: () => 'Hello' }
 * server.mapContract(api, handlers)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/contracts.md
 */
export type ContractHandlers<C extends Contract, P extends string = '', D = NoDeclaration> = {
  readonly [K in keyof C]: C[K] extends WebSocketEntry ? EntryServer<C[K]> : ContractHandler<C[K], P, D>
}

/**
 * `unknown` if `H` has a handler for each entry of contract `C`, and no other. Otherwise a sentence that states which one. No object is
 * assignable to it, so it becomes the last line of the compiler's message.
 */
export type HandlersFit<C extends Contract, H> = [Exclude<keyof C, keyof H>] extends [never]
  ? [Exclude<keyof H, keyof C>] extends [never]
    ? unknown
    : `the contract has no entry '${Exclude<keyof H, keyof C> & string}'`
  : `'${Exclude<keyof C, keyof H> & string}' of the contract has no handler`

/** Options of a route that its clients do not have to know. */
type ServerSideOptions = Omit<GroupOptions, keyof EntryOptions>

/**
 * Options of the server by the names of entries.
 * @example
 * const api = contract({ hello: get('/hello', { answers: { 200: t.string } }) })
 * const options: ContractOptions<typeof api> = { hello: { requestTimeout: '5s' } }
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/contracts.md
 */
export type ContractOptions<C extends Contract> = { readonly [K in keyof C]?: ServerSideOptions }

/** Options that only the server knows. The entry of a contract, which clients share, has all others. */
const SERVER_OPTION_NAMES: readonly string[] = Object.keys({
  use: true,
  host: true,
  endpoint: true,
  maxRequestBodySize: true,
  requestTimeout: true,
  writeTimeout: true,
  minBodyRate: true,
  etag: true,
  requireIfMatch: true,
  metadata: true,
} satisfies Readonly<Record<keyof ServerSideOptions, true>>)

/** What a contract is mapped with. */
interface Mapping {
  /** Where the contract is mapped, as modules see it. */
  readonly host: unknown
  readonly scope: Scope
  /** The full template of the path of an entry. */
  readonly pathOf: (path: string) => string
  /** Whether another route has this `operationId`. */
  readonly isTaken: (operationId: string) => boolean
}

/**
 * @throws WEIR_ROUTE_DECLARATION for an entry without a handler, a handler or options without an entry, and options at the wrong place;
 *   WEIR_ROUTE_TEMPLATE
 */
export function routesOfContract(mapping: Mapping, contract: unknown, handlers: unknown, options: unknown): Route[] {
  const entries = recordOf('a contract', contract)
  const given = recordOf('the handlers of a contract', handlers)
  const server = recordOf('the options of a contract', options)
  // A class may have other members.
  if (isPlainObject(given))
    for (const name of Object.keys(given)) if (!Object.hasOwn(entries, name)) throw surplus('a handler', name, entries)
  for (const name of Object.keys(server)) if (!Object.hasOwn(entries, name)) throw surplus('an option', name, entries)
  return Object.entries(entries).map(([name, entry]) => routeOf(mapping, name, entry, given, server[name] ?? {}))
}

function routeOf(mapping: Mapping, name: string, entry: unknown, handlers: Record<string, unknown>, options: unknown): Route {
  const { method, path, declaration } = Object(entry) as Entry
  if (typeof method !== 'string' || typeof path !== 'string' || typeof declaration !== 'object' || declaration === null)
    throw wrong(`"${name}" of a contract is ${shown(entry)}, not what get(), post() or entry() returns`)
  // A client appends the path to its base unchanged.
  if (!path.startsWith('/')) throw wrong(`the path ${JSON.stringify(path)} of "${name}" does not begin with a slash`)
  const handler = handlerOf(mapping, name, entry as Entry, handlers)
  const ownOptions = recordOf(`the options of "${name}"`, options)
  for (const option of Object.keys(ownOptions)) {
    if (!SERVER_OPTION_NAMES.includes(option))
      throw wrong(`"${option}" of "${name}" is not an option of mapContract${perhaps(option, SERVER_OPTION_NAMES)}`)
    if (Object.hasOwn(declaration, option)) throw wrong(`"${option}" of "${name}" is a parameter, and cannot be an option`)
  }
  for (const [option, value] of Object.entries(declaration)) {
    const isMisplaced =
      isOption(option, 'route') && (SERVER_OPTION_NAMES.includes(option) || option === 'absolute') && !('~standard' in Object(value))
    if (isMisplaced && Object(value).source === undefined)
      throw wrong(`"${option}" of "${name}" does not belong into a contract: pass it to mapContract`)
  }
  const known = Object.hasOwn(declaration, 'operationId') || mapping.isTaken(name) ? {} : { operationId: name }
  const full = { ...known, ...declaration, ...ownOptions }
  const route = new Route(mapping.scope, method, mapping.pathOf(path), full, handler, `"${name}" of a contract`)
  route.entry = entry as Entry
  return route
}

function handlerOf({ host }: Mapping, name: string, entry: Entry, handlers: Record<string, unknown>): Handler {
  const { method, path } = entry
  const handler = handlers[name]
  if ((entry as Partial<WebSocketEntry>).upgradesTo !== undefined) {
    const { entry: served, handlerOn } = Object(handler) as Partial<EntryServer>
    if (typeof handlerOn !== 'function')
      throw wrong(`"${name}" of a contract is a WebSocket: it is served by websocket(contract.${name}, …)`)
    if (served !== entry)
      throw wrong(`"${name}" of a contract is served by ${served ? `the websocket() of ${served.path}` : 'a websocket() of its own path'}`)
    return (handler as EntryServer).handlerOn(host as never) as Handler
  }
  if (typeof handler !== 'function') throw wrong(`"${name}" of a contract (${method} ${path}) has no handler: give it one under this name`)
  // Binds methods of a class that implements the contract. A handler that upgrades is recognized by its identity, so it is not bound.
  return upgradeOfHandler(handler) === null ? (handler.bind(handlers) as Handler) : (handler as Handler)
}

function recordOf(what: string, value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw wrong(`${what} must be an object, not ${kindOf(value)}`)
}

function surplus(what: string, name: string, entries: object): WeirError {
  return wrong(
    `there is ${what} for "${name}", but the contract has no such entry${perhaps(name, Object.keys(entries), 'its entries are')}`,
  )
}

function wrong(detail: string): WeirError {
  return new WeirError('WEIR_ROUTE_DECLARATION', detail)
}
