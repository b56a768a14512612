// What is sent for what a handler returns, throws or builds, and for what middleware makes of it.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { HttpError, type HttpResponse, HttpServer, type HttpSession, type OnError, type ServerOptions } from '../../src/index.ts'
import type { Message } from '../support/raw-client.ts'
import { gate, inBothReadModes, type Serve, within } from '../support/serving.ts'

type Act = (session: HttpSession) => unknown

/** The response to `GET /`, whose handler is `act`; afterwards, the connection must still work, unless it was closed. */
async function responseOf(serve: Serve, t: Parameters<Serve>[0], act: Act, options?: ServerOptions): Promise<Message> {
  const { connect } = await serve(t, (server) => server.mapGet('/', (_, session) => act(session)), options)
  const client = await connect()
  const response = await client.get('/').message()
  if (response.header('connection') !== 'close') assert.equal((await client.get('/nowhere').message()).status, 404)
  return response
}

const JSON_TYPE = 'application/json'
const TEXT = 'text/plain; charset=utf-8'
const BYTES = 'application/octet-stream'

class Money {
  readonly #cents = 5
  toJSON(): unknown {
    return { cents: this.#cents }
  }
}

async function* letters(): AsyncGenerator<string | Uint8Array> {
  yield 'a'
  yield ''
  await new Promise((resolve) => setImmediate(resolve))
  yield Buffer.from('bü')
}

inBothReadModes('response', (serve) => {
  // What a handler may return.

  const results: [what: string, act: Act, status: number, type: string | null, body: string, framing: 'length' | 'chunked' | 'none'][] = [
    ['a plain object is JSON', () => ({ a: [1, null] }), 200, JSON_TYPE, '{"a":[1,null]}', 'length'],
    ['an object without prototype is JSON', () => Object.assign(Object.create(null), { a: 1 }), 200, JSON_TYPE, '{"a":1}', 'length'],
    [
      'an object with a property `then` that is not a function is JSON',
      () => JSON.parse('{"then":1}'),
      200,
      JSON_TYPE,
      '{"then":1}',
      'length',
    ],
    ['an array is JSON', () => [1, 'zwölf'], 200, JSON_TYPE, '[1,"zwölf"]', 'length'],
    ['null is JSON', () => null, 200, JSON_TYPE, 'null', 'length'],
    ['a number is JSON', () => 12.5, 200, JSON_TYPE, '12.5', 'length'],
    ['a boolean is JSON', () => false, 200, JSON_TYPE, 'false', 'length'],
    ['an instance of a class is JSON, by its toJSON', () => new Money(), 200, JSON_TYPE, '{"cents":5}', 'length'],
    ['a Date is JSON', () => new Date(0), 200, JSON_TYPE, '"1970-01-01T00:00:00.000Z"', 'length'],
    ['a string is text', () => 'grün ✓', 200, TEXT, 'grün ✓', 'length'],
    ['an empty string is text', () => '', 200, TEXT, '', 'length'],
    ['a Buffer is bytes', () => Buffer.from('ü'), 200, BYTES, 'ü', 'length'],
    ['a Uint8Array is bytes', () => new Uint8Array([97, 98]).subarray(1), 200, BYTES, 'b', 'length'],
    ['an ArrayBuffer is bytes', () => new Uint8Array([97]).buffer, 200, BYTES, 'a', 'length'],
    ['a DataView is bytes', () => new DataView(new Uint8Array([97, 98, 99]).buffer, 1, 1), 200, BYTES, 'b', 'length'],
    ['a Readable is streamed', () => Readable.from(['a', Buffer.from('bü')]), 200, BYTES, 'abü', 'chunked'],
    ['an async generator is streamed', () => letters(), 200, BYTES, 'abü', 'chunked'],
    ['an empty stream is an empty body', () => Readable.from([]), 200, BYTES, '', 'length'],
    ['a Web stream is streamed', () => new Blob(['web']).stream(), 200, BYTES, 'web', 'chunked'],
    ['a promise is what it resolves to', async () => ({ later: true }), 200, JSON_TYPE, '{"later":true}', 'length'],
    [
      'a thenable is what it resolves to',
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
      () => Object.create({ then: (done: (value: string) => void) => done('thenable') }),
      200,
      TEXT,
      'thenable',
      'length',
    ],
    ['undefined is 204', () => undefined, 204, null, '', 'none'],
    ['undefined after a response was set is that response', (s) => void s.response.status(201).text('made'), 201, TEXT, 'made', 'length'],
    ['undefined after fields alone is 204 with them', (s) => void s.response.header('X', '1'), 204, null, '', 'none'],
    ['the response itself', ({ response }) => response.status(202).json({ ok: 1 }), 202, JSON_TYPE, '{"ok":1}', 'length'],
    [
      'a status set before counts for what is returned',
      ({ response }) => [{ id: 1 }, response.status(201)][0],
      201,
      JSON_TYPE,
      '{"id":1}',
      'length',
    ],
    [
      'a content type set before counts for text',
      ({ response }) => ['a,b', response.contentType('text/csv')][0],
      200,
      'text/csv',
      'a,b',
      'length',
    ],
    [
      'a content type set before counts for bytes',
      ({ response }) => [Buffer.from('p'), response.header('content-type', 'image/png')][0],
      200,
      'image/png',
      'p',
      'length',
    ],
  ]
  for (const [what, act, status, type, body, framing] of results) {
    test(`result: ${what}`, async (t) => {
      const response = await responseOf(serve, t, act)
      assert.deepEqual([response.status, response.header('content-type'), response.text], [status, type, body])
      assert.equal(response.header('content-length'), framing === 'length' ? String(Buffer.byteLength(body)) : null)
      assert.equal(response.header('transfer-encoding'), framing === 'chunked' ? 'chunked' : null)
    })
  }

  for (const [what, act] of [
    ['a function', () => () => 1],
    ['a symbol', () => Symbol('s')],
    ['a bigint', () => 1n],
    ['a bigint within JSON', () => ({ a: 1n })],
    [
      'a circular object',
      () => {
        const a: unknown[] = []
        a.push(a)
        return a
      },
    ],
    ['an Error', () => new Error('returned')],
    ['a Map', () => new Map([[1, 2]])],
    ['a WeakSet', () => new WeakSet()],
    ['a Blob', () => new Blob(['b'])],
    ['Headers', () => new Headers({ a: 'b' })],
    ['a query', () => new URLSearchParams('a=b')],
    ['a regular expression', () => /a/],
    ['a generator', () => (function* () {})()],
    ['an iterator', () => ['a'].values()],
    [
      'a Response that was read',
      async () => {
        const response = new Response('a')
        await response.text()
        return response
      },
    ],
    [
      'a Response that is being read',
      () => {
        const response = new Response('a')
        response.body!.getReader()
        return response
      },
    ],
    ['the session', (session) => session],
    ['the request', ({ request }) => request],
  ] as [string, Act][]) {
    test(`result: ${what} cannot be sent, so 500`, async (t) => {
      const response = await responseOf(serve, t, act)
      assert.deepEqual([response.status, response.header('content-type')], [500, 'application/problem+json'])
      assert.equal((response.json() as { code: string }).code, 'WEIR_RESULT_UNSENDABLE')
    })
  }

  test('result: a Web Response is copied with status, fields, cookies and body', async (t) => {
    const response = await responseOf(serve, t, () => {
      const headers = new Headers({ 'X-One': '1', 'Content-Type': 'text/x' })
      headers.append('Set-Cookie', 'a=1')
      headers.append('Set-Cookie', 'b=2')
      return new Response('web', { status: 203, statusText: 'Fine', headers })
    })
    assert.deepEqual(
      [response.status, response.reason, response.header('x-one'), response.header('content-type'), response.text],
      [203, 'Fine', '1', 'text/x', 'web'],
    )
    assert.deepEqual(response.headers('set-cookie'), ['a=1', 'b=2'])
  })

  for (const [what, make, status] of [
    ['without a body', () => new Response(null, { status: 200 }), 200],
    ['with 204', () => new Response(null, { status: 204 }), 204],
    ['with 304', () => new Response(null, { status: 304 }), 304],
    ['that redirects', () => Response.redirect('http://h/x', 307), 307],
  ] as [string, () => Response, number][]) {
    test(`result: a Web Response ${what}`, async (t) => {
      const response = await responseOf(serve, t, make)
      assert.deepEqual([response.status, response.text], [status, ''])
    })
  }

  test('result: a Web Response has no type unless it sets one', async (t) => {
    const body = new Uint8Array([1, 2])
    const response = await responseOf(serve, t, () => new Response(body))
    assert.deepEqual([response.status, response.header('content-type'), response.text], [200, null, '\u0001\u0002'])
  })

  test('result: Response.error() cannot be sent', async (t) => {
    const response = await responseOf(serve, t, () => Response.error())
    assert.deepEqual([response.status, (response.json() as { code: string }).code], [500, 'WEIR_RESULT_UNSENDABLE'])
  })

  test('the source of a stream runs in the context of the request that it answers, to its end', async (t) => {
    const names = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    async function* source(): AsyncGenerator<string> {
      try {
        seen.push(names.getStore())
        yield 'a'
        await new Promise((resolve) => setImmediate(resolve))
        seen.push(names.getStore())
        yield 'b'
      } finally {
        seen.push(names.getStore())
      }
    }
    const { connect } = await serve(t, (server) => {
      server.use(({ requestId }, next) => names.run(requestId, next))
      server.mapGet('/returned', source)
      server.mapGet('/given', async (_, { response }) => response.stream(source()))
    })
    const client = await connect()
    for (const path of ['/returned', '/given']) assert.equal((await client.get(path).message()).text, 'ab')
    const [first, , , second] = seen
    assert.notEqual(first, second)
    assert.deepEqual(seen, [first, first, first, second, second, second])
    assert.ok(first !== undefined && second !== undefined)
  })

  // Methods of HttpResponse.

  const methods: [what: string, act: (response: HttpResponse) => unknown, check: (response: Message) => unknown, expected: unknown][] = [
    ['status', (r) => r.status(418).text('tea'), (m) => [m.status, m.reason], [418, '']],
    ['status with a reason', (r) => r.status(200, 'Gut so').text(''), (m) => m.reason, 'Gut so'],
    ['status has the reason of the registry', (r) => r.status(404).text(''), (m) => m.reason, 'Not Found'],
    ['header replaces', (r) => r.header('X', 1).header('x', '2').text(''), (m) => m.headers('x'), ['2']],
    ['appendHeader adds', (r) => r.header('X', 1).appendHeader('X', '2').text(''), (m) => m.headers('x'), ['1', '2']],
    ['removeHeader removes all', (r) => r.appendHeader('X', 1).appendHeader('x', 2).removeHeader('X').text(''), (m) => m.headers('x'), []],
    [
      'removeHeader removes Connection: close',
      (r) => r.header('Connection', 'close').removeHeader('connection').text(''),
      (m) => m.headers('connection'),
      [],
    ],
    [
      'getHeader returns Connection: close',
      (r) => r.header('connection', 'Close').text(`${r.getHeader('Connection')}`),
      (m) => m.text,
      'close',
    ],
    [
      'a lone surrogate in a cookie becomes U+FFFD',
      (r) => r.cookie('a', 'b\ud800c').text(''),
      (m) => m.header('set-cookie'),
      'a=b%EF%BF%BDc',
    ],
    ['the name of a field keeps its case', (r) => r.header('x-FOO', 'a').text(''), (m) => m.fields[0], ['x-FOO', 'a']],
    ['a field may contain latin1', (r) => r.header('x', 'ü').text(''), (m) => m.header('x'), 'ü'],
    ['Date may be set', (r) => r.header('Date', 'x').text(''), (m) => m.headers('date'), ['x']],
    ['contentType', (r) => r.contentType('a/b').text('c'), (m) => m.headers('content-type'), ['a/b']],
    ['header(Content-Type) is the same', (r) => r.header('content-type', 'a/b').text('c'), (m) => m.headers('content-type'), ['a/b']],
    ['json', (r) => r.json({ a: 1 }), (m) => m.json(), { a: 1 }],
    ['text', (r) => r.text('t'), (m) => [m.header('content-type'), m.text], [TEXT, 't']],
    ['html', (r) => r.html('<p>'), (m) => [m.header('content-type'), m.text], ['text/html; charset=utf-8', '<p>']],
    ['body with its type', (r) => r.body(Buffer.from('b'), 'a/b'), (m) => [m.header('content-type'), m.text], ['a/b', 'b']],
    ['stream with its type', (r) => r.stream(Readable.from(['s']), 'a/b'), (m) => [m.header('content-type'), m.text], ['a/b', 's']],
    [
      'stream with a length',
      (r) => r.header('Content-Length', 3).stream(letters2()),
      (m) => [m.header('content-length'), m.header('transfer-encoding'), m.text],
      ['3', null, 'abc'],
    ],
    [
      'a wrong Content-Length of a text is ignored',
      (r) => r.header('Content-Length', 99).text('abc'),
      (m) => [m.headers('content-length'), m.text],
      [['3'], 'abc'],
    ],
    ['the last body wins', (r) => r.text('a').body(Buffer.from('b')), (m) => m.text, 'b'],
    ['the last body sets its type', (r) => r.json({}).text('b'), (m) => m.header('content-type'), TEXT],
    [
      'a type that was set stays, whatever the body',
      (r) => r.contentType('a/b').json({}).text('b'),
      (m) => m.header('content-type'),
      'a/b',
    ],
    ['redirect is 302', (r) => r.redirect('/x'), (m) => [m.status, m.header('location'), m.header('content-length')], [302, '/x', '0']],
    ['redirect with a status', (r) => r.redirect('/x', 308), (m) => m.status, 308],
    ['redirect encodes what a URL cannot contain', (r) => r.redirect('/ü x?"<%20'), (m) => m.header('location'), '/%C3%BC%20x?%22%3C%20'],
    [
      'noContent',
      (r) => r.text('x').noContent(),
      (m) => [m.status, m.header('content-type'), m.header('content-length'), m.header('transfer-encoding')],
      [204, null, null, null],
    ],
    ['notFound', (r) => r.notFound('no such user'), problem, [404, { title: 'Not Found', status: 404, detail: 'no such user' }]],
    ['notFound without a message', (r) => r.notFound(), problem, [404, { title: 'Not Found', status: 404 }]],
    ['unauthorized', (r) => r.unauthorized(), problem, [401, { title: 'Unauthorized', status: 401 }]],
    ['forbidden', (r) => r.forbidden(), problem, [403, { title: 'Forbidden', status: 403 }]],
    [
      'makeInternalServerErrorResponse sends its message',
      (r) => r.makeInternalServerErrorResponse('the disk is full'),
      problem,
      [500, { title: 'Internal Server Error', status: 500, detail: 'the disk is full' }],
    ],
    ['204 has no body and no length, whatever was built', (r) => r.status(204).text('x'), bare, [null, null, '']],
    ['304 has no body and no length, whatever was built', (r) => r.status(304).text('x'), bare, [null, null, '']],
    ['204 with a stream has no body', (r) => r.stream(letters()).status(204), bare, [null, null, '']],
    ['205 has no body', (r) => r.status(205).text('x'), (m) => m.text, ''],
  ]
  for (const [what, act, check, expected] of methods) {
    test(`method: ${what}`, async (t) => assert.deepEqual(check(await responseOf(serve, t, ({ response }) => act(response))), expected))
  }

  test('every method of a response returns the response', async (t) => {
    const broken = await responseOf(serve, t, ({ response: r }) =>
      Object.entries({
        status: r.status(200), header: r.header('x', 1), append: r.appendHeader('x', 1), type: r.contentType('a/b'), cookie: r.cookie('a', 'b'),
        delete: r.deleteCookie('a'), json: r.json(1), text: r.text(''), html: r.html(''), body: r.body(Buffer.alloc(0)), stream: r.stream(Readable.from([])),
        file: r.file('/'), redirect: r.redirect('/'), notFound: r.notFound(), unauthorized: r.unauthorized(), forbidden: r.forbidden(),
        noContent: r.noContent(), error: r.makeInternalServerErrorResponse('x'),
      })
        .filter(([, given]) => given !== r)
        .map(([name]) => name),
    ) // biome-ignore format: a list
    assert.deepEqual(broken.json(), [])
  })

  // Cookies.

  test('a cookie is read back as it was set, whatever is in it', async (t) => {
    const values = ['plain', 'a b;c,d=e', 'grün ✓', '"quoted"', '100%', '', 'a\r\nb']
    const { connect } = await serve(t, (server) => {
      server.mapGet('/set', (_, { response }) => {
        for (const [i, value] of values.entries())
          response.cookie(`c${i}`, value, { httpOnly: true, sameSite: 'lax', path: '/', maxAge: '60s' })
        return response
      })
      server.mapGet('/get', (_, { request }) => Array.from({ length: request.cookies }, (_, i) => request.cookie(i)))
    })
    const client = await connect()
    const cookies = (await client.get('/set').message()).headers('set-cookie')
    assert.equal(cookies.length, values.length)
    for (const cookie of cookies) assert.match(cookie, /; Max-Age=60; Path=\/; HttpOnly; SameSite=Lax$/)
    const sent = cookies.map((cookie) => cookie.split(';')[0]).join('; ')
    const reply = await client.get('/get', `Cookie: ${sent}\r\n`).message()
    assert.deepEqual(
      reply.json(),
      values.map((value, i) => [`c${i}`, value]),
    )
  })

  test('deleteCookie sends the cookie with a date in the distant past', async (t) => {
    const reply = await responseOf(serve, t, ({ response }) => response.deleteCookie('a', { path: '/x' }).text(''))
    assert.deepEqual(reply.headers('set-cookie'), ['a=; Path=/x; Expires=Thu, 01 Jan 1970 00:00:00 GMT'])
  })

  test('deleteCookie accepts the options with which the cookie was set: neither its age nor a partition keeps it', async (t) => {
    const options = { path: '/x', maxAge: '1h', httpOnly: true, secure: true, partitioned: true } as const
    const reply = await responseOf(serve, t, ({ response }) => response.deleteCookie('a', options).text(''))
    assert.deepEqual(reply.headers('set-cookie'), ['a=; Path=/x; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Secure; Partitioned'])
    assert.equal(options.maxAge, '1h')
  })

  // Nothing that a client has sent can become a separate field.

  const injections: [what: string, act: (response: HttpResponse, evil: string) => unknown][] = [
    ['header value', (r, evil) => r.header('X', evil)],
    ['header name', (r, evil) => r.header(`X${evil}`, 'a')],
    ['appendHeader value', (r, evil) => r.appendHeader('X', evil)],
    ['Content-Type', (r, evil) => r.contentType(`a/b${evil}`)],
    ['type of bytes', (r, evil) => r.body(Buffer.from('x'), `a/b${evil}`)],
    ['type of a stream', (r, evil) => r.stream(letters(), `a/b${evil}`)],
    ['reason', (r, evil) => r.status(200, `OK${evil}`)],
    ['redirect', (r, evil) => r.redirect(`/${evil}`)],
    ['name of a cookie', (r, evil) => r.cookie(`a${evil}`, 'b')],
    ['path of a cookie', (r, evil) => r.cookie('a', 'b', { path: `/${evil}` })],
    ['domain of a cookie', (r, evil) => r.cookie('a', 'b', { domain: `h${evil}` })],
    ['Content-Length', (r, evil) => r.header('Content-Length', `1${evil}`)],
  ]
  for (const [what, act] of injections) {
    test(`CR, LF and NUL are refused in: ${what}`, async (t) => {
      for (const evil of ['\r\nEvil: 1', '\nEvil: 1', '\rEvil: 1', '\0Evil: 1', '\r\n\r\nEvil']) {
        const { connect } = await serve(t, (server) => server.mapGet('/', (_, { response }) => act(response.header('Before', '1'), evil)))
        const client = await connect()
        const reply = await client.get('/', 'Connection: close\r\n').message()
        assert.equal(reply.status, 500, JSON.stringify(evil))
        assert.doesNotMatch(reply.head, /evil/i)
        assert.equal(await client.rest(), '')
      }
    })
  }

  for (const [name, value] of [
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'upgrade'],
    ['Keep-Alive', 'timeout=5'],
    ['Upgrade', 'h2c'],
    ['Trailer', 'X'],
    ['Content-Length', '1, 1'],
    ['Content-Length', '-1'],
    ['X', '€'],
    ['', 'a'],
    ['a b', 'c'],
  ] as const) {
    test(`header(${JSON.stringify(name)}, ${JSON.stringify(value)}) is refused`, async (t) => {
      const reply = await responseOf(serve, t, ({ response }) => response.header(name, value).text('x'))
      assert.equal(reply.status, 500)
    })
  }

  for (const status of [99, 100, 101, 199, 600, 200.5, Number.NaN]) {
    test(`status ${status} is refused`, async (t) => {
      assert.equal((await responseOf(serve, t, ({ response }) => response.status(status).text('x'))).status, 500)
    })
  }

  // HEAD.

  test('HEAD has the fields of GET and no body', async (t) => {
    const closed = gate()
    const { connect } = await serve(t, (server) => {
      server.mapGet('/text', () => 'four')
      server.mapGet('/bytes', () => Buffer.alloc(50_000))
      server.mapGet('/stream', () => {
        const stream = Readable.from(['s'])
        stream.on('close', () => closed.open())
        return stream
      })
      server.mapGet('/length', (_, { response }) => response.header('Content-Length', 9).stream(letters()))
      server.mapGet('/error', () => {
        throw new HttpError(409, 'no')
      })
    })
    const client = await connect()
    const ask = async (url: string): Promise<Message> => {
      client.send(`HEAD ${url} HTTP/1.1\r\nHost: h\r\n\r\n`)
      return client.message(true)
    }
    assert.equal((await ask('/text')).header('content-length'), '4')
    assert.equal((await ask('/bytes')).header('content-length'), '50000')
    assert.equal((await ask('/stream')).header('content-length'), null)
    await within(closed.promise, 'the end of the stream that is not read')
    assert.equal((await ask('/length')).header('content-length'), '9')
    assert.equal((await ask('/error')).status, 409)
    assert.equal((await ask('/nowhere')).status, 404)
    assert.equal((await client.get('/text').message()).text, 'four')
  })

  test('a handler for HEAD may state the length that GET would have', async (t) => {
    const { connect } = await serve(t, (server) => server.map('HEAD', '/', (_, { response }) => response.header('Content-Length', 1234)))
    const client = await connect()
    const reply = await client.send('HEAD / HTTP/1.1\r\nHost: h\r\n\r\n').message(true)
    assert.deepEqual([reply.status, reply.headers('content-length')], [200, ['1234']])
  })

  // Streams that do not keep their promise.

  test('a stream to HTTP/1.0 ends with the connection and is never chunked', async (t) => {
    const { connect } = await serve(t, (server) => server.mapGet('/', () => letters()))
    const client = await connect()
    const response = await client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n').message()
    assert.deepEqual([response.text, response.header('connection'), response.header('transfer-encoding')], ['abü', 'close', null])
  })

  for (const [what, pieces] of [
    ['less', ['abc']],
    ['more', ['abc', 'defgh']],
    ['nothing but an error', ['abc', null]],
  ] as [string, (string | null)[]][]) {
    for (const protocol of ['HTTP/1.1', 'HTTP/1.0']) {
      test(`a stream that yields ${what} than its Content-Length promised is aborted, never a short success (${protocol})`, async (t) => {
        const { connect, logged } = await serve(t, (server) =>
          server.mapGet('/', (_, { response }) => response.header('Content-Length', 5).stream(giving(pieces))),
        )
        const client = await connect()
        client.send(`GET / ${protocol}\r\nHost: h\r\n\r\n`)
        await client.closed()
        await assert.rejects(client.message(), /the connection was closed/)
        assert.equal(logged.length, 1)
      })
    }
  }

  for (const protocol of ['HTTP/1.1', 'HTTP/1.0']) {
    test(`an error after the first byte of a stream is a reset (${protocol})`, async (t) => {
      const { connect, logged } = await serve(t, (server) => server.mapGet('/', () => giving(['a', null])))
      const client = await connect()
      client.send(`GET / ${protocol}\r\nHost: h\r\n\r\n`)
      assert.equal(await client.closed(), 'reset')
      assert.deepEqual(logged.map(String), ['Error: secret'])
    })
  }

  for (const [what, act] of [
    ['generator', () => giving([null])],
    [
      'Readable',
      () =>
        new Readable({
          read() {
            this.destroy(new Error('secret'))
          },
        }),
    ],
    ['Web stream', () => new ReadableStream({ start: (controller) => controller.error(new Error('secret')) })],
    ['stream of objects', () => giving([{} as string])],
    ['promised length', (s: HttpSession) => s.response.header('Content-Length', 5).stream(giving([]))],
  ] as [string, Act][]) {
    test(`an error before the first byte of a stream is a clean 500: ${what}`, async (t) => {
      const reply = await responseOf(serve, t, ({ response, request }) =>
        act({ response: response.header('X-Kept', '1').header('ETag', '"x"'), request } as HttpSession),
      )
      assert.deepEqual([reply.status, reply.header('content-type'), reply.header('connection')], [500, 'application/problem+json', null])
      assert.deepEqual([reply.header('x-kept'), reply.header('etag')], ['1', null])
      assert.doesNotMatch(reply.text, /secret/)
    })
  }

  test('the source of a stream is closed when its response is replaced', async (t) => {
    const closed = gate()
    const { connect } = await serve(t, (server) => {
      server.use(async (_, next) => {
        await next()
        return 'instead'
      })
      server.mapGet('/', () => new Readable({ read() {}, destroy: () => closed.open() }))
    })
    assert.equal((await (await connect()).get('/').message()).text, 'instead')
    await within(closed.promise, 'the end of the replaced stream')
  })

  // Files: only that they are connected. The rest is tested where they are implemented.

  test('file: type, length, conditions, ranges, HEAD, and 404 without its path', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'weir-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const small = join(directory, 'small.txt')
    const large = join(directory, 'large.bin')
    writeFileSync(small, 'hello file')
    writeFileSync(large, Buffer.alloc(700_000, '0123456789'))
    const { connect } = await serve(t, (server) => {
      server.mapGet('/small', (_, { response }) => response.file(small))
      server.mapGet('/large', async (_, { response }) => response.file(large))
      server.mapGet('/void', (_, { response }) => void response.file(small))
      server.mapGet('/none', (_, { response }) => response.file(join(directory, 'none')))
      server.mapGet('/directory', (_, { response }) => response.file(directory))
    })
    const client = await connect()
    const whole = await client.get('/small').message()
    assert.deepEqual(
      [whole.status, whole.header('content-type'), whole.header('content-length'), whole.text],
      [200, TEXT, '10', 'hello file'],
    )
    assert.equal((await client.get('/void').message()).text, 'hello file')
    const part = await client.get('/small', 'Range: bytes=6-\r\n').message()
    assert.deepEqual([part.status, part.header('content-range'), part.text], [206, 'bytes 6-9/10', 'file'])
    const same = await client.get('/small', `If-None-Match: ${whole.header('etag')}\r\n`).message()
    assert.deepEqual([same.status, same.text, same.header('content-length')], [304, '', null])
    const head = await client.send('HEAD /large HTTP/1.1\r\nHost: h\r\n\r\n').message(true)
    assert.equal(head.header('content-length'), '700000')
    assert.equal((await client.get('/large').message()).body.length, 700_000)
    const middle = await client.get('/large', 'Range: bytes=100000-399999\r\n').message()
    assert.deepEqual([middle.status, middle.body.length, middle.text.slice(0, 3)], [206, 300_000, '012'])
    for (const url of ['/none', '/directory']) {
      const missing = await client.get(url).message()
      assert.equal(missing.status, 404)
      assert.ok(!missing.text.includes(directory))
    }
  })

