// Unknown options of a server and of its start and stop, and options with invalid values.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chaos } from '../../../dev/src/index.ts'
import { HttpServer } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'

const quiet = { logger: null }

test('options that do not exist are refused', () => {
  assert.throws(() => new HttpServer({ onEror: () => '' } as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new HttpServer(3000 as never), { code: 'WEIR_OPTION_INVALID' })
  const wrong = [
    { logger: 'x' },
    { logger: {} },
    { onError: 'x' },
    { jsonEngine: { serialize: JSON.stringify } },
    { debug: 'yes' },
    { sharedReceiveBuffer: 0 },
  ]
  for (const options of wrong)
    assert.throws(() => new HttpServer(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  assert.throws(() => new HttpServer('127.0.0.1', '3000' as never), /"3000"/)
  assert.throws(() => new HttpServer().use({} as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new HttpServer().use({ name: 'late', install: async () => {} }), { code: 'WEIR_OPTION_INVALID' })
})

test('an invalid address is refused: the system would listen on all of its addresses', () => {
  for (const address of ['', null, 5, false] as never[]) {
    const refused = { code: 'WEIR_OPTION_INVALID', message: /address is / }
    assert.throws(() => new HttpServer({ ...quiet, address }), refused, String(address))
    assert.throws(() => new HttpServer({ ...quiet, listen: [{ address }] }), refused, String(address))
  }
  assert.throws(() => new HttpServer('', 0, quiet), { code: 'WEIR_OPTION_INVALID' })
})

test('options of stop, run, connect and chaos that do not exist are refused', async () => {
  const server = new HttpServer(quiet)
  const refused = { code: 'WEIR_OPTION_INVALID' }
  await server.start()
  await assert.rejects(server.stop({ graceMS: 0 } as never), refused)
  assert.equal(server.isListening, true)
  await server.stop()
  await assert.rejects(server.run({ signal: ['SIGINT'] } as never), refused)
  assert.equal(server.isListening, false)
  assert.throws(() => connect(server, { cookie: true } as never), refused)
  await assert.rejects(chaos(server, { requests: ['/'], run: 1 } as never), refused)
})

test('an invalid grace period is refused, and the server continues', async () => {
  const server = new HttpServer(quiet)
  await server.start()
  for (const graceMs of [Number.NaN, '5 s', '5', -1, null] as never[]) {
    await assert.rejects(server.stop({ graceMs }), { code: 'WEIR_OPTION_INVALID', message: /graceMs is / }, String(graceMs))
    await assert.rejects(server.run({ graceMs }), { code: 'WEIR_OPTION_INVALID', message: /graceMs is / }, String(graceMs))
  }
  assert.equal(server.isListening, true)
  await server.stop()
})

test('signals without possible listeners are refused before the server starts', async () => {
  const server = new HttpServer(quiet)
  for (const [signals, message] of [
    [['SIGTERM', 'SIGKILL'], /a process cannot handle SIGKILL/],
    [['SIGSTOP'], /a process cannot handle SIGSTOP/],
    [['SIGFOO'], /"SIGFOO" is not a signal/],
    [[2], /2 is not a signal/],
    ['SIGINT', /"SIGINT", not a list/],
  ] as const) {
    const before = process.listenerCount('SIGTERM')
    await assert.rejects(server.run({ signals: signals as never }), { code: 'WEIR_OPTION_INVALID', message })
    assert.deepEqual([server.isListening, process.listenerCount('SIGTERM')], [false, before])
  }
})
