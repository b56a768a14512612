// Who makes room for whom when resumable streams have no more, and that nobody else is looked at.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { type ResumableOptions, ResumableStreams, sse } from '../../src/modules/sse/index.ts'
import { ResumableKey } from '../../src/modules/sse/resumable-key.ts'
import { eventually, gate } from '../support/serving.ts'

const OTHERS = 500

/** `/ID/KEY/ROUNDS` is a stream of the principal ID, with 1,000 bytes in each round; `open` in place of a number: it does not end. */
function serve(options: ResumableOptions) {
  const streams = new ResumableStreams({ onError: () => {}, ...options })
  const server = new HttpServer({ logger: null })
  const { promise: going, open: go } = gate()
  server.mapGet('/:id/:key/:rounds', ({ id, key, rounds }: { id: string; key: string; rounds: string }, session) => {
    session.principal = { scheme: 'test', id }
    const source = streams.resumable(`${id} ${key}`, async function* (signal) {
      yield 'x'.repeat(rounds === 'open' ? 1 : 872)
      if (rounds !== 'open') for (let n = Number(rounds); --n > 0; ) yield 'x'.repeat(872)
      else {
        await going
        for (let n = 0; n < 400 && !signal.aborted; n++) yield 'x'.repeat(872)
      }
    })
    return sse(session, source, { heartbeat: null })
  })
  const get = (path: string): Promise<Response> => server.fetch(new Request(`http://localhost${path}`))
  return { streams, get, go }
}

/** How often a key is asked whether it is idle. */
async function asksDuring(work: () => Promise<void>): Promise<number> {
  const { get } = Object.getOwnPropertyDescriptor(ResumableKey.prototype, 'isIdle') as { get: (this: ResumableKey) => boolean }
  let count = 0
  const counting = function (this: ResumableKey): boolean {
    count++
    return get.call(this)
  }
  Object.defineProperty(ResumableKey.prototype, 'isIdle', { configurable: true, get: counting })
  try {
    await work()
  } finally {
    Object.defineProperty(ResumableKey.prototype, 'isIdle', { configurable: true, get })
  }
  return count
}

test('a stream that is refused looks at no others', async () => {
  const { streams, get } = serve({ maxStreams: OTHERS })
  const open = await Promise.all(Array.from({ length: OTHERS }, (_, i) => get(`/other${i}/${i}/open`)))
  await Promise.all(open.map(async ({ body }) => body!.cancel()))
  assert.equal(streams.size, OTHERS)
  const asks = await asksDuring(async () => {
    for (let i = 0; i < 20; i++) assert.equal((await get(`/late/${i}/1`)).status, 503)
  })
  assert.ok(asks <= 20, `${asks} keys were asked`)
})

test('one client has a part of maxStreams, and ends none of what others may still read', async () => {
  const { streams, get } = serve({ maxStreams: 100 })
  assert.match(await (await get('/other/ended/1')).text(), /"reason":"done"/)
  const statuses: number[] = []
  for (let i = 0; i < 60; i++) statuses.push((await get(`/greedy/${i}/open`)).status)
  assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [39, 503])
  for (let i = 0; i < 150; i++) assert.match(await (await get(`/quick/${i}/1`)).text(), /"reason":"done"/)
  assert.ok(streams.size < 80, `${streams.size} streams`)
  assert.equal((await get('/another/1/open')).status, 200)
  const { size } = streams
  assert.match(await (await get('/other/ended/1')).text(), /"reason":"done"/)
  assert.equal(streams.size, size, 'it was still there')
})

test('one who may have no more ends none of what others may still read', async () => {
  const { streams, get, go } = serve({ maxMemory: OTHERS * 1_000 })
  const open = await get('/greedy/1/open')
  for (let i = 0; i < OTHERS - 1; i++) await (await get(`/other${i}/${i}/1`)).text()
  const before = streams.size
  const asks = await asksDuring(async () => {
    go()
    assert.match(await open.text(), /"reason":"failed"/)
  })
  // The part of the greedy one is 38 %, and there is no room for it unless others make it.
  const ended = before - streams.size
  assert.ok(ended > 0 && ended < OTHERS * 0.4, `${ended} of ${before} were ended`)
  assert.ok(asks < 5 * OTHERS, `${asks} keys were asked`)
  const last = OTHERS - 2
  assert.match(await (await get(`/other${last}/${last}/1`)).text(), /"reason":"done"/)
  await eventually(() => streams.size <= before, 'the streams')
})

test('those of the same client make room first', async () => {
  const { streams, get } = serve({ maxMemory: 20_000 })
  for (let i = 0; i < 10; i++) await (await get(`/other${i}/0/1`)).text()
  for (let i = 0; i < 6; i++) await (await get(`/own/${i}/1`)).text()
  await (await get('/own/new/5')).text()
  const { size } = streams
  assert.ok(size > 11 && size < 17, `${size} streams are left`)
  for (let i = 0; i < 10; i++) await (await get(`/other${i}/0/1`)).text()
  assert.equal(streams.size, size, 'those of others were still there')
})
