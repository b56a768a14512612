// What proxies, clients and attackers write into X-Forwarded-For and Forwarded, and which client it means if 10.0.0.0/8, 127.0.0.0/8, ::1
// and fc00::/7 are trusted.

export interface ForwardedCase {
  readonly value: string
  /** Address of the client; null if the field states none. */
  readonly address: string | null
  readonly port?: number
  /** For Forwarded. */
  readonly proto?: string
  readonly host?: string
}

const cases = (rows: readonly (readonly [value: string, address: string | null, more?: Omit<ForwardedCase, 'value' | 'address'>])[]) =>
  rows.map(([value, address, more]): ForwardedCase => ({ value, address, ...more }))

const ipv6 = '2001:db8:cafe::17'
const many = (entry: string, count: number): string => Array(count).fill(entry).join(', ')

export const X_FORWARDED_FOR: readonly ForwardedCase[] = cases([
  // One proxy
  ['203.0.113.7', '203.0.113.7'],
  ['  203.0.113.7\t', '203.0.113.7'],
  ['203.0.113.7:4711', '203.0.113.7', { port: 4711 }],
  [ipv6, ipv6],
  [`[${ipv6}]`, ipv6],
  [`[${ipv6}]:4711`, ipv6, { port: 4711 }],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
  // What a client sends is on the left, and is not believed
  ['1.1.1.1, 203.0.113.7', '203.0.113.7'],
  ['127.0.0.1, 203.0.113.7', '203.0.113.7'],
  ['10.0.0.1,10.0.0.2,203.0.113.7', '203.0.113.7'],
  ['"unclosed, 203.0.113.7', '203.0.113.7'],
  ['<script>, ;;; \\, 203.0.113.7', '203.0.113.7'],
  [`${many('127.0.0.1', 1000)}, 203.0.113.7`, '203.0.113.7'],
  // Several proxies
  ['203.0.113.7, 10.0.0.2', '203.0.113.7'],
  ['1.1.1.1, 203.0.113.7, 10.0.0.3, 10.0.0.2', '203.0.113.7'],
  ['203.0.113.7, fd00::2', '203.0.113.7'],
  [`${ipv6}, [fd00::2]:80, ::1`, ipv6],
  ['203.0.113.7, ::ffff:10.0.0.2', '203.0.113.7'],
  ['203.0.113.7, ::ffff:0a00:0002', '203.0.113.7'],
  ['203.0.113.7, 203.0.113.8, 10.0.0.2', '203.0.113.8'],
  // All of them are trusted: the leftmost one
  ['10.0.0.9', '10.0.0.9'],
  ['10.0.0.9, 10.0.0.2', '10.0.0.9'],
  [many('10.0.0.9', 32), '10.0.0.9'],
  [many('10.0.0.9', 33), 'unknown'],
  [`203.0.113.7, ${many('10.0.0.9', 32)}`, 'unknown'],
  // Empty entries do not count (RFC 9110 section 5.6.1)
  ['', null],
  [' , ,', null],
  ['203.0.113.7, ', '203.0.113.7'],
  [', ,203.0.113.7,, ,10.0.0.2', '203.0.113.7'],
  // Unknown clients
  ['unknown', 'unknown'],
  ['Unknown, 10.0.0.2', 'unknown'],
  ['203.0.113.7, unknown', 'unknown'],
  ['_hidden', '_hidden'],
  ['_SEVKISEK:_port', '_SEVKISEK'],
  ['_a.b-c_1, 10.0.0.2', '_a.b-c_1'],
  ['_', 'unknown'],
  ['_hid den', 'unknown'],
  ['_hidden\xe9', 'unknown'],
  // What some readers would accept as an address
  ['010.0.0.1', 'unknown'],
  ['203.0.113.7, 010.0.0.1', 'unknown'],
  ['203.0.113.7, 10.1', 'unknown'],
  ['203.0.113.7, 0x0a000001', 'unknown'],
  ['203.0.113.7, 167772161', 'unknown'],
  ['203.0.113.7, 10.0.0.256', 'unknown'],
  ['203.0.113.7, 10.0.0.1.', 'unknown'],
  ['203.0.113.7, 10.0.0.1/8', 'unknown'],
  ['203.0.113.7, 10.0.0.1 10.0.0.2', 'unknown'],
  ['203.0.113.7, localhost', 'unknown'],
  ['203.0.113.7, "10.0.0.1"', 'unknown'],
  ['203.0.113.7, [10.0.0.1]', 'unknown'],
  ['203.0.113.7, \xa010.0.0.1', 'unknown'],
  ['203.0.113.7, fd00::1%eth0', 'unknown'],
  ['203.0.113.7, [fd00::1', 'unknown'],
  ['203.0.113.7, fd00::1]', 'unknown'],
  ['203.0.113.7, [fd00::1]80', 'unknown'],
  ['203.0.113.7, [fd00::1]:', 'unknown'],
  ['203.0.113.7, :10.0.0.1', 'unknown'],
  ['203.0.113.7, 10.0.0.1:', 'unknown'],
  ['203.0.113.7, 10.0.0.1:65536', 'unknown'],
  ['203.0.113.7, 10.0.0.1:+80', 'unknown'],
  ['203.0.113.7, 10.0.0.1:080808', 'unknown'],
  ['for=203.0.113.7', 'unknown'],
])

