// Watches connections, for programs that record or test a server.

import { type ExchangeTap, RecordedConnection } from '../../net/inject/recorded-connection.ts'
import { type ExchangeWatcher, WatchedServer } from '../../net/inject/watched-server.ts'
import { type HttpServer, hostOf } from '../../server.ts'

/**
 * Passes the exchanges of HTTP/1.1 connections that are opened from now on to `tap`: from sockets, `inject` and test clients. @returns a function
 * that ends this, and passes exchanges in progress as they are; null if the server already has a tap
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

/** Connections that `connect` opens during `work` are not passed to a tap. */
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

/** Returns a value that a test client may connect to in place of `server`, so that `watcher` is told about its requests. */
export function watched(server: HttpServer, watcher: ExchangeWatcher): WatchedServer {
  return new WatchedServer(hostOf(server), watcher)
}
