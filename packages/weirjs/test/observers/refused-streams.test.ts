// Streams of HTTP/2 that are refused with REFUSED_STREAM: one record for each, whatever the client does with them afterwards.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import type { HttpServer } from '../../src/index.ts'
import { encodeFields, RawHttp2, RST_STREAM } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { Observed, outlineOf } from '../support/observed.ts'
import { eventually, gate } from '../support/serving.ts'

const head = (method: string): (readonly [string, string])[] => [
  [':method', method],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/wait'],
]

const REFUSED = ['head', null, null, 'HTTP/2.0', null, 'refused', 'WEIR_TOO_MANY_STREAMS', 0, 0]

interface Full {
  readonly server: HttpServer
  readonly client: RawHttp2
  readonly observed: Observed
  /** Lets the two requests end that are in progress. */
  release(): void
}

/** A connection with as many streams as it may have. */
async function fullConnection(t: TestContext): Promise<Full> {
  const observed = new Observed()
  const go = gate()
  const { server } = await serveHttp2(
    t,
    (one) => {
      observed.on(one)
      one.map(null, '/wait', () => go.promise.then(() => 'done'))
    },
    { limits: { maxConcurrentStreams: 2 } },
  )
  const client = await RawHttp2.connect(t, server.port)
  for (const stream of [1, 3]) client.headers(stream, head('GET'))
  await eventually(() => observed.begun.length === 2, 'both requests')
  return { server, client, observed, release: () => go.open() }
}

test('each refused stream has one record, with its code and without a begin', async (t) => {
  const { client, observed, release } = await fullConnection(t)
  for (const stream of [5, 7, 9]) client.headers(stream, head('GET'))
  await eventually(() => observed.ended.length >= 3, 'the records')
  release()
  assert.equal(await client.body(1), 'done')
  assert.equal(await client.body(3), 'done')
  await eventually(() => observed.ended.length >= 5, 'the other records')
  assert.equal(observed.begun.length, 2)
  const refused = observed.ended.filter(({ kind }) => kind === 'head')
  assert.deepEqual(refused.map(outlineOf), [REFUSED, REFUSED, REFUSED])
  for (const { requestId, session, connectionId, error } of refused) {
    assert.deepEqual([requestId, session, connectionId], [null, null, observed.begun[0]!.connectionId])
    assert.match(String(error), /maxConcurrentStreams is 2/)
  }
  assert.deepEqual(
    client.frames.filter(({ type }) => type === RST_STREAM).map(({ stream, payload }) => [stream, payload.readUInt32BE(0)]),
    [
      [5, 7],
      [7, 7],
      [9, 7],
    ],
  )
})

test('frames that the client has sent on it in the meantime add nothing', async (t) => {
  const { client, observed, release } = await fullConnection(t)
  client.headers(5, head('POST'), false).data(5, 'body', false).data(5, 'more', true)
  client.headers(7, head('POST'), false).frame(RST_STREAM, 0, 7, Buffer.from([0, 0, 0, 8]))
  await eventually(() => observed.ended.length >= 2, 'the records')
  release()
  assert.equal(await client.body(1), 'done')
  await eventually(() => observed.ended.length >= 4, 'the other records')
  assert.deepEqual(observed.ended.filter(({ kind }) => kind === 'head').map(outlineOf), [REFUSED, REFUSED])
})

test('neither does a violation that ends the connection in the same bytes', async (t) => {
  const { client, observed, release } = await fullConnection(t)
  const fields = encodeFields(head('GET'))
  const frame = (type: number, stream: number, payload: Buffer): Buffer => {
    const bytes = Buffer.alloc(9)
    bytes.writeUIntBE(payload.length, 0, 3)
    bytes[3] = type
    bytes[4] = 5
    bytes.writeUInt32BE(stream, 5)
    return Buffer.concat([bytes, payload])
  }
  client.send(Buffer.concat([frame(1, 5, fields), frame(1, 4, fields)])) // an even stream is the server's
  await client.until(() => client.isClosed, 'the end of the connection')
  release()
  await eventually(() => observed.ended.length >= 4, 'all records')
  assert.deepEqual(observed.ended.filter(({ kind }) => kind === 'head').map(outlineOf), [REFUSED])
  assert.deepEqual(
    observed.ended.filter(({ kind }) => kind === 'connection').map(({ code }) => code),
    ['WEIR_HTTP2_VIOLATION'],
  )
})
