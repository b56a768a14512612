// Everything the network needs from the application: the only seam between net/ and app/.

import type { Head } from '../wire/head/head.ts'
import type { RequestBody } from './body/body.ts'
import type { ConnectionInfo } from './connection-info.ts'
import type { Exchange } from './exchange.ts'
import type { OutgoingResponse } from './response/outgoing-response.ts'
import type { RouteMatch } from './route-info.ts'

/** A complete request head. */
export type RequestHead = Head

export interface Application {
  /** Finds the route at an endpoint. Asked when the head is complete, because the route decides how the body is read. Never throws. */
  readonly routes: {
    find(head: Head, endpointName: string | null): RouteMatch
    /** Whether other code could take a request without a route for one that has a route. */
    isReadElsewhere(head: Head, endpointName: string | null): boolean
  }
  /** The policies and limits of the server, for a request that is refused before a route is looked up. */
  readonly unmatched: RouteMatch
  /** Starts the exchange. Never throws. @param body null when the request has none */
  open(head: Head, body: RequestBody | null, connection: ConnectionInfo, match: RouteMatch): Exchange
  /**
   * Runs the gates of the route before any of the body is read; it cannot be read until they have let the request pass. Never throws and never
   * rejects.
   * @returns null when the request may pass; otherwise the response of a gate; or a promise of either
   */
  gate(exchange: Exchange): OutgoingResponse | null | Promise<OutgoingResponse | null>
  /**
   * Runs middleware and handler. Never throws and never rejects: a failure becomes a response too. Returns a promise only when middleware
   * or the handler is asynchronous.
   */
  handle(exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse>
  /** Makes the response when a request cannot reach its handler: its body is too large, too slow or malformed. Never throws. */
  refuse(exchange: Exchange, error: Error): OutgoingResponse | Promise<OutgoingResponse>
}
