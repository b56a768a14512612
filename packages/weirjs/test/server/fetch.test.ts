// server.fetch: a Web Request through the whole pipeline, without a connection.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type HttpSession, type ServerOptions } from '../../src/index.ts'
import { settled } from '../../src/testing/test-clock.ts'
import { gate, within } from '../support/serving.ts'

function serverWith(map: (server: HttpServer) => void, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  map(server)
  return server
}

function post(url: string, body: RequestInit['body'] | ReadableStream, headers: Record<string, string> = {}): Request {
  // `duplex` is in the Fetch standard and in Node, but not in the types.
  return new Request(url, { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

/** A body that counts how often a piece is requested. */
function countedBody(pieces: readonly string[]): { body: ReadableStream<Uint8Array>; pulls: () => number; cancelled: () => unknown } {
  let pulls = 0
  let cancelled: unknown = null
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[pulls++]
        if (piece === undefined) controller.close()
        else controller.enqueue(Buffer.from(piece))
      },
      cancel(reason) {
        cancelled = reason ?? 'cancelled'
      },
    },
    { highWaterMark: 0 },
  )
  return { body, pulls: () => pulls, cancelled: () => cancelled }
}

const codeOf = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code

describe('server.fetch: the result', () => {
  test('is a Response with status, fields and body, even if the function is passed on without its server', async () => {
    const { fetch } = serverWith((server) => server.mapGet('/users/:id', ({ id }) => ({ id })))
    const response = await fetch(new Request('http://localhost/users/7?x=1'))
    assert.ok(response instanceof Response)
    assert.deepEqual([response.status, response.statusText], [200, 'OK'])
    assert.deepEqual([...response.headers].sort(), [
      ['content-length', '10'],
      ['content-type', 'application/json'],
    ])
    assert.deepEqual(await response.json(), { id: '7' })
  })

  test('has no body for HEAD, 204, 205 and 304, and the lengths that a connection would state', async () => {
    const server = serverWith((server) => {
      server.mapGet('/text', () => 'text')
      server.mapGet('/none', () => undefined)
      server.mapGet('/reset', (_, { response }) => response.status(205).text('lost'))
      server.mapGet('/same', (_, { response }) => response.status(304).header('ETag', '"1"').text('lost'))
      server.mapGet('/stream', (_, { response }) => response.header('Content-Length', 5).stream(pieces('12345')))
    })
    const seen = async (method: string, path: string): Promise<unknown[]> => {
      const response = await server.fetch(new Request(`http://localhost${path}`, { method }))
      return [response.status, response.body, response.headers.get('content-length')]
    }
    assert.deepEqual(await seen('HEAD', '/text'), [200, null, '4'])
    assert.deepEqual(await seen('HEAD', '/stream'), [200, null, '5'])
    assert.deepEqual(await seen('GET', '/none'), [204, null, null])
    assert.deepEqual(await seen('GET', '/reset'), [205, null, '0'])
    assert.deepEqual(await seen('GET', '/same'), [304, null, null])
  })

  test('keeps Set-Cookie fields separate, and leaves out the fields of a connection', async () => {
    const server = serverWith((server) =>
      server.mapGet('/', (_, { response }) =>
        response.cookie('a', '1').cookie('b', '2').header('Connection', 'close').appendHeader('X', '1').appendHeader('X', '2').text(''),
      ),
    )
    const { headers } = await server.fetch(new Request('http://localhost/'))
    assert.deepEqual(headers.getSetCookie(), ['a=1', 'b=2'])
    assert.deepEqual([headers.get('connection'), headers.get('date'), headers.get('x')], [null, null, '1, 2'])
  })

  test('has exactly the type that the handler set, or none', async () => {
    const server = serverWith((server) => {
      server.mapGet('/none', (_, { response }) => response.text('plain').removeHeader('Content-Type'))
      server.mapGet('/own', (_, { response }) => response.contentType('text/x').text('own'))
    })
    assert.equal((await server.fetch(new Request('http://localhost/none'))).headers.get('content-type'), null)
    assert.equal((await server.fetch(new Request('http://localhost/own'))).headers.get('content-type'), 'text/x')
  })

  test('passes middleware, beforeSend and onError', async () => {
    const steps: string[] = []
    const server = serverWith(
      (server) => {
        server.use((_, next) => {
          steps.push('in')
          return next()
        })
        server.beforeSend((_, response) => response.header('X-Sent', 'yes'))
        server.mapGet('/', () => {
          throw new Error('no')
        })
      },
      { onError: (error, { response }) => response.status(418).text((error as Error).message) },
    )
    const response = await server.fetch(new Request('http://localhost/'))
    assert.deepEqual([response.status, await response.text(), response.headers.get('x-sent'), steps], [418, 'no', 'yes', ['in']])
  })

  test('is the same before start and after stop', async () => {
    const server = serverWith((server) => server.mapGet('/', () => 'here'), { port: 0 })
    const ask = async (): Promise<string> => (await server.fetch(new Request('http://localhost/'))).text()
    assert.equal(await ask(), 'here')
    await server.start()
    assert.equal(await ask(), 'here')
    await server.stop()
    assert.equal(await ask(), 'here')
  })
})