  // Middleware.

  test('middleware runs around the route in the order in which it was added, and sees 404 and 405', async (t) => {
    const steps: string[] = []
    const { connect } = await serve(t, (server) => {
      for (const name of ['outer', 'inner']) {
        server.use(async (_, next) => {
          steps.push(`${name} before`)
          const answer = await next()
          steps.push(`${name} after ${answer.statusCode}`)
        })
      }
      server.mapGet('/', () => void steps.push('route'))
    })
    const client = await connect()
    await client.get('/').message()
    assert.deepEqual(steps.splice(0), ['outer before', 'inner before', 'route', 'inner after 204', 'outer after 204'])
    assert.equal((await client.get('/nowhere').message()).status, 404)
    assert.deepEqual(steps.splice(0), ['outer before', 'inner before', 'inner after 404', 'outer after 404'])
    assert.equal((await client.post('/', '').message()).status, 405)
    assert.deepEqual(steps.splice(0), ['outer before', 'inner before', 'inner after 405', 'outer after 405'])
  })

  test('middleware may answer early, and neither later middleware nor the route runs', async (t) => {
    let ran = false
    const { connect } = await serve(t, (server) => {
      server.use(({ request }, next) => (request.header('x') === 'stop' ? { stopped: true } : next()))
      server.use((_, next) => {
        ran = true
        return next()
      })
      server.mapGet('/', () => 'route')
    })
    const client = await connect()
    assert.deepEqual((await client.get('/', 'X: stop\r\n').message()).json(), { stopped: true })
    assert.equal(ran, false)
    assert.equal((await client.get('/').message()).text, 'route')
  })

