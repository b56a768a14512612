// A request that declares that it has no body, and does not end with its head (RFC 9113 §8.1.1).

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import {
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  HEADER_TABLE_SIZE,
  HEADERS,
  RawHttp2,
  RST_STREAM,
  statusOf,
} from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'

const PROTOCOL_ERROR = 1

const head = (method: string, length = '0'): [string, string][] => [
  [':method', method],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'localhost'],
  ['content-length', length],
]

async function begin(t: TestContext): Promise<{ clock: Http2OnClock; client: RawHttp2; calls: string[] }> {
  const calls: string[] = []
  const clock = await Http2OnClock.start(t, (server) => {
    for (const map of ['mapGet', 'mapPost', 'mapDelete'] as const) server[map]('/', (_, { request }) => void calls.push(request.method))
    server.mapPut('/', { body: 'stream' }, (_, { request }) => void calls.push(request.method))
  })
  const client = await RawHttp2.connect(t, clock.port, { [HEADER_TABLE_SIZE]: 0 })
  return { clock, client, calls }
}

/** What the client is told on a stream, in order. */
const told = ({ frames }: RawHttp2, stream: number): (string | number)[] =>
  frames
    .filter((frame) => frame.stream === stream && [HEADERS, RST_STREAM, DATA].includes(frame.type))
    .map((frame) => (frame.type === HEADERS ? statusOf(frame) : frame.type === DATA ? 'data' : `reset ${frame.payload.readUInt32BE()}`))

for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
  test(`${method}: a body that was not declared is refused, and nothing is answered before`, async (t) => {
    const { client, calls } = await begin(t)
    client.headers(1, head(method), false)
    await client.frame(6, 0, 0, Buffer.alloc(8)).until(() => client.frames.some(({ type }) => type === 6), 'a PING that follows the head')
    assert.deepEqual([told(client, 1), calls], [[], []])
    client.data(1, 'x', true)
    await client.until(() => told(client, 1).length > 0, 'a reset')
    assert.deepEqual([told(client, 1), calls], [[`reset ${PROTOCOL_ERROR}`], []])
  })

  test(`${method}: an end without a body is answered, with and without trailers`, async (t) => {
    const { client, calls } = await begin(t)
    client.headers(1, head(method), false).data(1, '', true)
    client.headers(3, head(method), false).frame(HEADERS, END_HEADERS | END_STREAM, 3, encodeFields([['a', 'b']]))
    client.headers(5, head(method))
    for (const stream of [1, 3, 5]) await client.body(stream)
    assert.deepEqual(
      [1, 3, 5].map((stream) => told(client, stream)[0]),
      [204, 204, 204],
    )
    assert.deepEqual(calls, [method, method, method])
  })
}

test('a body that has its declared length is answered only once it has ended, and not if more follows', async (t) => {
  const { client, calls } = await begin(t)
  client.headers(1, head('POST', '1'), false).data(1, 'x')
  client.headers(3, head('POST', '1'), false).data(3, 'x').data(3, 'y', true)
  client.headers(5, head('POST', '1'), false).data(5, 'x').data(5, '', true)
  await client.body(3)
  await client.body(5)
  assert.deepEqual(
    [1, 3, 5].map((stream) => told(client, stream)[0]),
    [undefined, `reset ${PROTOCOL_ERROR}`, 204],
  )
  assert.deepEqual(calls, ['POST'])
})

test('a client that never ends such a request is too slow', async (t) => {
  const { clock, client, calls } = await begin(t)
  client.headers(1, head('POST'), false)
  await clock.elapse(20_000, client)
  await client.until(() => told(client, 1).length > 0, 'a response')
  assert.deepEqual([told(client, 1)[0], calls], [408, []])
})
