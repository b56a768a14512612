// The state of a server while it starts, and what `run` does with a start that is already in progress.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { within } from '../support/serving.ts'

const quiet = { logger: null }

test('isListening is false until every endpoint is bound', async (t) => {
  const server = new HttpServer({ ...quiet, listen: [{ port: 0 }, { port: 0 }] })
  t.after(() => server.stop({ graceMs: 0 }))
  assert.equal(server.isListening, false)
  const started = server.start()
  assert.equal(server.isListening, false)
  await started
  assert.equal(server.isListening, true)
  await server.stop()
  assert.equal(server.isListening, false)
})

test('isListening is never true when the port is taken', async (t) => {
  const first = new HttpServer(quiet)
  await first.start()
  t.after(() => first.stop({ graceMs: 0 }))
  const second = new HttpServer('127.0.0.1', first.port, quiet)
  const started = second.start()
  assert.equal(second.isListening, false)
  await assert.rejects(started, { code: 'EADDRINUSE' })
  assert.equal(second.isListening, false)
})

test('run rejects with the error of a start in progress', async (t) => {
  const first = new HttpServer(quiet)
  await first.start()
  t.after(() => first.stop({ graceMs: 0 }))
  const second = new HttpServer('127.0.0.1', first.port, quiet)
  const errors: unknown[] = []
  second.start().catch((error: unknown) => errors.push(error))
  await assert.rejects(within(second.run(), 'the end of run'), { code: 'EADDRINUSE' })
  assert.equal(errors.length, 1)
})

test('run waits for a start in progress, and then for the stop', async () => {
  const server = new HttpServer(quiet)
  const started = server.start()
  const run = server.run()
  await started
  assert.equal(server.isListening, true)
  await server.stop()
  await within(run, 'the end of run')
})

test('run resolves when the server is stopped while it starts', async () => {
  const server = new HttpServer(quiet)
  const started = server.start()
  const run = server.run()
  const other = server.stop()
  await within(Promise.all([started, run, other]), 'the end of run')
  assert.equal(server.isListening, false)
})
