// `mountNode`: unmodified `(req, res, next)` code, such as an Express application, as a route below a prefix.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Logger } from '../app/logger.ts'
import { type ErrorHeaders, HttpError, isInstance, WeirError } from '../base/errors.ts'
import { isPromise } from '../base/is-promise.ts'
import { kindOf } from '../base/kind-of.ts'
import { flag, func, oneOfOr } from '../base/option-kinds.ts'
import { rules } from '../base/option-rules.ts'
import { invalid } from '../base/options.ts'
import { isWebResponse } from '../http/response/web-response.ts'
import type { HttpSession } from '../http/session.ts'
import { checkMountHost, countPrefixSegments, type MountHost, mapBelow } from './mounted.ts'
import { type Mounted, NodeExchange, type NodeUpgradeHandler } from './node-exchange.ts'
import { checkNode } from './node-message.ts'
import { NodeServer, type ServerControls } from './node-server.ts'
import { isWatched, tellFinish, tellStart, WatchedServer } from './watching.ts'

/** Passes the request on to weir, with or without an error. */
export type NodeNext = (error?: unknown) => void

/** Code written for `node:http`, with or without `next`. What it returns is ignored, except that a rejected promise is an error. */
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, next: NodeNext) => unknown

export interface MountNodeOptions {
  /**
   * Whether `req.url` begins after the prefix, as in a router of Express: `req.baseUrl` is the prefix, and `req.originalUrl` the whole URL.
   * Default true.
   */
  readonly stripPrefix?: boolean
  /**
   * What answers a request that the handler passes on with `next()`. A function is called like the handler of a route. True: the
   * client gets 404. False: the handler is called without `next`, and answers everything itself, as it does under `node:http`. Default true.
   */
  readonly next?: boolean | ((session: HttpSession) => unknown)
  /** Called for requests that ask for another protocol, such as a WebSocket. Without it, they are requests like others. */
  readonly upgrade?: NodeUpgradeHandler
}

type WithoutNext = (req: IncomingMessage, res: ServerResponse) => unknown

/** @internal */
export const MOUNT_NODE_RULES = rules<MountNodeOptions>('mountNode()')({
  stripPrefix: flag(true),
  next: oneOfOr<boolean>(true, false).or(true),
  upgrade: func().optional(),
})

/**
 * Runs code written for `node:http` inside weir: `mountNode(server, '/', app)`. It answers every request below `path` that no route of weir
 * matches, with any method.
 *
 * @param path a prefix, such as `/` or `/old`. It may have parameters
 * @throws WEIR_OPTION_INVALID; WEIR_ROUTE_TEMPLATE; WEIR_ROUTE_CLASH if something is already mounted there; WEIR_SERVER_STATE on a
 *   version of Node that it does not know
 */
export function mountNode(server: MountHost, path: string, handler: NodeHandler, options: MountNodeOptions = {}): void {
  checkNode()
  checkMountHost('mountNode()', server)
  if (typeof handler !== 'function') throw invalid('mountNode()', `the handler is ${kindOf(handler)}, not a function${hintFor(handler)}`)
  const { stripPrefix, next, upgrade } = MOUNT_NODE_RULES.read(options)
  const prefixSegments = stripPrefix ? countPrefixSegments(server, path) : 0
  const mount = new Mount(server, handler, next, upgrade, prefixSegments)
  mapBelow(server, path, (session) => answer(mount, session))
}

/** Lets the listeners of the returned server answer requests that no route matches. */
export function mountListeners(server: MountHost, controls: ServerControls): NodeServer {
  const handler: NodeHandler = (req, res, next) => {
    const { httpServer } = mount
    tellStart(req, res, httpServer)
    if (!httpServer.emit('request', req, res)) next()
  }
  const mount = new Mount(server, handler, true, undefined, 0, controls)
  mapBelow(server, '/', (session) => answer(mount, session))
  return mount.httpServer
}

function hintFor(given: unknown): string {
  if (typeof given !== 'object' || given === null) return ': write mountNode(server, path, handler)'
  const { callback, fetch, listen } = given as { readonly callback?: unknown; readonly fetch?: unknown; readonly listen?: unknown }
  if (typeof callback === 'function') return ': pass app.callback()'
  if (typeof fetch === 'function') return ': use mountFetch(server, path, app.fetch)'
  return typeof listen === 'function' ? ': pass the function that it calls for each request' : ''
}

/** What is mounted. */
class Mount implements Mounted {
  readonly logger: Logger | null
  readonly handler: NodeHandler
  readonly next: NonNullable<MountNodeOptions['next']>
  /** How many segments of a path are left out of `req.url`. */
  readonly prefixSegments: number
  readonly #host: MountHost
  readonly #upgrade: NodeUpgradeHandler | undefined
  readonly #controls: ServerControls | null
  #httpServer: NodeServer | null = null
  #watched: WatchedServer | null = null

