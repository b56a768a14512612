// Sends every case of the table for WebSockets to an echo, over HTTP/1.1 and HTTP/2, and checks all that comes back. Small cases are also sent byte
// by byte.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { cert, key } from '../support/certificate.ts'
import { overHttp1, overHttp2, type SocketOrigin } from '../support/socket-visit.ts'
import { isThinned } from '../support/thinned.ts'
import { BEYOND_CASES, type BeyondCase } from './websocket/beyond.ts'
import { COMPRESSION_CASES, Compression, type CompressionCase } from './websocket/compression.ts'
import { FRAME_CASES } from './websocket/frames.ts'
import { SIZE_CASES } from './websocket/sizes.ts'
import { CLOSED, closing, lineOf } from './websocket/step.ts'
import { TEXT_CASES } from './websocket/texts.ts'

const OPTIONS = { maxMessageSize: '16MiB', maxQueuedSize: '64MiB', perMessageDeflate: true } as const
const CASES: readonly BeyondCase[] = [...FRAME_CASES, ...TEXT_CASES, ...BEYOND_CASES]

/** Of the large cases, which take long, one in so many where all quick tests run. */
const ONE_IN = isThinned ? 9 : 1
/** Of a case with compression. */
const MESSAGES = isThinned ? 3 : 20
/** Messages from here on come back compressed. */
const COMPRESSED_FROM = 1024

const logged: unknown[] = []
const servers: HttpServer[] = []

async function start(options: { readonly tls?: object; readonly http2?: boolean }): Promise<number> {
  const server = new HttpServer({ hosts: 'any', logger: { error: (...all: unknown[]) => logged.push(all) }, ...options } as object)
  server.use(websocket('/', { ...OPTIONS, message: (socket, data) => void socket.send(data) }))
  await server.start()
  servers.push(server)
  return server.port
}

after(async () => {
  for (const server of servers) await server.stop({ graceMs: 0 })
  assert.deepEqual(logged, [])
})

async function check(origin: SocketOrigin, { sent, heard, offer = '' }: BeyondCase, isByteByByte: boolean): Promise<void> {
  const visit = await origin.open(offer)
  await (isByteByByte ? visit.sendBytes(Buffer.concat(sent)) : visit.send(sent))
  await visit.ended()
  visit.leave()
  assert.deepEqual(
    visit.frames.map(({ opcode, payload }) => lineOf(opcode, payload)),
    heard,
  )
}

/** Messages there and back, one after the other. */
async function checkCompressed(origin: SocketOrigin, one: CompressionCase): Promise<void> {
  const visit = await origin.open(one.offer)
  assert.equal(visit.accepted, one.accepted)
  const client = new Compression(visit.accepted)
  for (let i = 0; i < MESSAGES; i++) {
    const message = one.message(i)
    await visit.send(await client.frames(one.opcode, message, one.fragment))
    await visit.heard(i + 1)
    const { opcode, compressed, payload } = visit.frames[i]!
    assert.equal(compressed, one.size >= COMPRESSED_FROM)
    const back = compressed ? await client.inflated(payload) : payload
    assert.equal(lineOf(opcode, back), lineOf(one.opcode, message))
  }
  await visit.send([closing(1000)])
  await visit.ended()
  visit.leave()
  assert.deepEqual(
    visit.frames.slice(MESSAGES).map(({ opcode, payload }) => lineOf(opcode, payload)),
    [CLOSED],
  )
}

const ORIGINS: readonly (readonly [protocol: string, open: () => Promise<SocketOrigin>])[] = [
  ['HTTP/1.1', async () => overHttp1(await start({}))],
  ['HTTP/2', async () => overHttp2(await start({ tls: { key, cert }, http2: true }))],
]

for (const [protocol, open] of ORIGINS)
  describe(`WebSocket over ${protocol}`, () => {
    let origin: SocketOrigin
    before(async () => {
      origin = await open()
    })
    after(() => origin.close())

    for (const one of CASES)
      test(`${one.id}: ${one.title}`, async () => {
        await check(origin, one, false)
        if (one.isLarge !== true && !isThinned) await check(origin, one, true)
      })
    for (const [i, { id, title, make }] of SIZE_CASES.entries())
      if (i % ONE_IN === 0) test(`${id}: ${title}`, () => check(origin, make(), false))
    for (const [i, one] of COMPRESSION_CASES.entries())
      if (i % ONE_IN === 0) test(`${one.id}: ${one.title}`, () => checkCompressed(origin, one))
  })

test('the table has the cases of the suite', () => {
  const ids = [...CASES, ...SIZE_CASES, ...COMPRESSION_CASES].map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(ids.length - BEYOND_CASES.length, 517)
})
