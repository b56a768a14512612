import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead } from '../../test/support/asked.ts'
import { OutgoingResponse } from '../http/response/outgoing-response.ts'
import { HttpResponse } from '../http/response/response.ts'
import { checkHookResult, checkUpgrade, isLater, reply, replyInPlace } from './reply.ts'

/** Status, kind and type of what becomes of a result. */
function replied(result: unknown): readonly unknown[] {
  const response = reply(askedExchange(), result)
  assert.ok(response instanceof OutgoingResponse, 'at once')
  return [response.statusCode, response.content.kind, response.getHeader('content-type')]
}

test('what each kind of result becomes', async () => {
  async function* pieces(): AsyncGenerator<string> {}
  const json = 'application/json'
  const cases: readonly (readonly [unknown, readonly unknown[]])[] = [
    [undefined, [204, 'none', null]],
    ['text', [200, 'text', 'text/plain; charset=utf-8']],
    [0, [200, 'text', json]],
    [false, [200, 'text', json]],
    [null, [200, 'text', json]],
    [{ a: 1 }, [200, 'text', json]],
    [[1], [200, 'text', json]],
    [Object.create(null), [200, 'text', json]],
    [new Date(0), [200, 'text', json]],
    [new Uint8Array(1), [200, 'bytes', 'application/octet-stream']],
    [new ArrayBuffer(1), [200, 'bytes', 'application/octet-stream']],
    [new DataView(new ArrayBuffer(1)), [200, 'bytes', 'application/octet-stream']],
    [pieces(), [200, 'stream', 'application/octet-stream']],
    [new HttpResponse().status(201).text('x'), [201, 'text', 'text/plain; charset=utf-8']],
  ]
  for (const [result, expected] of cases) assert.deepEqual(replied(result), expected, String(Object.prototype.toString.call(result)))
  const later = reply(askedExchange(), Promise.resolve('text'))
  assert.ok(later instanceof Promise)
  assert.equal((await later).content.kind, 'text')
  const copied = await reply(askedExchange(), new Response('x', { status: 202 }))
  assert.equal(copied.statusCode, 202)
})

test('a response that was built is sent where nothing is returned', () => {
  const exchange = askedExchange()
  exchange.response.status(201).text('built')
  assert.equal((reply(exchange, undefined) as OutgoingResponse).statusCode, 201)
})

test('refuses what would be sent as {} or cannot be sent', () => {
  const results = [
    () => {},
    Symbol('x'),
    1n,
    new Map(),
    new Set(),
    new Error('x'),
    /x/,
    new URLSearchParams(''),
    new Headers(),
    new Blob([]),
    [1].values(),
  ]
  for (const result of results)
    assert.throws(() => replied(result), { code: 'WEIR_RESULT_UNSENDABLE' }, Object.prototype.toString.call(result))
  assert.deepEqual(replied(Object.assign(new Map(), { toJSON: () => [] }))[1], 'text', 'it says what its JSON is')
})

test('a result that comes too late is dropped, and its source closed', async () => {
  let isClosed = false
  const stream = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: true, value: undefined }),
      return: async () => {
        isClosed = true
        return { done: true, value: undefined }
      },
    }),
  }
  const exchange = askedExchange()
  const sent = exchange.response.text('time is up')
  exchange.own.isTaken = true
  assert.ok(sent)
  for (const result of ['late', null, {}, new HttpResponse().text('late')]) assert.equal(reply(exchange, result), exchange.own)
  assert.equal(reply(exchange, stream), exchange.own)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isClosed, true)
})

test('a promise is later; a response with a then is not', () => {
  assert.equal(isLater(Promise.resolve()), true)
  // biome-ignore lint/suspicious/noThenProperty: programs may add one
  assert.equal(isLater(Object.assign(new HttpResponse(), { then: () => {} })), false)
  for (const one of [null, undefined, {}, 'x']) assert.equal(isLater(one), false)
})

