// Which servers check more, and how often a mistake is reported.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, matchOf, routeOf, SERVER, tableOf } from '../../test/support/asked.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ServerHandle } from '../http/session.ts'
import { hasDebug, isStrict, reportMistake, setDebug, warnOf } from './debugged.ts'

function serverOf(debug: boolean): { server: ServerHandle; warned: string[] } {
  const server = { ...SERVER }
  const warned: string[] = []
  setDebug(server, debug, (mistake) => warned.push(mistake))
  return { server, warned }
}

/** The exchanges of one route of the server. */
function exchangesOf(server: ServerHandle, isTest = false): () => Exchange {
  const route = routeOf(tableOf({}), 'GET /a')
  return () => askedExchange(askedHead('GET /a'), matchOf(route), { server, isTest })
}

test('a mistake is an error in tests and with debug', () => {
  for (const [debug, isTest, strict] of [
    [false, false, false],
    [true, false, true],
    [false, true, true],
  ] as const) {
    const { server } = serverOf(debug)
    const exchange = exchangesOf(server, isTest)()
    assert.deepEqual([hasDebug(server), isStrict(exchange)], [debug, strict])
    const report = () => reportMistake(exchange, 'it is wrong')
    if (strict) assert.throws(report, { code: 'WEIR_RESULT_UNSENDABLE', message: /GET \/a \(inline\): it is wrong$/ })
    else report()
  }
})

test('elsewhere it is a warning, once for each route', () => {
  const { server, warned } = serverOf(false)
  const [one, other] = [exchangesOf(server), exchangesOf(server)]
  for (const ask of [one, one, other]) reportMistake(ask(), 'it is wrong')
  assert.deepEqual(warned, Array(2).fill('weir: GET /a (inline): it is wrong'))
})

test('without a route, it is an error where others are, and no warning', () => {
  const { server, warned } = serverOf(false)
  reportMistake(askedExchange(undefined, undefined, { server }), 'it is wrong')
  assert.deepEqual(warned, [])
  const strict = askedExchange(undefined, undefined, { server, isTest: true })
  assert.throws(() => reportMistake(strict, 'it is wrong'), /a request without a route: it is wrong$/)
})

test('a server that nothing was set for warns of nothing', () => {
  warnOf(askedExchange(undefined, undefined, { server: { ...SERVER } }), 'it is wrong')
})

test('debug in production is a warning', (t) => {
  const before = process.env['NODE_ENV']
  t.after(() => {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  })
  process.env['NODE_ENV'] = 'production'
  assert.deepEqual(serverOf(true).warned, ['weir: NODE_ENV is "production", and debug shows errors to clients: leave it out'])
  assert.deepEqual(serverOf(false).warned, [])
  process.env['NODE_ENV'] = 'test'
  assert.deepEqual(serverOf(true).warned, [])
})
