// From where and at which endpoint a client without a socket connects: for `inject`, `fetch`, `explain` and test clients.

import { isIP } from 'node:net'

import { kindOf, shown } from '../../base/kind-of.ts'
import { checkNames, checkText, flag, invalid, namesOf } from '../../base/options.ts'
import type { ConnectionHost } from './connection-host.ts'
import { type Peer, peerAt, STRANGER } from './peer.ts'

/** The other end of the socket, as the server sees it. */
export interface InjectPeer {
  /** Its IP address. Default: empty, as for a Unix socket. */
  readonly address?: string
  /** Default 0. */
  readonly port?: number
  /** Whether it connects to a Unix socket: `'unix'` in `proxies.trust`. Default false. */
  readonly isUnixSocket?: boolean
  /** Whether it speaks TLS. Default false; for a Web `Request`, whether its URL is an https URL. */
  readonly isSecure?: boolean
}

export interface ArrivalOptions {
  /** Name of the endpoint in `listen` that the client connects to. Default: one without a name. */
  readonly endpoint?: string
  /** The other end of the socket: a client, or a proxy. Default: a peer without an address. */
  readonly peer?: InjectPeer
}

/** What the server knows about the other end of a connection. */
export interface Arrival {
  readonly address: string
  readonly port: number
  readonly isSecure: boolean
  readonly peer: Peer
}

export const ARRIVAL_NAMES = namesOf<ArrivalOptions>()(['endpoint', 'peer'])
const PEER_NAMES = namesOf<InjectPeer>()(['address', 'port', 'isUnixSocket', 'isSecure'])

/**
 * @param owner whose options they are
 * @param isSecureByDefault whether a peer that does not say so speaks TLS
 * @throws WEIR_OPTION_INVALID
 */
export function arrivalOf(
  owner: string,
  host: ConnectionHost,
  { endpoint, peer = {} }: ArrivalOptions,
  isSecureByDefault = false,
): Arrival {
  checkText(owner, 'endpoint', endpoint)
  const names = host.endpointNames()
  if (endpoint !== undefined && names?.has(endpoint) === false)
    throw invalid(owner, `no entry of "listen" has the name ${JSON.stringify(endpoint)}`)
  if (typeof peer !== 'object' || peer === null)
    throw invalid(owner, `peer is ${kindOf(peer)}, not an object such as { address: '10.0.0.1' }`)
  checkNames(`${owner}: peer`, peer, PEER_NAMES)
  const { address = '', port = 0 } = peer
  if (address !== '' && (typeof address !== 'string' || isIP(address) === 0))
    throw invalid(owner, `peer.address is ${shown(address)}, not an IP address`)
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw invalid(owner, `peer.port is ${shown(port)}, not a port`)
  const isUnixSocket = flag(owner, 'peer.isUnixSocket', peer.isUnixSocket)
  const isSecure = peer.isSecure === undefined ? isSecureByDefault : flag(owner, 'peer.isSecure', peer.isSecure)
  const endpointName = endpoint ?? null
  const { proxies } = host
  return {
    address,
    port,
    isSecure,
    peer: proxies === null ? { ...STRANGER, endpointName } : peerAt(proxies.networks, { endpointName, isUnixSocket }, address, null),
  }
}