  test('middleware may answer instead of the route, and may add fields to its response', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.use(async ({ request }, next) => {
        const answer = await next()
        if (request.path === '/replace') return 'replaced'
        answer.header('X-Added', '1')
        return undefined
      })
      server.map(null, '/*p', () => ({ route: 1 }))
    })
    const client = await connect()
    const replaced = await client.get('/replace').message()
    assert.deepEqual([replaced.text, replaced.header('content-type')], ['replaced', TEXT])
    const added = await client.get('/add').message()
    assert.deepEqual([added.text, added.header('x-added')], ['{"route":1}', '1'])
  })

  test('middleware that neither answers nor calls next leads to 204', async (t) => {
    const { connect } = await serve(t, (server) => server.use(() => undefined).mapGet('/', () => 'route'))
    assert.equal((await (await connect()).get('/').message()).status, 204)
  })

  for (const [how, twice] of [
    ['one after the other', (next: () => unknown) => [next(), next()][1]],
    [
      'after an error was caught',
      (next: () => unknown) => {
        try {
          return next()
        } catch {
          return next()
        }
      },
    ],
    [
      'after a rejection was caught',
      async (next: () => unknown) => {
        try {
          return await next()
        } catch {
          return next()
        }
      },
    ],
  ] as [string, (next: () => unknown) => unknown][]) {
    test(`next twice is an error, and the route runs once: ${how}`, async (t) => {
      let runs = 0
      const { connect, logged } = await serve(t, (server) => {
        const run = (): void => {
          runs++
          if (how !== 'one after the other') throw new Error('first')
        }
        server.use((_, next) => twice(next))
        server.mapGet('/', how === 'after a rejection was caught' ? async () => run() : run)
      })
      assert.equal((await (await connect()).get('/').message()).status, 500)
      assert.equal(runs, 1)
      assert.equal((logged.at(-1) as { code: string }).code, 'WEIR_MIDDLEWARE_NEXT_TWICE')
    })
  }

  for (const kind of ['sync', 'async'] as const) {
    test(`errors pass through next, and middleware may answer them (${kind})`, async (t) => {
      const { connect, logged } = await serve(t, (server) => {
        server.use(async (_, next) => {
          try {
            return await next()
          } catch (error) {
            return { caught: (error as Error).message }
          }
        })
        server.use((_, next) => next())
        server.mapGet(
          '/',
          kind === 'sync'
            ? () => {
                throw new Error('boom')
              }
            : async () => {
                throw new Error('boom')
              },
        )
      })
      assert.deepEqual((await (await connect()).get('/').message()).json(), { caught: 'boom' })
      assert.deepEqual(logged, [])
    })
  }

  test('synchronous requests stay synchronous: the responses to one packet leave in one packet', async (t) => {
    const order: string[] = []
    const { connect } = await serve(t, (server) => {
      server.use((_, next) => {
        const answer = next()
        order.push(answer instanceof Promise ? 'promise' : 'answer')
        return answer
      })
      server.mapGet('/', () => {
        queueMicrotask(() => order.push('microtask'))
        return 'sync'
      })
    })
    const client = await connect()
    await client.get('/').get('/').messages(2)
    assert.deepEqual(order.slice(0, 2), ['answer', 'answer'])
  })

  test('a middleware that does not wait for next leaves no unhandled rejection', async (t) => {
    const { connect } = await serve(t, (server) => {
      server.use((_, next) => {
        next()
        return 'early'
      })
      server.mapGet('/', async () => {
        await new Promise((resolve) => setImmediate(resolve))
        throw new Error('late')
      })
    })
    const client = await connect()
    assert.equal((await client.get('/').message()).text, 'early')
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal((await client.get('/').message()).text, 'early')
  })

  // Errors.

  const secret = 'postgres://root:hunter2@db'
  const errors: [what: string, error: () => unknown, status: number, debugShows: boolean, clientSees: boolean][] = [
    ['an Error', () => new Error(secret), 500, true, false],
    ['text', () => secret, 500, true, false],
    ['undefined', () => undefined, 500, false, false],
    ['an error with a status that is not an HttpError', () => Object.assign(new Error(secret), { status: 404 }), 500, true, false],
    ['HttpError 500', () => new HttpError(500, secret), 500, true, false],
    ['HttpError 503', () => new HttpError(503, secret), 503, true, false],
    ['HttpError 409', () => new HttpError(409, secret), 409, true, true],
    ['the cause of an HttpError', () => new HttpError(409, 'x', { cause: new Error(secret) }), 409, false, false],
  ]
  for (const [what, error, status, debugShows, clientSees] of errors) {
    test(`problem document: ${what} ${clientSees ? 'shows its message' : 'leaks nothing unless debug'}`, async (t) => {
      const act: Act = async () => {
        throw error()
      }
      const plain = await responseOf(serve, t, act)
      assert.deepEqual([plain.status, plain.header('content-type')], [status, 'application/problem+json'])
      assert.equal((plain.head + plain.text).includes(secret), clientSees)
      assert.doesNotMatch(plain.text, /\.ts|\.js|at /)
      const { title, status: inside } = plain.json() as { title: string; status: number }
      assert.deepEqual([title, inside], [plain.reason, status])
      const debug = await responseOf(serve, t, act, { debug: true })
      assert.equal(debug.text.includes(secret), debugShows)
    })
  }

  test('an error that leads to 500 is logged, one that is the client’s fault is not', async (t) => {
    const { connect, logged } = await serve(t, (server) => {
      server.mapGet('/plain', () => {
        throw new Error('plain')
      })
      server.mapGet('/status', () => {
        throw Object.assign(new Error('status'), { status: 404 })
      })
      server.mapGet('/conflict', () => {
        throw new HttpError(409, 'conflict')
      })
      server.mapGet('/unavailable', () => {
        throw new HttpError(503, 'unavailable')
      })
    })
    const responses = await (await connect()).get('/plain').get('/status').get('/conflict').get('/unavailable').get('/nowhere').messages(5)
    assert.deepEqual(
      responses.map(({ status }) => status),
      [500, 500, 409, 503, 404],
    )
    assert.deepEqual(
      logged.map((error) => (error as Error).message),
      ['plain', 'status', 'unavailable'],
    )
  })

  test('fields that described the body are removed for an error, others stay', async (t) => {
    const reply = await responseOf(serve, t, ({ response }) => {
      response
        .status(201, 'Yes')
        .header('X', '1')
        .header('Content-Security-Policy', "default-src 'none'")
        .header('Content-Security-Policy-Report-Only', "script-src 'self'")
        .cookie('a', 'b')
        .header('ETag', '"1"')
        .header('Cache-Control', 'max-age=9')
        .header('Content-Encoding', 'gzip')
        .contentType('a/b')
      response.header('Content-Length', 3)
      throw new Error('no')
    })
    assert.deepEqual(
      [reply.status, reply.reason, reply.header('x'), reply.header('set-cookie')],
      [500, 'Internal Server Error', '1', 'a=b'],
    )
    assert.deepEqual(
      ['content-security-policy', 'content-security-policy-report-only'].map((name) => reply.header(name)),
      ["default-src 'none'", "script-src 'self'"],
    )
    assert.deepEqual(
      ['etag', 'cache-control', 'content-encoding'].map((name) => reply.header(name)),
      [null, null, null],
    )
  })

  const handlers: [what: string, onError: OnError, status: number, body: string | RegExp][] = [
    ['what it returns is the response', (error) => ({ seen: (error as Error).message }), 200, '{"seen":"boom"}'],
    ['its promise is awaited', async (error) => `late ${(error as Error).message}`, 200, 'late boom'],
    ['the response that it built is sent', (_, { response }) => void response.status(418).text('tea'), 418, 'tea'],
    ['if it returns nothing, the problem document is sent', () => undefined, 500, /WEIR_HANDLER_FAILED/],
    [
      'when it throws, the problem document is sent',
      () => {
        throw new Error('again')
      },
      500,
      /WEIR_HANDLER_FAILED/,
    ],
    [
      'when it rejects, the problem document is sent',
      async () => {
        throw new HttpError(400, 'again')
      },
      400,
      /again/,
    ],
    ['when what it returns cannot be sent, the problem document is sent', () => () => 1, 500, /WEIR_RESULT_UNSENDABLE/],
    [
      'when its file cannot be described, the problem document is sent',
      (_, { response }) => response.file(process.execPath, { contentType: 'a\r\nb' }),
      500,
      /WEIR_/,
    ],
  ]
  for (const [what, onError, status, body] of handlers) {
    for (const kind of ['sync', 'async'] as const) {
      test(`onError: ${what} (${kind} handler)`, async (t) => {
        const boom = (): never => {
          throw new Error('boom')
        }
        const { connect } = await serve(t, (server) => server.mapGet('/', kind === 'sync' ? boom : async () => boom()), { onError })
        const client = await connect()
        const response = await client.get('/').message()
        assert.equal(response.status, status, response.text)
        if (typeof body === 'string') assert.equal(response.text, body)
        else assert.match(response.text, body)
      })
    }
  }

  test('onError sees 404, 405, 413 and 400, and can answer them itself', async (t) => {
    const { connect } = await serve(t, (server) => server.mapGet('/', () => '').mapPost('/post', () => ''), {
      limits: { maxRequestBodySize: 3 },
      onError: (error, { response }) => response.status(299).text((error as { code: string }).code),
    })
    const client = await connect()
    const responses = await client.get('/x').post('/', '').post('/post', '1234').messages(3)
    assert.deepEqual(
      responses.map(({ status, text }) => [status, text]),
      [
        [299, 'WEIR_ROUTE_NOT_FOUND'],
        [299, 'WEIR_METHOD_NOT_ALLOWED'],
        [299, 'WEIR_BODY_TOO_LARGE'],
      ],
    )
    assert.equal(responses[1]!.header('allow'), 'GET, HEAD, OPTIONS')
  })

  test('a response that was sent cannot be changed', async (t) => {
    let kept!: HttpResponse
    const { connect } = await serve(t, (server) => server.mapGet('/', (_, { response }) => (kept = response).text('sent')))
    await (await connect()).get('/').message()
    for (const change of [
      () => kept.status(200),
      () => kept.header('a', 'b'),
      () => kept.text('x'),
      () => kept.cookie('a', 'b'),
      () => kept.removeHeader('a'),
    ]) {
      assert.throws(change, { code: 'WEIR_RESPONSE_SENT' })
    }
  })

  test('jsonEngine serializes what is sent', async (t) => {
    const jsonEngine = { serialize: (value: unknown) => `<${JSON.stringify(value)}>`, deserialize: JSON.parse, populate() {} }
    const { connect } = await serve(t, (server) => server.mapGet('/', () => ({ a: 1 })), { jsonEngine })
    assert.equal((await (await connect()).get('/').message()).text, '<{"a":1}>')
  })
})

