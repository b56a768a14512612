// What happens on connections, for programs that record or test a server.

import { type ExchangeTap, RecordedConnection } from '../../net/inject/recorded-connection.ts'
import { type ExchangeWatcher, WatchedServer } from '../../net/inject/watched-server.ts'
import { type HttpServer, hostOf } from '../../server.ts'

/**
 * Hears the exchanges of connections that are opened from now on and speak HTTP/1.1: from sockets, `inject` and clients of tests.
 * @returns ends it. What is in progress is given to `tap` as it is; null if the server has a tap already
 */
export function tapExchanges(server: HttpServer, tap: ExchangeTap): (() => void) | null {
  const host = hostOf(server)
  if (host.tap !== null) return null
  const open = new Set<RecordedConnection>()
  host.tap = ({ isSecure }, { endpointName }) => {
    const connection = new RecordedConnection(tap, { isSecure, endpoint: endpointName }, (closed) => open.delete(closed))
    open.add(connection)
    return connection
  }
  const own = host.tap
  return () => {
    if (host.tap === own) host.tap = null
    for (const connection of open) connection.closed()
  }
}

/** What `connect` opens while it runs is not heard by a tap. */
export function untapped<T>(server: HttpServer, connect: () => T): T {
  const host = hostOf(server)
  const { tap } = host
  host.tap = null
  try {
    return connect()
  } finally {
    host.tap = tap
  }
}

/** What a test client may connect to in place of `server`, so that `watcher` is told what becomes of its requests. */
export function watched(server: HttpServer, watcher: ExchangeWatcher): WatchedServer {
  return new WatchedServer(hostOf(server), watcher)
}