describe('server.fetch: what a handler sees', () => {
  const sessionOf = async (request: Request): Promise<HttpSession> => {
    const seen = gate<HttpSession>()
    const server = serverWith((server) =>
      server.use((session) => {
        seen.open(session)
        return 'seen'
      }),
    )
    await server.fetch(request)
    return seen.promise
  }

  test('is the path, the query and the fields of the Request', async () => {
    const { request } = await sessionOf(new Request('https://example.org:8443/a%20b/?c=%20#part', { headers: { X: 'y', Cookie: 'a=b' } }))
    assert.deepEqual([request.method, request.url, request.path, request.protocol], ['GET', '/a%20b/?c=%20', '/a b/', 'HTTP/1.1'])
    assert.deepEqual([request.query.get('c'), request.header('x'), request.cookie('a')], [' ', 'y', 'b'])
  })

  test('is a session without an address, which is secure if the URL is', async () => {
    const secure = await sessionOf(new Request('https://example.org/'))
    assert.deepEqual([secure.clientAddress, secure.clientPort, secure.isSecure, secure.clientCertificate], ['', 0, true, null])
    const plain = await sessionOf(new Request('http://example.org/'))
    assert.equal(plain.isSecure, false)
    assert.notEqual(plain.connectionId, secure.connectionId)
  })

  test('is the host of the URL, whatever a Host field states', async () => {
    const { request } = await sessionOf(new Request('http://example.org:81/', { headers: { Host: 'other.example' } }))
    assert.equal(request.header('host'), 'example.org:81')
    const server = serverWith((server) => {
      server.mapGet('/', { host: 'a.example' }, () => 'a')
      server.mapGet('/', () => 'any')
    })
    assert.equal(await (await server.fetch(new Request('http://a.example/'))).text(), 'a')
    assert.equal(await (await server.fetch(new Request('http://b.example/', { headers: { Host: 'a.example' } }))).text(), 'any')
  })

  test('is not the framing of the connection on which the host program received the request', async () => {
    const headers = { 'Transfer-Encoding': 'chunked', Expect: '100-continue', Connection: 'keep-alive' }
    const server = serverWith((server) => server.mapPost('/', (_, { request }) => `${request.header('transfer-encoding')} ${request.body}`))
    assert.equal(await (await server.fetch(post('http://localhost/', 'body', headers))).text(), 'null body')
  })
})

