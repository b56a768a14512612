// `stopped` of an observer: called when a server has stopped, after the last record, and awaited.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { gate } from '../support/serving.ts'

test('stop waits for observers, one after the other, and a failure is reported', async () => {
  const told: string[] = []
  const server = new HttpServer('127.0.0.1', 0, { logger: { error: (message, detail) => told.push(`${message}: ${String(detail)}`) } })
  const written = gate()
  server.observe({
    end: ({ status }) => told.push(`end ${status}`),
    async stopped() {
      await written.promise
      told.push('first')
    },
  })
  server.observe({ end() {}, stopped: () => Promise.reject(new Error('full')) })
  server.observe({
    end() {},
    stopped() {
      told.push(`last, listening: ${server.isListening}`)
    },
  })
  server.mapGet('/', () => 'ok')
  for (let start = 0; start < 2; start++) {
    await server.start()
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { headers: { connection: 'close' } })
    assert.equal(await response.text(), 'ok')
    const stopped = server.stop().then(() => told.push('stopped'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (start === 0) assert.equal(told.includes('stopped'), false)
    written.open()
    await stopped
  }
  assert.deepEqual(told, [
    'end 200',
    'first',
    'weir: an observer failed: Error: full',
    'last, listening: false',
    'stopped',
    'end 200',
    'first',
    'last, listening: false',
    'stopped',
  ])
})

test('stopped must be a function', () => {
  assert.throws(() => new HttpServer().observe({ end() {}, stopped: true as never }), {
    code: 'WEIR_OPTION_INVALID',
    message: /stopped is true/,
  })
})
