// Requests that wait until their client has read more of its responses, while nothing more can be written.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, RawHttp2, RST_STREAM } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually } from '../support/serving.ts'

const LARGE = Buffer.alloc(40_000_000)
/** The heads of all these responses are more than a connection holds. */
const REQUESTS = 90
const HEAD = 'v'.repeat(6_000)

const GET = (path: string): [string, string][] => [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', path],
  [':authority', 'localhost'],
]

/** How many callbacks of setImmediate are due. */
function dueImmediates(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Immediate').length
}

test('a client that does not read costs nothing while requests wait', async (t) => {
  let calls = 0
  let looks = 0
  const { server } = await serveHttp2(t, (it) => {
    it.mapGet('/large', () => LARGE)
    it.mapGet('/head', (_, { response }) => {
      calls++
      return response.header('X-Large', HEAD).text('')
    })
  })
  const client = await RawHttp2.connect(t, server.port, { [HEADER_TABLE_SIZE]: 0, [INITIAL_WINDOW_SIZE]: 2 ** 30 })
  client
    .pause()
    .allow(0, 2 ** 30)
    .headers(1, GET('/large'))
  for (let i = 1; i <= REQUESTS; i++) client.headers(2 * i + 1, GET('/head'))
  await eventually(() => ++looks > 80, 'as much of it is written as the client takes')
  // Much less of the large response waits after that, so that the others begin.
  client.frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, 8]))
  await eventually(() => calls > 0, 'the first request that has waited')
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.ok(dueImmediates() < 10, `${dueImmediates()} callbacks are due`)
  client.resume()
  await eventually(() => calls === REQUESTS, 'the last request')
})
