// mountFetch: a fetch function inside weir, over every transport and by inject.

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer, type ServerOptions, t as schema } from '../../src/index.ts'
import { type FetchHandler, type MountFetchOptions, mountFetch } from '../../src/node/index.ts'
import { Observed } from '../support/observed.ts'
import { gate, inBothReadModes, within } from '../support/serving.ts'
import { type Line, TRANSPORTS } from '../support/transports.ts'

const quiet = { logger: null }

/** A server with one fetch function at `/`. */
function mounted(fetch: FetchHandler, options?: MountFetchOptions, serverOptions?: ServerOptions): HttpServer {
  const server = new HttpServer({ ...quiet, ...serverOptions })
  mountFetch(server, '/', fetch, options)
  return server
}

async function lineTo(t: TestContext, server: HttpServer, connect: (port: number) => Promise<Line>): Promise<Line> {
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const line = await connect(server.port)
  t.after(() => line.leave())
  return line
}

for (const { title, options, connect } of TRANSPORTS) {
  describe(`a mounted fetch function (${title})`, () => {
    test('gets the request, and its response is sent', async (t) => {
      const server = mounted(
        async (request) => {
          const seen = [request.method, new URL(request.url).pathname, request.headers.get('x-a'), await request.text()]
          return Response.json(seen, { status: 201, headers: { 'X-B': 'b', 'Cache-Control': 'no-store' } })
        },
        {},
        options,
      )
      const line = await lineTo(t, server, connect)
      const reply = await line.ask({ method: 'POST', path: '/a%20b?c=d', headers: { 'X-A': 'a' }, body: Buffer.from('body') })
      assert.equal(reply.status, 201)
      assert.deepEqual(JSON.parse(reply.body.toString()), ['POST', '/a%20b', 'a', 'body'])
      assert.deepEqual(reply.fields, { 'content-type': 'application/json', 'x-b': 'b', 'cache-control': 'no-store' })
      assert.equal(reply.length, reply.body.length)
    })

    test('sends every kind of body', async (t) => {
      const pieces = (): ReadableStream => {
        let left = 3
        return new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setImmediate(resolve))
            if (left-- > 0) controller.enqueue(Buffer.from(`piece ${left} `))
            else controller.close()
          },
        })
      }
      const bodies: Record<string, () => Response> = {
        text: () => new Response('text'),
        bytes: () => new Response(new Uint8Array([0x62, 0x79])),
        blob: () => new Response(new Blob(['blob'])),
        empty: () => new Response(''),
        null: () => new Response(null),
        stream: () => new Response(pieces()),
        sized: () => new Response(pieces(), { headers: { 'Content-Length': '24' } }),
        coded: () => new Response(pieces(), { headers: { 'Content-Length': '9', 'Content-Encoding': 'x' } }),
        nothing: () => new Response(new ReadableStream({ start: (controller) => controller.close() })),
        none: () => new Response(null, { status: 204 }),
        same: () => new Response(null, { status: 304, headers: { ETag: '"a"' } }),
        moved: () => Response.redirect('http://localhost/there', 303),
        large: () => new Response(Buffer.alloc(3_000_000, 'a')),
      }
      const server = mounted((request) => bodies[new URL(request.url).pathname.slice(1)]!(), {}, options)
      const line = await lineTo(t, server, connect)
      const seen: Record<string, unknown[]> = {}
      for (const name of Object.keys(bodies)) {
        const { status, body, length } = await line.ask({ path: `/${name}` })
        // Some releases of Node read a Blob in another turn of the event loop, and then it is a stream.
        seen[name] = [status, name === 'large' ? body.length : body.toString(), name === 'blob' ? null : length]
      }
      const whole = 'piece 2 piece 1 piece 0 '
      assert.deepEqual(seen, {
        text: [200, 'text', 4],
        bytes: [200, 'by', 2],
        blob: [200, 'blob', null],
        empty: [200, '', 0],
        null: [200, '', 0],
        stream: [200, whole, null],
        sized: [200, whole, 24],
        coded: [200, whole, null],
        nothing: [200, '', 0],
        none: [204, '', null],
        same: [304, '', null],
        moved: [303, '', 0],
        large: [200, 3_000_000, 3_000_000],
      })
    })

    test('claims no length for a HEAD that it answers without a body', async (t) => {
      const server = mounted(
        ({ url }) => new Response(null, { headers: url.endsWith('/known') ? { 'Content-Length': '6' } : {} }),
        {},
        options,
      )
      const line = await lineTo(t, server, connect)
      const unknown = await line.ask({ method: 'HEAD', path: '/' })
      assert.deepEqual([unknown.status, unknown.length, unknown.body.length], [200, null, 0])
      assert.equal((await line.ask({ method: 'HEAD', path: '/known' })).length, 6)
      assert.equal((await line.ask({ path: '/' })).length, 0)
    })

    test('answers HEAD with the head alone, and closes the body', async (t) => {
      let cancelled = 0
      const server = mounted(
        () => {
          const body = new ReadableStream({ cancel: () => void cancelled++ })
          return new Response(body, { headers: { 'Content-Length': '7' } })
        },
        {},
        options,
      )
      const line = await lineTo(t, server, connect)
      const { status, body, length } = await line.ask({ method: 'HEAD', path: '/' })
      assert.deepEqual([status, body.length, length, cancelled], [200, 0, 7, 1])
    })

    test('sends each Set-Cookie, and leaves fields of the connection to weir', async (t) => {
      const server = mounted(
        () => {
          const headers = new Headers({ 'Transfer-Encoding': 'chunked', Connection: 'close', 'Keep-Alive': 'timeout=1', Upgrade: 'x' })
          headers.append('Set-Cookie', 'a=1')
          headers.append('Set-Cookie', 'b=2, c')
          return new Response('x', { headers })
        },
        {},
        options,
      )
      const line = await lineTo(t, server, connect)
      for (let i = 0; i < 2; i++) {
        const { fields, length } = await line.ask({ path: '/' })
        assert.deepEqual(fields, { 'content-type': 'text/plain;charset=UTF-8', 'set-cookie': 'a=1\nb=2, c' })
        assert.equal(length, 1)
      }
    })

    test('streams both ways at once', async (t) => {
      const server = mounted((request) => new Response(request.body), {}, options)
      const line = await lineTo(t, server, connect)
      const body = Buffer.alloc(500_000, 'abc')
      assert.ok((await line.ask({ method: 'POST', path: '/', body })).body.equals(body))
    })

    test('tells the client that an event stream is open before its first event', async (t) => {
      const events = gate<ReadableStreamDefaultController>()
      const cancelled = gate()
      const server = mounted(
        () => {
          const body = new ReadableStream({ start: (controller) => events.open(controller), cancel: () => cancelled.open() })
          return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
        },
        {},
        options,
      )
      const line = await lineTo(t, server, connect)
      await line.until({ path: '/' }, 'text/event-stream')
      ;(await events.promise).enqueue(Buffer.from('data: 1\n\n'))
      line.leave()
      await within(cancelled.promise, 'the end of the stream')
    })
  })
}

