// What a handler sees instead of a connection, for a request that did not arrive on one.

import type { Clock } from '../../base/clock.ts'
import type { Forwarding, SocketPeer } from '../../http/connection-info.ts'

import type { Arrival } from './arrival.ts'
import type { ConnectionHost } from './connection-host.ts'
import { connectionId, nextConnection } from './connection-id.ts'
import { type Peer, socketPeerOf } from './peer.ts'

export class NoConnection {
  readonly host: ConnectionHost
  readonly clientAddress: string
  readonly clientPort: number
  readonly isSecure: boolean
  readonly clientCertificate = null
  readonly endpointName: string | null
  readonly forwarding: Forwarding | null
  readonly hosts = null
  readonly isTest = false
  readonly testPrincipal = null
  readonly peer: Peer
  #id: string | null = null

  constructor(host: ConnectionHost, { address, port, isSecure, peer }: Arrival) {
    this.host = host
    this.clientAddress = address
    this.clientPort = port
    this.isSecure = isSecure
    this.endpointName = peer.endpointName
    this.forwarding = peer.isTrustedProxy ? host.proxies : null
    this.peer = peer
  }

  get isConnected(): boolean {
    return true
  }

  get connectionId(): string {
    this.#id ??= connectionId(nextConnection())
    return this.#id
  }

  get clock(): Clock {
    return this.host.ticker.clock
  }

  describePeer(): SocketPeer {
    return socketPeerOf(this.peer, this.clientAddress, this.clientPort, this.isSecure)
  }
}
