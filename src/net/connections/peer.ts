// What a connection knows of the other end of its socket before the first request.

import type { ClientCertificate } from '../../http/connection-info.ts'

export interface Peer {
  /** Null when it has shown none. */
  readonly clientCertificate: ClientCertificate | null
  /**
   * The server name of the TLS handshake (`hostName`), where that name decided which client certificates are trusted: requests must be for this
   * host. Empty when the client sent no name. Null where requests may be for any host.
   */
  readonly boundHost: string | null
  /** Whether it is a proxy that the server trusts to state the host and the scheme for its clients. No peer is, yet. */
  readonly isTrustedProxy: boolean
}

/** A peer of which nothing is known. */
export const STRANGER: Peer = Object.freeze({ clientCertificate: null, boundHost: null, isTrustedProxy: false })
