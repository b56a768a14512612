// Headers of the PROXY protocol, in both versions: cut anywhere, and read by a second reader.

import assert from 'node:assert/strict'
import { isIP, SocketAddress } from 'node:net'

import { crc32c } from '../../../packages/weirjs/src/formats/crc32c.ts'
import { MAX_LINE_BYTES, MAX_TLV_BYTES, type ProxyHeader, ProxyHeaderReader } from '../../../packages/weirjs/src/formats/proxy-protocol.ts'
import { assertSameWords, codeOf, cutTwice, type Target } from '../target.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const LINE = /^PROXY TCP([46]) (\S+) (\S+) (0|[1-9]\d*) (0|[1-9]\d*)\r\n/
const CRC32C = 3

export const proxyProtocolTarget: Target = {
  name: 'proxy-protocol',
  promise: 'a header is the same wherever it is cut, includes no byte of what follows, and has the meaning that a second reader finds',
  dictionary: [
    ...[
      'PROXY ',
      'PROXY TCP4 ',
      'PROXY TCP6 ',
      'PROXY UNKNOWN',
      ' ',
      '\r\n',
      '\r',
      '\n',
      '203.0.113.7 10.0.0.1 ',
      '::1 ',
      '2001:db8::1 ',
      '010.0.0.1 ',
    ],
    ...[
      '4711 443\r\n',
      '0 65535',
      '65536',
      '00',
      SIGNATURE,
      '\x20\x00\0\0',
      '\x21\x11\0\x0c',
      '\x21\x21\0\x24',
      '\x21\x31\0\xd8',
      '\x21\x11\x10\x0c',
    ],
    ...[
      '\x03\0\x04',
      '\x20\0\x08\x01\0\0\0\0',
      '\x21\0\0',
      '\x22\0\x01a',
      '\x04\0\0',
      '\x20\0\x05\x07\0\0\0\0',
      '\0\0\0\0',
      '\xff\xff',
      'GET / ',
    ],
  ],
  maxBytes: 5000,
  seeds: () =>
    [
      ...['PROXY UNKNOWN\r\nGET / ', 'PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\nGET / ', 'PROXY TCP6 2001:db8::1 ::1 4711 443\r\n'],
      ...[`${SIGNATURE}\x20\x00\0\0GET /`, `${SIGNATURE}\x21\x11\0\x0c\xcb\0\x71\x07\x0a\0\0\x01\x12\x67\x01\xbbGET /`],
      `${SIGNATURE}\x21\x11\0\x1b\xcb\0\x71\x07\x0a\0\0\x01\x12\x67\x01\xbb\x20\0\x0c\x07\0\0\0\0\x22\0\x04name`,
      `${SIGNATURE}\x21\x21\0\x24${'\x20\x01'.repeat(16)}\x12\x67\x01\xbb`,
      `${SIGNATURE}\x21\x31\0\xd8${'a'.repeat(216)}`,
    ].map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes, choices) {
    const whole = wordsOf(bytes, [bytes.length])
    assertSameWords(wordsOf(bytes, cutTwice(bytes.length, choices)), whole, 'cut twice')
    const used = Number(whole.at(-1))
    const isHeader = whole.length > 2
    const others = Buffer.concat([bytes.subarray(0, used), Buffer.from('x')])
    if (isHeader) assertSameWords(wordsOf(others, [others.length]), whole, 'with something else after it')
    return isHeader ? whole.slice(0, -1).map(kindOf).join(' ') : String(whole[0])
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    const whole = wordsOf(bytes, [bytes.length])
    const ends = Array.from({ length: bytes.length }, (_, i) => i + 1)
    assertSameWords(wordsOf(bytes, ends), whole, 'byte by byte')
    const header = headerOf(bytes)
    if (header === null) assert.ok(whole.length <= 2, 'it should have been refused')
    else assert.deepEqual(whole, [...header, headerLength(bytes)])
  },
}

function kindOf(word: string | number | boolean | null): string {
  return typeof word === 'boolean' || word === null ? String(word) : `${typeof word} ${isIP(String(word))}`
}

/** What is read of the bytes, in pieces that end at `ends`, and finally how many bytes were used. */
function wordsOf(bytes: Buffer, ends: readonly number[]): (string | number | boolean | null)[] {
  const reader = new ProxyHeaderReader(isIP)
  let used = 0
  let start = 0
  try {
    for (const end of ends) {
      const header = reader.push(bytes.subarray(start, end))
      used += reader.used
      if (header !== null) return [...flat(header), used]
      start = end
    }
    return [null, used]
  } catch (error) {
    return [codeOf(error), used + reader.used]
  }
}

