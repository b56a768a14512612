// Reads the endpoints of a server from its options.

import { WeirError } from '../../base/errors.ts'
import type { EndpointHosts } from '../hosts/endpoint-hosts.ts'
import type { HostRules } from '../hosts/host-rules.ts'
import { takeInherited } from './inherited.ts'
import {
  checkListenOptions,
  DEFAULT_ADDRESS,
  endpointOf,
  isInherited,
  type ListenOptions,
  type ServerTlsOptions,
} from './listen-options.ts'

/**
 * The options that state where to listen: a list, one endpoint in the options of the server itself, or the sockets that the parent passes.
 */
interface PlaceOptions {
  readonly address?: string
  readonly port?: number
  readonly unixSocket?: string
  readonly tls?: ServerTlsOptions
  readonly http2?: boolean | 'cleartext'
  readonly listen?: readonly ListenOptions[] | 'inherited'
}

/** An address and a port, or a Unix socket. */
export interface Where {
  readonly address?: string
  readonly port?: number
  readonly unixSocket?: string
}

const INHERITED = 'inherited'

export class Places {
  readonly #common: Pick<PlaceOptions, 'tls' | 'http2'>
  /** Null until inherited sockets have been found. */
  #all: readonly ListenOptions[] | null

  /** @param hasProxies whether the server trusts any proxy @throws WEIR_OPTION_INVALID */
  constructor(options: PlaceOptions, hasProxies: boolean) {
    const { listen, address, port, unixSocket, tls, http2 } = options
    const given = Object.entries({ address, port, unixSocket, tls, http2 }).filter(([, value]) => value !== undefined)
    this.#common = Object.fromEntries(given)
    const alien = listen === undefined ? undefined : given.find(([name]) => listen !== INHERITED || !(name === 'tls' || name === 'http2'))
    if (alien !== undefined)
      throw invalid(
        listen === INHERITED
          ? `"${alien[0]}" has no effect with listen: "inherited": leave it out`
          : `"${alien[0]}" belongs in an entry of "listen": write listen: [{ ${alien[0]}: … }]`,
      )
    if (listen === INHERITED) {
      checkListenOptions({ ...this.#common, fd: 3 })
      this.#all = null
      return
    }
    const places = listen ?? [this.#common]
    if (!Array.isArray(places) || places.length === 0)
      throw invalid('"listen" is a list of endpoints such as [{ port: 8080 }], or "inherited"')
    for (const place of places as readonly ListenOptions[]) {
      checkListenOptions(place)
      if (place.proxyProtocol !== undefined && !hasProxies)
        throw invalid('"proxyProtocol" requires "proxies.trust": otherwise no peer could connect')
    }
    this.#all = places
  }

  /** Address and port in the options of the first endpoint; empty and 0 for an inherited socket. */
  get first(): { readonly address: string; readonly port: number } {
    const first = this.#all?.[0]
    return first === undefined ? { address: '', port: 0 } : endpointOf(first)
  }

  /** The names of the endpoints; null while they are not known. */
  get names(): ReadonlySet<string> | null {
    return this.#all === null ? null : new Set(this.#all.flatMap(({ name }) => name ?? []))
  }

  /** Which hosts would be answered at the first endpoint of that name; null if nothing is known of it. */
  hostsAt(endpointName: string | null, hostRules: HostRules): EndpointHosts | null {
    const place = this.#all?.find(({ name = null }) => name === endpointName)
    if (place === undefined || isInherited(place)) return null
    const endpoint = endpointOf(place)
    return hostRules.at(endpoint.address === 'localhost' ? { ...endpoint, address: DEFAULT_ADDRESS } : endpoint, place.hosts)
  }

  /** Moves the only endpoint to another address. Its protocols stay the same. @throws WEIR_OPTION_INVALID */
  move(where: Where): void {
    const [only, ...others] = this.#all ?? []
    if (only === undefined || others.length > 0)
      throw invalid('a server with several endpoints, or an inherited one, listens where its options say: call start() without arguments')
    const { address, port: _port, unixSocket: _socket, ...rest } = only as object as Where
    const kept = address === undefined || where.unixSocket !== undefined ? {} : { address }
    const place = { ...rest, ...kept, ...where } as object as ListenOptions
    checkListenOptions(place)
    this.#all = [place]
  }

  /** Finds inherited sockets first, and returns all endpoints. @throws WEIR_OPTION_INVALID if there are none */
  take(): readonly ListenOptions[] {
    this.#all ??= takeInherited().map((socket) => ({ ...this.#common, ...socket }))
    return this.#all
  }
}

function invalid(detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', detail)
}