inBothReadModes('a mounted fetch function', (serve) => {
  test('whose body fails in the middle is aborted, and recorded as failed', async (t) => {
    const observed = new Observed()
    const { connect } = await serve(t, (server) => {
      observed.on(server)
      let pulls = 0
      const body = (): ReadableStream =>
        new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setImmediate(resolve))
            if (pulls++ < 2) controller.enqueue(Buffer.from('part'))
            else controller.error(new Error('broken'))
          },
        })
      mountFetch(server, '/', () => new Response(body()))
    })
    const client = await connect()
    client.send('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    const text = await client.rest()
    assert.match(text, /part/)
    assert.doesNotMatch(text, /\r\n0\r\n\r\n$/)
    const record = await observed.record()
    assert.deepEqual([record.status, record.outcome, (record.error as Error).message], [200, 'failed', 'broken'])
  })

  test('whose body fails before its first byte is answered with 500', async (t) => {
    const { connect } = await serve(t, (server) => {
      const body = (): ReadableStream => new ReadableStream({ start: (controller) => controller.error(new Error('broken')) })
      mountFetch(server, '/', () => new Response(body()))
    })
    const client = await connect()
    client.send('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await client.message()).status, 500)
  })

  test('learns that its client has left: by the signal, by its stream, and by the body that it reads', async (t) => {
    const [waiting, streaming, reading] = [gate(), gate(), gate()]
    const [aborted, cancelled, failed] = [gate<unknown>(), gate(), gate<unknown>()]
    const { connect } = await serve(t, (server) => {
      const ways: Record<string, FetchHandler> = {
        '/wait': async ({ signal }) => {
          waiting.open()
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          aborted.open((signal.reason as { code: string }).code)
          return new Response('too late')
        },
        '/stream': () => {
          const body = new ReadableStream({
            pull: (controller) => {
              controller.enqueue(Buffer.alloc(1000))
              streaming.open()
            },
            cancel: () => cancelled.open(),
          })
          return new Response(body)
        },
        '/read': async (request) => {
          reading.open()
          failed.open(await request.text().catch((error: { code: string }) => error.code))
          return new Response()
        },
      }
      mountFetch(server, '/', (request, environment) => ways[new URL(request.url).pathname]!(request, environment))
    })
    const leave = async (head: string, begun: Promise<void>): Promise<void> => {
      const client = await connect()
      client.send(`${head}\r\nHost: h\r\n\r\n`)
      await within(begun, head)
      client.destroy()
    }
    await leave('GET /wait HTTP/1.1', waiting.promise)
    assert.equal(await within(aborted.promise, 'the signal'), 'WEIR_CLIENT_GONE')
    await leave('GET /stream HTTP/1.1', streaming.promise)
    await within(cancelled.promise, 'cancel')
    await leave('POST /read HTTP/1.1\r\nContent-Length: 9', reading.promise)
    assert.equal(await within(failed.promise, 'the error of the body'), 'WEIR_BODY_TRUNCATED')
  })

  test('is not called for a body that is too large, and 413 holds for one in chunks', async (t) => {
    let calls = 0
    const { connect } = await serve(
      t,
      (server) =>
        mountFetch(server, '/', async (request) => {
          calls++
          // As Hono's error handler does.
          return request.text().then(
            (text) => new Response(text),
            () => new Response('Internal Server Error', { status: 500 }),
          )
        }),
      { limits: { maxRequestBodySize: 10 } },
    )
    const declared = await connect()
    declared.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n12345678901')
    assert.equal((await declared.message()).status, 413)
    assert.equal(calls, 0)
    const chunked = await connect()
    chunked.send('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n')
    const refused = await chunked.message()
    assert.deepEqual([refused.status, (refused.json() as { code: string }).code], [413, 'WEIR_BODY_TOO_LARGE'])
    const fits = await connect()
    fits.send('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n')
    assert.equal((await fits.message()).body.toString(), '12345678')
  })

  test('is superseded by requestTimeout, and its late body is cancelled', async (t) => {
    const late = gate<Response>()
    const cancelled = gate()
    const { connect } = await serve(t, (server) => mountFetch(server, '/', () => late.promise), { timeouts: { requestTimeout: 30 } })
    const client = await connect()
    client.send('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await client.message()).status, 503)
    late.open(new Response(new ReadableStream({ cancel: () => cancelled.open() })))
    await within(cancelled.promise, 'cancel')
  })

  test('is waited for by stop', async (t) => {
    const [begun, finish] = [gate(), gate()]
    const { server, connect } = await serve(t, (one) =>
      mountFetch(one, '/', async () => {
        begun.open()
        await finish.promise
        return new Response('done')
      }),
    )
    const client = await connect()
    client.send('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    await begun.promise
    const stopped = server.stop()
    finish.open()
    const message = await client.message()
    assert.deepEqual([message.body.toString(), message.header('connection')], ['done', 'close'])
    assert.deepEqual(await stopped, { aborted: 0 })
  })
})

describe('where it is mounted', () => {
  test("weir's own routes win, method by method", async () => {
    const server = mounted(({ method, url }) => new Response(`guest ${method} ${new URL(url).pathname}`))
    server.mapGet('/users/:id', { id: schema.int }, ({ id }) => `weir ${id}`)
    const texts: string[] = []
    for (const [method, url] of [
      ['GET', '/users/7'],
      ['POST', '/users/7'],
      ['GET', '/'],
      ['GET', '/users'],
      ['PUT', '/other/path'],
    ])
      texts.push((await server.inject({ method: method!, url: url! })).text())
    assert.deepEqual(texts, ['weir 7', 'guest POST /users/7', 'guest GET /', 'guest GET /users', 'guest PUT /other/path'])
  })

  test('a prefix, a group with parameters and policies, and the session', async () => {
    const server = new HttpServer(quiet)
    const group = server.group('/api/:org', { org: schema.int })
    group.gate(({ request }) => (request.header('x-key') === 'k' ? undefined : Response.json('no', { status: 401 })))
    group.beforeSend((_, response) => response.header('X-Sent', 'yes'))
    mountFetch(group, '/old', (request, { session }) =>
      Response.json([new URL(request.url).pathname, session.request.routeValues?.['org'], session.route]),
    )
    assert.equal((await server.inject('/api/7/old')).status, 401)
    const headers = { 'X-Key': 'k' }
    for (const [path, route] of [
      ['/api/7/old', 'ANY /api/:org/old'],
      ['/api/7/old/', 'ANY /api/:org/old/'],
      ['/api/7/old/a/b', 'ANY /api/:org/old/**mountedPath'],
    ]) {
      const response = await server.inject({ url: path!, headers })
      assert.deepEqual([response.json(), response.headers.get('x-sent')], [[path, '7', route], 'yes'])
    }
    assert.equal((await server.inject({ url: '/api/7/older', headers })).status, 404)
    assert.equal((await server.inject({ url: '/api/x/old', headers })).status, 400)
  })

  test('stripPrefix removes the prefix from the URL, with the segments of parameters', async () => {
    const server = new HttpServer(quiet)
    const paths = (request: Request): Response => new Response(request.url)
    mountFetch(server, '/whole', paths)
    mountFetch(server.group('/t/:tenant'), '/old', paths, { stripPrefix: true })
    const of = async (url: string): Promise<string> => (await server.inject(url)).text()
    assert.equal(await of('/whole/a'), 'http://localhost/whole/a')
    assert.equal(await of('/t/x%2Fy/old/a/b?c=/d'), 'http://localhost/a/b?c=/d')
    assert.equal(await of('/t/x/old?c'), 'http://localhost/?c')
    assert.equal(await of('/t/x/old/'), 'http://localhost/')
    assert.equal(await of('/t/x/old?to=/a/b'), 'http://localhost/?to=/a/b')
    assert.equal(await of('/t/x/old?to=/a'), 'http://localhost/?to=/a')
  })

  test('paths with empty segments belong to it as well', async () => {
    const server = new HttpServer(quiet)
    const paths = (request: Request): Response => new Response(request.url)
    mountFetch(server, '/old', paths, { stripPrefix: true })
    mountFetch(server, '/', paths)
    const of = async (url: string): Promise<string> => (await server.inject(url)).text()
    assert.equal(await of('//a'), 'http://localhost//a')
    assert.equal(await of('/old//a'), 'http://localhost//a')
  })

  test('what is not its own goes to next, or is 404', async () => {
    const pass = (request: Request): Response | undefined =>
      request.url.endsWith('/mine')
        ? new Response('mine')
        : request.url.endsWith('/404')
          ? new Response('own 404', { status: 404 })
          : undefined
    const plain = mounted(pass)
    assert.equal((await plain.inject('/mine')).text(), 'mine')
    const other = await plain.inject('/other')
    assert.deepEqual([other.status, (other.json() as { code: string }).code], [404, 'WEIR_ROUTE_NOT_FOUND'])
    assert.equal((await plain.inject('/404')).text(), 'own 404')
    const passing = mounted(pass, { passOn404: true, next: async ({ request }) => `next ${request.path}` })
    assert.equal((await passing.inject('/404')).text(), 'next /404')
    assert.equal((await passing.inject('/other')).text(), 'next /other')
    assert.equal((await mounted(pass, { passOn404: true }).inject('/404')).headers.get('content-type'), 'application/problem+json')
  })

  test('mistakes are errors when it is mounted', () => {
    const server = new HttpServer(quiet)
    const app = { fetch: () => new Response() }
    assert.throws(() => mountFetch({} as HttpServer, '/', app.fetch), /the first argument is an object, not a server or a group/)
    assert.throws(() => mountFetch(server, '/', app as never), /an object with a method fetch: pass app\.fetch/)
    assert.throws(() => mountFetch(server, '/', 'app' as never), /not a function/)
    assert.throws(() => mountFetch(server, '/', app.fetch, { stripPrefx: true } as never), /no option "stripPrefx"/)
    assert.throws(() => mountFetch(server, '/', app.fetch, { stripPrefix: 'yes' as never }), /stripPrefix/)
    assert.throws(() => mountFetch(server, '/', app.fetch, { next: true as never }), /next is true, not a function|next is a boolean/)
    mountFetch(server, '/', app.fetch)
    assert.throws(() => mountFetch(server, '/', app.fetch), { code: 'WEIR_ROUTE_CLASH' })
  })
})

describe('results that cannot be sent', () => {
  for (const [what, result, message] of [
    ['text', () => 'text', /not a Response/],
    ['a plain object', () => ({ status: 200 }), /not a Response/],
    ['Response.error()', () => Response.error(), /failed fetch/],
  ] as const) {
    test(what, async () => {
      const errors: unknown[] = []
      const server = mounted(result as never, {}, { onError: (error) => void errors.push(error) })
      assert.equal((await server.inject('/')).status, 500)
      assert.match((errors[0] as Error).message, message)
    })
  }

  test('a Response that has been read or sent', async () => {
    const constant = new Response('once')
    const server = mounted(() => constant)
    assert.equal((await server.inject('/')).text(), 'once')
    assert.equal((await server.inject('/')).status, 500)
    const read = new Response('read')
    await read.text()
    assert.equal((await mounted(() => read).inject('/')).status, 500)
  })

  test('what it throws, at once or later', async () => {
    const thrown = mounted(() => {
      throw new Error('now')
    })
    assert.equal((await thrown.inject('/')).status, 500)
    assert.equal((await mounted(async () => Promise.reject(new Error('later'))).inject('/')).status, 500)
  })
})