describe('server.fetch: bodies', () => {
  test('a buffered body is complete when the handler starts', async () => {
    const server = serverWith((server) => server.mapPost('/', (_, { request }) => [request.body, request.bodyLength]))
    const { body, pulls } = countedBody(['one ', 'two ', 'three'])
    assert.deepEqual(await (await server.fetch(post('http://localhost/', body))).json(), ['one two three', 13])
    assert.equal(pulls(), 4)
  })

  test('a streamed body is read only as the handler reads', async () => {
    const goOn = gate()
    const started = gate()
    const server = serverWith((server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        started.open()
        await goOn.promise
        let text = ''
        for await (const piece of request.bodyStream()) text += String(piece)
        return text
      }),
    )
    const { body, pulls } = countedBody(['a', 'b', 'c'])
    const response = server.fetch(post('http://localhost/', body))
    await started.promise
    await settled()
    assert.equal(pulls(), 0)
    goOn.open()
    assert.equal(await (await response).text(), 'abc')
  })

  test('a handler that reads slowly makes the sender wait', async () => {
    const goOn = gate()
    const server = serverWith((server) =>
      server.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        let bytes = 0
        for await (const piece of request.bodyStream()) {
          bytes += (piece as Buffer).length
          await goOn.promise
        }
        return { bytes }
      }),
    )
    const { body, pulls } = countedBody(Array.from({ length: 100 }, () => 'x'.repeat(16 * 1024)))
    const response = server.fetch(post('http://localhost/', body))
    for (let i = 0; i < 50; i++) await settled()
    assert.ok(pulls() < 12, `${pulls()} pieces were read ahead`)
    goOn.open()
    assert.deepEqual(await (await response).json(), { bytes: 100 * 16 * 1024 })
  })

  test('what the handler does not read stays unread, and is not cancelled', async () => {
    const server = serverWith((server) => {
      server.mapPost('/', { body: 'stream' }, () => 'no need')
      server.mapPost('/one', { body: 'stream' }, async (_, { request }) => {
        for await (const piece of request.bodyStream()) return String(piece).slice(0, 1)
        return 'none'
      })
    })
    const unread = countedBody(['a', 'b'])
    const first = post('http://localhost/', unread.body)
    assert.equal(await (await server.fetch(first)).text(), 'no need')
    assert.deepEqual([unread.pulls(), unread.cancelled(), first.bodyUsed], [0, null, false])
    assert.equal(await first.text(), 'ab')
    const partly = countedBody(Array.from({ length: 10 }, () => 'a'.repeat(100_000)))
    const second = post('http://localhost/one', partly.body)
    assert.equal(await (await server.fetch(second)).text(), 'a')
    assert.deepEqual([partly.cancelled(), second.body!.locked], [null, false])
  })

  test('a form is read as it arrives, files included', async () => {
    const server = serverWith((server) =>
      server.mapPost('/', async (_, { request }) => {
        const form = await request.bodyMultipart()
        return [form?.fields.get('name'), form?.files[0]?.fileName, form?.files[0]?.content.length]
      }),
    )
    const form = new FormData()
    form.set('name', 'Ada')
    form.set('file', new Blob(['x'.repeat(100_000)]), 'a.txt')
    const response = await server.fetch(new Request('http://localhost/', { method: 'POST', body: form }))
    assert.deepEqual(await response.json(), ['Ada', 'a.txt', 100_000])
  })

  test('a limit of N bytes allows N and refuses N + 1, announced or not, and reads no more than that', async () => {
    const server = serverWith((server) => server.mapPost('/', (_, { request }) => request.body), { limits: { maxRequestBodySize: 5 } })
    assert.equal((await server.fetch(post('http://localhost/', '12345'))).status, 200)
    const late = countedBody(['12345', '6', '7', '8'])
    const refused = await server.fetch(post('http://localhost/', late.body))
    assert.deepEqual([refused.status, await codeOf(refused), late.pulls(), late.cancelled()], [413, 'WEIR_BODY_TOO_LARGE', 2, null])
    const announced = countedBody(['123456'])
    assert.equal((await server.fetch(post('http://localhost/', announced.body, { 'Content-Length': '6' }))).status, 413)
    assert.equal(announced.pulls(), 0)
  })

  test('a body that differs from its Content-Length is refused', async () => {
    const server = serverWith((server) => server.mapPost('/', (_, { request }) => request.body))
    for (const length of ['3', '5']) {
      const response = await server.fetch(post('http://localhost/', countedBody(['four']).body, { 'Content-Length': length }))
      assert.equal(response.status, 400)
    }
    assert.equal(await (await server.fetch(post('http://localhost/', 'four', { 'Content-Length': '4' }))).text(), 'four')
    const lost = new Request('http://localhost/', { method: 'POST', headers: { 'Content-Length': '4' } })
    assert.equal((await server.fetch(lost)).status, 400)
  })

  test('memory of the sender is neither kept nor overwritten', async () => {
    const server = serverWith((server) => server.mapPost('/', (_, { request }) => request.bodySpan), { debug: true })
    const piece = Buffer.from('mine')
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(piece)
        controller.close()
      },
    })
    const response = await server.fetch(post('http://localhost/', body))
    assert.equal(await response.text(), 'mine')
    assert.equal(piece.toString(), 'mine')
  })

  test('each piece of a response is produced when the reader requests it', async () => {
    let made = 0
    let closed = false
    const server = serverWith((server) =>
      server.mapGet('/', async function* () {
        try {
          for (made = 1; made <= 50; made++) yield `${made} `
        } finally {
          closed = true
        }
      }),
    )
    const response = await server.fetch(new Request('http://localhost/'))
    for (let i = 0; i < 10; i++) await settled()
    assert.equal(made, 1)
    const reader = response.body!.getReader()
    const first = await reader.read()
    for (let i = 0; i < 10; i++) await settled()
    assert.deepEqual([Buffer.from(first.value!).toString(), made], ['1 ', 1])
    let rest = ''
    for (let read = await reader.read(); !read.done; read = await reader.read()) rest += Buffer.from(read.value).toString()
    assert.equal(rest, Array.from({ length: 49 }, (_, i) => `${i + 2} `).join(''))
    assert.ok(closed)
  })

  test('an echo streams both ways', async () => {
    const server = serverWith((server) => server.mapPost('/', { body: 'stream' }, (_, { request }) => request.bodyStream()))
    const pieces = Array.from({ length: 200 }, (_, i) => `${i} `.repeat(100))
    const response = await server.fetch(post('http://localhost/', countedBody(pieces).body))
    assert.equal(await response.text(), pieces.join(''))
  })

  test('a reader with several pending reads gets every piece', async () => {
    const server = serverWith((server) =>
      server.mapGet('/', async function* () {
        for (let i = 0; i < 5; i++) yield String(i)
      }),
    )
    const reader = (await server.fetch(new Request('http://localhost/'))).body!.getReader()
    const read = await within(Promise.all(Array.from({ length: 6 }, () => reader.read())), 'six reads')
    assert.deepEqual(
      read.map(({ value }) => (value === undefined ? null : Buffer.from(value).toString())),
      ['0', '1', '2', '3', '4', null],
    )
  })
})

