// Where a client in memory connects from, and at which endpoint. For tests of host programs.

import { isIP } from 'node:net'

import { kindOf, shown } from '../../base/kind-of.ts'
import { checkNames, checkText, flag, invalid, namesOf } from '../../base/options.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { type Peer, peerAt, STRANGER } from '../connections/peer.ts'
import { MemoryTransport } from '../transport/memory-transport.ts'

/** The other end of the socket, as the server sees it. */
export interface InjectPeer {
  /** Its IP address. Default: empty, as for a Unix socket. */
  readonly address?: string
  /** Default 0. */
  readonly port?: number
  /** Whether it connects to a Unix socket: `'unix'` in `proxies.trust`. Default false. */
  readonly isUnixSocket?: boolean
  /** Whether it speaks TLS. Default false. */
  readonly isSecure?: boolean
}

export interface ArrivalOptions {
  /** Name of the endpoint in `listen` that the client connects to. Default: one without a name. */
  readonly endpoint?: string
  /** The other end of the socket: a client, or a proxy. Default: a peer without an address. */
  readonly peer?: InjectPeer
}

/** The server's end of a connection in memory. */
export interface Arrival {
  readonly transport: MemoryTransport
  readonly peer: Peer
}

export const ARRIVAL_NAMES = namesOf<ArrivalOptions>()(['endpoint', 'peer'])
const PEER_NAMES = namesOf<InjectPeer>()(['address', 'port', 'isUnixSocket', 'isSecure'])

/** @param owner whose options they are @throws WEIR_OPTION_INVALID */
export function arrive(owner: string, host: ConnectionHost, { endpoint, peer = {} }: ArrivalOptions): Arrival {
  checkText(owner, 'endpoint', endpoint)
  const names = host.endpointNames()
  if (endpoint !== undefined && names?.has(endpoint) === false) throw invalid(owner, `no entry of "listen" has the name ${shown(endpoint)}`)
  if (typeof peer !== 'object' || peer === null)
    throw invalid(owner, `peer is ${kindOf(peer)}, not an object such as { address: '10.0.0.1' }`)
  checkNames(`${owner}: peer`, peer, PEER_NAMES)
  const { address = '', port = 0 } = peer
  if (address !== '' && (typeof address !== 'string' || isIP(address) === 0))
    throw invalid(owner, `peer.address is ${shown(address)}, not an IP address`)
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw invalid(owner, `peer.port is ${shown(port)}, not a port`)
  const isUnixSocket = flag(owner, 'peer.isUnixSocket', peer.isUnixSocket)
  const isSecure = flag(owner, 'peer.isSecure', peer.isSecure)
  const endpointName = endpoint ?? null
  const { proxies } = host
  return {
    transport: new MemoryTransport(address, port, isSecure),
    peer: {
      ...(proxies === null ? { ...STRANGER, endpointName } : peerAt(proxies.networks, { endpointName, isUnixSocket }, address, null)),
      isTest: true,
    },
  }
}
