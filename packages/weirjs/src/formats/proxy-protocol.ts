// The PROXY protocol, with which a proxy states at the beginning of a connection who its client is: version 1 (a line) and version 2 (binary).
// https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt
//
// A push parser without sockets. However the bytes are cut, it returns the same header, or refuses it at the same byte.

import { Buffer } from 'node:buffer'

import { CR, LF } from '../base/ascii.ts'
import { ProtocolError } from '../base/errors.ts'

import { crc32c } from './crc32c.ts'

/** What a header of version 2 states about the TLS between the client and the proxy. */
export interface ProxiedTls {
  /** Such as `TLSv1.3`; null if it is not stated. */
  readonly version: string | null
  /** Whether the client presented a certificate and the proxy verified it. */
  readonly isVerified: boolean
  /** The common name of the client's certificate; null if it is not stated. Do not rely on it unless `isVerified` is true. */
  readonly commonName: string | null
}

export interface ProxyHeader {
  /** Whether the proxy opened the connection for itself, for example for a health check. Then there is nothing else. */
  readonly isLocal: boolean
  /** The client's address; null if the proxy does not state an IP address. */
  readonly address: string | null
  /** The client's port; 0 without an address. */
  readonly port: number
  /** Null if the client did not use TLS, or the header does not state it. */
  readonly tls: ProxiedTls | null
}

/** The longest line of version 1, line end included. */
export const MAX_LINE_BYTES = 107
/** The most bytes that may follow the addresses of version 2. */
export const MAX_TLV_BYTES = 4096

const LINE_START = Buffer.from('PROXY ', 'latin1')
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
/** Signature, version and command, family and transport, length. */
const FIXED_BYTES = 16
const VERSION_AT = 12
const FAMILY_AT = 13
const LENGTH_AT = 14

const VERSION = 0x20
const LOCAL = 0
const PROXY = 1

const UNSPECIFIED = 0
const IPV4 = 1
const IPV6 = 2
/** Bytes of both addresses and ports, by family: none, IPv4, IPv6, Unix. */
const ADDRESS_BYTES = [0, 12, 36, 216] as const
const MAX_ADDRESS_BYTES = 216
/** Unspecified, stream, datagram. */
const MAX_TRANSPORT = 2

const TLV_HEAD_BYTES = 3
const TYPE_CRC32C = 0x03
const TYPE_SSL = 0x20
const SUBTYPE_VERSION = 0x21
const SUBTYPE_COMMON_NAME = 0x22
const SSL_HEAD_BYTES = 5
const CLIENT_SSL = 1
const CLIENT_CERT_CONNECTION = 2
const CLIENT_CERT_SESSION = 4

const LINE = /^PROXY TCP([46]) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})\r\n$/
const UNKNOWN_LINE = /^PROXY UNKNOWN(?: [^\r\n]*)?\r\n$/

const LOCAL_HEADER: ProxyHeader = Object.freeze({ isLocal: true, address: null, port: 0, tls: null })

export class ProxyHeaderReader {
  readonly #isIP: (text: string) => number
  readonly #bytes = Buffer.alloc(MAX_LINE_BYTES)
  /** Used instead of `#bytes` if the header is longer. */
  #long: Buffer | null = null
  #length = 0
  /** How many bytes of the last `push` belonged to the header. */
  used = 0

  /** @param isIP returns 4 or 6 for an address of that family, otherwise 0, as `isIP` of node:net does */
  constructor(isIP: (text: string) => number) {
    this.#isIP = isIP
  }

  /** Whether any byte has been received. */
  get hasBegun(): boolean {
    return this.#length > 0
  }

  /**
   * Reads the next bytes, up to the end of the header and no further.
   * @returns null while the header is incomplete
   * @throws ProtocolError WEIR_PROXY_HEADER
   */
  push(bytes: Uint8Array): ProxyHeader | null {
    for (this.used = 0; this.used < bytes.length; ) {
      const buffer = this.#long ?? this.#bytes
      buffer[this.#length++] = bytes[this.used++]!
      const header = this.#step(buffer)
      if (header !== null) return header
    }
    return null
  }

  /** Another byte has arrived. */
  #step(buffer: Buffer): ProxyHeader | null {
    const length = this.#length
    const last = buffer[length - 1]!
    return buffer[0] === LINE_START[0] ? this.#stepLine(buffer, length, last) : this.#stepBinary(buffer, length, last)
  }

  #stepLine(buffer: Buffer, length: number, last: number): ProxyHeader | null {
    if (length <= LINE_START.length) {
      if (last !== LINE_START[length - 1]) throw refused('it does not begin with "PROXY " or the signature of version 2')
      return null
    }
    const isAfterCr = buffer[length - 2] === CR
    if (isAfterCr !== (last === LF)) throw refused('its line does not end with CRLF')
    if (isAfterCr) return readLine(buffer.toString('latin1', 0, length), this.#isIP)
    if (length === MAX_LINE_BYTES) throw refused(`its line is longer than ${MAX_LINE_BYTES} bytes`)
    return null
  }