  constructor(
    host: MountHost,
    handler: NodeHandler,
    next: NonNullable<MountNodeOptions['next']>,
    upgrade: NodeUpgradeHandler | undefined,
    prefixSegments: number,
    controls: ServerControls | null = null,
  ) {
    this.logger = host.logger
    this.handler = handler
    this.next = next
    this.prefixSegments = prefixSegments
    this.#host = host
    this.#upgrade = upgrade
    this.#controls = controls
  }

  /** The value of `req.socket.server`, to which packages add their listener for `upgrade`. */
  get httpServer(): NodeServer {
    this.#httpServer ??= new NodeServer(this.#host, this.#controls)
    return this.#httpServer
  }

  get timeout(): number {
    return this.#httpServer?.timeout ?? 0
  }

  tellTimeout(socket: object): boolean {
    return this.#httpServer?.emit('timeout', socket) === true
  }

  /** Whether its function is called as a listener for `request` of a server, because monitors watch that event. */
  get isWatched(): boolean {
    return this.#controls === null && isWatched()
  }

  /** The server that monitors see. Other code does not see it. */
  get watched(): WatchedServer {
    this.#watched ??= new WatchedServer()
    return this.#watched
  }

  tellFinish(req: IncomingMessage, res: ServerResponse): void {
    tellFinish(req, res, this.#watched ?? this.httpServer)
  }

  announce(socket: object): boolean {
    return this.#httpServer?.announce(socket) === true
  }

  get upgrade(): NodeUpgradeHandler | undefined {
    return this.#upgrade ?? this.#httpServer?.upgradeListener
  }
}

function call(mount: Mount, exchange: NodeExchange): unknown {
  const { req, res } = exchange
  return mount.next === false ? (mount.handler as WithoutNext)(req, res) : mount.handler(req, res, nextOf(mount, exchange))
}

/** The handler of its routes. @returns what weir sends */
function answer(mount: Mount, session: HttpSession): unknown {
  const exchange = new NodeExchange(session, mount.prefixSegments, mount)
  const { req, res } = exchange
  const upgrade = session.request.upgrade === null ? undefined : mount.upgrade
  if (upgrade !== undefined) return exchange.upgrade(upgrade)
  try {
    exchange.announce()
    const returned = mount.isWatched ? mount.watched.run(req, res, () => call(mount, exchange)) : call(mount, exchange)
    if (isPromise(returned))
      Promise.resolve(returned).then(
        (value) => checkReturned(exchange, value),
        (error: unknown) => fail(mount, exchange, error),
      )
    else checkReturned(exchange, returned)
  } catch (error) {
    fail(mount, exchange, error)
  }
  return exchange.result()
}

/** Refuses the result of a fetch function, such as Hono's, that was mounted by mistake: it writes nothing, and the client would wait forever. */
function checkReturned(exchange: NodeExchange, value: unknown): void {
  if (typeof value !== 'object' || value === null || exchange.res.headersSent || !isWebResponse(value)) return
  exchange.fail(new WeirError('WEIR_RESULT_UNSENDABLE', 'a handler of mountNode() returned a Response: mount it with mountFetch()'))
}

function nextOf(mount: Mount, exchange: NodeExchange): NodeNext {
  return (error) => {
    if (error) fail(mount, exchange, error)
    else exchange.passOn(() => notFound(mount, exchange.session))
  }
}

function notFound({ next }: Mount, session: HttpSession): unknown {
  if (typeof next === 'function') return next(session)
  throw new WeirError('WEIR_ROUTE_NOT_FOUND')
}

function fail({ logger }: Mount, exchange: NodeExchange, error: unknown): void {
  if (!exchange.fail(errorOf(error))) logger?.error('weir: a mounted handler failed after its response', error)
}

/** What Express and its middleware add to errors: see the package `http-errors`. */
interface NodeHttpError extends Error {
  readonly status?: unknown
  readonly statusCode?: unknown
  /** Whether the client may see the message. */
  readonly expose?: unknown
  readonly headers?: unknown
}

/** An error that states a status from 400 to 599 becomes an `HttpError`; any other is itself. */
function errorOf(error: unknown): unknown {
  if (!isInstance(error, Error) || isInstance(error, HttpError)) return error
  const { status, statusCode, expose, headers, message } = error as NodeHttpError
  const code = isErrorStatus(status) ? status : statusCode
  if (!isErrorStatus(code)) return error
  const shown = expose === false || message === '' ? (STATUS_CODES[code] ?? 'Error') : message
  try {
    return new HttpError(code, shown, { cause: error, headers: (headers as ErrorHeaders | null | undefined) ?? {} })
  } catch {
    return new HttpError(code, shown, { cause: error }) // the error has fields that cannot be sent
  }
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600
}
