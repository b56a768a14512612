// `mountNode`: unmodified `(req, res, next)` code, such as an Express application, as a route below a prefix.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import type { ModuleHost } from '../../app/module-host.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { checkFunction, checkNames, flag, invalid, namesOf } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'

/** A server, or a group of its routes. */
export type MountHost = Pick<ModuleHost, 'prefix' | 'logger' | 'isListening'>

/** Passes the request on: to weir, without an error, or with one. */
export type NodeNext = (error?: unknown) => void

/** Code written for `node:http`, with or without `next`. What it returns is ignored, except that a rejected promise is an error. */
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, next: NodeNext) => unknown

/** A listener for the event `upgrade` of `http.Server`. */
export type NodeUpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => unknown

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

type MapAnyPath = (method: null, path: string, declaration: object, handler: (args: unknown, session: HttpSession) => unknown) => unknown

const OPTION_NAMES = namesOf<MountNodeOptions>()(['stripPrefix', 'next', 'upgrade'])

/**
 * Runs code written for `node:http` inside weir: `mountNode(server, '/', app)`. It answers every request below `path` that no route of weir
 * matches, with any method.
 *
 * @param path a prefix, such as `/` or `/old`. It may have parameters
 * @throws WEIR_OPTION_INVALID; WEIR_ROUTE_TEMPLATE; WEIR_ROUTE_CLASH if something is already mounted there
 */
export function mountNode(server: MountHost, path: string, handler: NodeHandler, options: MountNodeOptions = {}): void {
  const { map } = server as { readonly map?: MapAnyPath }
  if (typeof map !== 'function') throw invalid('mountNode()', `the first argument is ${kindOf(server)}, not a server or a group`)
  if (typeof handler !== 'function') throw invalid('mountNode()', `the handler is ${kindOf(handler)}, not a function`)
  checkNames('mountNode()', options, OPTION_NAMES)
  flag('mountNode()', 'stripPrefix', options.stripPrefix)
  if (typeof options.next !== 'function') flag('mountNode()', 'next', options.next)
  checkFunction('mountNode()', 'upgrade', options.upgrade)
  const base = path.replace(/\/$/, '')
  for (const template of base === '' ? ['/', '/*mountedPath'] : [base, `${base}/`, `${base}/*mountedPath`])
    map.call(server, null, template, { body: 'stream' }, () => {
      throw new WeirError('WEIR_ROUTE_NOT_FOUND')
    })
}