  #stepBinary(buffer: Buffer, length: number, last: number): ProxyHeader | null {
    if (length <= SIGNATURE.length) {
      if (last !== SIGNATURE[length - 1]) throw refused('it does not begin with "PROXY " or the signature of version 2')
    } else if (length === VERSION_AT + 1) {
      if ((last & 0xf0) !== VERSION || (last & 0x0f) > PROXY) throw refused('its version or command is unknown')
    } else if (length === FAMILY_AT + 1 && !isLocal(buffer)) {
      if (last >> 4 >= ADDRESS_BYTES.length || (last & 0x0f) > MAX_TRANSPORT) throw refused('its address family or transport is unknown')
    } else if (length === FIXED_BYTES) this.#makeRoom(buffer)
    return length >= FIXED_BYTES && length === FIXED_BYTES + buffer.readUInt16BE(LENGTH_AT) ? readBinary(buffer.subarray(0, length)) : null
  }

  #makeRoom(buffer: Buffer): void {
    const following = buffer.readUInt16BE(LENGTH_AT)
    const addressBytes = isLocal(buffer) ? MAX_ADDRESS_BYTES : ADDRESS_BYTES[buffer[FAMILY_AT]! >> 4]!
    if (following > addressBytes + MAX_TLV_BYTES) throw refused(`more than ${MAX_TLV_BYTES} bytes follow its addresses`)
    if (FIXED_BYTES + following <= buffer.length) return
    this.#long = Buffer.alloc(FIXED_BYTES + following)
    buffer.copy(this.#long)
  }
}

function readLine(line: string, isIP: (text: string) => number): ProxyHeader {
  if (UNKNOWN_LINE.test(line)) return relayed(null, 0, null)
  const [, family, source, destination, sourcePort, destinationPort] = LINE.exec(line) ?? []
  if (source === undefined) throw refused('its line is malformed')
  if (isIP(source) !== Number(family) || isIP(destination!) !== Number(family))
    throw refused(`its addresses are not valid IPv${family} addresses`)
  if (Number(sourcePort) > 65535 || Number(destinationPort) > 65535) throw refused('a port is larger than 65535')
  return relayed(source, Number(sourcePort), null)
}

/** @param bytes the whole header */
function readBinary(bytes: Buffer): ProxyHeader {
  // Everything else in a LOCAL header must be ignored, even the family.
  if (isLocal(bytes)) return LOCAL_HEADER
  const family = bytes[FAMILY_AT]! >> 4
  const tlvStart = FIXED_BYTES + ADDRESS_BYTES[family]!
  if (tlvStart > bytes.length) throw refused('it is too short for its addresses')
  const tls = readTlvs(bytes, tlvStart)
  const hasTransport = (bytes[FAMILY_AT]! & 0x0f) !== UNSPECIFIED
  if (family === IPV4 && hasTransport) return relayed(ipv4Text(bytes, FIXED_BYTES), bytes.readUInt16BE(FIXED_BYTES + 8), tls)
  if (family === IPV6 && hasTransport) return relayed(ipv6Text(bytes, FIXED_BYTES), bytes.readUInt16BE(FIXED_BYTES + 32), tls)
  return relayed(null, 0, tls)
}

function isLocal(bytes: Buffer): boolean {
  return (bytes[VERSION_AT]! & 0x0f) === LOCAL
}

function relayed(address: string | null, port: number, tls: ProxiedTls | null): ProxyHeader {
  return Object.freeze({ isLocal: false, address, port, tls })
}

/** Verifies the checksum if there is one. @returns what is stated about TLS */
function readTlvs(bytes: Buffer, start: number): ProxiedTls | null {
  let tls: ProxiedTls | null = null
  const seen = new Set<number>()
  eachTlv(bytes, start, bytes.length, (type, from, to) => {
    if (type !== TYPE_CRC32C && type !== TYPE_SSL) return
    if (seen.has(type)) throw refused(`it has TLV ${type} twice`)
    seen.add(type)
    if (type === TYPE_SSL) tls = readSsl(bytes, from, to)
    else if (to - from !== 4 || crc32c(bytes, from, to) !== bytes.readUInt32BE(from)) throw refused('its checksum is wrong')
  })
  return tls
}

function readSsl(bytes: Buffer, start: number, end: number): ProxiedTls | null {
  if (end - start < SSL_HEAD_BYTES) throw refused('its TLV about TLS is too short')
  const client = bytes[start]!
  let version: string | null = null
  let commonName: string | null = null
  eachTlv(bytes, start + SSL_HEAD_BYTES, end, (type, from, to) => {
    if (type === SUBTYPE_VERSION) version ??= bytes.toString('latin1', from, to)
    else if (type === SUBTYPE_COMMON_NAME) commonName ??= bytes.toString('utf8', from, to)
  })
  if ((client & CLIENT_SSL) === 0) return null
  const hasCertificate = (client & (CLIENT_CERT_CONNECTION | CLIENT_CERT_SESSION)) !== 0
  return Object.freeze({ version, isVerified: hasCertificate && bytes.readUInt32BE(start + 1) === 0, commonName })
}

function eachTlv(bytes: Buffer, start: number, end: number, visit: (type: number, from: number, to: number) => void): void {
  for (let at = start; at < end; ) {
    const from = at + TLV_HEAD_BYTES
    const to = from > end ? from : from + bytes.readUInt16BE(at + 1)
    if (to > end) throw refused('a TLV is longer than what contains it')
    visit(bytes[at]!, from, to)
    at = to
  }
}

function ipv4Text(bytes: Buffer, at: number): string {
  return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`
}

/** As RFC 5952 writes it. */
function ipv6Text(bytes: Buffer, at: number): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(at + 2 * i))
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return `::ffff:${ipv4Text(bytes, at + 12)}`
  const [runStart, runEnd] = longestZeros(groups)
  const text = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':')
  return runEnd - runStart < 2 ? text(0, 8) : `${text(0, runStart)}::${text(runEnd, 8)}`
}

/** The first of the longest runs of zeros. */
function longestZeros(groups: readonly number[]): [start: number, end: number] {
  let best: [number, number] = [0, 0]
  for (let start = 0; start < groups.length; start++) {
    let end = start
    while (groups[end] === 0) end++
    if (end - start > best[1] - best[0]) best = [start, end]
  }
  return best
}

function refused(detail: string): ProtocolError {
  return new ProtocolError('WEIR_PROXY_HEADER', detail)
}
