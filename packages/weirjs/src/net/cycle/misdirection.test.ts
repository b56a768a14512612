import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { DEFAULT_LIMITS } from '../../base/limits.ts'
import type { Head } from '../../wire/head/head.ts'
import { HeadReader } from '../../wire/head/head-reader.ts'

import { type Peer, STRANGER } from '../connections/peer.ts'
import { refusalOf } from './misdirection.ts'

function headOf(line: string, ...fields: string[]): Head {
  const bytes = Buffer.from([line, ...fields, '', ''].join('\r\n'), 'latin1')
  const head = new HeadReader().read(bytes, 0, bytes.length, DEFAULT_LIMITS)
  assert.ok(head !== null)
  return head
}

function codeOf(head: Head, isSecure = false, peer: Partial<Peer> = {}): string | null {
  const where = { isSecure, clientAddress: '', clientPort: 0, forwarding: null, peer: { ...STRANGER, ...peer }, host: { basePath: null } }
  return refusalOf(head, where)?.code ?? null
}

const GET = 'GET / HTTP/1.1'

test('an empty Host is refused, and HTTP/1.0 does not require a Host', () => {
  assert.equal(codeOf(headOf(GET, 'Host: a')), null)
  assert.equal(codeOf(headOf(GET, 'Host:')), 'WEIR_HOST_SYNTAX')
  assert.equal(codeOf(headOf('GET / HTTP/1.0', 'Host: ')), 'WEIR_HOST_SYNTAX')
  assert.equal(codeOf(headOf('GET / HTTP/1.0')), null)
})

test('the scheme of an absolute-form target is that of the connection', () => {
  for (const [target, isSecure, code] of [
    ['http://a/', false, null],
    ['http://a/', true, 'WEIR_MISDIRECTED'],
    ['https://a/', true, null],
    ['HTTPS://a/', false, 'WEIR_MISDIRECTED'],
    ['HTTP://a/', false, null],
    ['/https://a/', false, null],
    ['/', true, null],
  ] as const) {
    assert.equal(codeOf(headOf(`GET ${target} HTTP/1.1`, 'Host: a'), isSecure), code, `${target} ${isSecure}`)
  }
})

test('Host is the host that the connection is bound to', () => {
  const rows: readonly [boundHost: string, host: string, fits: boolean][] = [
    ['a.org', 'a.org', true],
    ['a.org', 'A.ORG:8443', true],
    ['a.org', 'a.org.', true],
    ['a.org', 'a.org.:8443', true],
    ['a.org', 'a.org..', false],
    ['a.org', 'b.org', false],
    ['a.org', 'www.a.org', false],
    ['a.org', '127.0.0.1', false],
    ['a.org', '[::1]:8443', false],
    // No server name was sent.
    ['', 'a.org', false],
    ['', 'localhost', false],
    ['', '127.0.0.1', true],
    ['', '127.0.0.1:8443', true],
    ['', '[::1]', true],
    ['', '[::1]:8443', true],
    ['', '127.0.0.1.nip.io', false],
    ['', '1.2.3', false],
  ]
  for (const [boundHost, host, fits] of rows) {
    assert.equal(codeOf(headOf(GET, `Host: ${host}`), true, { boundHost }), fits ? null : 'WEIR_MISDIRECTED', `${host} at ${boundHost}`)
  }
  assert.equal(codeOf(headOf('GET / HTTP/1.0'), true, { boundHost: 'a.org' }), 'WEIR_MISDIRECTED', 'no Host at all')
})

test('a trusted proxy may state any host and scheme for its clients', () => {
  const peer = { isTrustedProxy: true, boundHost: 'proxy.org' }
  assert.equal(codeOf(headOf(GET, 'Host:'), false, peer), null)
  assert.equal(codeOf(headOf('GET https://a/ HTTP/1.1', 'Host: a'), false, peer), null)
})
