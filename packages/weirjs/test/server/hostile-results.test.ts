// biome-ignore-all lint/suspicious/noThenProperty: hostile thenables are what is tested
// Whatever a handler returns or throws is answered, and so is the next request.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import {
  HttpError,
  HttpResponse,
  HttpServer,
  type HttpSession,
  RequestExpiredError,
  type ServerOptions,
  WeirError,
} from '../../src/index.ts'
import { fails, quiet, survives, tampers, trapped } from '../support/hostile.ts'
import { Http2Client } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { RawClient } from '../support/raw-client.ts'

// What a handler returns.

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const shadowed = (bytes: Uint8Array): Uint8Array => Object.defineProperty(bytes, 'length', { value: 2 })
class LyingBytes extends Uint8Array {
  override get length(): number {
    return 1
  }
  override get byteLength(): number {
    return 1
  }
}
const withOwn = (members: object): Promise<string> => Object.assign(Promise.resolve('settled'), members)

/** What is returned, and the status of the response. Null: not for an async handler, whose own promise it would never settle. */
const results: Readonly<
  Record<string, readonly [make: (session: HttpSession) => unknown, status: number, text?: string, later?: number | null]>
> = {
  'a getter that throws': [
    () => ({
      get name() {
        return fails()
      },
    }),
    500,
  ],
  'toJSON that throws': [() => ({ toJSON: fails }), 500],
  'toJSON that answers the request itself': [
    ({ response }) => ({ toJSON: () => response.status(201).text('meanwhile').statusCode }),
    201,
    '201',
  ],
  'a proxy that throws': [() => trapped(), 500],
  'a proxy that was revoked': [revoked, 500],
  'a circular object': [
    () => {
      const circle: Record<string, unknown> = {}
      circle['self'] = circle
      return circle
    },
    500,
  ],
  'a bigint': [() => ({ n: 1n }), 500],
  'a constructor whose name throws': [
    () => ({
      get constructor() {
        return fails()
      },
    }),
    500,
  ],
  'a tag that throws': [() => Object.create({}, { [Symbol.toStringTag]: { get: fails } }), 500],
  'then that throws': [() => ({ then: fails }), 500],
  'then that is a getter that throws': [() => Object.defineProperty({}, 'then', { get: fails }), 500],
  'then that settles twice and throws': [
    () => ({
      then: (done: (value: string) => void) => {
        done('once')
        done('twice')
        fails()
      },
    }),
    200,
    'once',
  ],
  'then that resolves with itself': [
    () => {
      const one = { then: (done: (value: unknown) => void) => done(2) }
      return one
    },
    200,
    '2',
  ],
  'then that rejects with a value that throws': [() => ({ then: (_: unknown, fail: (error: unknown) => void) => fail(trapped()) }), 500],
  'a promise whose then is null': [() => withOwn({ then: null }), 200, 'settled'],
  'a promise whose then throws': [() => withOwn({ then: fails }), 200, 'settled', 500],
  'a promise whose then returns nothing': [() => withOwn({ then: () => undefined }), 200, 'settled', null],
  'a promise whose catch is null': [() => withOwn({ catch: null }), 200, 'settled'],
  'a frozen promise': [() => Object.freeze(Promise.resolve('settled')), 200, 'settled'],
  'an iterator that throws': [() => ({ [Symbol.asyncIterator]: fails }), 500],
  'an iterator without the methods of one': [() => ({ [Symbol.asyncIterator]: () => null }), 500],
  'an iterator whose results throw': [() => ({ [Symbol.asyncIterator]: () => ({ next: () => trapped() }) }), 500],
  'an iterator whose end throws': [() => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ done: true }), return: fails }) }), 200],
  'a reader that cannot be cancelled': [
    () => ({ [Symbol.asyncIterator]: fails, getReader: () => ({ read: () => ({ done: true }), cancel: fails }) }),
    200,
  ],
  'a reader whose read throws': [() => ({ [Symbol.asyncIterator]: fails, getReader: () => ({ read: fails, cancel: () => 1 }) }), 500],
  'a stream that cannot be listened to': [() => ({ [Symbol.asyncIterator]: fails, on: fails, destroy: fails }), 500],
  'bytes with another length': [() => shadowed(new Uint8Array([97, 98, 99, 100])), 200, 'abcd'],
  'bytes of a class that is wrong about itself': [() => new LyingBytes([97, 98, 99, 100]), 200, 'abcd'],
  'a stream of bytes with another length': [() => Readable.from([shadowed(Buffer.from('abcd')), new LyingBytes([101])]), 200, 'abcde'],
  'a proxy of bytes': [() => new Proxy(new Uint8Array(4), {}), 500],
  'a proxy of the response': [({ response }) => new Proxy(response, {}), 500],
  'a response that the handler made, tampered with': [
    () => {
      const one = new HttpResponse().text('own')
      tampers['defines every member as a getter that throws']!(one)
      return one
    },
    200,
    'own',
  ],
  'a response whose class is wrong about itself': [
    () =>
      new (class extends HttpResponse {
        override get statusCode(): number {
          return fails()
        }
      })().text('own'),
    200,
    'own',
  ],
  'a field with a name that is an object': [
    ({ response }) => response.header({ length: 1, charCodeAt: () => 97, toString: () => 'a\r\nb' } as never, 'c'),
    500,
  ],
  'a type that is an object': [({ response }) => response.contentType({ length: 0, toString: () => 'a\r\nb: c' } as never).text('x'), 500],
  'a reason that is an object': [
    ({ response }) => response.status(200, { length: 0, toString: () => 'a\r\nb: c' } as never).text('x'),
    500,
  ],
  'a Web Response whose fields throw': [() => Object.defineProperty(new Response('x'), 'headers', { get: fails }), 500],
}