test('a source that is the response to two requests at the same time runs for each in its own context, from its beginning', async () => {
  const names = new AsyncLocalStorage<string>()
  const shared = {
    [Symbol.asyncIterator](): AsyncGenerator<string> {
      const beginning = names.getStore()
      return (async function* () {
        yield `${beginning} ${names.getStore()}`
      })()
    },
  }
  const server = new HttpServer({ logger: null })
  server.use(({ request }, next) => names.run(request.path, next))
  const bothAnswered = gate()
  let answers = 0
  server.beforeSend(() => {
    if (++answers === 2) bothAnswered.open()
    return bothAnswered.promise
  })
  server.mapGet('/:n', () => shared)
  const [one, two] = await Promise.all([server.inject('/1'), server.inject('/2')])
  assert.deepEqual([one.text(), two.text()], ['/1 /1', '/2 /2'])
})

async function* letters2(): AsyncGenerator<string> {
  yield 'a'
  yield 'bc'
}

async function* giving(pieces: readonly (string | null)[]): AsyncGenerator<string> {
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve))
    if (piece === null) throw new Error('secret')
    yield piece
  }
}

function problem(response: Message): unknown {
  assert.equal(response.header('content-type'), 'application/problem+json')
  return [response.status, response.json()]
}

/** What must be absent where there is no body. */
function bare(response: Message): unknown {
  return [response.header('content-length'), response.header('transfer-encoding'), response.text]
}
