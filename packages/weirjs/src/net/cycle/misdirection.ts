// Checks whether a request may be answered on its connection. Its head is valid in itself, but its host and scheme must also fit what is known
// about the connection (RFC 9110 §7.4). A proxy that the server trusts may state others for its clients.

import { ProtocolError, type WeirError } from '../../base/errors.ts'
import { hostName } from '../../base/host-name.ts'
import type { ConnectionInfo } from '../../http/connection-info.ts'
import type { Head } from '../../wire/head/head.ts'

import type { ConnectionHost } from '../connections/connection-host.ts'
import type { Peer } from '../connections/peer.ts'

/** Matches an IP address in a valid Host. */
const IP_ADDRESS = /^(?:\[.+\]|\d+(?:\.\d+){3})$/
/** Hosts by which a proxy may name the server and that no one can register as a domain: an address, a name without a dot, or nothing. */
const NOT_OF_PAGES = /^(?:\[.+\]|\d+(?:\.\d+){3}|[^.]*)$/

type Connection = Pick<ConnectionInfo, 'isSecure' | 'clientAddress' | 'clientPort' | 'forwarding'> & {
  readonly peer: Peer
  readonly host: Pick<ConnectionHost, 'basePath'>
}

/**
 * Checks whether the request may be answered here. If the whole application is below a path, the request then has its path within the application.
 * @returns null when it may, otherwise the refusal
 */
export function refusalOf(head: Head, connection: Connection): WeirError | null {
  const { peer } = connection
  const { host, scheme } = head
  if (!peer.isTrustedProxy) {
    // HTTP/1.0 does not require a Host. A Host that is present must not be empty: every http URI has a host (RFC 9110 §4.2.1).
    if (host === '' && (head.minorVersion === 1 || head.get('host') !== null)) return new ProtocolError('WEIR_HOST_SYNTAX', 'it is empty')
    if (scheme !== null && (scheme === 'https') !== connection.isSecure)
      return new ProtocolError('WEIR_MISDIRECTED', `the target is ${scheme}, the connection is not`)
    if (peer.boundHost !== null && !isFor(host, peer.boundHost))
      return new ProtocolError('WEIR_MISDIRECTED', 'Host is not the server name of the TLS handshake')
  }
  if (peer.hosts !== null && !peer.hosts.serves(host) && !(peer.isTrustedProxy && namesServed(head, connection))) {
    peer.hosts.tell(host)
    return new ProtocolError('WEIR_HOST_NOT_SERVED')
  }
  const { basePath } = connection.host
  return basePath === null ? null : basePath.enter(head, connection)
}

/**
 * A proxy may name the host of its client in another field than Host, which then counts: `proxies.hosts` has allowed it. A web page that has led its
 * own name to this server (DNS rebinding) can write that field too, from a browser whose address is trusted, but it cannot change Host.
 */
function namesServed(head: Head, connection: Connection): boolean {
  return NOT_OF_PAGES.test(hostName(head.host)) && (connection.forwarding?.clientOf(head, connection).host ?? null) !== null
}

/** @param serverName empty where the client sent none, as it does for an address (RFC 6066 §3) */
function isFor(host: string, serverName: string): boolean {
  const name = hostName(host)
  return serverName === '' ? IP_ADDRESS.test(name) : name === serverName
}