test('whatever a handler returns is answered, and so is the next request', async (t) => {
  const map = (server: HttpServer): void => {
    for (const [what, [make]] of Object.entries(results)) {
      server.mapGet(`/now/${encodeURIComponent(what)}`, (_, session) => make(session))
      server.mapGet(`/later/${encodeURIComponent(what)}`, async (_, session) => {
        await null
        return make(session)
      })
      server.mapGet(`/passed/${encodeURIComponent(what)}`, () => 'never')
    }
    server.use((session, next) => {
      const [, where, what] = session.request.path.split('/')
      return where === 'passed' ? results[what!]![0](session) : next()
    })
  }
  const expected: Record<string, readonly [status: number, text?: string | RegExp]> = {}
  for (const [what, [, status, text = '', later = status]] of Object.entries(results)) {
    for (const where of ['now', 'passed']) expected[`/${where}/${encodeURIComponent(what)}`] = [status, text]
    if (later !== null) expected[`/later/${encodeURIComponent(what)}`] = [later, later === status ? text : '']
  }
  await survives(t, map, expected)
})

// What a handler throws.

const raise = (error: unknown): never => {
  throw error
}

const errors: Readonly<Record<string, readonly [make: () => unknown, status: number]>> = {
  nothing: [() => undefined, 500],
  'a symbol': [() => Symbol('x'), 500],
  'an object without a prototype': [() => Object.create(null), 500],
  'a proxy that throws': [() => trapped(), 500],
  'a proxy of an error that throws': [() => trapped(new HttpError(418, 'x')), 500],
  'a proxy that was revoked': [revoked, 500],
  'an error whose message throws': [() => Object.defineProperty(new HttpError(418, 'x'), 'message', { get: fails }), 500],
  'an error whose stack throws': [() => Object.defineProperty(new Error('x'), 'stack', { get: fails }), 500],
  'an error whose name throws': [() => Object.defineProperty(new Error('x'), 'name', { get: fails }), 500],
  'an error with an invalid status': [() => Object.assign(new HttpError(418, 'x'), { status: 99 }), 500],
  'an error with a status that is a string': [() => Object.assign(new HttpError(418, 'x'), { status: '418\r\nX: y' }), 500],
  'an error with an invalid code': [() => Object.assign(new WeirError('WEIR_ROUTE_NOT_FOUND'), { code: 'x' }), 404],
  'an error with a message that has no JSON form': [() => Object.assign(new HttpError(418, 'x'), { message: 1n }), 500],
  'an error of the engine': [() => new RequestExpiredError('body', 'x'), 500],
  'an error without a prototype': [() => Object.setPrototypeOf(new HttpError(418, 'x'), null), 500],
  'a promise that rejects': [() => ({ then: (_: unknown, fail: (error: unknown) => void) => fail(1) }), 500],
}

for (const [mode, options] of Object.entries<ServerOptions>({
  'a logger': { logger: { error: (_message, error) => String((error as Error).stack) } },
  debug: { ...quiet, debug: true },
  'an onError that passes it on': {
    ...quiet,
    onError: (error) => {
      throw error
    },
  },
  'an onError that rejects with it': { ...quiet, onError: (error) => Promise.reject(error) },
})) {
  test(`whatever a handler throws is answered, and so is the next request, with ${mode}`, async (t) => {
    const map = (server: HttpServer): void => {
      for (const [what, [make]] of Object.entries(errors)) {
        const path = encodeURIComponent(what)
        server.mapGet(`/now/${path}`, () => {
          throw make()
        })
        server.mapGet(`/later/${path}`, async () => {
          await null
          throw make()
        })
        server.mapGet(`/stream/${path}`, async function* () {
          yield raise(make())
        })
      }
      server.beforeSend(({ request }) => {
        const [, where, what] = request.path.split('/')
        if (where === 'hook') throw errors[what!]![0]()
      })
    }
    const wheres = ['now', 'later', 'stream', 'hook']
    const expected = Object.entries(errors).flatMap(([what, [, status]]) =>
      wheres.map((where) => [`/${where}/${encodeURIComponent(what)}`, [status] as const] as const),
    )
    await survives(t, map, Object.fromEntries(expected), options)
  })
}

test('a stream that fails with a value that throws aborts its own response, and nothing else', async (t) => {
  const map = (server: HttpServer): void => {
    for (const [what, [make]] of Object.entries(errors)) {
      server.mapGet(`/${encodeURIComponent(what)}`, async function* () {
        yield 'first'
        throw make()
      })
    }
    server.mapGet('/untouched', () => 'x')
  }
  const server = new HttpServer({ logger: { error: (_message, error) => String((error as Error).stack) } })
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const { server: second } = await serveHttp2(t, map, quiet)
  const http2 = await Http2Client.connect(t, second.port)
  for (const what of Object.keys(errors)) {
    const client = await RawClient.connect(server.port)
    client.get(`/${encodeURIComponent(what)}`)
    assert.doesNotMatch(await client.rest(), /0\r\n\r\n$/)
    assert.notEqual((await http2.get(`/${encodeURIComponent(what)}`)).code, 0)
    assert.equal((await http2.get('/untouched')).status, 200)
  }
  const client = await RawClient.connect(server.port)
  assert.equal((await client.get('/untouched').message()).text, 'x')
  client.destroy()
})
