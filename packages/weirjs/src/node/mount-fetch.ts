// `mountFetch`: unmodified fetch functions, such as those of Hono, H3, SvelteKit and React Router, as a route below a prefix.

import { isInstance, WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import { flag, func } from '../base/option-kinds.ts'
import { rules } from '../base/option-rules.ts'
import { invalid } from '../base/options.ts'
import { bodyOf } from '../http/request/request.ts'
import { isWebResponse } from '../http/response/web-response.ts'
import type { HttpSession } from '../http/session.ts'

import { guestRequest } from './guest-request.ts'
import { checkMountHost, countPrefixSegments, type MountHost, mapBelow } from './mounted.ts'

/** What a mounted fetch function receives after the request: for Hono, `context.env`. */
export interface FetchEnvironment {
  readonly session: HttpSession
}

/** What a fetch function returns: a Response, or nothing if the request is not its own. */
type FetchResult = Response | null | undefined

/** Answers Web requests. Hono's `app.fetch` is one. */
export type FetchHandler = (request: Request, environment: FetchEnvironment) => FetchResult | PromiseLike<FetchResult>

export interface MountFetchOptions {
  /** Whether the URL of the request leaves out the prefix. Default false: it is the URL that the client requested. */
  readonly stripPrefix?: boolean
  /** Answers a request for which the function returns nothing. It is called like the handler of a route. Default: the client gets 404. */
  readonly next?: (session: HttpSession) => unknown
  /** Whether a Response with status 404 counts as nothing, so that `next` or weir's own 404 answers. Default false. */
  readonly passOn404?: boolean
}

/** @internal */
export const MOUNT_FETCH_RULES = rules<MountFetchOptions>('mountFetch()')({
  stripPrefix: flag(false),
  passOn404: flag(false),
  next: func().orNull(),
})

/** What is mounted. */
interface Mount {
  readonly fetch: FetchHandler
  readonly next: ((session: HttpSession) => unknown) | null
  readonly passesOn404: boolean
  /** How many segments of the path the URL leaves out. */
  readonly prefixSegments: number
}

/**
 * Runs a fetch function inside weir: `mountFetch(server, '/', app.fetch)`. It answers every request below `path` that no route of weir matches,
 * with any method. Its second argument is `{ session }`.
 *
 * @param server a server, or a group of its routes, whose policies then apply
 * @param path a prefix, such as `/` or `/old`. It may have parameters
 * @throws WEIR_OPTION_INVALID; WEIR_ROUTE_TEMPLATE; WEIR_ROUTE_CLASH if something is already mounted there
 */
export function mountFetch(server: MountHost, path: string, fetch: FetchHandler, options: MountFetchOptions = {}): void {
  checkMountHost('mountFetch()', server)
  if (typeof fetch !== 'function') throw invalid('mountFetch()', `the fetch function is ${kindOf(fetch)}${hintFor(fetch)}`)
  const { stripPrefix, passOn404, next } = MOUNT_FETCH_RULES.read(options)
  const mount: Mount = { fetch, next, passesOn404: passOn404, prefixSegments: stripPrefix ? countPrefixSegments(server, path) : 0 }
  mapBelow(server, path, (session) => answer(mount, session))
}

function hintFor(given: unknown): string {
  const { fetch } = (given ?? {}) as { readonly fetch?: unknown }
  return typeof fetch === 'function' ? ' with a method fetch: pass app.fetch' : ', not a function'
}

/** The handler of its routes. @returns what weir sends */
function answer(mount: Mount, session: HttpSession): unknown {
  const { fetch } = mount
  const result: unknown = fetch(guestRequest(session, mount.prefixSegments), { session })
  return isPromise(result) ? settle(mount, session, result) : sent(mount, session, result)
}

async function settle(mount: Mount, session: HttpSession, result: PromiseLike<unknown>): Promise<unknown> {
  return sent(mount, session, await result)
}

function sent(mount: Mount, session: HttpSession, result: unknown): unknown {
  if (result === null || result === undefined) return pass(mount, session)
  if (typeof result !== 'object' || !isWebResponse(result))
    throw new WeirError('WEIR_RESULT_UNSENDABLE', `a mounted fetch function returned ${kindOf(result)}, not a Response`)
  if (result.status >= 500) throwRefusal(session, result)
  if (result.status !== 404 || !mount.passesOn404) return result
  cancel(result)
  return pass(mount, session)
}

function pass({ next }: Mount, session: HttpSession): unknown {
  if (next === null) throw new WeirError('WEIR_ROUTE_NOT_FOUND')
  return next(session)
}

/**
 * Frameworks respond with 500 to any error of their handlers, even if reading the body failed because weir refused it. In that case, the client
 * gets weir's response, such as 413.
 */
function throwRefusal({ request }: HttpSession, response: Response): void {
  const failure = bodyOf(request)?.failure ?? null
  if (!isInstance(failure, WeirError) || failure.status >= 500) return
  cancel(response)
  throw failure
}

function cancel({ body }: Response): void {
  if (body?.locked === false) body.cancel().catch(() => {})
}