test('a protocol is switched to only if the client has asked for it', () => {
  const own = new OutgoingResponse()
  const ask = (...fields: string[]): void => checkUpgrade(askedHead('GET /', ...fields), own, 'WebSocket')
  assert.doesNotThrow(() => ask('Connection: upgrade', 'Upgrade: h2c, websocket'))
  for (const fields of [[], ['Connection: upgrade', 'Upgrade: h2c'], ['Upgrade: websocket']])
    assert.throws(() => ask(...fields), { code: 'WEIR_UPGRADE_REQUIRED' }, fields.join())
  assert.equal(own.getHeader('upgrade'), 'WebSocket')
})

test('what is not a handler cannot answer with an upgrade', () => {
  const exchange = askedExchange(askedHead('GET /', 'Connection: upgrade', 'Upgrade: echo'))
  const response = new HttpResponse().upgrade('echo', () => {})
  assert.throws(() => replyInPlace(exchange, response, 'a gate'), {
    code: 'WEIR_RESULT_UNSENDABLE',
    message: /a gate cannot answer with an upgrade/,
  })
})

test('the sources of late responses are closed, but not that of the response that was sent', async () => {
  const closed: string[] = []
  const stream = (name: string) => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: true as const, value: undefined }),
      return: async () => {
        closed.push(name)
        return { done: true as const, value: undefined }
      },
    }),
  })
  const exchange = askedExchange()
  exchange.response.stream(stream('sent'))
  exchange.own.isTaken = true
  reply(exchange, exchange.response)
  reply(exchange, new HttpResponse().stream(stream('late')))
  const web = new Response(
    new ReadableStream({
      cancel: () => void closed.push('web'),
    }),
  )
  reply(exchange, web)
  reply(exchange, new Response(null))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(closed.sort(), ['late', 'web'])
})

test('over HTTP/2 there is no upgrade', () => {
  const head = { protocol: 'HTTP/2.0', get: () => null } as never
  assert.throws(() => checkUpgrade(head, new OutgoingResponse(), 'echo'), { code: 'WEIR_UPGRADE_OVER_HTTP2' })
})

test('a file that does not exist is a 404 before the response begins', async () => {
  const replying = reply(askedExchange(), new HttpResponse().file('/no/such/file'))
  assert.ok(replying instanceof Promise)
  assert.equal((await replying).statusCode, 404)
})

/** An exchange in a test, where a mistake of a handler is an error, while the handler is at work. */
function strictExchange(...fields: string[]) {
  const exchange = askedExchange(askedHead('GET /', ...fields), undefined, { isTest: true })
  exchange.handler = 'at work'
  return exchange
}

test('a handler that sets one response and returns another is a mistake', () => {
  const exchange = strictExchange()
  exchange.response.text('one')
  assert.throws(() => reply(exchange, 'another'), { code: 'WEIR_RESULT_UNSENDABLE', message: /has set one response and then another/ })
})

test('what precondition decided is sent, and to return something else is a mistake', () => {
  const decided = strictExchange('If-None-Match: "v1"')
  assert.equal(decided.response.precondition({ etag: '"v1"' }), true)
  assert.equal((reply(decided, decided.response) as OutgoingResponse).statusCode, 304)
  const other = strictExchange('If-None-Match: "v1"')
  other.response.precondition({ etag: '"v1"' })
  assert.throws(() => reply(other, 'another'), { code: 'WEIR_RESULT_UNSENDABLE', message: /so the response is a 304, and the handler/ })
})

test('a hook that returns another response is a mistake', () => {
  const exchange = strictExchange()
  const { own } = exchange
  for (const fine of [undefined, null, 1, {}, exchange.response]) checkHookResult(exchange, own, fine)
  for (const mistake of ['text', new Uint8Array(1), new Response('x'), new HttpResponse()])
    assert.throws(() => checkHookResult(exchange, own, mistake), { code: 'WEIR_RESULT_UNSENDABLE', message: /a beforeSend hook returned/ })
})