function flat({ isLocal, address, port, tls }: ProxyHeader): (string | number | boolean | null)[] {
  return [isLocal, address, port, tls === null, tls?.version ?? null, tls?.isVerified ?? null, tls?.commonName ?? null]
}

function headerLength(bytes: Buffer): number {
  return bytes[0] === 0x50 ? bytes.indexOf('\r\n') + 2 : 16 + bytes.readUInt16BE(14)
}

const NOBODY = [false, null, 0, true, null, null, null]

/** Reads it again, as a whole. @returns null if it is not a header, or incomplete */
function headerOf(bytes: Buffer): (string | number | boolean | null)[] | null {
  const line = bytes.toString('latin1', 0, MAX_LINE_BYTES)
  if (/^PROXY UNKNOWN(?: [^\r\n]*)?\r\n/.test(line)) return NOBODY
  const [, family, source, destination, sourcePort, destinationPort] = LINE.exec(line) ?? []
  if (family !== undefined) {
    const fits = isIP(source!) === Number(family) && isIP(destination!) === Number(family) && !line.split('\r')[0]!.includes('%')
    return fits && Number(sourcePort) < 65536 && Number(destinationPort) < 65536
      ? [false, source!, Number(sourcePort), ...NOBODY.slice(3)]
      : null
  }
  return bytes.toString('latin1', 0, 12) === SIGNATURE && bytes.length >= 16 && bytes.length >= headerLength(bytes) ? binaryOf(bytes) : null
}

function binaryOf(all: Buffer): (string | number | boolean | null)[] | null {
  const bytes = all.subarray(0, headerLength(all))
  const [command, family] = [bytes[12]!, bytes[13]!]
  const size = command === 0x20 ? 216 : [0, 12, 36, 216][family >> 4]
  if ((command !== 0x20 && command !== 0x21) || size === undefined || bytes.length - 16 > size + MAX_TLV_BYTES) return null
  if (command === 0x20) return [true, ...NOBODY.slice(1)]
  if ((family & 15) > 2 || bytes.length < 16 + size) return null
  const tls = tlsOf(bytes, 16 + size)
  if (tls === null) return null
  const hasAddress = (family & 15) > 0 && (size === 12 || size === 36)
  const address = size === 12 ? [...bytes.subarray(16, 20)].join('.') : bytes.toString('hex', 16, 32).replace(/....(?!$)/g, '$&:')
  const canonical = hasAddress && size === 36 ? canonicalOf(address) : address
  return [false, hasAddress ? canonical : null, hasAddress ? bytes.readUInt16BE(size === 12 ? 24 : 48) : 0, ...tls]
}

/** The system writes a number below 2^32 with dots; weir does so only where RFC 5952 does. */
function canonicalOf(address: string): string {
  const text = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::\d/.test(text) && text.includes('.') ? new URL(`http://[${text}]/`).hostname.slice(1, -1) : text
}

/** @returns null when the TLVs break a rule */
function tlsOf(bytes: Buffer, start: number): (string | boolean | null)[] | null {
  const outer = tlvsOf(bytes, start, bytes.length)
  const find = (type: number) => outer?.filter((one) => one.type === type) ?? []
  const [sums, tls] = [find(CRC32C), find(0x20)]
  if (outer === null || sums.length > 1 || tls.length > 1) return null
  for (const { from, to } of sums) if (to - from !== 4 || crc32c(bytes, from, to) !== bytes.readUInt32BE(from)) return null
  if (tls.length === 0) return NOBODY.slice(3) as (boolean | null)[]
  const { from, to } = tls[0]!
  const inner = to - from < 5 ? null : tlvsOf(bytes, from + 5, to)
  if (inner === null) return null
  const client = bytes[from]!
  if ((client & 1) === 0) return NOBODY.slice(3) as (boolean | null)[]
  const text = (type: number, coding: BufferEncoding): string | null => {
    const one = inner.find((tlv) => tlv.type === type)
    return one === undefined ? null : bytes.toString(coding, one.from, one.to)
  }
  return [false, text(0x21, 'latin1'), (client & 6) !== 0 && bytes.readUInt32BE(from + 1) === 0, text(0x22, 'utf8')]
}

function tlvsOf(bytes: Buffer, start: number, end: number): { type: number; from: number; to: number }[] | null {
  const all: { type: number; from: number; to: number }[] = []
  for (let at = start; at !== end; ) {
    if (at + 3 > end) return null
    const to = at + 3 + bytes.readUInt16BE(at + 1)
    if (to > end) return null
    all.push({ type: bytes[at]!, from: at + 3, to })
    at = to
  }
  return all
}
