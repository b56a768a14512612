import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { chaos, record, replay } from '../src/index.ts'

test('a folder without exchanges is an error: a test that replays nothing would pass', async (t) => {
  const folder = temporaryDirectory(t)
  await assert.rejects(replay(new HttpServer(), folder), { code: 'WEIR_OPTION_INVALID', message: /there are no exchanges in / })
})

test('a filter that leaves no exchange is an error, too, and so is one that returns a promise', async (t) => {
  const folder = temporaryDirectory(t)
  const server = new HttpServer({ logger: null }).mapGet('/', () => 'home')
  const recording = record(server, { to: folder })
  await server.inject('/')
  await recording.stop()
  assert.equal((await replay(server, folder, { filter: ({ target }) => target === '/' })).exchanges, 1)
  const nothing = replay(server, folder, { filter: ({ target }) => target === '/other' })
  await assert.rejects(nothing, { code: 'WEIR_OPTION_INVALID', message: /replay\(\): filter leaves none of the 1 exchange$/ })
  const later = replay(server, folder, { filter: (async () => true) as unknown as () => boolean })
  await assert.rejects(later, { code: 'WEIR_OPTION_INVALID', message: /replay\(\): filter returned a promise, not true or false$/ })
})

test('chaos without a run is an error', async () => {
  const running = chaos(new HttpServer({ logger: null }), { requests: ['/'], runs: 0 })
  await assert.rejects(running, { code: 'WEIR_OPTION_INVALID', message: /runs is 0, not a whole number of at least 1$/ })
})

test('a sample that returns a promise records nothing, and the process is warned', async (t) => {
  const warned = once(process, 'warning')
  const server = new HttpServer({ logger: null }).mapGet('/', () => 'home')
  const sample = (async () => true) as unknown as () => boolean
  const recording = record(server, { to: temporaryDirectory(t), sample })
  await server.inject('/')
  const [warning] = (await warned) as [Error]
  assert.match(warning.message, /record\(\): sample has thrown: .*record\(\): sample returned a promise, not true or false$/)
  assert.equal((await recording.stop()).exchanges, 0)
})
