// What a certificate is for, and how addresses are written in it.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'

import { challengedName, identifierOf } from '../src/identifiers.ts'
import { StoredCertificate } from '../src/stored-certificate.ts'
import { challengeCertificate } from '../src/x509.ts'

const NOW = Date.UTC(2026, 0, 1)

/** The forms of one address: as it may be given, as it is written, and the server name of its handshake (RFC 8738 §6). */
const ADDRESSES = [
  ['192.0.2.7', '192.0.2.7', '7.2.0.192.in-addr.arpa'],
  ['2001:DB8::1', '2001:db8::1', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
  ['[::1]', '::1', `1.${'0.'.repeat(31)}ip6.arpa`],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '6.0.0.0.5.0.0.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
] as const

test('a certificate is for exactly the names and addresses that are wanted, however OpenSSL writes them', () => {
  for (const [given, value, name] of ADDRESSES) {
    const identifier = identifierOf(given, 'test')
    assert.deepEqual(identifier, { type: 'ip', value })
    assert.equal(challengedName(identifier), name)
    const { key, cert } = challengeCertificate(identifier, 'token.thumbprint', NOW)
    assert.equal(new X509Certificate(cert).checkIP(value), value)
    const stored = StoredCertificate.of(key, cert)
    assert.equal(stored.isFor([identifier]), true)
    assert.equal(stored.isFor([identifier, identifierOf('example.org', 'test')]), false)
    assert.equal(stored.isFor([identifierOf('192.0.2.8', 'test')]), false)
  }
})
