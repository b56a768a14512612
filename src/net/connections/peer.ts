// What a connection knows of the other end of its socket before the first request.

import { UNKNOWN_ADDRESS } from '../../formats/forwarded.ts'
import type { ProxyHeader } from '../../formats/proxy-protocol.ts'
import type { ClientCertificate, SocketPeer } from '../../http/connection-info.ts'
import type { TrustedNetworks } from '../proxies/trusted-networks.ts'

export interface Peer {
  /** Null when it has shown none. */
  readonly clientCertificate: ClientCertificate | null
  /**
   * The server name of the TLS handshake (`hostName`), where that name decided which client certificates are trusted: requests must be for this
   * host. Empty when the client sent no name. Null where requests may be for any host.
   */
  readonly boundHost: string | null
  /** Whether it is a proxy that the server trusts to state the host, the scheme and the address of its clients in each request. */
  readonly isTrustedProxy: boolean
  /** The name of the endpoint that it connected to, null where that has none. */
  readonly endpointName: string | null
  /** What its connection began with, null where no PROXY header is expected. */
  readonly proxyHeader: ProxyHeader | null
}

/** A peer of which nothing is known. */
export const STRANGER: Peer = Object.freeze({
  clientCertificate: null,
  boundHost: null,
  isTrustedProxy: false,
  endpointName: null,
  proxyHeader: null,
})

/** Where a socket came in. */
export interface Entry {
  readonly endpointName: string | null
  readonly isUnixSocket: boolean
}

/**
 * What is known of the other end of a socket where some proxies are trusted.
 * @param address of the socket
 * @param proxyHeader null where none is required
 */
export function peerAt(
  networks: TrustedNetworks,
  { endpointName, isUnixSocket }: Entry,
  address: string,
  proxyHeader: ProxyHeader | null,
): Peer {
  // What a proxy relays byte by byte is its client's own word, and counts only if that is a proxy as well.
  const isRelayed = proxyHeader !== null && !proxyHeader.isLocal
  const isTrustedProxy = isRelayed ? networks.trustsPeer(proxyHeader.address ?? '', false) : networks.trustsPeer(address, isUnixSocket)
  return { ...STRANGER, isTrustedProxy, endpointName, proxyHeader }
}

/** Address of the client, as far as the connection knows it. @param socketAddress of the other end of the socket */
export function clientAddressOf({ proxyHeader }: Pick<Peer, 'proxyHeader'>, socketAddress: string): string {
  return proxyHeader === null || proxyHeader.isLocal ? socketAddress : (proxyHeader.address ?? UNKNOWN_ADDRESS)
}

/** Its port, likewise. */
export function clientPortOf({ proxyHeader }: Peer, socketPort: number): number {
  return proxyHeader === null || proxyHeader.isLocal ? socketPort : proxyHeader.port
}

/** Whether the client speaks TLS to the proxy, which says so. */
export function isProxiedTls({ proxyHeader }: Peer): boolean {
  return proxyHeader !== null && proxyHeader.tls !== null
}

/** What a program may know of the other end of the socket. */
export function socketPeerOf(peer: Peer, address: string, port: number, isSecure: boolean): SocketPeer {
  const { isTrustedProxy, proxyHeader } = peer
  return { address, port, isSecure, isTrusted: isTrustedProxy || proxyHeader !== null, clientTls: proxyHeader?.tls ?? null }
}
