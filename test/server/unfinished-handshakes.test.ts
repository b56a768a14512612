// TLS handshakes that never end.

import assert from 'node:assert/strict'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { within } from '../support/serving.ts'

const quiet = { logger: null }

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
