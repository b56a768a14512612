// What a client has sent over HTTP/2 may wait for a turn of the event loop, because other clients come first. The client is not slow meanwhile.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { MOST_UNTOLD, requestTurns, untold } from '../../src/http/work-turns.ts'
import {
  ACK,
  DATA,
  END_HEADERS,
  END_STREAM,
  encodeFields,
  encodeFrame,
  HEADERS,
  PREFACE,
  RawHttp2,
  SETTINGS,
} from '../support/http2-client.ts'
import { Http2OnClock } from '../support/http2-on-clock.ts'
import { eventually } from '../support/serving.ts'

const head = (method: string): (readonly [string, string])[] => [
  [':method', method],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', '/'],
]
const request = (stream: number): Buffer => encodeFrame(HEADERS, END_HEADERS | END_STREAM, stream, encodeFields(head('GET')))

/** Each turn has done its work, until the result is called. */
function busyTurns(t: TestContext): { readonly waiting: (() => void)[]; end(): void } {
  const waiting: (() => void)[] = []
  const isOver = t.mock.getter(requestTurns, 'isOver', () => true)
  t.mock.method(requestTurns, 'wait', (_: string, begin: () => void) => void waiting.push(begin))
  untold.work = MOST_UNTOLD
  return {
    waiting,
    end() {
      isOver.mock.restore()
      untold.work = 0
      for (const begin of waiting) begin()
    },
  }
}

test('minBodyRate: a body that waits to be read is not slow', async (t) => {
  const server = await Http2OnClock.start(t, (one) => one.mapGet('/', () => 'hello').mapPost('/', (_, { request }) => request.bodyLength))
  const client = (await RawHttp2.connect(t, server.port)).send(request(1))
  assert.equal(await client.body(1), 'hello')
  await client.until(() => client.frames.some(({ type, flags }) => type === SETTINGS && (flags & ACK) !== 0), 'the acknowledgement')
  const turns = busyTurns(t)
  const begin = encodeFrame(HEADERS, END_HEADERS, 3, encodeFields(head('POST')))
  client.send(Buffer.concat([begin, encodeFrame(DATA, END_STREAM, 3, Buffer.alloc(5_000))]))
  await eventually(() => turns.waiting.length === 1, 'the wait for a turn')
  for (let second = 0; second < 20; second++) await server.elapse(1_000)
  turns.end()
  assert.equal(await client.body(3), '5000')
  assert.deepEqual(server.reported, [])
})

test('headersTimeout: an acknowledgement of our settings that waits to be read is not late', async (t) => {
  const server = await Http2OnClock.start(t, (one) => one.mapGet('/', () => 'hello'))
  const turns = busyTurns(t)
  const client = await RawHttp2.connectSilently(t, server.port)
  client.send(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), request(1), request(3), encodeFrame(SETTINGS, ACK, 0)]))
  await eventually(() => turns.waiting.length === 1, 'the wait for a turn')
  for (let second = 0; second < 20; second++) await server.elapse(1_000)
  turns.end()
  assert.deepEqual([await client.body(1), await client.body(3)], ['hello', 'hello'])
  for (let second = 0; second < 20; second++) await server.elapse(1_000, client)
  assert.deepEqual([server.reported, client.isClosed], [[], false])
})
