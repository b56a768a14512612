// What requests may know of the connection on which they arrived, in either protocol.

import type { Clock } from '../../base/clock.ts'
import type { ClientCertificate, Forwarding, SocketPeer } from '../../http/connection-info.ts'

import type { Transport } from '../transport/transport.ts'
import type { ConnectionHost } from './connection-host.ts'
import { connectionId, nextConnection } from './connection-id.ts'
import { clientAddressOf, clientPortOf, isProxiedTls, type Peer, socketPeerOf } from './peer.ts'

/** The base of connections. */
export abstract class RequestSource {
  readonly host: ConnectionHost
  readonly peer: Peer
  /** Not a getter: it is read for every request. */
  readonly isTest: boolean
  protected readonly transport: Transport
  /** A number until the text is needed. */
  #id: number | string = nextConnection()

  constructor(host: ConnectionHost, transport: Transport, peer: Peer) {
    this.host = host
    this.peer = peer
    this.isTest = peer.isTest
    this.transport = transport
    // A socket that has been reset no longer knows its address.
    if (host.observers.hears('head')) void transport.remoteAddress
  }

  get clientAddress(): string {
    return clientAddressOf(this.peer, this.transport.remoteAddress)
  }

  get clientPort(): number {
    return clientPortOf(this.peer, this.transport.remotePort)
  }

  get isSecure(): boolean {
    return this.transport.isSecure || isProxiedTls(this.peer)
  }

  get forwarding(): Forwarding | null {
    return this.peer.isTrustedProxy ? this.host.proxies : null
  }

  get endpointName(): string | null {
    return this.peer.endpointName
  }

  get clock(): Clock {
    return this.host.ticker.clock
  }

  describePeer(): SocketPeer {
    const { remoteAddress, remotePort, isSecure } = this.transport
    return socketPeerOf(this.peer, remoteAddress, remotePort, isSecure)
  }

  get clientCertificate(): ClientCertificate | null {
    return this.peer.clientCertificate
  }

  get connectionId(): string {
    if (typeof this.#id === 'number') this.#id = connectionId(this.#id)
    return this.#id
  }
}
