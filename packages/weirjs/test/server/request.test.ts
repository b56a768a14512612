// What a handler sees of a request: every member of HttpRequest, and how long it may be used.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'

import { RequestHeaders } from '../../src/http/request/headers.ts'
import { type HttpRequest, type HttpServer, RequestExpiredError } from '../../src/index.ts'
import { gate, inBothReadModes, type Serve, within } from '../support/serving.ts'

/** Sends `bytes` to a server whose routes respond with what `look` returns, and returns that. */
async function see(
  serve: Serve,
  t: Parameters<Serve>[0],
  bytes: string | Uint8Array,
  look: (request: HttpRequest) => unknown,
): Promise<unknown> {
  const { connect } = await serve(t, (server) => {
    for (const path of ['/', '/*rest']) server.map(null, path, (_, { request }) => ({ seen: look(request) }))
  })
  const response = await (await connect()).send(bytes).message()
  assert.equal(response.status, 200, response.text)
  return (response.json() as { seen: unknown }).seen
}

const get = (target: string, fields = ''): string => `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`
const post = (body: string | Uint8Array, fields = ''): Buffer => {
  const bytes = Buffer.from(body as string)
  return Buffer.concat([Buffer.from(`POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${bytes.length}\r\n${fields}\r\n`), bytes])
}

const BODY_MEMBERS = ['body', 'bodyString', 'bodyBytes', 'bodySpan', 'bodyLength'] as const

