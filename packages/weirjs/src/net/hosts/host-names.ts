// Names of hosts in options, and whether a Host is one of them.

import { isIP, isIPv6 } from 'node:net'

import { hostName } from '../../base/host-name.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'

/** Which hosts are answered: a list of names, or every host. */
export type HostsOption = 'any' | readonly string[]

const ANY = 'any'
const ANY_BELOW = '*.'
const NAME = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/
const LABELS = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
const PORT = /:(\d{0,5})$/
/**
 * The names of this machine. Other machines cannot make a browser send them to this one: a name below `localhost` cannot be registered, and an
 * address is not looked up. Addresses are read only as browsers write them.
 */
const OF_THIS_MACHINE = /^(?:(?:[a-z0-9_-]+\.)*localhost\.?|127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}|\[::1\])(?::\d{0,5})?$/i

/** @param host as in Host, with an optional port */
export function isOfThisMachine(host: string): boolean {
  return OF_THIS_MACHINE.test(host)
}

/** The names in an option. One without a port stands for every port. */
export class HostNames {
  /** In lower case, with their port where one is given. */
  readonly #exact = new Set<string>()
  /** What names below others end with, such as `.example.org`, and a port or nothing. */
  readonly #below: (readonly [suffix: string, port: string])[] = []

  /** @param names as `checkedHosts` allows them */
  constructor(names: readonly string[]) {
    for (const given of names) {
      const name = given.toLowerCase()
      if (name.startsWith(ANY_BELOW)) this.#below.push([hostName(name).slice(1), portOf(name)])
      else this.#exact.add(name)
    }
  }

  /** @param host as in Host, with an optional port */
  has(host: string): boolean {
    const name = hostName(host)
    const port = portOf(host)
    if (this.#exact.has(name) || (port !== '' && this.#exact.has(`${name}:${port}`))) return true
    return this.#below.some(
      ([suffix, onPort]) => (onPort === '' || onPort === port) && name.endsWith(suffix) && LABELS.test(name.slice(0, -suffix.length)),
    )
  }
}

/** @throws WEIR_OPTION_INVALID, with the name that was probably meant if there is one */
export function checkedHosts(given: HostsOption, owner: string, option: string): HostsOption {
  if (given === ANY) return given
  if (typeof given === 'string') {
    const meant = /^(?:\*|any|all)$/i.test(given) ? '"any"' : JSON.stringify([meantHost(given) ?? given])
    throw invalid(owner, `${option} is ${shown(given)}: write ${option}: ${meant}`)
  }
  if (!Array.isArray(given)) throw invalid(owner, `${option} is ${shown(given)}, not a list of hosts such as ["app.example.org"], or "any"`)
  if (given.length === 0) throw invalid(owner, `${option} is empty, so no request would be answered: name hosts, or write "any"`)
  for (const host of given as readonly unknown[]) {
    if (typeof host === 'string' && isHost(host)) continue
    if (typeof host === 'string' && /^(?:\*|any)(?::.*)?$/i.test(host))
      throw invalid(owner, `${option}: ${shown(host)} is no host: write ${option}: "any" for every one`)
    const meant = typeof host === 'string' ? meantHost(host) : null
    const hint = meant === null ? '' : `: write ${JSON.stringify(meant)}`
    throw invalid(owner, `${option}: ${shown(host)} is not a host such as "app.example.org", "*.example.org" or "localhost:8080"${hint}`)
  }
  return given
}

/** Whether clients can send the host in this form: the name as browsers write it, without a port that they leave out. */
function isHost(given: string): boolean {
  const host = given.toLowerCase()
  if (host === ANY) return false
  const port = PORT.exec(host)
  if (port !== null && !host.endsWith(']') && (Number(port[1]) < 1 || Number(port[1]) > 65_535 || port[1] === '80' || port[1] === '443'))
    return false
  const isBelow = host.startsWith(ANY_BELOW)
  const name = (isBelow ? host.slice(ANY_BELOW.length) : host).replace(host.endsWith(']') ? '' : PORT, '')
  if (!NAME.test(name) || (isBelow && (name.startsWith('[') || isIP(name) !== 0))) return false
  return asBrowsersWrite(name) === name
}

/** Null for a text that is not a host. */
function asBrowsersWrite(name: string): string | null {
  return URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : null
}

/** The host that was probably meant by a URL, a name with an extra dot, or a name with characters that Host cannot contain; null if there is none. */
function meantHost(given: string): string | null {
  const bare = given
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/[/?#].*/s, '')
  const name = isIPv6(bare) ? `[${bare}]` : bare.replace(/\.(?=:\d+$|$)/, '').replace(/:(?:80|443)?$/, '')
  const [, below = '', rest = ''] = /^(\*\.?|\.)?(.*)$/s.exec(name)!
  const port = rest.endsWith(']') ? '' : (PORT.exec(rest)?.[0] ?? '')
  const written = asBrowsersWrite(port === '' ? rest : rest.slice(0, -port.length))
  if (written === null || written === '') return null
  const meant = `${below === '' ? '' : ANY_BELOW}${written}${port}`
  return isHost(meant) ? meant : null
}

/** The digits behind the last colon; empty without a port. */
function portOf(host: string): string {
  return host.endsWith(']') ? '' : (PORT.exec(host)?.[1] ?? '')
}
