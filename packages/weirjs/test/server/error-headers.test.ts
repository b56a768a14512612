// Fields that an error carries: `new HttpError(401, '…', { headers })`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { type ErrorHeaders, HttpError, HttpServer, type ServerOptions } from '../../src/index.ts'

const CHALLENGE = 'Basic realm="a"'

function serverThatThrows(headers: ErrorHeaders, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  server.mapGet('/', (_, { response }) => {
    response.header('Cache-Control', 'public').header('X-Own', '1').header('WWW-Authenticate', 'Bearer')
    throw new HttpError(401, 'who are you?', { headers })
  })
  return server
}

describe('fields of an HttpError', () => {
  test('are sent with the problem document, in place of those that the handler has set', async () => {
    const server = serverThatThrows({ 'www-authenticate': CHALLENGE, 'Cache-Control': 'no-store', 'Retry-After': '3' })
    const { status, headers } = await server.inject('/')
    assert.deepEqual(
      [status, ...['www-authenticate', 'cache-control', 'retry-after', 'x-own', 'content-type'].map((name) => headers.get(name))],
      [401, CHALLENGE, 'no-store', '3', '1', 'application/problem+json'],
    )
  })

  test('may be several of one name', async () => {
    const { headers } = await serverThatThrows({ 'WWW-Authenticate': [CHALLENGE, 'Bearer'], 'X-None': [] }).inject('/')
    assert.deepEqual([headers.get('www-authenticate'), headers.has('x-none')], [`${CHALLENGE}, Bearer`, false])
  })

  test('are set before onError is called, and sent with its response', async () => {
    for (const result of [undefined, 'text']) {
      const server = serverThatThrows({ 'WWW-Authenticate': CHALLENGE }, { onError: () => result })
      const { headers } = await server.inject('/')
      assert.equal(headers.get('www-authenticate'), CHALLENGE)
    }
  })

  test('are sent if a hook, a gate or onError throws it', async () => {
    const error = new HttpError(403, 'no', { headers: { 'X-Why': 'a' } })
    const fail = (): never => {
      throw error
    }
    const servers = [
      new HttpServer({ logger: null }).beforeSend(fail),
      new HttpServer({ logger: null }).gate(fail),
      new HttpServer({ logger: null, onError: fail }),
    ]
    for (const server of servers) {
      const { status, headers } = await server.inject('/')
      assert.deepEqual([status, headers.get('x-why')], [403, 'a'])
    }
  })

  test('that cannot be sent are refused where the error is made', () => {
    const wrong: readonly (readonly [headers: unknown, message: RegExp])[] = [
      [{ 'X-A': 'a\r\nb' }, /the value of "X-A" has a character that no field may have, such as a line end: encode it$/],
      [{ 'X A': '1' }, /the string "X A" is not the name of a field, such as "X-Total"$/],
      [{ 'X-A': ['ok', 'a\0'] }, /the value of "X-A" has a character/],
      [{ 'X-A': 5 }, /"X-A" is a number, not a string$/],
      [{ 'X-A': undefined }, /"X-A" is undefined, not a string$/],
    ]
    for (const [headers, message] of wrong)
      assert.throws(() => new HttpError(401, 'x', { headers: headers as ErrorHeaders }), {
        code: 'WEIR_RESPONSE_HEADER_SYNTAX',
        message,
      })
    assert.deepEqual(new HttpError(401, 'x').headers, {})
  })

  test('that only the server may set become a 500, which is logged', async () => {
    for (const onError of [null, () => undefined]) {
      const log: string[] = []
      const options = { logger: { error: (_: string, error: unknown) => void log.push(String(error)) } }
      const server = serverThatThrows({ 'Transfer-Encoding': 'chunked' }, onError === null ? options : { ...options, onError })
      const { status, headers } = await server.inject('/')
      assert.deepEqual([status, headers.has('transfer-encoding')], [500, false])
      assert.match(log.join(), /Transfer-Encoding is set by the server/)
    }
  })
})