inBothReadModes('request', (serve) => {
  const heads: [promise: string, bytes: string, look: (request: HttpRequest) => unknown, expected: unknown][] = [
    ['method is as sent', get('/a'), (r) => r.method, 'GET'],
    ['method keeps its case', 'gEt /a HTTP/1.1\r\nHost: h\r\n\r\n', (r) => r.method, 'gEt'],
    ['url is path and query as sent', get('/J%C3%BCrgen?a=%41&b'), (r) => r.url, '/J%C3%BCrgen?a=%41&b'],
    ['path is decoded once, without the query', get('/J%C3%BCrgen/%2541?x'), (r) => r.path, '/Jürgen/%41'],
    ['path keeps an encoded slash', get('/a%2Fb'), (r) => r.path, '/a%2Fb'],
    ['rawTarget is as sent', get('/a?b=%20'), (r) => r.rawTarget, '/a?b=%20'],
    [
      'absolute form: rawTarget is complete, url and path are without the authority',
      'GET http://localhost/a?b HTTP/1.1\r\nHost: localhost\r\n\r\n',
      (r) => [r.rawTarget, r.url, r.path],
      ['http://localhost/a?b', '/a?b', '/a'],
    ],
    ['protocol is HTTP/1.1', get('/'), (r) => r.protocol, 'HTTP/1.1'],
    ['protocol is HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n', (r) => r.protocol, 'HTTP/1.0'],
    ['protocol of a higher minor version is HTTP/1.1', 'GET / HTTP/1.7\r\nHost: h\r\n\r\n', (r) => r.protocol, 'HTTP/1.1'],

    ['header is found in any case', get('/', 'X-One: 1\r\n'), (r) => [r.header('x-one'), r.header('X-ONE')], ['1', '1']],
    ['header of an absent field is null', get('/'), (r) => r.header('x-one'), null],
    [
      'header(constructor) and the like are null',
      get('/'),
      (r) => ['constructor', '__proto__', 'toString'].map((n) => r.header(n)),
      [null, null, null],
    ],
    ['header of an empty field is an empty string', get('/', 'X:\r\n'), (r) => r.header('x'), ''],
    ['header is without the blanks around it', get('/', 'X: \t a b \t\r\n'), (r) => r.header('x'), 'a b'],
    ['header keeps U+00A0 around it', get('/', 'X: \xa0a\xa0\r\n'), (r) => r.header('x'), '\xa0a\xa0'],
    ['repeated fields are combined in order', get('/', 'X: 1\r\nY: -\r\nx: 2\r\n'), (r) => r.header('X'), '1, 2'],
    ['a name that no field can have is null, whatever a value contains', get('/', 'X: a:b\r\n'), (r) => r.header('x: a'), null],
    ['the empty name is null', get('/'), (r) => r.header(''), null],

    ['headers.get combines', get('/', 'X: 1\r\nx: 2\r\n'), (r) => r.headers.get('x'), '1, 2'],
    ['headers.has', get('/', 'X:\r\n'), (r) => [r.headers.has('x'), r.headers.has('y')], [true, false]],
    ['headers.getAll returns each line', get('/', 'X: 1\r\nx: 2, 3\r\n'), (r) => r.headers.getAll('X'), ['1', '2, 3']],
    ['headers.getAll of nothing is empty', get('/'), (r) => r.headers.getAll('x'), []],
    [
      'headers iterate in order with the names as sent',
      get('/', 'b: 1\r\nA: 2\r\nb: 3\r\n'),
      (r) => [...r.headers].slice(1),
      [
        ['b', '1'],
        ['A', '2'],
        ['b', '3'],
      ],
    ],
    ['headers.entries is the same', get('/'), (r) => [...r.headers.entries()], [['Host', 'localhost']]],

    ['queryString is undecoded', get('/?a=%20+b'), (r) => r.queryString, 'a=%20+b'],
    ['queryString is empty without a query', get('/'), (r) => [r.queryString, r.query.size], ['', 0]],
    ['query.get is decoded like a form', get('/?a=%C3%BC+b'), (r) => r.query.get('a'), 'ü b'],
    ['query.get of nothing is null', get('/?a'), (r) => [r.query.get('b'), r.query.get('constructor')], [null, null]],
    ['query.has', get('/?a'), (r) => [r.query.has('a'), r.query.has('b')], [true, false]],
    ['query.getAll keeps the order', get('/?a=2&b=0&a=1'), (r) => r.query.getAll('a'), ['2', '1']],
    ['query.size counts each pair', get('/?a=2&b=0&a=1'), (r) => r.query.size, 3],
    [
      'query iterates and has entries',
      get('/?a=2&b=0'),
      (r) => [[...r.query], [...r.query.entries()]],
      [
        [
          ['a', '2'],
          ['b', '0'],
        ],
        [
          ['a', '2'],
          ['b', '0'],
        ],
      ],
    ],
    ['a malformed percent sign in the query is not changed', get('/?a=%zz'), (r) => r.query.get('a'), '%zz'],

    ['routeValues are decoded', get('/x%20y/z'), (r) => r.routeValues, { rest: 'x y/z' }],
    ['routeValues have no prototype', get('/x'), (r) => Object.getPrototypeOf(r.routeValues), null],
    ['routeValues are frozen', get('/x'), (r) => Object.isFrozen(r.routeValues), true],

    ['cookies is their number', get('/', 'Cookie: a=1; b=2; a=3\r\n'), (r) => r.cookies, 3],
    ['cookies is 0 without the field', get('/'), (r) => r.cookies, 0],
    [
      'cookie(i) returns the pair, duplicates included',
      get('/', 'Cookie: a=1; a=3\r\n'),
      (r) => [r.cookie(0), r.cookie(1)],
      [
        ['a', '1'],
        ['a', '3'],
      ],
    ],
    ['cookie(name) returns the first value', get('/', 'Cookie: a=1; a=3\r\n'), (r) => r.cookie('a'), '1'],
    ['cookie(name) of nothing is null', get('/', 'Cookie: a=1\r\n'), (r) => [r.cookie('b'), r.cookie('constructor')], [null, null]],
    [
      'cookies of several fields are numbered consecutively',
      get('/', 'Cookie: a=1\r\nCookie: b=2\r\n'),
      (r) => [r.cookies, r.cookie(1)],
      [2, ['b', '2']],
    ],
    [
      'cookie(i) out of range is a RangeError',
      get('/', 'Cookie: a=1\r\n'),
      (r) => [-1, 1, 0.5, Number.NaN].map((i) => nameOfError(() => r.cookie(i))),
      ['RangeError', 'RangeError', 'RangeError', 'RangeError'],
    ],

    [
      'a request without a body has an empty one',
      get('/'),
      (r) => [r.body, r.bodyString, r.bodyLength, r.bodyBytes.length, r.bodySpan.length],
      ['', '', 0, 0, 0],
    ],
    ['signal has not aborted', get('/'), (r) => r.signal.aborted, false],
  ]
  for (const [promise, bytes, look, expected] of heads) {
    test(promise, async (t) => assert.deepEqual(await see(serve, t, bytes, look), expected))
  }

  test('routeValues is null on a route without parameters', async (t) => {
    const { connect } = await serve(t, (server) => server.mapGet('/plain', (_, { request }) => [request.routeValues]))
    assert.deepEqual((await (await connect()).get('/plain').message()).json(), [null])
  })

  const bodies: [promise: string, bytes: Uint8Array, look: (request: HttpRequest) => unknown, expected: unknown][] = [
    ['body and bodyString are the text', post('grün ✓'), (r) => [r.body, r.bodyString], ['grün ✓', 'grün ✓']],
    ['bodyLength counts bytes', post('ü'), (r) => r.bodyLength, 2],
    [
      'bodyBytes and bodySpan are the bytes',
      post(Buffer.from([0, 255, 1])),
      (r) => [[...r.bodyBytes], [...r.bodySpan]],
      [
        [0, 255, 1],
        [0, 255, 1],
      ],
    ],
    [
      'bodyBytes and bodySpan are plain Uint8Arrays',
      post('a'),
      (r) => [r.bodyBytes, r.bodySpan].map((b) => b.constructor.name),
      ['Uint8Array', 'Uint8Array'],
    ],
    [
      'bodyBytes is a copy each time',
      post('a'),
      (r) => {
        r.bodyBytes[0] = 0x62
        return [r.bodyBytes[0], r.body]
      },
      [0x61, 'a'],
    ],
    ['a BOM is skipped in the text and kept in the bytes', post('\ufeffa'), (r) => [r.body, r.bodyLength], ['a', 4]],
    ['only one BOM is skipped', post('\ufeff\ufeffa'), (r) => r.body, '\ufeffa'],
    ['invalid UTF-8 becomes U+FFFD', post(Buffer.from([0x61, 0xff, 0xc3])), (r) => r.body, 'a\ufffd\ufffd'],
    [
      'a chunked body is put together',
      Buffer.from('POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n'),
      (r) => [r.body, r.bodyLength, r.header('t')],
      ['abcde', 5, null],
    ],
    ['a body is never parsed unless it is read', post('{', 'Content-Type: application/json\r\n'), (r) => r.body, '{'],
    ['GET may have a body', Buffer.from('GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na'), (r) => r.body, 'a'],
  ]
  for (const [promise, bytes, look, expected] of bodies) {
    test(promise, async (t) => assert.deepEqual(await see(serve, t, bytes, look), expected))
  }

  test('a body that arrives in many pieces is complete', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => request.bodySpan), {
      limits: { maxRequestBodySize: null },
    })
    const body = Buffer.alloc(1_500_000, 'abcdefg')
    const client = await connect()
    client.send(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n`)
    for (let at = 0; at < body.length; at += 99_991) {
      client.send(body.subarray(at, at + 99_991))
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok((await client.message()).body.equals(body))
  })

  test('nothing of a request can be set', async (t) => {
    const members = [
      'method', 'url', 'path', 'rawTarget', 'protocol', 'body', 'bodyString', 'bodyBytes', 'bodySpan', 'bodyLength', 'cookies', 'headers',
      'queryString', 'query', 'routeValues', 'maxRequestHeaderSize', 'maxRequestBodySize', 'signal',
    ] // biome-ignore format: a list
    const settable = await see(serve, t, get('/'), (request) =>
      members.filter((member) => nameOfError(() => Object.assign(request, { [member]: 1 })) !== 'TypeError'),
    )
    assert.deepEqual(settable, [])
  })

  test('every member exists', async (t) => {
    const members = [
      ...BODY_MEMBERS,
      'method',
      'url',
      'path',
      'rawTarget',
      'protocol',
      'cookies',
      'headers',
      'queryString',
      'query',
      'routeValues',
      'signal',
    ]
    const functions = [
      'cookie',
      'header',
      'toWeb',
      'bufferBody',
      'bodyStream',
      'bodyMap',
      'bodyMapAnonymous',
      'bodyForm',
      'bodyFile',
      'bodyMultipart',
      'bodyMultipartStream',
    ]
    const missing = await see(serve, t, get('/'), (request) => [
      ...members.filter((member) => !(member in request)),
      ...functions.filter((member) => typeof (request as unknown as Record<string, unknown>)[member] !== 'function'),
    ])
    assert.deepEqual(missing, [])
  })

  test('the limits in force are those of the route, otherwise those of the server', async (t) => {
    const limits = (request: HttpRequest): unknown => [request.maxRequestHeaderSize, String(request.maxRequestBodySize)]
    const { connect } = await serve(
      t,
      (server) => {
        server.mapGet('/server', (_, { request }) => limits(request))
        server.mapGet('/route', { maxRequestBodySize: 7 }, (_, { request }) => limits(request))
        server.mapGet('/none', { maxRequestBodySize: null }, (_, { request }) => limits(request))
      },
      { limits: { maxRequestBodySize: 1_000, maxRequestHeaderSize: 2_000 } },
    )
    const client = await connect()
    const responses = await client.get('/server').get('/route').get('/none').messages(3)
    assert.deepEqual(
      responses.map((response) => response.json()),
      [
        [2_000, '1000'],
        [2_000, '7'],
        [2_000, 'Infinity'],
      ],
    )
  })

  test('a limit of N bytes allows N and refuses N + 1', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => request.body), {
      limits: { maxRequestBodySize: 5 },
    })
    const client = await connect()
    const responses = await client.post('/', '12345').post('/', '123456').messages(2)
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 413],
    )
  })

  test('toWeb is a Request with method, URL, fields, body and signal', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/*p', async (_, { request }) => {
        const web = request.toWeb()
        return [web.constructor.name, web.method, web.url, web.headers.get('x'), await web.text(), web.signal.aborted]
      }),
    )
    const response = await (await connect()).post('/a%20b?c=%20', 'bödy', 'X: 1\r\nX: 2\r\n').message()
    const url = 'http://localhost/a%20b?c=%20'
    assert.deepEqual(response.json(), ['Request', 'POST', url, '1, 2', 'bödy', false])
  })

  test('toWeb works for GET, HEAD and OPTIONS *', async (t) => {
    const { connect } = await serve(t, (server) => server.use(({ request }) => `${request.toWeb().method} ${request.toWeb().url}`))
    const client = await connect()
    client.send('GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\naOPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n')
    const [first, second] = await client.messages(2)
    assert.equal(first!.text, 'GET http://h/')
    assert.match(second!.text, /^OPTIONS http:\/\/h\/\*?$/)
  })

  test('toWeb survives the request', async (t) => {
    const kept = gate<Request>()
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => kept.open(request.toWeb())), { debug: true })
    assert.equal((await (await connect()).post('/', 'copy').message()).status, 204)
    assert.equal(await (await kept.promise).text(), 'copy')
  })

  test('bufferBody resolves immediately if the body has already been read', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', async (_, { request }) => {
        await request.bufferBody()
        return request.body
      }),
    )
    assert.equal((await (await connect()).post('/', 'here').message()).text, 'here')
  })

  test('on a streaming route the body members throw until bufferBody has resolved', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        const before = BODY_MEMBERS.map((member) => nameOfError(() => request[member]))
        await Promise.all([request.bufferBody(), request.bufferBody()])
        return { before, after: [request.body, request.bodyString, request.bodyLength, request.bodyBytes.length, request.bodySpan.length] }
      }),
    )
    const response = await (await connect()).post('/', 'stream').message()
    const expected = { before: BODY_MEMBERS.map(() => 'BodyNotBufferedError'), after: ['stream', 'stream', 6, 6, 6] }
    assert.deepEqual(response.json(), expected)
  })

  test('multipart/form-data starts its handler before the body is complete, unless the route sets buffer', async (t) => {
    const started = gate()
    const { connect } = await serve(t, (server) => {
      server.mapPost('/auto', async (_, { request }) => {
        started.open()
        await request.bufferBody()
        return request.body
      })
      server.mapPost('/buffer', { body: 'buffer' }, (_, { request }) => request.body)
    })
    const client = await connect()
    const type = 'Content-Type: Multipart/Form-Data; boundary=x\r\n'
    client.send(`POST /auto HTTP/1.1\r\nHost: h\r\n${type}Content-Length: 4\r\n\r\n`)
    await within(started.promise, 'the start of the handler')
    client.send('body')
    assert.equal((await client.message()).text, 'body')
    assert.equal((await client.post('/buffer', 'more', type).message()).text, 'more')
  })

  test('bodyStream yields the bytes as they arrive', async (t) => {
    const pieces: string[] = []
    const first = gate()
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        const stream = request.bodyStream()
        assert.ok(stream instanceof Readable)
        for await (const piece of stream) {
          pieces.push(String(piece))
          first.open()
        }
        return pieces
      }),
    )
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\none')
    await within(first.promise, 'the first piece')
    client.send('two')
    assert.deepEqual((await client.message()).json(), ['one', 'two'])
  })

  test('bodyStream works on a buffered route too, and without a body', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.map(null, '/', async (_, { request }) => Buffer.concat(await request.bodyStream().toArray()).toString()),
    )
    const responses = await (await connect()).post('/', 'whole').get('/').messages(2)
    assert.deepEqual(
      responses.map(({ text }) => text),
      ['whole', ''],
    )
  })

  test('a body stream can be used once', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        const stream = request.bodyStream()
        const again = [
          nameOfError(() => request.bodyStream()),
          await request.bufferBody().catch((error: Error) => error.name),
          nameOfError(() => request.body),
        ]
        await stream.toArray()
        return [...again, nameOfError(() => request.bodyStream())]
      }),
    )
    const response = await (await connect()).post('/', 'once').message()
    assert.deepEqual(response.json(), ['BodyAlreadyReadError', 'BodyAlreadyReadError', 'BodyAlreadyReadError', 'BodyAlreadyReadError'])
  })

  for (const streams of [false, true]) {
    test(`body members throw RequestExpiredError after the handler has settled, head members still work (${streams ? 'stream' : 'buffer'})`, async (t) => {
      let kept!: HttpRequest
      const { connect } = await serve(t, (server) =>
        server.mapPost('/keep/:id', { body: streams ? 'stream' : 'buffer' }, async (_, { request }) => {
          kept = request
          await request.bufferBody()
          return request.body
        }),
      )
      const client = await connect()
      client.post('/keep/7?q=1', 'gone', 'Cookie: a=b\r\n').get('/next')
      await client.messages(2)
      for (const member of BODY_MEMBERS) assert.throws(() => kept[member], expiredAt('POST /keep/:id', member))
      assert.throws(() => kept.bodyStream(), expiredAt('POST /keep/:id', 'bodyStream'))
      await assert.rejects(kept.bufferBody(), expiredAt('POST /keep/:id', 'bufferBody'))
      assert.throws(() => kept.toWeb(), RequestExpiredError)
      const head = [
        kept.method,
        kept.url,
        kept.path,
        kept.header('cookie'),
        kept.cookie('a'),
        kept.query.get('q'),
        kept.routeValues?.['id'],
        kept.signal.aborted,
      ]
      assert.deepEqual(head, ['POST', '/keep/7?q=1', '/keep/7', 'a=b', 'b', '1', '7', false])
    })
  }

  test('the request lives until the streamed response has been read', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', (_, { request }) =>
        (async function* () {
          yield 'the body is '
          await new Promise((resolve) => setImmediate(resolve))
          yield request.body
        })(),
      ),
    )
    assert.equal((await (await connect()).post('/', 'alive').message()).text, 'the body is alive')
  })

  test('a response may send the memory of the body itself', async (t) => {
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => request.bodySpan), { debug: true })
    const client = await connect()
    for (const size of [1, 5_000, 40_000, 300_000]) {
      const body = Buffer.alloc(size, 'echo')
      assert.ok((await client.post('/', body).message()).body.equals(body), `${size} bytes`)
    }
  })

  test('with debug, a kept span is overwritten with 0xDD and a kept copy is not', async (t) => {
    let span!: Uint8Array
    let copy!: Uint8Array
    const { connect } = await serve(
      t,
      (server) =>
        server.mapPost('/', (_, { request }) => {
          span = request.bodySpan
          copy = request.bodyBytes
        }),
      { debug: true },
    )
    const client = await connect()
    for (const size of [3, 100_000]) {
      assert.equal((await client.post('/', Buffer.alloc(size, 'a')).message()).status, 204)
      assert.ok(
        span.every((byte) => byte === 0xdd),
        `span of ${size}`,
      )
      assert.ok(
        copy.every((byte) => byte === 0x61),
        `copy of ${size}`,
      )
    }
  })

  test('with debug, requests that arrived in the same packet are untouched', async (t) => {
    const { connect } = await serve(t, (server: HttpServer) => server.mapPost('/', (_, { request }) => request.body), { debug: true })
    const responses = await (await connect())
      .send(
        Buffer.concat(
          ['one', 'two', 'three'].map((body) => Buffer.from(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)),
        ),
      )
      .messages(3)
    assert.deepEqual(
      responses.map(({ text }) => text),
      ['one', 'two', 'three'],
    )
  })

  test('without debug, copies survive what follows on the connection', async (t) => {
    const copies: Uint8Array[] = []
    const { connect } = await serve(t, (server) => server.mapPost('/', (_, { request }) => void copies.push(request.bodyBytes)))
    const client = await connect()
    for (const text of ['first', 'other']) await client.post('/', text).message()
    assert.deepEqual(
      copies.map((copy) => Buffer.from(copy).toString()),
      ['first', 'other'],
    )
  })
})

function nameOfError(act: () => unknown): string {
  try {
    act()
    return 'none'
  } catch (error) {
    return (error as Error).name
  }
}

function expiredAt(route: string, member: string): (error: unknown) => boolean {
  return (error) => error instanceof RequestExpiredError && error.message.includes(route) && error.message.includes(member)
}

test('toJSON of headers reads each field once, however many there are, and joins repeated ones as get does', () => {
  const fields: [string, string][] = [
    ['A', '1'],
    ['Cookie', 'a=b'],
    ['a', '2'],
    ['cookie', 'c=d'],
    ['empty', ''],
    ['EMPTY', ''],
    ['__proto__', 'x'],
  ]
  const headers = new RequestHeaders({
    get: () => assert.fail('a field was looked up'),
    entries: () => fields.values(),
  })
  const expected = Object.assign(Object.create(null), { a: '1, 2', cookie: 'a=b; c=d', empty: ', ', ['__proto__']: 'x' })
  assert.deepEqual(headers.toJSON(), expected)
})
