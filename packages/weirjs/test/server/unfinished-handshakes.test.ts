// TLS handshakes that never end.

import assert from 'node:assert/strict'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { within } from '../support/serving.ts'

const quiet = { logger: null }

test('stop does not wait longer than graceMs for clients that have sent a PROXY header and nothing of a handshake', async (t) => {
  const listen = [{ tls: { key, cert }, proxyProtocol: 'required' }] as const
  const server = new HttpServer({ ...quiet, listen, proxies: { trust: ['loopback'] }, timeouts: { headersTimeout: null } })
  await server.start()
  const silent = connectTcp(server.port, '127.0.0.1').on('error', () => {})
  t.after(() => silent.destroy())
  silent.write('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n')
  // By the end of another one's handshake, the server has read that.
  const other = connectTcp(server.port, '127.0.0.1').on('error', () => {})
  other.write('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n')
  await new Promise<void>((resolve) => connectTls({ socket: other, rejectUnauthorized: false }, resolve))
  other.destroy()
  assert.deepEqual(await within(server.stop({ graceMs: 100 }), 'the stop'), { aborted: 0 })
})

test('stop does not wait for TLS handshakes that never end', async (t) => {
  const server = new HttpServer({ ...quiet, tls: { key, cert }, timeouts: { headersTimeout: 200 } })
  await server.start()
  const silent = connectTcp(server.port, '127.0.0.1')
  t.after(() => silent.destroy())
  const gone = new Promise<void>((resolve) => silent.once('close', () => resolve()))
  silent.on('error', () => {})
  silent.resume()
  await within(gone, 'the end of a handshake that takes too long')
  const second = connectTcp(server.port, '127.0.0.1')
  second.on('error', () => {})
  t.after(() => second.destroy())
  await new Promise<void>((resolve) => second.once('connect', () => resolve()))
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
})
