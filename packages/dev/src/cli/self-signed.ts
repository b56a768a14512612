// Creates a self-signed certificate for this machine (RFC 5280), because `node:crypto` cannot create certificates.

import { Buffer } from 'node:buffer'
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

interface SelfSigned {
  /** In PEM. */
  readonly key: string
  readonly cert: string
}

/** Browsers accept no certificate that is valid for longer than 398 days. */
const VALID_MS = 365 * 86_400_000
/** The tags of DER (X.690). */
const [BOOLEAN, INTEGER, BITS, OCTETS, OID, UTF8, UTC, SEQUENCE, SET] = [1, 2, 3, 4, 6, 12, 23, 0x30, 0x31]
const ECDSA_WITH_SHA256 = '2a8648ce3d040302'
const COMMON_NAME = '550403'
const BASIC_CONSTRAINTS = '551d13'
const KEY_USAGE = '551d0f'
const EXTENDED_KEY_USAGE = '551d25'
const SERVER_AUTH = '2b06010505070301'
const ALTERNATIVE_NAMES = '551d11'

/** @param names of hosts @param addresses of IPv4 and IPv6, as bytes @param now milliseconds since 1970 */
export function selfSigned(names: readonly string[], addresses: readonly Uint8Array[], now: number): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, oid(ECDSA_WITH_SHA256))
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, oid(COMMON_NAME), der(UTF8, Buffer.from('weir dev')))))
  const alternatives = [...names.map((name) => der(0x82, Buffer.from(name))), ...addresses.map((address) => der(0x87, address))]
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive, and as long as it looks
  const content = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))), // version 3
    der(INTEGER, serial),
    algorithm,
    subject,
    der(SEQUENCE, time(now - 3_600_000), time(now + VALID_MS)), // clocks differ
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        SEQUENCE,
        extension(BASIC_CONSTRAINTS, der(SEQUENCE)), // of no use for signing others
        extension(KEY_USAGE, der(BITS, Buffer.from([7, 0x80]))), // signatures
        extension(EXTENDED_KEY_USAGE, der(SEQUENCE, oid(SERVER_AUTH))),
        extension(ALTERNATIVE_NAMES, der(SEQUENCE, ...alternatives)),
      ),
    ),
  )
  const signature = der(BITS, Buffer.from([0]), sign('sha256', content, privateKey))
  const lines = der(SEQUENCE, content, algorithm, signature)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
  }
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const value = Buffer.concat(parts)
  const { length } = value
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

function oid(hex: string): Buffer {
  return der(OID, Buffer.from(hex, 'hex'))
}

function extension(id: string, value: Buffer): Buffer {
  const isCritical = id === BASIC_CONSTRAINTS || id === KEY_USAGE
  return der(SEQUENCE, oid(id), ...(isCritical ? [der(BOOLEAN, Buffer.from([0xff]))] : []), der(OCTETS, value))
}

/** `YYMMDDhhmmssZ` */
function time(ms: number): Buffer {
  return der(UTC, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`))
}
