import assert from 'node:assert/strict'
import { isIP, SocketAddress } from 'node:net'
import { test } from 'node:test'

import { WeirError } from '../base/errors.ts'
import { crc32c } from './crc32c.ts'
import { MAX_LINE_BYTES, MAX_TLV_BYTES, type ProxyHeader, ProxyHeaderReader } from './proxy-protocol.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

function tlv(type: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string)
  const head = Buffer.from([type, 0, 0])
  head.writeUInt16BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

function binary(command: number, family: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const rest = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)))
  const head = Buffer.from(`${SIGNATURE}    `, 'latin1')
  head[12] = command
  head[13] = family
  head.writeUInt16BE(rest.length, 14)
  return Buffer.concat([head, rest])
}

function withChecksum(make: (checksum: Buffer) => Buffer): Buffer {
  const blank = make(tlv(3, Buffer.alloc(4)))
  const at = blank.lastIndexOf(Buffer.from([3, 0, 4, 0, 0, 0, 0])) + 3
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32c(blank, at, at + 4))
  return make(tlv(3, checksum))
}

const ipv4 = Buffer.from('cb007107 0a000001 1267 01bb'.replaceAll(' ', ''), 'hex')
const ipv6 = Buffer.from('20010db8cafe00000000000000000017 fd000000000000000000000000000001 1267 01bb'.replaceAll(' ', ''), 'hex')
const ssl = (client: number, verify: number, ...parts: Buffer[]): Buffer =>
  tlv(0x20, Buffer.concat([Buffer.from([client, 0, 0, 0, verify]), ...parts]))
const version = tlv(0x21, 'TLSv1.3')
const name = tlv(0x22, 'Zoë')

const nobody = { isLocal: false, address: null, port: 0, tls: null }
const local = { ...nobody, isLocal: true }
const somebody = { ...nobody, address: '203.0.113.7', port: 4711 }
const tls = { version: 'TLSv1.3', isVerified: true, commonName: 'Zoë' }