describe('server.fetch: what goes wrong', () => {
  test('a stream that fails before its first piece is a 500, and later an error of the body', async () => {
    const logged: unknown[] = []
    const server = serverWith(
      (server) => {
        server.mapGet('/first', () => failing(new Error('at once')))
        server.mapGet('/later', async function* () {
          yield 'begun'
          throw new Error('too late')
        })
        server.mapGet('/short', (_, { response }) => response.header('Content-Length', 9).stream(pieces('abc')))
      },
      { logger: { error: (_message, detail) => logged.push((detail as Error).message) } },
    )
    const first = await server.fetch(new Request('http://localhost/first'))
    assert.deepEqual([first.status, await codeOf(first)], [500, 'WEIR_HANDLER_FAILED'])
    const later = await server.fetch(new Request('http://localhost/later'))
    assert.equal(later.status, 200)
    await assert.rejects(later.text(), /too late/)
    const short = await server.fetch(new Request('http://localhost/short'))
    await assert.rejects(short.text(), { code: 'WEIR_RESPONSE_LENGTH' })
    assert.deepEqual(logged.slice(0, 2), ['at once', 'too late'])
  })

  test('an upgrade is refused: 501 for a client that has requested it, 426 for one that has not', async () => {
    const logged: unknown[] = []
    const server = serverWith((server) => server.mapGet('/', (_, { response }) => response.upgrade('echo', () => assert.fail())), {
      logger: { error: (_message, detail) => logged.push((detail as { code?: string }).code) },
    })
    const asked = await server.fetch(new Request('http://localhost/', { headers: { Connection: 'upgrade', Upgrade: 'echo' } }))
    assert.deepEqual([asked.status, await codeOf(asked)], [501, 'WEIR_UPGRADE_WITHOUT_CONNECTION'])
    assert.deepEqual(logged, ['WEIR_UPGRADE_WITHOUT_CONNECTION'])
    const other = await server.fetch(new Request('http://localhost/'))
    assert.deepEqual([other.status, other.headers.get('upgrade'), other.headers.get('connection')], [426, 'echo', null])
  })

  test('the limits of the head apply', async () => {
    const server = serverWith((server) => server.use(() => 'ok'), {
      limits: { maxRequestHeaderSize: 1_000, maxRequestHeaders: 5 },
    })
    const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
      (await server.fetch(new Request(url, { headers }))).status
    assert.equal(await statusOf('http://localhost/'), 200)
    assert.equal(await statusOf(`http://localhost/${'x'.repeat(1_000)}`), 414)
    assert.equal(await statusOf('http://localhost/', { x: 'x'.repeat(1_000) }), 431)
    assert.equal(await statusOf('http://localhost/', { a: '', b: '', c: '', d: '' }), 200)
    assert.equal(await statusOf('http://localhost/', { a: '', b: '', c: '', d: '', e: '' }), 431)
    assert.equal(await statusOf('http://localhost/%00'), 400)
    assert.equal(await statusOf('http://localhost/a%5C..%5Cb'), 400)
    assert.equal(await statusOf('http://localhost/', { Expect: 'miracles' }), 417)
  })

  test('nothing in an object that only looks like a Request can forge a head', async () => {
    const server = serverWith((server) => server.use(({ request }) => [...request.headers]))
    const forged = (members: object): Promise<Response> => {
      const request = { method: 'GET', url: 'http://localhost/', headers: new Headers(), body: null, bodyUsed: false, ...members }
      return server.fetch(request as unknown as Request)
    }
    assert.equal((await forged({})).status, 200)
    for (const members of [
      { url: 'http://localhost/\r\nX: y' },
      { url: 'http://localhost/ HTTP/1.1\r\nX: y' },
      { url: 'http://localhost/\u010d\u010aX: y' },
      { url: 'http://local\u010d\u010ahost/' },
      { url: 'http://user@localhost/' },
      { url: 'file:///etc/passwd' },
      { url: '/' },
      { method: 'GET / HTTP/1.1\r\nX:' },
      { method: '' },
      { headers: [['x', 'y\r\nz: 1']] },
      { headers: [['x', '\u010d\u010az: 1']] },
      { headers: [['x\r\ny', '1']] },
      {
        headers: [
          ['content-length', '1'],
          ['content-length', '2'],
        ],
      },
    ]) {
      assert.equal((await forged(members)).status, 400, JSON.stringify(members))
    }
  })

  test('a body that was read, and anything but a Request, reject', async () => {
    const server = serverWith((server) => server.mapPost('/', () => 'ok'))
    const used = post('http://localhost/', 'x')
    await used.text()
    await assert.rejects(server.fetch(used), { code: 'WEIR_BODY_ALREADY_READ' })
    const locked = post('http://localhost/', 'x')
    locked.body!.getReader()
    await assert.rejects(server.fetch(locked), { code: 'WEIR_BODY_ALREADY_READ' })
    for (const wrong of ['http://localhost/', undefined, null, 7, {}]) {
      await assert.rejects(server.fetch(wrong as unknown as Request), { code: 'WEIR_OPTION_INVALID' })
    }
  })

  test('a scheme of a desktop program counts as https, and its page is of its own origin', async () => {
    const server = serverWith((server) =>
      server.mapGet('/', (_, { request, origin, isSecure }) => ({ url: request.url, origin, isSecure, from: request.header('origin') })),
    )
    const seen = async (url: string, from: string): Promise<unknown> =>
      (await server.fetch(new Request(url, { headers: { Origin: from } }))).json()
    const own = { url: '/?a=1', origin: 'https://tool', isSecure: true }
    assert.deepEqual(await seen('app://tool/?a=1', 'app://tool'), { ...own, from: 'https://tool' })
    for (const other of ['app://tool2', 'app://too', 'https://evil.example', 'null', 'APP://tool'])
      assert.deepEqual(await seen('app://tool/?a=1', other), { ...own, from: other })
    assert.deepEqual(await seen('http://tool/?a=1', 'app://tool'), { ...own, origin: 'http://tool', isSecure: false, from: 'app://tool' })
    const loud = { url: 'HTTP://tool/', method: 'GET', headers: new Headers(), body: null } as Request // not of Node, which writes http
    assert.equal(((await (await server.fetch(loud)).json()) as { isSecure: boolean }).isSecure, false)
    const ofTheWeb = { ...own, from: 'null' } // a site can have the same name, and its pages are not the program's
    assert.deepEqual(await seen('app://tool/?a=1', 'https://tool'), ofTheWeb)
    assert.deepEqual(await seen('app://tool:443/?a=1', 'https://tool'), ofTheWeb)
    for (const [scheme, isSecure] of [
      ['ws', false],
      ['wss', true],
    ] as const)
      assert.equal(((await seen(`${scheme}://tool/`, 'https://tool')) as { isSecure: boolean }).isSecure, isSecure)
    for (const url of ['app:tool', 'mailto:a@example.com', 'data:text/plain,x'])
      assert.equal((await server.fetch(new Request(url))).status, 400)
  })

  test('a handler cannot change what was passed on', async () => {
    const late = gate<unknown>()
    const server = serverWith((server) =>
      server.mapGet('/', (_, { response }) => {
        setImmediate(() => {
          try {
            response.header('X', 'late')
          } catch (error) {
            late.open(error)
          }
        })
        return response.text('sent')
      }),
    )
    assert.equal(await (await server.fetch(new Request('http://localhost/'))).text(), 'sent')
    assert.equal(((await late.promise) as { code: string }).code, 'WEIR_RESPONSE_SENT')
  })
})

async function* failing(error: Error): AsyncGenerator<string> {
  if (error !== null) throw error
  yield 'never'
}

async function* pieces(...all: readonly string[]): AsyncGenerator<string> {
  yield* all
}
