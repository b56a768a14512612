// What another protocol writes to a client that does not read: however small the pieces are, a writer that waits for `drain` keeps few of them.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'

import type { HttpServer } from '../../src/index.ts'
import { encodeFields, encodeFrame, HEADERS, RawHttp2 } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n'
const ROUNDS = 3
/** A stream of Node would keep 16,384. */
const MOST = 256

/** Fills what the client and the systems between keep, and then writes single bytes. */
function writer() {
  const counts: number[] = []
  const ended = gate()
  let socket: Duplex | null = null
  let filled = 0
  let callbacks = 0
  const fill = (): void => {
    const piece = Buffer.alloc(1000, 46)
    for (; socket!.writableLength === 0; filled += piece.length) socket!.write(piece)
  }
  const writeOnes = (): void => {
    let count = 0
    let goesOn = true
    for (; goesOn && count < 20_000; count++) {
      const letter = String.fromCharCode(97 + (count % 26))
      goesOn = count % 3 === 0 ? socket!.write(letter, () => callbacks++) : socket!.write(Buffer.from(letter))
    }
    counts.push(count)
    const next = (): void => {
      if (counts.length < ROUNDS) writeOnes()
      else {
        socket!.end()
        ended.open()
      }
    }
    if (goesOn)
      next() // the client reads by now
    else socket!.once('drain', next)
  }
  const map = (server: HttpServer): void => {
    server.mapGet('/', (_, { response }) =>
      response.upgrade('echo', (one) => {
        socket = one
        one.on('error', () => {})
        one.write(SWITCH)
        fill()
        writeOnes()
      }),
    )
  }
  const check = (text: string): void => {
    assert.ok(counts[0]! <= MOST, `${counts} pieces`)
    const rounds = counts.map((count) => Array.from({ length: count }, (_, i) => String.fromCharCode(97 + (i % 26))).join(''))
    assert.ok(text === '.'.repeat(filled) + rounds.join(''), 'all of it, in order')
    assert.equal(
      callbacks,
      counts.reduce((sum, count) => sum + Math.ceil(count / 3), 0),
    )
  }
  return { map, check, ended, isWaiting: () => counts.length > 0 }
}

inBothReadModes('pieces that are written', (serve) => {
  test('over HTTP/1.1, few wait', async (t) => {
    const { map, check, ended, isWaiting } = writer()
    const { connect } = await serve(t, map)
    const client = await connect()
    client.pause().send('GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n')
    await eventually(isWaiting, 'the client does not read')
    const all = client.resume().rest()
    await within(ended.promise, 'the drain')
    check((await all).slice(SWITCH.length))
  })
})

test('pieces that are written over HTTP/2: few wait', async (t) => {
  const { map, check, ended, isWaiting } = writer()
  const { server } = await serveHttp2(t, map)
  const client = await RawHttp2.connect(t, server.port)
  const head: [string, string][] = [
    [':method', 'CONNECT'],
    [':protocol', 'echo'],
    [':scheme', 'https'],
    [':authority', 'localhost'],
    [':path', '/'],
  ]
  client.send(encodeFrame(HEADERS, 4, 1, encodeFields(head)))
  await eventually(isWaiting, 'the window is closed')
  client.allow(1, 1_000_000)
  client.allow(0, 1_000_000)
  await within(ended.promise, 'the drain')
  check(await client.body(1))
})
