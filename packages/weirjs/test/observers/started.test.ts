// `started` of an observer: called each time a server has started, before `start` resolves.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'

test('started is called each time the server listens, and a failure is reported once', async () => {
  const told: string[] = []
  const server = new HttpServer('127.0.0.1', 0, { logger: { error: (message, detail) => told.push(`${message}: ${String(detail)}`) } })
  server.observe({ end() {}, started: () => Promise.reject(new Error('async')) })
  server.observe({
    end() {},
    started() {
      throw new Error('sync')
    },
  })
  server.observe({ end() {}, started: () => told.push(`${server.endpoints.length} ${server.isListening}`) })
  server.group('/below').observe({ end() {}, started: () => told.push('group') })
  for (let start = 0; start < 2; start++) {
    await server.start()
    told.push('start')
    await server.stop()
  }
  assert.deepEqual(
    told.filter((one) => !one.startsWith('weir:')),
    ['1 true', 'group', 'start', '1 true', 'group', 'start'],
  )
  assert.deepEqual(told.filter((one) => one.startsWith('weir:')).sort(), [
    'weir: an observer failed: Error: async',
    'weir: an observer failed: Error: sync',
  ])
})

test('started is not called where a start has failed, nor for requests that come without one', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  let calls = 0
  const server = new HttpServer('127.0.0.1', port, { logger: null }).observe({ end() {}, started: () => void calls++ })
  await assert.rejects(server.start(), { code: 'EADDRINUSE' })
  await server.inject('/')
  assert.equal(calls, 0)
  assert.throws(() => server.observe({ end() {}, started: 1 as never }), { code: 'WEIR_OPTION_INVALID' })
})
