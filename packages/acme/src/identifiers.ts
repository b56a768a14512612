// The identifiers of a certificate: names and addresses (RFC 8738).

import { Buffer } from 'node:buffer'
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

import { invalid } from 'weirjs/kit'

export interface Identifier {
  readonly type: 'dns' | 'ip'
  readonly value: string
}

const LONGEST_NAME = 253
const NAME = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** @throws WEIR_OPTION_INVALID */
export function identifierOf(given: unknown, owner: string): Identifier {
  if (typeof given !== 'string' || given === '') throw invalid(owner, 'domains has an entry that is no name and no address')
  const bare = given.replace(/^\[(.*)\]$/, '$1')
  const kind = isIP(bare)
  if (kind === 4) return { type: 'ip', value: bare }
  if (kind === 6) return { type: 'ip', value: new URL(`http://[${bare.replace(/%.*$/s, '')}]`).hostname.slice(1, -1) }
  if (given.startsWith('*'))
    throw invalid(owner, `domains has ${JSON.stringify(given)}: a CA gives such certificates only for a record in DNS, so name each host`)
  const name = domainToASCII(given.replace(/\.$/, ''))
  if (name.length > LONGEST_NAME || !NAME.test(name))
    throw invalid(owner, `domains has ${JSON.stringify(given)}: a name such as "example.org"`)
  return { type: 'dns', value: name }
}

/** The bytes of an address, as certificates have it. */
export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const groups = (text: string): string[] => text.split(':').filter(Boolean)
  const after = tail === undefined ? [] : groups(tail)
  const before = groups(head)
  const all = [...before, ...new Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return Buffer.from(all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]))
}

/** The server name of the handshake of a tls-alpn-01 challenge (RFC 8737 §3, RFC 8738 §6). */
export function challengedName({ type, value }: Identifier): string {
  if (type === 'dns') return value
  const bytes = addressBytes(value)
  if (bytes.length === 4) return `${[...bytes].reverse().join('.')}.in-addr.arpa`
  return `${[...bytes.toString('hex')].reverse().join('.')}.ip6.arpa`
}
