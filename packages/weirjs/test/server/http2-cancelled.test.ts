// HTTP/2 requests that are cancelled while they wait. In a separate file, because what other tests leave behind would count in the memory
// that is measured.

import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, within } from '../support/serving.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('nothing is kept of requests that were cancelled before they could begin', async (t) => {
  const ROUNDS = 10
  const STREAMS = 50
  const FIELD_BYTES = 16_000
  const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => 'x'.repeat(5 * 1024 * 1024)))
  const client = connectHttp2(`https://localhost:${server.port}`, { rejectUnauthorized: false, settings: { initialWindowSize: 0 } })
  client.on('error', () => {})
  t.after(() => client.destroy())
  const pong = (): Promise<void> => within(new Promise((resolve) => client.ping(() => resolve())), 'the acknowledgement of PING')
  const unread = client.request({ ':path': '/' }).on('error', () => {})
  await within(new Promise((resolve) => unread.once('response', resolve)), 'the head of the response that is not read')
  collectGarbage()
  const before = process.memoryUsage().external
  for (let round = 0; round < ROUNDS; round++) {
    // Each has a different text; otherwise the compression tables would hold one for all.
    const fields = Array.from({ length: STREAMS }, (_, i) => `${round}-${i}-`.padEnd(FIELD_BYTES, 'x'))
    const streams = fields.map((field) => client.request({ ':path': '/', 'x-field': field }).on('error', () => {}))
    await pong()
    for (const stream of streams) stream.close(8)
    await pong()
  }
  // The memory of buffers is given back by another thread, some time after they were found to be garbage.
  const kept = (): number => {
    collectGarbage()
    return process.memoryUsage().external - before
  }
  await eventually(() => kept() < (ROUNDS * STREAMS * FIELD_BYTES) / 4, 'the end of what was kept')
})
