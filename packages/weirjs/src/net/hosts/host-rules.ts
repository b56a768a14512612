// Which hosts a server answers at each of its endpoints, and what it logs about those that it refuses.

import { hostName } from '../../base/host-name.ts'
import { ownText } from '../../base/own-text.ts'
import { isLoopback } from '../../base/this-machine.ts'
import type { Endpoint } from '../../http/session.ts'

import { EndpointHosts } from './endpoint-hosts.ts'
import { HostNames, type HostsOption, isOfThisMachine } from './host-names.ts'

/** How many refused hosts are logged, and remembered so that each is logged once. The number is bounded because clients can invent hosts. */
const MAX_LOGGED = 100
const MAX_SHOWN_CHARS = 100
const OWN_NAMES = 'the names of this machine (localhost, 127.0.0.1, [::1])'

interface HostRuleOptions {
  /** Null if the server has no such option. */
  readonly hosts: HostsOption | null
  /** `proxies.hosts`; null without `proxies`. */
  readonly proxyHosts: readonly string[] | null
  readonly warn: (message: string) => void
}

export class HostRules {
  readonly #options: HostRuleOptions
  readonly #logged = new Set<string>()

  constructor(options: HostRuleOptions) {
    this.#options = options
  }

  /** @param own the endpoint's own option */
  at(endpoint: Endpoint, own: HostsOption | undefined): EndpointHosts {
    const { proxyHosts } = this.#options
    const hosts = own ?? this.#options.hosts
    const isOwn = isLoopback(endpoint.address)
    const place = `${endpoint.address.includes(':') ? `[${endpoint.address}]` : endpoint.address}:${endpoint.port}`
    const rule = (answered: string, isServed: (host: string) => boolean): EndpointHosts =>
      new EndpointHosts(answered, isServed, (host) => this.#log(host, place, answered))
    if (endpoint.isUnixSocket) return rule('every host, on a Unix socket', () => true)
    if (hosts === 'any') return rule('every host, as "hosts" says', () => true)
    const listed = [...(hosts ?? []), ...(proxyHosts ?? [])]
    if (listed.length === 0) return isOwn && proxyHosts === null ? rule(OWN_NAMES, isServedHere) : rule('every host', () => true)
    const names = new HostNames(listed)
    if (hosts !== null || !isOwn) return rule(shownList(listed), (host) => names.has(host))
    return rule(`${shownList(listed)} and ${OWN_NAMES}`, (host) => names.has(host) || isServedHere(host))
  }

  #log(host: string, place: string, answered: string): void {
    const { warn } = this.#options
    const name = ownText(hostName(host).slice(0, MAX_SHOWN_CHARS))
    if (this.#logged.has(name) || this.#logged.size > MAX_LOGGED) return
    this.#logged.add(name)
    if (this.#logged.size > MAX_LOGGED) {
      warn(`weir: ${MAX_LOGGED} hosts have been refused (421 WEIR_HOST_NOT_SERVED): others are no longer logged`)
      return
    }
    // Host consists of visible ASCII, or its head would not be valid.
    const shown = host === '' ? 'a request without Host' : `Host ${JSON.stringify(name)}`
    const meant = JSON.stringify([name === '' ? 'app.example.org' : name])
    warn(
      `weir: ${shown} was refused (421 WEIR_HOST_NOT_SERVED): the endpoint ${place} answers ${answered}, and no other. ` +
        `If this is a name of your server, write hosts: ${meant}. If a proxy has sent it, write ` +
        `proxies: { trust: ["loopback"], hosts: ${meant} }, with the networks of your proxies`,
    )
  }
}

/** HTTP/1.0 does not require a Host, and old health checks send none. Browsers always do. */
function isServedHere(host: string): boolean {
  return host === '' || isOfThisMachine(host)
}

function shownList(hosts: readonly string[]): string {
  const some = hosts.slice(0, 5).join(', ')
  return hosts.length > 5 ? `${some} and ${hosts.length - 5} more` : some
}
