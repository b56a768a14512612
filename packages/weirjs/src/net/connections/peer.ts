// What a connection knows about the other end of its socket before the first request.

import { UNKNOWN_ADDRESS } from '../../formats/forwarded.ts'
import type { ProxyHeader } from '../../formats/proxy-protocol.ts'
import type { ClientCertificate, SocketPeer } from '../../http/connection-info.ts'
import type { EndpointHosts } from '../hosts/endpoint-hosts.ts'
import type { TrustedNetworks } from '../proxies/trusted-networks.ts'

export interface Peer {
  /** Null if it has presented none. */
  readonly clientCertificate: ClientCertificate | null
  /**
   * The server name of the TLS handshake (`hostName`), where that name decided which client certificates are trusted: requests must be for this
   * host. Empty when the client sent no name. Null where requests may be for any host.
   */
  readonly boundHost: string | null
  /** Whether it is a proxy that the server trusts to state the host, the scheme and the address of its clients in each request. */
  readonly isTrustedProxy: boolean
  /** The name of the endpoint that it connected to; null if it has none. */
  readonly endpointName: string | null
  /** Which hosts are answered at that endpoint; null if the host is not checked. */
  readonly hosts: EndpointHosts | null
  /** Whether it is a client in memory, which tests use. */
  readonly isTest: boolean
  /** The principal of a client in memory, whatever it sends (`client.as` of `weirjs/testing`); null for all others. No received bytes can set it. */
  readonly testPrincipal: object | null
  /** The PROXY header that its connection began with; null if the endpoint does not require one. */
  readonly proxyHeader: ProxyHeader | null
}

/** A peer about which nothing is known. */
export const STRANGER: Peer = Object.freeze({
  clientCertificate: null,
  boundHost: null,
  isTrustedProxy: false,
  endpointName: null,
  hosts: null,
  isTest: false,
  testPrincipal: null,
  proxyHeader: null,
})

/** Where a socket was accepted. */
export interface Entry {
  readonly endpointName: string | null
  readonly isUnixSocket: boolean
  /** Absent if the host is not checked, because no socket of the server accepted the connection. */
  readonly hosts?: EndpointHosts | null
}

/**
 * What is known about the other end of a socket, if some proxies are trusted.
 * @param address of the socket
 * @param proxyHeader null if the endpoint does not require one
 */
export function peerAt(
  networks: TrustedNetworks,
  { endpointName, isUnixSocket, hosts = null }: Entry,
  address: string,
  proxyHeader: ProxyHeader | null,
): Peer {
  // A proxy that relays bytes also relays the fields of its client, so its client must be a trusted proxy too.
  const isRelayed = proxyHeader !== null && !proxyHeader.isLocal
  const isTrustedProxy = isRelayed ? networks.trustsPeer(proxyHeader.address ?? '', false) : networks.trustsPeer(address, isUnixSocket)
  return { ...STRANGER, isTrustedProxy, endpointName, hosts, proxyHeader }
}

/** The client's address, as far as the connection knows it. @param socketAddress of the other end of the socket */
export function clientAddressOf({ proxyHeader }: Pick<Peer, 'proxyHeader'>, socketAddress: string): string {
  return proxyHeader === null || proxyHeader.isLocal ? socketAddress : (proxyHeader.address ?? UNKNOWN_ADDRESS)
}

/** The client's port, in the same way. */
export function clientPortOf({ proxyHeader }: Peer, socketPort: number): number {
  return proxyHeader === null || proxyHeader.isLocal ? socketPort : proxyHeader.port
}

/** Whether the proxy states that its client uses TLS. */
export function isProxiedTls({ proxyHeader }: Peer): boolean {
  return proxyHeader !== null && proxyHeader.tls !== null
}

/** What a program may know about the other end of the socket. */
export function socketPeerOf(peer: Peer, address: string, port: number, isSecure: boolean): SocketPeer {
  const { isTrustedProxy, proxyHeader } = peer
  return { address, port, isSecure, isTrusted: isTrustedProxy || proxyHeader !== null, clientTls: proxyHeader?.tls ?? null }
}
