// A certificate with its key in one text, as the store keeps it, so that no one reads a key and a certificate that do not belong together.

import { Buffer } from 'node:buffer'
import { createPrivateKey, X509Certificate } from 'node:crypto'

import { piecesOf } from './der.ts'
import { addressBytes, type Identifier } from './identifiers.ts'
import type { Pair } from './x509.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const KEY = /-----BEGIN (?:EC )?PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END (?:EC )?PRIVATE KEY-----/
/** The identifier of authorityKeyIdentifier, 2.5.29.35, with its tag. */
const AUTHORITY_KEY = Buffer.from('0603551d23', 'hex')

export class StoredCertificate {
  readonly pem: string
  readonly pair: Pair
  /** Milliseconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
  readonly #leaf: X509Certificate

  private constructor(pem: string, pair: Pair, leaf: X509Certificate) {
    this.pem = pem
    this.pair = pair
    this.#leaf = leaf
    this.notBefore = Date.parse(leaf.validFrom)
    this.notAfter = Date.parse(leaf.validTo)
  }

  /** @param chain the certificate and its CA's certificates, as PEM @throws Error if it is not for the key */
  static of(key: string, chain: string): StoredCertificate {
    const certificates = chain.match(CERTIFICATE)
    if (certificates === null) throw new Error('it has no certificate')
    const leaf = new X509Certificate(certificates[0]!)
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the certificate is for another key')
    const cert = `${certificates.join('\n')}\n`
    return new StoredCertificate(`${key.trim()}\n${cert}`, { key, cert }, leaf)
  }

  /** @throws Error that says what is wrong, without the key */
  static parse(pem: string): StoredCertificate {
    const key = KEY.exec(pem)
    if (key === null) throw new Error('it has no key')
    return StoredCertificate.of(`${key[0]}\n`, pem.replace(KEY, ''))
  }

  get lifeMs(): number {
    return this.notAfter - this.notBefore
  }

  /** Whether it is for exactly these. */
  isFor(identifiers: readonly Identifier[]): boolean {
    const names = (this.#leaf.subjectAltName ?? '').split(', ').map(identifierIn)
    const wanted = new Set(identifiers.map(keyOf))
    return names.length === wanted.size && names.every((name) => name !== null && wanted.has(keyOf(name)))
  }

  /** The id of the certificate in renewal information (RFC 9773 §4.1). Null if it has none. */
  get renewalId(): string | null {
    const raw = this.#leaf.raw
    const at = raw.indexOf(AUTHORITY_KEY)
    if (at === -1) return null
    const inside = piecesOf(raw.subarray(at + AUTHORITY_KEY.length)).find(({ tag }) => tag === 0x04)?.content
    const key = inside === undefined ? undefined : piecesOf(piecesOf(inside)[0]?.content ?? Buffer.alloc(0)).find(({ tag }) => tag === 0x80)
    if (key === undefined) return null
    const hex = this.#leaf.serialNumber
    const serial = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
    const integer = serial[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial
    return `${key.content.toString('base64url')}.${integer.toString('base64url')}`
  }
}

/** A name as OpenSSL writes it; null for one of a kind that no server has, such as a URI. */
function identifierIn(name: string): Identifier | null {
  const [, kind, value = ''] = /^(DNS|IP Address):(.*)$/.exec(name) ?? []
  return kind === undefined ? null : { type: kind === 'DNS' ? 'dns' : 'ip', value }
}

/** OpenSSL writes addresses in another form than URLs do. */
function keyOf({ type, value }: Identifier): string {
  const lower = value.toLowerCase()
  return `${type} ${type === 'dns' ? lower : addressBytes(lower).toString('hex')}`
}
