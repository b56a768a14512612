// What carries an exchange: an HTTP/1.1 connection, a stream of HTTP/2, a Web Request, or a request of a server of Node.
//
// A carrier receives the bytes of a request and passes them to its `RequestCycle`, which processes them and tells the carrier what to do next.
// Everything that both need to know about the exchange is in the cycle's state (exchange-states.ts); a carrier keeps only what its protocol adds.

import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { ResponseContent } from '../../http/response/response-content.ts'
import type { Head } from '../../wire/head/head.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Peer } from '../connections/peer.ts'
import type { Recording } from '../observe/recording.ts'
import type { ResponseWriter } from './response-sender.ts'

/** The connection, as every request sees it. */
export interface RequestConnection extends ConnectionInfo {
  readonly host: ConnectionHost
  readonly peer: Peer
}

export type UpgradeContent = ResponseContent & { readonly kind: 'upgrade' }

export interface Carrier {
  /** Whether nothing of a body arrives before `resume` asks for it. Otherwise it arrives until `pause`. */
  readonly isPulled: boolean
  /** Whether it counts the body against its limit itself. */
  readonly countsBody: boolean
  /** Bytes of the body that have been received. */
  readonly receivedBytes: number
  /** Where the response goes. */
  readonly writer: ResponseWriter
  /** The body is not read for now. */
  pause(): void
  /** More of the body is needed. */
  resume(): void
  /** Stops waiting for the rest of the request. HTTP/1.1 reads nothing more after that. */
  refuseRest(): void
  /**
   * Sends an interim response: 100, 103 or 104.
   * @param fields name, value, name, value; null for 100 @returns whether the client can receive it
   */
  interim(head: Head, status: number, fields: readonly string[] | null): boolean
  /**
   * Whether the client can receive trailers after the response.
   * @param mustBeAsked whether a client of HTTP/1.1 has to say that it reads them (RFC 9110 §10.1.4)
   */
  takesTrailers(head: Head, mustBeAsked: boolean): boolean
  /** Decides what depends on the connection. @returns the response to send, which is another one if the protocol does not allow this one */
  prepare(response: OutgoingResponse): OutgoingResponse
  /**
   * All of the response has been handed over, and the request has expired.
   * @param recording what observers are told once it has been sent; null if there are none
   */
  handedOver(recording: Recording | null, response: OutgoingResponse): void
  /** Another protocol takes over, and the request has expired. A carrier without it has no connection that could be handed over. */
  switchOver?(content: UpgradeContent, recording: Recording | null): void
  /** Continues work that had to wait for a slow response. */
  proceed(): void
  /** Ends the exchange so that the client sees that something is missing. */
  cut(error: Error): void
  /** The exchange is over: nothing more is sent, and no code works on it any more. */
  closed(): void
}
