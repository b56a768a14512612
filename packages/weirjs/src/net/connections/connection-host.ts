// What the connections of a server share, and where they report what the application does not see.

import type { Limits, Timeouts } from '../../base/limits.ts'
import type { Application } from '../../http/application.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { HostRules } from '../hosts/host-rules.ts'
import type { Observers } from '../observe/observers.ts'
import type { BasePath } from '../proxies/base-path.ts'
import type { Proxies } from '../proxies/proxies.ts'
import type { Ticker } from '../time/ticker.ts'
import type { OpenConnection } from './connections.ts'
import type { OpenTap } from './tap.ts'

export interface ConnectionHost {
  readonly limits: Limits
  readonly timeouts: Timeouts
  readonly ticker: Ticker
  readonly application: Application
  readonly observers: Observers
  /** Records the bytes of new connections that speak HTTP/1.1; null for no recorder. */
  tap: OpenTap | null
  readonly debug: boolean
  /** The proxies that may state a client's address; null if no proxy may. */
  readonly proxies: Proxies | null
  /** The path below which the application is; null for the root. */
  readonly basePath: BasePath | null
  /** The hosts that each endpoint answers. */
  readonly hostRules: HostRules
  /** The names of endpoints; null while they are not known. */
  endpointNames(): ReadonlySet<string> | null
  /** Whether the server is stopping. Responses then announce that the connection closes. */
  readonly isStopping: boolean
  /**
   * Reports that a request was refused before it reached the application, or that the engine itself failed.
   *
   * @param exchange what was in progress
   */
  report(error: Error, connection: ConnectionInfo, exchange?: Exchange | null): void
  /** Reports that a connection could not be accepted (`EMFILE`). The next one may be. */
  reportAccept(error: Error): void
  /** Makes a stop wait for work of an exchange, and reports its failure. */
  waitUntil(exchange: Exchange, work: Promise<unknown>): void
  /** The connection is gone, and so is its handler. May be called twice. */
  forget(connection: OpenConnection): void
}