export const FORWARDED: readonly ForwardedCase[] = cases([
  // Examples of RFC 7239 section 4
  ['for="_gazonk"', '_gazonk'],
  ['For="[2001:db8:cafe::17]:4711"', ipv6, { port: 4711 }],
  ['for=192.0.2.60;proto=http;by=203.0.113.43', '192.0.2.60', { proto: 'http' }],
  ['for=192.0.2.43, for=198.51.100.17', '198.51.100.17'],
  ['for=192.0.2.43,for="[2001:db8:cafe::17]",for=unknown', 'unknown'],
  ['for=_hidden, for=_SEVKISEK', '_SEVKISEK'],
  // One element contains everything about one hop
  ['for=203.0.113.7;proto=HTTPS;host=example.com', '203.0.113.7', { proto: 'https', host: 'example.com' }],
  ['host="example.com:8443" ; proto=https ; for="203.0.113.7:80"', '203.0.113.7', { port: 80, proto: 'https', host: 'example.com:8443' }],
  ['for=203.0.113.7;proto=https, for=10.0.0.2;proto=http', '203.0.113.7', { proto: 'https' }],
  ['for=203.0.113.7;host=a, for="[fd00::2]:80";host=b', '203.0.113.7', { host: 'a' }],
  ['for=1.1.1.1;proto=https;host=evil, for=203.0.113.7;proto=http', '203.0.113.7', { proto: 'http' }],
  ['for=203.0.113.7;secret="a,b;c=\\"d\\""', '203.0.113.7'],
  ['for=10.0.0.9;proto=https, for=10.0.0.2', '10.0.0.9', { proto: 'https' }],
  [';;for=203.0.113.7;;', '203.0.113.7'],
  ['', null],
  [' , ', null],
  // A client's quotation mark does not swallow what the proxy adds
  ['for=", for=203.0.113.7', '203.0.113.7'],
  ['for=", for="[2001:db8:cafe::17]:4711"', ipv6, { port: 4711 }],
  ['for="\\, for="203.0.113.7:1"', '203.0.113.7', { port: 1 }],
  ['for="a\\\\", for=203.0.113.7', '203.0.113.7'],
  ['proto=https;for=", for=203.0.113.7;proto=http', '203.0.113.7', { proto: 'http' }],
  // A hop that cannot be read
  ['proto=https', 'unknown', { proto: 'https' }],
  ['for=;proto=https', 'unknown'],
  ['for=203.0.113.7;for=10.0.0.1', 'unknown'],
  ['for=203.0.113.7, for=10.0.0.2;FOR=1.1.1.1', 'unknown'],
  ['for=203.0.113.7, for = 10.0.0.2', 'unknown'],
  ['for=203.0.113.7, for=fd00::2', 'unknown'],
  ['for=203.0.113.7, for=10.0.0.2:80', 'unknown'],
  ['for=203.0.113.7, for="10.0.0.2', 'unknown'],
  ['for=203.0.113.7, for=10.0.0.2"', 'unknown'],
  ['for=203.0.113.7, 10.0.0.2', 'unknown'],
  ['for=203.0.113.7, for="[10.0.0.2]"', 'unknown'],
  ['for=203.0.113.7, for=010.0.0.2', 'unknown'],
  ['203.0.113.7', 'unknown'],
  [`for=203.0.113.7, ${many('for=10.0.0.2', 32)}`, 'unknown'],
])
