// What the connections of one listening socket have in common: which peers may connect, and what is known about them.

import type { Socket } from 'node:net'

import { ProtocolError, WeirError } from '../../base/errors.ts'
import type { ProxyHeader } from '../../formats/proxy-protocol.ts'
import type { Endpoint } from '../../http/session.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Connections } from '../connections/connections.ts'
import { type Entry, type Peer, peerAt, STRANGER } from '../connections/peer.ts'
import type { EndpointHosts } from '../hosts/endpoint-hosts.ts'
import { endpointOf, type ListenOptions } from './listen-options.ts'

export class Entrance implements Entry {
  readonly host: ConnectionHost
  readonly connections: Connections
  /** Whether every connection must begin with a PROXY header. */
  readonly requiresHeader: boolean
  isUnixSocket = false
  readonly endpointName: string | null
  hosts: EndpointHosts
  readonly #options: ListenOptions
  #stranger = STRANGER
  #hasReported = false

  constructor(options: ListenOptions, host: ConnectionHost, connections: Connections) {
    this.host = host
    this.connections = connections
    this.requiresHeader = options.proxyProtocol === 'required'
    this.endpointName = options.name ?? null
    this.#options = options
    this.hosts = this.bind(endpointOf(options))
  }

  /** It listens: only now is it known where an inherited socket listens, and which address a name such as `localhost` has. */
  bind(endpoint: Endpoint): EndpointHosts {
    this.isUnixSocket = endpoint.isUnixSocket
    this.hosts = this.host.hostRules.at(endpoint, this.#options.hosts)
    this.#stranger = Object.freeze({ ...STRANGER, endpointName: this.endpointName, hosts: this.hosts })
    return this.hosts
  }

  /** Accepts a new socket and counts it until it is `release`d, or destroys it. @returns whether it was accepted */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress
    if (!this.hasLeft(socket)) {
      const isWelcome = !this.requiresHeader || this.#trusts(address ?? '')
      if (isWelcome && this.connections.admit(socket)) return true
      if (!isWelcome) this.refuse(new ProtocolError('WEIR_PROXY_PEER', `${address ?? 'a Unix socket'} is not in proxies.trust`), address)
    }
    socket.destroy()
    return false
  }

  /**
   * Whether a socket has been reset. It may still have bytes to read, but no one knows whose they are: without an address, a client would have
   * no quota of its own, and would pass for one at a Unix socket. Node keeps an address from the first look.
   */
  hasLeft(socket: { readonly remoteAddress?: string | undefined }): boolean {
    return !this.isUnixSocket && socket.remoteAddress === undefined
  }

  /**
   * Tells observers about a peer that sends no valid PROXY header, or may not send one. Only the first such peer is reported to the program,
   * because clients can repeat this as often as they like.
   * @param error null if the peer sent nothing at all
   * @param address of the peer
   */
  refuse(error: Error | null, address: string | undefined): void {
    if (error === null) return
    this.host.observers.refused('connection', error, { remoteAddress: address })
    if (this.#hasReported || !(error instanceof WeirError) || error.fault !== 'peer') return
    this.#hasReported = true
    this.host.reportAccept(error)
  }

  /** What is known about the other end of a socket. @param proxyHeader null if the endpoint does not require one */
  peerOf(socket: { readonly remoteAddress?: string | undefined }, proxyHeader: ProxyHeader | null): Peer {
    const { proxies } = this.host
    return proxies === null ? this.#stranger : peerAt(proxies.networks, this, socket.remoteAddress ?? '', proxyHeader)
  }

  #trusts(address: string): boolean {
    return this.host.proxies?.networks.trustsPeer(address, this.isUnixSocket) === true
  }
}
