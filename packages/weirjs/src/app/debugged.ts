// Which servers have `debug`, and so check more. Reports mistakes of handlers that only a request shows.

import { WeirError } from '../base/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ServerHandle } from '../http/session.ts'

const debugged = new WeakSet<ServerHandle>()
const warners = new WeakMap<ServerHandle, (mistake: string) => void>()
/** Routes about which a warning was logged. */
const reported = new WeakSet<object>()

export function setDebug(server: ServerHandle, debug: boolean, warn: (mistake: string) => void): void {
  if (debug) debugged.add(server)
  if (debug && process.env['NODE_ENV'] === 'production')
    warn('weir: NODE_ENV is "production", and debug shows errors to clients: leave it out')
  warners.set(server, warn)
}

export function hasDebug(server: ServerHandle): boolean {
  return debugged.has(server)
}

/** Whether a mistake of the handler is an error. */
export function isStrict({ connection, server }: Exchange): boolean {
  return connection.isTest || hasDebug(server)
}

/** Warns, once for each route. @throws WEIR_RESULT_UNSENDABLE in tests and with `debug` */
export function reportMistake(exchange: Exchange, says: string): void {
  const { route } = exchange.match
  const where = route === null ? 'a request without a route' : route.place
  if (isStrict(exchange)) throw new WeirError('WEIR_RESULT_UNSENDABLE', `${where}: ${says}`)
  if (route === null || reported.has(route)) return
  reported.add(route)
  warnOf(exchange, `${where}: ${says}`)
}

export function warnOf({ server }: Exchange, says: string): void {
  warners.get(server)?.(`weir: ${says}`)
}