const GOOD: readonly (readonly [name: string, bytes: Buffer, header: ProxyHeader])[] = [
  ['IPv4', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n'), somebody],
  [
    'the lowest and the highest port',
    Buffer.from('PROXY TCP4 255.255.255.255 0.0.0.0 65535 0\r\n'),
    { ...somebody, address: '255.255.255.255', port: 65535 },
  ],
  ['IPv6', Buffer.from('PROXY TCP6 2001:DB8:cafe::17 ::1 4711 443\r\n'), { ...somebody, address: '2001:DB8:cafe::17' }],
  ['the longest line', Buffer.from(`PROXY UNKNOWN ${'f'.repeat(MAX_LINE_BYTES - 16)}\r\n`), nobody],
  ['an unknown one', Buffer.from('PROXY UNKNOWN\r\n'), nobody],
  ['an unknown one with bytes that must be ignored', Buffer.from('PROXY UNKNOWN 10.0.0.1 \xff x\r\n', 'latin1'), nobody],
  ['binary IPv4', binary(0x21, 0x11, ipv4), somebody],
  ['binary IPv4 over UDP', binary(0x21, 0x12, ipv4), somebody],
  ['binary IPv6', binary(0x21, 0x21, ipv6), { ...somebody, address: '2001:db8:cafe::17' }],
  ['binary Unix', binary(0x21, 0x31, Buffer.alloc(216, 0x61)), nobody],
  ['binary unspecified', binary(0x21, 0x00), nobody],
  ['IPv4 without a transport', binary(0x21, 0x10, ipv4), nobody],
  ['local', binary(0x20, 0x00), local],
  ['local with addresses and nonsense', binary(0x20, 0xff, ipv4, '20ffff'), local],
  ['the most bytes of TLVs that are allowed', binary(0x21, 0x11, ipv4, tlv(4, Buffer.alloc(MAX_TLV_BYTES - 3))), somebody],
  ['the longest local one', binary(0x20, 0x00, Buffer.alloc(216 + MAX_TLV_BYTES)), local],
  ['TLS with a name', binary(0x21, 0x11, ipv4, ssl(7, 0, version, name)), { ...somebody, tls }],
  [
    'TLS, then others',
    binary(0x21, 0x11, ipv4, ssl(1, 0, version), tlv(0xea, 'x'), tlv(4, '')),
    { ...somebody, tls: { ...tls, isVerified: false, commonName: null } },
  ],
  [
    'TLS without a version',
    binary(0x21, 0x11, ipv4, ssl(1, 1)),
    { ...somebody, tls: { version: null, isVerified: false, commonName: null } },
  ],
  [
    'a certificate that was not verified',
    binary(0x21, 0x11, ipv4, ssl(3, 1, version, name)),
    { ...somebody, tls: { ...tls, isVerified: false } },
  ],
  ['no TLS', binary(0x21, 0x11, ipv4, ssl(0, 0)), somebody],
  [
    'a checksum',
    withChecksum((checksum) => binary(0x21, 0x11, ipv4, ssl(7, 0, version, name), checksum, tlv(5, 'id'))),
    { ...somebody, tls },
  ],
]

const BAD: readonly (readonly [name: string, bytes: Buffer, why: RegExp])[] = [
  ['a request', Buffer.from('GET / HTTP/1.1\r\n'), /does not begin with/],
  ['a request that begins in the same way', Buffer.from('POST / HTTP/1.1\r\n'), /does not begin with/],
  ['a handshake', Buffer.from([0x16, 3, 1]), /does not begin with/],
  ['lower case', Buffer.from('proxy TCP4 '), /does not begin with/],
  ['a tab', Buffer.from('PROXY\tTCP4'), /does not begin with/],
  ['two blanks', Buffer.from('PROXY  TCP4 203.0.113.7 10.0.0.1 4711 443\r\n'), /malformed/],
  ['two blanks later', Buffer.from('PROXY TCP4 203.0.113.7  10.0.0.1 4711 443\r\n'), /malformed/],
  ['a blank at the end', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 4711 443 \r\n'), /malformed/],
  ['LF alone', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\n'), /CRLF/],
  ['CR alone', Buffer.from('PROXY UNKNOWN\rx'), /CRLF/],
  ['two CR', Buffer.from('PROXY UNKNOWN\r\r\n'), /CRLF/],
  ['UDP4', Buffer.from('PROXY UDP4 203.0.113.7 10.0.0.1 4711 443\r\n'), /malformed/],
  ['no ports', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1\r\n'), /malformed/],
  ['UNKNOWN with more letters', Buffer.from('PROXY UNKNOWNS\r\n'), /malformed/],
  ['a leading zero in a port', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 04711 443\r\n'), /malformed/],
  ['a port that is too large', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 4711 65536\r\n'), /larger than 65535/],
  ['a sign', Buffer.from('PROXY TCP4 203.0.113.7 10.0.0.1 +4711 443\r\n'), /malformed/],
  ['a leading zero in an address', Buffer.from('PROXY TCP4 203.0.113.07 10.0.0.1 4711 443\r\n'), /valid IPv4/],
  ['a short address', Buffer.from('PROXY TCP4 10.1 10.0.0.1 4711 443\r\n'), /valid IPv4/],
  ['a destination that is not an address', Buffer.from('PROXY TCP4 10.0.0.1 10.0.0.256 4711 443\r\n'), /valid IPv4/],
  ['IPv6 as IPv4', Buffer.from('PROXY TCP4 ::1 ::1 4711 443\r\n'), /valid IPv4/],
  ['IPv4 as IPv6', Buffer.from('PROXY TCP6 10.0.0.1 10.0.0.1 4711 443\r\n'), /valid IPv6/],
  ['a zone', Buffer.from('PROXY TCP6 fe80::1%eth0 ::1 4711 443\r\n'), /malformed/],
  ['a line that is too long', Buffer.from(`PROXY UNKNOWN ${'f'.repeat(MAX_LINE_BYTES - 15)}\r\n`), /longer than 107 bytes/],
  ['a broken signature', Buffer.from('\r\n\r\n\0\r\nQUIX\n', 'latin1'), /does not begin with/],
  ['two empty lines', Buffer.from('\r\n\r\n\r\n'), /does not begin with/],
  ['version 1 in binary', binary(0x11, 0x11, ipv4), /version/],
  ['version 3', binary(0x31, 0x11, ipv4), /version/],
  ['another command', binary(0x22, 0x11, ipv4), /command/],
  ['another family', binary(0x21, 0x41, ipv4), /family/],
  ['another transport', binary(0x21, 0x13, ipv4), /family or transport/],
  ['addresses that are cut', binary(0x21, 0x11, ipv4.subarray(1)), /too short/],
  ['TLVs that are too long', binary(0x21, 0x11, ipv4, Buffer.alloc(MAX_TLV_BYTES + 1)), /more than 4096 bytes/],
  ['a TLV that is cut', binary(0x21, 0x11, ipv4, '0400'), /TLV/],
  ['a TLV that is too long', binary(0x21, 0x11, ipv4, '04000200'), /TLV/],
  ['a TLV of TLS that is cut', binary(0x21, 0x11, ipv4, tlv(0x20, 'abcd')), /too short/],
  ['a TLV inside it that is too long', binary(0x21, 0x11, ipv4, ssl(1, 0, Buffer.from('21000400', 'hex'))), /TLV/],
  ['two of TLS', binary(0x21, 0x11, ipv4, ssl(1, 0), ssl(0, 0)), /twice/],
  ['a wrong checksum', binary(0x21, 0x11, ipv4, tlv(3, 'abcd')), /checksum/],
  ['a checksum of another length', binary(0x21, 0x11, ipv4, tlv(3, '')), /checksum/],
  ['two checksums', withChecksum((checksum) => binary(0x21, 0x11, ipv4, checksum, checksum)), /checksum|twice/],
]

/** The result for the pieces, and how many bytes were used. */
function read(pieces: readonly Buffer[]): { header: ProxyHeader | string | null; used: number } {
  const reader = new ProxyHeaderReader(isIP)
  let used = 0
  try {
    for (const piece of pieces) {
      const header = reader.push(piece)
      used += reader.used
      if (header !== null) return { header, used }
    }
    return { header: null, used }
  } catch (error) {
    assert.ok(error instanceof WeirError && error.code === 'WEIR_PROXY_HEADER')
    return { header: error.message, used: used + reader.used }
  }
}

test('a header is read to its last byte and no further, whole, byte by byte and at every cut', () => {
  for (const [name, bytes, header] of GOOD) {
    const all = Buffer.concat([bytes, Buffer.from('GET / ')])
    const expected = { header, used: bytes.length }
    assert.deepEqual(read([all]), expected, name)
    assert.deepEqual(read([...all].map((byte) => Buffer.from([byte]))), expected, name)
    for (let cut = 0; cut <= all.length; cut++)
      assert.deepEqual(read([all.subarray(0, cut), all.subarray(cut)]), expected, `${name}, cut at ${cut}`)
    for (let length = 0; length < bytes.length; length++)
      assert.deepEqual(read([bytes.subarray(0, length)]), { header: null, used: length }, `the first ${length} bytes of ${name}`)
  }
})

test('anything but a header is refused at the same byte, wherever it is cut', () => {
  for (const [name, bytes, why] of BAD) {
    const all = Buffer.concat([bytes, Buffer.from('GET / ')])
    const whole = read([all])
    assert.match(String(whole.header), why, name)
    assert.deepEqual(read([...all].map((byte) => Buffer.from([byte]))), whole, name)
    for (let cut = 0; cut <= all.length; cut++)
      assert.deepEqual(read([all.subarray(0, cut), all.subarray(cut)]), whole, `${name}, cut at ${cut}`)
  }
})

test('an IPv6 address is written as the system writes it', () => {
  const texts = [
    '::',
    '::1',
    '1::',
    '2001:db8::1',
    '1:0:0:2::3',
    '0:1:0:1:0:1:0:1',
    '1:2:3:4:5:6:7:8',
    '1:0:2:3:4:5:6:7',
    '::ffff:203.0.113.7',
    'fe80::a0:0:0:b',
  ]
  for (const text of texts) {
    const canonical = new SocketAddress({ address: text, family: 'ipv6' }).address
    const bytes = Buffer.concat([bytesOfIpv6(canonical), bytesOfIpv6(canonical), Buffer.from('12670050', 'hex')])
    const { header } = read([binary(0x21, 0x21, bytes)])
    assert.equal((header as ProxyHeader).address, canonical)
  }
})

/** The URL parser knows all notations, and never writes one with dots. */
function bytesOfIpv6(text: string): Buffer {
  const [left, right = ''] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split('::')
  const groups = (half: string): string[] => (half === '' ? [] : half.split(':'))
  const missing = 8 - groups(left!).length - groups(right).length
  const all = [...groups(left!), ...Array<string>(missing).fill('0'), ...groups(right)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

test('CRC32C is that of RFC 3720 section B.4', () => {
  assert.equal(crc32c(Buffer.alloc(32), 0, 0), 0x8a9136aa)
  assert.equal(crc32c(Buffer.alloc(32, 0xff), 0, 0), 0x62a8ab43)
  assert.equal(crc32c(Buffer.alloc(32, 0xff), 0, 32), 0x8a9136aa)
  assert.equal(crc32c(Buffer.from('123456789'), 0, 0), 0xe3069283)
})
