// What a response shows of mistakes of the code that made it.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead, matchOf, routeOf, SERVER, tableOf } from '../../test/support/asked.ts'
import type { Exchange } from '../http/exchange.ts'
import { NOTHING_RETURNED } from '../http/response/response-content.ts'
import { setDebug } from './debugged.ts'
import { ResponseMistakes } from './response-mistakes.ts'

function setup({ debug = false, isTest = false, canSearch = true } = {}) {
  const warned: string[] = []
  const server = { ...SERVER }
  setDebug(server, debug, (mistake) => warned.push(mistake))
  const route = routeOf(tableOf({}), 'POST /a')
  const logger = { error: () => assert.fail('an error'), warn: (message: string) => void warned.push(message) }
  const ask = (body?: string): Exchange => {
    const head = askedHead('POST /a', `Content-Length: ${body?.length ?? 0}`)
    return askedExchange(head, matchOf(route), { server, isTest, ...(body !== undefined && { body }) })
  }
  return { mistakes: new ResponseMistakes({ logger, debug }, canSearch), ask, warned }
}

test('middleware that says nothing is warned of once, by its name or its code', () => {
  const { mistakes, ask, warned } = setup()
  function silent(): void {}
  for (const middleware of [silent, silent, (() => () => {})()]) mistakes.refuseSilence(middleware, ask())
  assert.deepEqual(warned, [
    'weir: middleware "silent" neither called next() nor answered, and the client gets 204',
    'weir: middleware "() => { }" neither called next() nor answered, and the client gets 204',
  ])
})

test('in tests and with debug, silence is an error', () => {
  for (const how of [{ debug: true }, { isTest: true }]) {
    const { mistakes, ask, warned } = setup(how)
    assert.throws(() => mistakes.refuseSilence(function silent() {}, ask()), {
      code: 'WEIR_RESULT_UNSENDABLE',
      message: /middleware "silent" neither called next\(\) nor answered: return next\(\), or a response$/,
    })
    assert.deepEqual(warned, [])
  }
})

test('a handler that returns nothing is warned of once', () => {
  const { mistakes, ask, warned } = setup()
  for (let i = 0; i < 2; i++) {
    const exchange = ask()
    assert.equal(mistakes.find(exchange, exchange.own.noContent(NOTHING_RETURNED)), exchange.own)
  }
  const said = ask()
  mistakes.find(said, said.own.noContent())
  assert.deepEqual(warned, [
    'weir: the handler of POST /a returned nothing, and the client gets 204: return a value, or say so with response.noContent()',
  ])
})

test('a {} that stands for something is warned of once for each route', () => {
  const { mistakes, ask, warned } = setup()
  const send = (value: unknown): void => {
    const exchange = ask()
    mistakes.find(exchange, exchange.own.json(value))
  }
  for (const fine of [{}, { a: {} }, 'x', { a: 1 }]) send(fine)
  assert.deepEqual(warned, [])
  send({ seen: new Set([1]) })
  send({ seen: new Map() })
  assert.equal(warned.length, 1)
  assert.match(warned[0]!, /^weir: \{\} was sent in the JSON of POST \/a: .*seen.* is a Set: send \[\.\.\.set\]$/)
})

test('a route whose {} are meant is not searched for ever', () => {
  const { mistakes, ask, warned } = setup()
  for (let i = 0; i <= 20; i++) {
    const exchange = ask()
    mistakes.find(exchange, exchange.own.json(i < 20 ? {} : { seen: new Set() }))
  }
  assert.deepEqual(warned, [])
})

test('where JSON is searched before it is made, and for a request without a route, nothing is searched', () => {
  for (const how of [{ canSearch: false }, { debug: true }]) {
    const { mistakes, ask, warned } = setup(how)
    const exchange = ask()
    mistakes.find(exchange, exchange.own.json({ seen: new Set() }))
    assert.deepEqual(warned, [])
  }
  const { mistakes, warned } = setup()
  const exchange = askedExchange()
  mistakes.find(exchange, exchange.own.json({ seen: new Set() }))
  assert.deepEqual(warned, [])
})

test('a response before the body that the handler reads is a mistake', () => {
  const { mistakes, ask, warned } = setup()
  const exchange = ask('text')
  void exchange.request.bufferBody()
  mistakes.find(exchange, exchange.own.text('done'))
  assert.deepEqual(warned, [
    'weir: POST /a (inline): its handler responds although nothing waits for bufferBody(), whose errors are then lost: write await bufferBody(…)',
  ])
})

test('it is none if the handler has waited, or the response says that it failed', async () => {
  const { mistakes, ask, warned } = setup()
  const awaited = ask('text')
  await awaited.request.bufferBody()
  mistakes.find(awaited, awaited.own.text('done'))
  const refused = ask('text')
  void refused.request.bufferBody()
  mistakes.find(refused, refused.own.status(400).text('no'))
  const failed = ask('text')
  failed.failure = new Error('x')
  void failed.request.bufferBody()
  mistakes.find(failed, failed.own.text('sorry'))
  assert.deepEqual(warned, [])
})
