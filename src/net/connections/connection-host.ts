// What all connections of a server share, and whom they tell what the application is not told.

import type { Limits, Timeouts } from '../../base/limits.ts'
import type { Application } from '../../http/application.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Ticker } from '../time/ticker.ts'
import type { OpenConnection } from './connections.ts'

export interface ConnectionHost {
  readonly limits: Limits
  readonly timeouts: Timeouts
  readonly ticker: Ticker
  readonly application: Application
  readonly debug: boolean
  /** Whether the server is about to stop: answers say so. */
  readonly isStopping: boolean
  /** A request was refused before it reached the application, or the engine itself failed. */
  report(error: Error, connection: ConnectionInfo): void
  /** A client could not be let in (`EMFILE`); the next one may. */
  reportAccept(error: Error): void
  /** The connection is gone, and so is its handler. May be said twice. */
  forget(connection: OpenConnection): void
}
