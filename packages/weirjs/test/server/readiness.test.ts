// `isReady` and `stop({ readyDelayMs })`: a load balancer learns that the server is about to stop while connections are still accepted.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { RawClient } from '../support/raw-client.ts'
import { gate, within } from '../support/serving.ts'

const FOREVER = 3_600_000

async function started(t: { after(end: () => unknown): void }) {
  const server = new HttpServer({ logger: null })
  const hold = gate()
  server
    .mapGet('/ready', (_, { server, response }) => response.status(server.isReady ? 200 : 503).text(String(server.isListening)))
    .mapGet('/hold', async () => {
      await hold.promise
      return 'held'
    })
  await server.start()
  const clients: RawClient[] = []
  t.after(() => {
    for (const client of clients) client.destroy()
    return server.stop({ graceMs: 0 })
  })
  const connect = async (): Promise<RawClient> => {
    const client = await RawClient.connect(server.port)
    clients.push(client)
    return client
  }
  return { server, hold, connect }
}

test('isReady is true while the server listens, and false as soon as stop is called', async (t) => {
  const { server } = await started(t)
  assert.equal(server.isReady, true)
  const stopped = server.stop()
  assert.deepEqual([server.isReady, server.isListening, server.stopping.aborted], [false, false, true])
  await stopped
  assert.equal(server.isReady, false)
  const starting = server.start()
  assert.equal(server.isReady, false)
  await starting
  assert.equal(server.isReady, true)
})

test('during readyDelayMs, only isReady changes', async (t) => {
  const { server, connect } = await started(t)
  const kept = await connect()
  await kept.get('/ready').message()
  const stopped = server.stop({ readyDelayMs: FOREVER })
  assert.deepEqual([server.isReady, server.isListening, server.stopping.aborted], [false, true, false])
  for (const client of [await connect(), kept, kept]) {
    const { status, text, header } = await client.get('/ready').message()
    assert.deepEqual([status, text, header('connection')], [503, 'true', null])
  }
  await assert.rejects(server.start(), { code: 'WEIR_SERVER_STATE' })
  const again = server.stop({ readyDelayMs: 1 })
  assert.deepEqual(await within(Promise.all([stopped, again]), 'the stop'), [{ aborted: 0 }, { aborted: 0 }])
  assert.equal(await kept.closed(), 'end')
})

test('after the delay the grace period begins', async (t) => {
  const { server, hold, connect } = await started(t)
  const client = await connect()
  client.get('/hold')
  await (await connect()).get('/ready').message()
  const stopped = server.stop({ readyDelayMs: 5, graceMs: FOREVER })
  await within(new Promise((resolve) => server.stopping.addEventListener('abort', resolve)), 'the end of the delay')
  assert.deepEqual([server.isReady, server.isListening], [false, false])
  hold.open()
  assert.equal((await client.message()).text, 'held')
  assert.deepEqual(await stopped, { aborted: 0 })
})

test('a second stop with a graceMs makes the delay and the grace period end earlier', async (t) => {
  const { server, connect } = await started(t)
  const client = await connect()
  client.get('/hold')
  await (await connect()).get('/ready').message()
  const stopped = server.stop({ readyDelayMs: FOREVER, graceMs: FOREVER })
  void server.stop()
  void server.stop({ readyDelayMs: FOREVER })
  assert.equal(server.isListening, true)
  void server.stop({ graceMs: 0 })
  assert.deepEqual(await within(stopped, 'the stop'), { aborted: 1 })
  assert.equal(await client.closed(), 'reset')
})

test('run accepts the delay, and a second signal ends it', { skip: process.platform === 'win32' }, async (t) => {
  const { server } = await started(t)
  // Not SIGUSR2, on which Node may write a report.
  const running = server.run({ signals: ['SIGHUP'], readyDelayMs: FOREVER })
  await new Promise((resolve) => setImmediate(resolve)) // until it handles the signal
  process.kill(process.pid, 'SIGHUP')
  await within(
    (async () => {
      while (server.isReady) await new Promise((resolve) => setTimeout(resolve, 1))
    })(),
    'the first signal',
  )
  assert.equal(server.isListening, true)
  process.kill(process.pid, 'SIGHUP')
  await within(running, 'the end of run')
})

test('code that is notified of the stop may call stop too', async (t) => {
  const { server } = await started(t)
  const calls: Promise<unknown>[] = []
  server.stopping.addEventListener('abort', () => calls.push(server.stop()))
  const report = await server.stop({ readyDelayMs: 1 })
  assert.equal(calls.length, 1)
  assert.equal(await calls[0], report)
})

test('a delay that is not a time is refused, and nothing has happened', async (t) => {
  const { server } = await started(t)
  for (const readyDelayMs of [-1, Number.NaN, '5' as never]) {
    await assert.rejects(server.stop({ readyDelayMs }), { code: 'WEIR_OPTION_INVALID', message: /stop\(\): readyDelayMs is/ })
    await assert.rejects(server.run({ readyDelayMs }), { code: 'WEIR_OPTION_INVALID', message: /run\(\): readyDelayMs is/ })
  }
  assert.equal(server.isReady, true)
})
