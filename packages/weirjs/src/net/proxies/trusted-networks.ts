// The networks that the server trusts, and whether an address is in one of them.

import { BlockList, isIP } from 'node:net'

import { DOT, ZERO } from '../../base/ascii.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid, listOf } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'

const OWNER = 'proxies'
const MAX_ENTRIES = 32
const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  // RFC 1918, RFC 4193
  ['private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
])
const UNIX = 'unix'
/** The first and the last IPv4 address, as a socket for both families states them. */
const IPV4_ENDS = ['::ffff:0.0.0.0', '::ffff:255.255.255.255']

/** How many IPv6 addresses are remembered. There are usually few proxies; further addresses are looked up every time. */
const MAX_REMEMBERED = 256

/** IPv4 addresses that have the bits of `network` where `mask` has ones. */
interface Ipv4Network {
  readonly network: number
  readonly mask: number
}

export class TrustedNetworks {
  /** Decides about IPv6 addresses, which include the IPv4 addresses (`::ffff:0:0/96`). A look-up takes a microsecond. */
  readonly #networks = new BlockList()
  readonly #ipv4: Ipv4Network[] = []
  /** By the first byte of an IPv6 address: whether any network has addresses that begin with it. */
  readonly #firstBytes = new Uint8Array(256)
  /** IPv6 addresses that are known to be trusted. */
  readonly #remembered = new Set<string>()
  /** Whether every process that connects to a Unix socket of the server is trusted. */
  readonly trustsUnixSockets: boolean

  /** @throws WEIR_OPTION_INVALID */
  constructor(trust: readonly string[]) {
    const given: unknown = trust
    if (given === true || typeof given === 'number')
      throw invalid(
        OWNER,
        `trust is ${String(given)}: a number of proxies, or all of them, would let every client say who it is. List their networks`,
      )
    const entries = listOf<unknown>(OWNER, 'trust', trust)
    if (entries.length === 0) throw invalid(OWNER, 'trust is empty: list the networks of the proxies, or leave "proxies" out')
    if (entries.length > MAX_ENTRIES) throw invalid(OWNER, `trust has ${entries.length} entries, and may have ${MAX_ENTRIES}`)
    for (const entry of entries) {
      if (typeof entry !== 'string') throw invalid(OWNER, `trust has ${shown(entry)}, not a network such as "10.0.0.0/8"`)
      if (entry !== UNIX) for (const network of NAMED.get(entry) ?? [entry]) this.#add(network)
    }
    this.trustsUnixSockets = entries.includes(UNIX)
  }

  #add(network: string): void {
    const [address, bits, ...more] = network.split('/')
    const family = address!.includes('%') ? 0 : isIP(address!)
    const most = family === 4 ? 32 : 128
    const prefix = bits === undefined ? most : /^(?:0|[1-9]\d{0,2})$/.test(bits) ? Number(bits) : -1
    if (family === 0 || more.length > 0 || prefix < 0 || prefix > most) {
      throw invalid(OWNER, `trust has ${shown(network)}, not a network such as "10.0.0.0/8", an address, "loopback", "private" or "unix"`)
    }
    if (prefix === 0)
      throw invalid(
        OWNER,
        `trust has ${shown(network)}, which contains every address, so any client could claim to be another one: list the networks of your proxies`,
      )
    if (hasHostBits(address!, family, prefix))
      throw invalid(OWNER, `trust has ${shown(network)}, which has bits outside its prefix: is it one address or a network?`)
    if (family === 6 && isAllOfIpv4(address!, prefix))
      throw invalid(
        OWNER,
        `trust has ${shown(network)}, which contains every IPv4 address, so any client could claim to be another one: list the networks of your proxies`,
      )
    this.#networks.addSubnet(address!, prefix, family === 4 ? 'ipv4' : 'ipv6')
    if (family === 4) this.#ipv4.push({ network: bitsOf(address!), mask: -1 << (32 - prefix) })
    else {
      const first = firstByte(address!)
      this.#firstBytes.fill(1, first, first + (prefix >= 8 ? 1 : 2 ** (8 - prefix)))
    }
    this.#firstBytes[0] = 1 // IPv4 addresses in IPv6 form begin with zeros
  }

  /** Classifies a text that should be an address. */
  judge(address: string): 'trusted' | 'other' | 'none' {
    const family = isIP(address)
    // A zone names an interface of the machine that wrote it.
    if (family === 0 || address.includes('%')) return 'none'
    if (family === 4) return this.#hasIpv4(bitsOf(address)) ? 'trusted' : 'other'
    if (this.#firstBytes[firstByte(address)] === 0) return 'other'
    if (this.#remembered.has(address)) return 'trusted'
    if (!this.#networks.check(address, 'ipv6')) return 'other'
    if (this.#remembered.size < MAX_REMEMBERED) this.#remembered.add(ownText(address))
    return 'trusted'
  }

  #hasIpv4(bits: number): boolean {
    const networks = this.#ipv4
    for (let i = 0; i < networks.length; i++) if ((bits & networks[i]!.mask) === networks[i]!.network) return true
    return false
  }

  /** Whether the other end of a socket is trusted. @param address as `remoteAddress` has it */
  trustsPeer(address: string, isUnixSocket: boolean): boolean {
    if (isUnixSocket) return this.trustsUnixSockets
    const zone = address.indexOf('%')
    return this.judge(zone === -1 ? address : address.slice(0, zone)) === 'trusted'
  }
}

/** The 32 bits of a valid IPv4 address. */
function bitsOf(address: string): number {
  let bits = 0
  let byte = 0
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i)
    if (code === DOT) {
      bits = (bits << 8) | byte
      byte = 0
    } else byte = byte * 10 + code - ZERO
  }
  return (bits << 8) | byte
}

/** The first byte of a valid IPv6 address. */
function firstByte(address: string): number {
  const colon = address.indexOf(':')
  return colon === 0 ? 0 : Number.parseInt(address.slice(0, colon), 16) >> 8
}

function isAllOfIpv4(address: string, prefix: number): boolean {
  const network = new BlockList()
  network.addSubnet(address, prefix, 'ipv6')
  return IPV4_ENDS.every((end) => network.check(end, 'ipv6'))
}

/** Whether the address has bits outside the prefix. */
function hasHostBits(address: string, family: number, prefix: number): boolean {
  const bits =
    family === 4 ? address.split('.').map((part) => binary(Number(part), 8)) : groupsOf(address).map((group) => binary(group, 16))
  return bits.join('').slice(prefix).includes('1')
}

/** The eight groups of an IPv6 address. The URL parser normalizes it. */
function groupsOf(address: string): number[] {
  const halves = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::')
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function binary(value: number, digits: number): string {
  return value.toString(2).padStart(digits, '0')
}
