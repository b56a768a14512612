// A module on a group can use everything that it can use on a server.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type ModuleHost } from '../../src/index.ts'
import { Observed } from '../support/observed.ts'

test('a module on a group can ask whether the server is ready, observe it and stop it', async (t) => {
  const server = new HttpServer({ logger: null })
  const observed = new Observed()
  let host!: ModuleHost
  server.group('/api').use({
    name: 'observer',
    install(given) {
      host = given
      given.observe({ begin: (start) => observed.begun.push(start), end: (record) => observed.ended.push(record) }).mapGet('/x', () => 'x')
    },
  })
  server.mapGet('/elsewhere', () => '')
  assert.equal(host.isReady, false)
  await server.start()
  t.after(() => server.stop())
  assert.equal(host.isReady, true)
  for (const path of ['/api/x', '/elsewhere']) await server.inject(path)
  assert.deepEqual(
    observed.ended.map(({ route }) => route),
    ['GET /api/x', 'GET /elsewhere'], // observers are the server's
  )
  const stopping = host.stop({ readyDelayMs: 60_000 })
  assert.deepEqual([host.isReady, host.isListening], [false, true])
  await host.stop({ graceMs: 0 })
  await stopping
})

test('a module that installs itself later is refused, whatever kind of promise it returns', () => {
  // biome-ignore lint/suspicious/noThenProperty: that is what is tested
  const thenable = { then() {} }
  assert.throws(() => new HttpServer().use({ name: 'later', install: () => thenable as never }), /"later" returned a promise/)
})
