// Where a client without a socket connects from, and at which endpoint: for `inject`, `fetch`, `explain` and test clients.

import { isIP } from 'node:net'

import { flag, matching, nested, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
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
  /** Whether it speaks TLS. Default false; for a Web `Request`, whether its URL is not an http URL. */
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

/** @internal */
export const PEER_RULES = rules<InjectPeer>('peer')({
  address: text('an IP address', (address) => address === '' || isIP(address) !== 0).or(''),
  port: matching<number>('a port', (port) => Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535).or(0),
  isUnixSocket: flag(false),
  isSecure: flag(false).optional(),
})
/** @internal */
export const ARRIVAL_RULES = rules<ArrivalOptions>('request')({
  endpoint: text().optional(),
  peer: nested(PEER_RULES, "an object such as { address: '10.0.0.1' }").or({}, 'none'),
})

/**
 * @param owner whose options they are
 * @param isSecureByDefault whether a peer that does not say so speaks TLS
 * @throws WEIR_OPTION_INVALID
 */
export function arrivalOf(owner: string, host: ConnectionHost, given: ArrivalOptions, isSecureByDefault = false): Arrival {
  const { endpoint, peer } = ARRIVAL_RULES.read({ endpoint: given.endpoint, peer: given.peer } as ArrivalOptions, owner) // it may have other members
  const { address, port, isUnixSocket, isSecure = isSecureByDefault } = peer
  const names = host.endpointNames()
  if (endpoint !== undefined && names?.has(endpoint) === false)
    throw invalid(owner, `no entry of "listen" has the name ${JSON.stringify(endpoint)}`)
  const endpointName = endpoint ?? null
  const { proxies } = host
  return {
    address,
    port,
    isSecure,
    peer: proxies === null ? { ...STRANGER, endpointName } : peerAt(proxies.networks, { endpointName, isUnixSocket }, address, null),
  }
}
