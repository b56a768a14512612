// The proxies in front of the server: which of them are trusted, which fields they set, and what these state about the client.

import { withoutDefaultPort } from '../../base/authority.ts'
import { MAX_AUTHORITY_CHARACTERS } from '../../base/host-name.ts'
import { oneOf, readBy, texts } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { lastEntry, readForwarded, readXForwardedFor } from '../../formats/forwarded.ts'
import type { ForwardedClient, Forwarding } from '../../http/connection-info.ts'
import type { Head } from '../../wire/head/head.ts'

import { TrustedNetworks } from './trusted-networks.ts'

/**
 * Which proxies may state who the client is. Without these options, no proxy may, and no such field is read.
 * @example
 * const proxies: ProxyOptions = { trust: ['10.0.0.0/8'], hosts: ['app.example.org'] }
 * new HttpServer({ proxies })
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/proxies.md
 */
export interface ProxyOptions {
  /**
   * The networks of the proxies, at most 32: `'loopback'` (127.0.0.0/8, ::1), `'private'` (RFC 1918, fc00::/7), `'unix'` (every process
   * that may connect to a Unix socket of the server), addresses, and networks such as `10.1.0.0/16`. Fields of other peers are not read.
   */
  readonly trust: readonly string[]
  /**
   * Which fields the proxies set: `'x-forwarded'` (X-Forwarded-For, -Proto and -Host) or `'forwarded'` (RFC 7239). The others are not read.
   * Default `'x-forwarded'`.
   */
  readonly header?: 'x-forwarded' | 'forwarded'
  /**
   * The hosts that a proxy may state as the host that the client used: `shop.example.org`, `*.example.org` (one or more labels in place of
   * the asterisk) or `localhost:8080`. A port must be given unless it is the default of the scheme. Default: none, and `origin` uses Host.
   */
  readonly hosts?: readonly string[]
}

const OWNER = 'proxies'
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/
const ANY_BELOW = '*.'
/** @internal */
export const PROXY_RULES = rules<ProxyOptions>(OWNER)({
  trust: readBy((trust: readonly string[]) => new TrustedNetworks(trust)),
  header: oneOf('x-forwarded', 'forwarded').or('x-forwarded'),
  hosts: texts('a host such as "example.org", "*.example.org" or "localhost:8080"', (host) =>
    HOST.test(host.toLowerCase().replace(/^\*\./, '')),
  ).or([]),
})

export class Proxies implements Forwarding {
  readonly networks: TrustedNetworks
  readonly #isForwarded: boolean
  /** The hosts that a proxy may state. */
  readonly hosts: readonly string[]
  readonly #judge = (address: string): 'trusted' | 'other' | 'none' => this.networks.judge(address)

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: ProxyOptions) {
    const { trust, header, hosts } = PROXY_RULES.read(options)
    this.networks = trust
    this.#isForwarded = header === 'forwarded'
    this.hosts = hosts.map((host) => host.toLowerCase())
  }

  clientOf(head: Head, proxy: Omit<ForwardedClient, 'host'>): ForwardedClient {
    return this.#isForwarded ? this.#readForwarded(head, proxy) : this.#readXForwarded(head, proxy)
  }

  #readXForwarded(head: Head, { clientAddress, clientPort, isSecure }: Omit<ForwardedClient, 'host'>): ForwardedClient {
    const list = head.get('x-forwarded-for')
    const proto = head.get('x-forwarded-proto')
    const host = this.hosts.length === 0 ? null : head.get('x-forwarded-host')
    const node = list === null ? null : readXForwardedFor(list, this.#judge)
    // A forwarded request is secure only if the proxy states so.
    const wasSecure = proto === null ? node === null && isSecure : isSecureScheme(lastEntry(proto).toLowerCase())
    return {
      clientAddress: node === null ? clientAddress : node.address,
      clientPort: node === null ? clientPort : node.port,
      isSecure: wasSecure,
      host: host === null ? null : this.#allowed(lastEntry(host), wasSecure),
    }
  }

  #readForwarded(head: Head, { clientAddress, clientPort, isSecure }: Omit<ForwardedClient, 'host'>): ForwardedClient {
    const value = head.get('forwarded')
    const element = value === null ? null : readForwarded(value, this.#judge)
    if (element === null) return { clientAddress, clientPort, isSecure, host: null }
    const wasSecure = isSecureScheme(element.proto ?? '')
    const host = element.host === null ? null : this.#allowed(element.host, wasSecure)
    return { clientAddress: element.address, clientPort: element.port, isSecure: wasSecure, host }
  }

  /** @returns null if `hosts` does not have it */
  #allowed(stated: string, isSecure: boolean): string | null {
    const host = withoutDefaultPort(stated, isSecure)
    return host.length <= MAX_AUTHORITY_CHARACTERS &&
      HOST.test(host) &&
      this.hosts.some((one) => (one.startsWith(ANY_BELOW) ? host.endsWith(one.slice(1)) : host === one))
      ? host
      : null
  }
}

/** Some proxies send `wss` for a WebSocket. */
function isSecureScheme(scheme: string): boolean {
  return scheme === 'https' || scheme === 'wss'
}
