// What a recording keeps of an exchange in progress does not depend on how a client cuts its bytes.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { type RawExchange, RecordedConnection } from '../../src/net/inject/recorded-connection.ts'
import { growthOf } from '../support/memory-growth.ts'

const BYTES = 200_000
const HEAD = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'
const CONTENT = Array.from({ length: BYTES }, (_, i) => String.fromCharCode(97 + (i % 26))).join('')

function recorded() {
  const kept: RawExchange[] = []
  const tap = { maxBytes: 1024 * 1024, wants: () => true, keep: (exchange: RawExchange) => void kept.push(exchange), skip: () => {} }
  const connection = new RecordedConnection(tap, { isSecure: false, endpoint: null }, () => {})
  const receive = (text: string): void => connection.received(Buffer.from(text), text.length)
  return { connection, kept, receive }
}

test('a request that arrives byte by byte takes memory for its bytes, and all of it is kept in order', async () => {
  const { connection, kept, receive } = recorded()
  receive(HEAD)
  const grown = await growthOf(() => {
    for (const letter of CONTENT) receive(letter)
  })
  assert.ok(grown <= 2 * BYTES + 512 * 1024, `${grown} bytes for ${BYTES}`)
  receive('GET /next')
  connection.requestEnded('GET /next'.length)
  connection.sent(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  const { pieces } = kept[0]!
  assert.ok(pieces.map(({ bytes }) => bytes.toString()).join('') === HEAD + CONTENT)
  assert.ok(pieces.every(({ atMs }, i) => i === 0 || atMs >= pieces[i - 1]!.atMs))
  receive(' HTTP/1.1\r\n\r\n')
  connection.requestEnded(0)
  connection.sent(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  assert.equal(kept[1]!.pieces.map(({ bytes }) => bytes.toString()).join(''), 'GET /next HTTP/1.1\r\n\r\n')
})

test('a response that is sent byte by byte takes memory for its bytes, and all of it is kept in order', async () => {
  const { connection, kept, receive } = recorded()
  receive('GET / HTTP/1.1\r\n\r\n')
  connection.requestEnded(0)
  connection.sent(Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'))
  const grown = await growthOf(() => {
    for (const letter of CONTENT) connection.sent(Buffer.from(`1\r\n${letter}\r\n`))
  })
  assert.ok(grown <= 2 * BYTES + 512 * 1024, `${grown} bytes for ${BYTES}`)
  connection.sent(Buffer.from('0\r\n\r\n'))
  assert.equal(kept[0]!.response.body?.toString(), CONTENT)
})
