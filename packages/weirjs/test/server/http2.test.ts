// HTTP/2 through the same pipeline: what handlers see, what clients receive, and how long everything lasts.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { createSecureContext } from 'node:tls'

import { Agent, FormData, fetch, request } from 'undici'

import { Field, type HttpServer, t as schema } from '../../src/index.ts'
import { hostOf } from '../../src/server.ts'
import { cert, key } from '../support/certificate.ts'
import { client as ada, ca } from '../support/certificates.ts'
import { launchChromium, noChromium } from '../support/chromium.ts'
import { curl, noCurl } from '../support/curl.ts'
import { Http2Client, responseOf } from '../support/http2-client.ts'
import { serveHttp2 } from '../support/http2-serving.ts'
import { eventually, gate, within } from '../support/serving.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const large = Buffer.alloc(3_000_000)
for (let i = 0; i < large.length; i += 4) large.writeUInt32BE(i, i)

class Person {
  @Field(schema.string) name = ''
  age = 0
}

describe('which protocol', () => {
  test('ALPN decides: h2 for clients that offer it, HTTP/1.1 for the others', { skip: noCurl }, async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', (_, session) => session.request.protocol))
    const url = `https://localhost:${server.port}/`
    assert.equal(server.endpoints[0]!.http2, true)
    for (const [option, protocol] of [
      ['--http2', 'HTTP/2'],
      ['--http1.1', 'HTTP/1.1'],
      ['--no-alpn', 'HTTP/1.1'],
    ] as const) {
      const { response } = await curl(['--insecure', option, url])
      assert.deepEqual([response.protocol, response.text], [protocol, protocol === 'HTTP/2' ? 'HTTP/2.0' : protocol])
    }
  })

  test('without `http2` a client that offers it is answered as HTTP/1.1', { skip: noCurl }, async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => 'x'), { http2: false })
    assert.equal((await curl(['--insecure', '--http2', `https://localhost:${server.port}/`])).response.protocol, 'HTTP/1.1')
  })
})

describe('requests', () => {
  test('a handler sees the same as over HTTP/1.1', async (t) => {
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/users/:id', (_, session) => {
        const { request } = session
        const { protocol, method, path, url, rawTarget, routeValues, cookies } = request
        return {
          ...{ protocol, method, path, url, rawTarget, routeValues, cookies },
          query: request.query.get('q'),
          host: request.header('Host'),
          cookie: request.header('cookie'),
          twice: request.header('x-twice'),
          latin: request.header('x-latin'),
          names: [...request.headers].map(([name]) => name),
          fromHere: session.isSecure && session.clientAddress.endsWith('127.0.0.1') && session.clientPort > 0,
        }
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    const response = await client.get('/users/J%C3%BC?q=a+b', { cookie: ['a=1', 'b=2'], 'x-twice': ['1', '2'], 'x-latin': 'ü' })
    assert.equal(response.status, 200)
    assert.deepEqual(response.json(), {
      protocol: 'HTTP/2.0',
      method: 'GET',
      path: '/users/Jü',
      url: '/users/J%C3%BC?q=a+b',
      rawTarget: '/users/J%C3%BC?q=a+b',
      routeValues: { id: 'Jü' },
      cookies: 2,
      query: 'a b',
      host: `localhost:${server.port}`,
      cookie: 'a=1; b=2',
      twice: '1, 2',
      latin: 'ü',
      names: ['host', 'cookie', 'cookie', 'x-twice', 'x-twice', 'x-latin'],
      fromHere: true,
    })
  })

  test('requests of one connection run concurrently, and share its id', async (t) => {
    const both = gate()
    const ids = new Set<string>()
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/', async (_, session) => {
        ids.add(session.requestId)
        if (ids.size === 2) both.open()
        await both.promise
        return session.connectionId
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    const responses = await Promise.all([client.get('/'), client.get('/')])
    assert.equal(responses[0].text, responses[1].text)
    assert.equal(ids.size, 2)
  })

  test('bodies: gathered, mapped to a model, as a form, and no body', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapPost('/text', (_, { request }) => [request.body, request.bodyLength])
      one.mapPost('/person', (_, { request }) => {
        const person = new Person()
        return request.bodyMap(person) ? person : 'nothing'
      })
      one.mapPost('/form', (_, { request }) => request.bodyForm())
    })
    const client = await Http2Client.connect(t, server.port)
    const json = { 'content-type': 'application/json' }
    assert.deepEqual((await client.post('/text', 'Grüße')).json(), ['Grüße', 7])
    assert.deepEqual((await client.post('/text', 'Grüße', { 'content-length': 7 })).json(), ['Grüße', 7])
    assert.deepEqual((await client.post('/text', '')).json(), ['', 0])
    assert.deepEqual((await client.post('/person', '{"name":"Ada","age":36}', json)).json(), { name: 'Ada', age: 36 })
    assert.equal((await client.post('/person', '{"name":"Ada","age":"x"}', json)).status, 400)
    assert.deepEqual((await client.post('/form', 'a=1&a=2')).json(), { a: ['1', '2'] })
  })

  test('a large body arrives complete, gathered and streamed', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapPost('/gathered', (_, { request }) => request.bodyBytes)
      one.mapPost('/echo', { body: 'stream' }, (_, { request, response }) => response.stream(request.bodyStream()))
    })
    const client = await Http2Client.connect(t, server.port)
    for (const path of ['/gathered', '/echo']) assert.ok((await client.post(path, large)).body.equals(large), path)
  })

  test('a body is not read further while its reader reads nothing: the client has to wait', async (t) => {
    const go = gate()
    const { server } = await serveHttp2(t, (one) =>
      one.mapPost('/', { body: 'stream', maxRequestBodySize: null }, async (_, { request }) => {
        const stream = request.bodyStream()
        await go.promise
        let bytes = 0
        for await (const chunk of stream) bytes += (chunk as Buffer).length
        return bytes
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    const stream = client.open({ ':method': 'POST', ':path': '/' })
    const total = 8 * 1024 * 1024
    let taken = 0
    const piece = Buffer.alloc(64 * 1024)
    for (let sent = 0; sent < total; sent += piece.length) stream.write(piece, () => (taken += piece.length))
    stream.end()
    // What the windows allow has been sent when another request has been answered.
    for (let before = -1; before !== taken; ) {
      before = taken
      await new Promise((resolve) => client.session.ping(resolve))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.ok(taken <= 1024 * 1024, `${taken} bytes were accepted while nothing was read`)
    go.open()
    assert.equal((await responseOf(stream)).json(), total)
  })

  test('multipart: in memory and as it arrives', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapPost('/memory', async (_, { request }) => {
        const form = await request.bodyFile()
        return [form.fields.get('name'), form.files[0]!.fileName, form.files[0]!.content.length]
      })
      one.mapPost('/stream', async (_, { request }) => {
        const seen: unknown[] = []
        const isWhole = await request.bodyMultipartStream({
          onField: (name, value) => void seen.push([name, value]),
          onFile: async (info, content) => {
            let bytes = 0
            for await (const chunk of content) bytes += (chunk as Buffer).length
            seen.push([info.fileName, bytes])
          },
        })
        return [isWhole, seen]
      })
    })
    const dispatcher = new Agent({ allowH2: true, connect: { ca: cert } })
    t.after(() => dispatcher.close())
    for (const [path, expected] of [
      ['/memory', ['Ada', 'large.bin', large.length]],
      [
        '/stream',
        [
          true,
          [
            ['name', 'Ada'],
            ['large.bin', large.length],
          ],
        ],
      ],
    ] as const) {
      const form = new FormData()
      form.set('name', 'Ada')
      form.set('file', new Blob([large]), 'large.bin')
      const response = await fetch(`https://localhost:${server.port}${path}`, { method: 'POST', body: form, dispatcher })
      assert.deepEqual(await response.json(), expected)
    }
  })

  test('100 Continue is sent when the body is needed, and not when it is refused', async (t) => {
    const { server } = await serveHttp2(
      t,
      (one) => {
        one.mapPost('/', (_, { request }) => request.body)
        one.mapPost('/never', { body: 'stream' }, () => 'no need')
        one.mapPost('/later', { body: 'stream' }, async (_, { request }) => {
          await request.bufferBody()
          return request.body
        })
      },
      { limits: { maxRequestBodySize: 100 } },
    )
    const client = await Http2Client.connect(t, server.port)
    const ask = async (path: string, length = 5): Promise<[boolean, number, string]> => {
      const stream = client.open({ ':method': 'POST', ':path': path, expect: '100-continue', 'content-length': length })
      let wasTold = false
      stream.on('continue', () => {
        wasTold = true
        stream.end('hello')
      })
      const { status, text } = await responseOf(stream)
      return [wasTold, status, status === 200 ? text : '']
    }
    assert.deepEqual(await ask('/'), [true, 200, 'hello'])
    assert.deepEqual(await ask('/later'), [true, 200, 'hello'])
    assert.deepEqual(await ask('/never'), [false, 200, 'no need'])
    assert.deepEqual(await ask('/', 101), [false, 413, ''])
    assert.equal((await client.get('/', { expect: 'the-unexpected' })).status, 417)
  })

  test('trailers are not merged into the fields', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapPost('/', (_, { request }) => [request.body, request.header('x-late')]))
    const client = await Http2Client.connect(t, server.port)
    const stream = client.session.request({ ':method': 'POST', ':path': '/' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-late': 'smuggled' }))
    stream.end('body')
    assert.deepEqual((await responseOf(stream)).json(), ['body', null])
  })

  test('session.clientCertificate is set as well', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', (_, session) => session.clientCertificate?.subject['CN']), {
      tls: { key, cert, ca, requestCert: true },
    })
    const dispatcher = new Agent({ allowH2: true, connect: { ca: cert, secureContext: createSecureContext({ ...ada, ca: cert }) } })
    t.after(() => dispatcher.close())
    assert.equal(await (await fetch(`https://localhost:${server.port}/`, { dispatcher })).text(), 'Ada')
  })
})

describe('answers', () => {
  test('have Date, type and length, and no field of a connection', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapGet('/text', () => 'Grüße')
      one.mapGet('/large', () => large)
      one.mapGet('/long', () => 'ü'.repeat(100_000))
      one.mapGet('/fields', (_, { response }) =>
        response
          .status(201, 'Made it')
          .appendHeader('X-Two', '1')
          .appendHeader('x-two', '2')
          .header('X-Latin', 'ü')
          .cookie('a', '1')
          .cookie('b', '2')
          .text('x'),
      )
    })
    const client = await Http2Client.connect(t, server.port)
    const text = await client.get('/text')
    const { date, ...rest } = text.headers
    assert.match(String(date), /GMT$/)
    assert.deepEqual(Object.fromEntries(Object.entries(rest)), {
      ':status': 200,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '7',
    })
    assert.equal(text.text, 'Grüße')
    const { body, headers } = await client.get('/large')
    assert.ok(body.equals(large))
    assert.equal(headers['content-length'], String(large.length))
    assert.equal((await client.get('/long')).text, 'ü'.repeat(100_000))
    const fields = await client.get('/fields')
    assert.deepEqual([fields.status, fields.headers['x-two'], fields.headers['x-latin']], [201, '1, 2', 'ü'])
    assert.deepEqual(
      (fields.headers['set-cookie'] as string[]).map((cookie) => cookie.slice(0, 3)),
      ['a=1', 'b=2'],
    )
  })

  test('to HEAD, and with 204, 205 and 304, have no body', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapGet('/text', () => 'Grüße')
      one.mapGet('/stream', (_, { response }) => response.stream(Readable.from(['a', 'b'])))
      for (const status of [204, 205, 304]) one.mapGet(`/${status}`, (_, { response }) => response.text('no').status(status))
    })
    const client = await Http2Client.connect(t, server.port)
    const shapes: unknown[] = []
    for (const [method, path] of [
      ['HEAD', '/text'],
      ['HEAD', '/stream'],
      ['GET', '/204'],
      ['GET', '/205'],
      ['GET', '/304'],
      ['HEAD', '/nope'],
    ] as const) {
      const { status, headers, text, code } = await client.get(path, { ':method': method })
      shapes.push([status, headers['content-length'], text, code])
    }
    assert.deepEqual(shapes.slice(0, 5), [
      [200, '7', '', 0],
      [200, undefined, '', 0],
      [204, undefined, '', 0],
      [205, '0', '', 0],
      [304, undefined, '', 0],
    ])
    assert.equal((shapes[5] as unknown[])[0], 404)
  })

  test('streams: with and without a length, empty, and in large pieces', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapGet('/unknown', (_, { response }) => response.stream(Readable.from([large, Buffer.from('end')])))
      one.mapGet('/known', (_, { response }) => response.header('content-length', 4).stream(Readable.from(['ab', 'cd'])))
      one.mapGet('/empty', (_, { response }) => response.stream(Readable.from([])))
    })
    const client = await Http2Client.connect(t, server.port)
    const unknown = await client.get('/unknown')
    assert.ok(unknown.body.equals(Buffer.concat([large, Buffer.from('end')])))
    assert.equal(unknown.headers['content-length'], undefined)
    const known = await client.get('/known')
    assert.deepEqual([known.text, known.headers['content-length']], ['abcd', '4'])
    assert.equal((await client.get('/empty')).text, '')
  })

  test('a stream that fails: an error response before the first byte, a reset after it', async (t) => {
    const { server, logged } = await serveHttp2(t, (one) => {
      const failing = async function* (first: string[]): AsyncGenerator<string> {
        yield* first
        await new Promise((resolve) => setTimeout(resolve, 20))
        throw new Error('the source broke')
      }
      one.mapGet('/before', (_, { response }) => response.stream(failing([])))
      one.mapGet('/after', (_, { response }) => response.stream(failing(['some'])))
      one.mapGet('/short', (_, { response }) => response.header('content-length', 9).stream(Readable.from(['some'])))
      one.mapGet('/fine', () => 'fine')
    })
    const client = await Http2Client.connect(t, server.port)
    assert.equal((await client.get('/before')).status, 500)
    for (const path of ['/after', '/short']) {
      const response = await client.get(path)
      assert.deepEqual([response.status, response.code], [200, 2], path)
    }
    assert.equal((await client.get('/fine')).text, 'fine')
    assert.equal(logged.length, 3)
  })

  test('a client that reads slowly gets everything, and no more is produced for it than it reads', async (t) => {
    let made = 0
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/', (_, { response }) =>
        response.stream(
          (async function* () {
            for (; made < 100; made++) yield Buffer.alloc(64 * 1024, made)
          })(),
        ),
      ),
    )
    const client = await Http2Client.connect(t, server.port)
    const stream = client.open({ ':path': '/' })
    stream.pause()
    for (let before = -1; before !== made; ) {
      before = made
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.ok(made < 20, `${made} pieces were produced for a client that reads nothing`)
    const reply = responseOf(stream)
    stream.resume()
    assert.equal((await reply).body.length, 100 * 64 * 1024)
  })

  test('files: complete, in part, and unchanged', async (t) => {
    const file = join(temporaryDirectory(t), 'file.txt')
    writeFileSync(file, large)
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', (_, { response }) => response.file(file)))
    const client = await Http2Client.connect(t, server.port)
    const whole = await client.get('/')
    assert.ok(whole.body.equals(large))
    const part = await client.get('/', { range: 'bytes=10-19' })
    assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 10-19/${large.length}`])
    assert.ok(part.body.equals(large.subarray(10, 20)))
    const same = await client.get('/', { 'if-none-match': String(whole.headers['etag']) })
    assert.deepEqual([same.status, same.text], [304, ''])
  })

  test('errors are problem documents, and 405 and OPTIONS have Allow', async (t) => {
    const { server } = await serveHttp2(t, (one) => {
      one.mapGet('/bad', () => Promise.reject(new Error('secret')))
      one.mapGet('/int/:id', { id: schema.int }, ({ id }) => id)
    })
    const client = await Http2Client.connect(t, server.port)
    const codes: unknown[] = []
    for (const path of ['/bad', '/nope', '/int/x']) {
      const response = await client.get(path)
      codes.push([response.status, (response.json() as { code: string }).code, response.headers['content-type']])
    }
    assert.deepEqual(codes, [
      [500, 'WEIR_HANDLER_FAILED', 'application/problem+json'],
      [404, 'WEIR_ROUTE_NOT_FOUND', 'application/problem+json'],
      [400, 'WEIR_PARAMETER_INVALID', 'application/problem+json'],
    ])
    const wrong = await client.post('/bad', 'x')
    assert.deepEqual([wrong.status, wrong.headers['allow']], [405, 'GET, HEAD, OPTIONS'])
    assert.equal((await client.get('/bad', { ':method': 'OPTIONS' })).status, 204)
    assert.equal((await client.get('*', { ':method': 'OPTIONS' })).status, 204)
  })

  test('no request can be upgraded: 505 states that HTTP/1.1 is required, and the connection stays open', async (t) => {
    const { server, logged } = await serveHttp2(t, (one) =>
      one.mapGet('/', (_, { request, response }) => response.upgrade('weir', () => assert.equal(request.upgrade, null))),
    )
    const client = await Http2Client.connect(t, server.port)
    for (let i = 0; i < 2; i++) {
      const response = await client.get('/')
      assert.deepEqual([response.status, response.headers['upgrade'], response.code], [505, undefined, 0])
      const { code, detail } = response.json() as { code: string; detail: string }
      assert.equal(code, 'WEIR_UPGRADE_OVER_HTTP2')
      assert.match(detail, /HTTP\/1\.1.*weir/)
    }
    assert.deepEqual(logged, [])
  })

  test('an error while timeouts are checked aborts that connection, and time continues for the others', async (t) => {
    const broken = new Error('broken')
    const { server, logged } = await serveHttp2(t, (one) => one.mapGet('/', () => new Promise(() => {})), {
      timeouts: { requestTimeout: 50 },
    })
    const { application } = hostOf(server)
    const refuse = application.refuse.bind(application)
    let refused = 0
    application.refuse = (exchange, error) => {
      if (++refused === 1) throw broken
      return refuse(exchange, error)
    }
    const [first, second] = [await Http2Client.connect(t, server.port), await Http2Client.connect(t, server.port)]
    const responses = await Promise.all([first.get('/'), second.get('/')])
    assert.deepEqual(responses.map(({ status }) => status).sort(), [0, 503])
    await Promise.race([first.closed(), second.closed()])
    assert.equal(logged[0], broken)
    const third = await Http2Client.connect(t, server.port)
    assert.equal((await third.get('/')).status, 503)
  })

  test('with `debug`, a body that is sent back is sent as it was received', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapPost('/', (_, { request }) => request.bodySpan), { debug: true })
    const client = await Http2Client.connect(t, server.port)
    assert.equal((await client.post('/', 'some bytes')).text, 'some bytes')
    assert.ok((await client.post('/', large)).body.equals(large))
  })
})

describe('lifetimes', () => {
  const waiting = (left: ReturnType<typeof gate<unknown>>) => (one: HttpServer) =>
    one.mapGet('/', (_, { signal }) => {
      signal.addEventListener('abort', () => left.open(signal.reason))
      return left.promise.then(() => 'too late')
    })

  test('a client that cancels a request: the signal aborts, and the connection stays open', async (t) => {
    const left = gate<unknown>()
    const started = gate()
    const { server, logged } = await serveHttp2(t, (one) => {
      waiting(left)(one)
      one.use((session, next) => {
        if (session.request.path === '/') started.open()
        return next()
      })
      one.mapGet('/fine', () => 'fine')
    })
    const client = await Http2Client.connect(t, server.port)
    const stream = client.open({ ':path': '/' })
    await within(started.promise, 'the start of the handler')
    stream.close(8)
    assert.equal(((await within(left.promise, 'the abort')) as { code: string }).code, 'WEIR_CLIENT_GONE')
    assert.equal((await client.get('/fine')).text, 'fine')
    assert.deepEqual(logged, [])
  })

  test('a client that aborts the connection: the signal aborts, the body fails, the stream is closed', async (t) => {
    const left = gate<unknown>()
    const bodyError = gate<{ code?: string }>()
    const closed = gate()
    let started = 0
    const { server, logged } = await serveHttp2(t, (one) => {
      one.use((_, next) => {
        started++
        return next()
      })
      waiting(left)(one)
      one.mapPost('/', { body: 'stream' }, async (_, { request }) => {
        try {
          for await (const _chunk of request.bodyStream());
          return 'whole'
        } catch (error) {
          bodyError.open(error as { code?: string })
          throw error
        }
      })
      one.mapGet('/stream', (_, { response }) =>
        response.stream(
          new Readable({
            read() {
              setTimeout(() => this.push('x'), 1)
            },
            destroy(error, done) {
              closed.open()
              done(error)
            },
          }),
        ),
      )
    })
    const client = await Http2Client.connect(t, server.port)
    client.open({ ':path': '/' })
    client.open({ ':path': '/stream' })
    client.open({ ':path': '/', ':method': 'POST' }).write('half')
    await eventually(() => started === 3, 'the start of the handlers')
    client.session.destroy()
    assert.equal(((await within(left.promise, 'the abort')) as { code: string }).code, 'WEIR_CLIENT_GONE')
    assert.equal((await within(bodyError.promise, 'the failure of the body')).code, 'WEIR_CLIENT_GONE')
    await within(closed.promise, 'the end of the stream')
    assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
    assert.deepEqual(logged, [])
  })

  test('requestTimeout: 503, the signal aborts, and the connection stays open', async (t) => {
    const left = gate<unknown>()
    const { server } = await serveHttp2(
      t,
      (one) => {
        waiting(left)(one)
        one.mapGet('/fine', () => 'fine')
      },
      { timeouts: { requestTimeout: 60 } },
    )
    const client = await Http2Client.connect(t, server.port)
    const response = await client.get('/')
    assert.deepEqual([response.status, (response.json() as { code: string }).code], [503, 'WEIR_REQUEST_TIMEOUT'])
    assert.equal(((await left.promise) as { code: string }).code, 'WEIR_REQUEST_TIMEOUT')
    assert.equal((await client.get('/fine')).text, 'fine')
  })

  test('a body that is too slow: 408; but not one whose reader is slow, or whose client was not told to continue', async (t) => {
    const go = gate()
    const { server } = await serveHttp2(
      t,
      (one) => {
        one.mapPost('/', (_, { request }) => request.body)
        one.mapPost('/slow-reader', { body: 'stream' }, async (_, { request }) => {
          await go.promise
          await request.bufferBody()
          return request.bodyLength
        })
      },
      { timeouts: { minBodyRate: 1_000_000, bodyGracePeriod: 200 } },
    )
    const client = await Http2Client.connect(t, server.port)
    const patient = client.open({ ':method': 'POST', ':path': '/slow-reader' })
    patient.end(Buffer.alloc(1000))
    const patientResponse = responseOf(patient)
    const asking = client.open({ ':method': 'POST', ':path': '/slow-reader', expect: '100-continue' })
    let wasTold = false
    asking.on('continue', () => {
      wasTold = true
      asking.end('hello')
    })
    const slow = client.open({ ':method': 'POST', ':path': '/' })
    slow.write('a little')
    const response = await responseOf(slow)
    assert.deepEqual([response.status, (response.json() as { code: string }).code], [408, 'WEIR_BODY_TOO_SLOW'])
    assert.equal(wasTold, false)
    go.open()
    assert.equal((await responseOf(asking)).json(), 5)
    assert.equal((await patientResponse).json(), 1000)
  })

  test('writeTimeout: a stream that is not read is aborted, and the others continue', async (t) => {
    const { server, logged } = await serveHttp2(
      t,
      (one) => {
        one.mapGet('/large', () => large)
        one.mapGet('/fine', () => 'fine')
      },
      { timeouts: { writeTimeout: 100 } },
    )
    const client = await Http2Client.connect(t, server.port)
    const stuck = client.open({ ':path': '/large' })
    const broken = responseOf(stuck)
    stuck.pause()
    assert.equal((await broken).code, 2)
    assert.deepEqual(
      (logged as { code: string }[]).map(({ code }) => code),
      [],
    )
    assert.equal((await client.get('/fine')).text, 'fine')
  })

  test('keepAliveTimeout: an idle connection ends with GOAWAY', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => 'x'), { timeouts: { keepAliveTimeout: 60 } })
    const client = await Http2Client.connect(t, server.port)
    assert.equal((await client.get('/')).status, 200)
    await client.closed()
    assert.deepEqual(client.goaway, { code: 0, lastStream: 1 })
    assert.equal(server.isListening, true)
  })

  test('maxRequestsPerConnection: GOAWAY names the last one, and it is answered', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', () => 'x'), { limits: { maxRequestsPerConnection: 3 } })
    const client = await Http2Client.connect(t, server.port)
    const responses = await Promise.all([client.get('/'), client.get('/'), client.get('/')])
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200],
    )
    await client.closed()
    assert.deepEqual(client.goaway, { code: 0, lastStream: 5 })
  })

  test('`Connection: close` ends the connection after its response', async (t) => {
    const { server } = await serveHttp2(t, (one) => one.mapGet('/', (_, { response }) => response.header('Connection', 'close').text('x')))
    const client = await Http2Client.connect(t, server.port)
    const { text, headers } = await client.get('/')
    assert.deepEqual([text, headers['connection']], ['x', undefined])
    await client.closed()
  })

  test('stop: requests in progress are answered, idle connections end, and no new one is accepted', async (t) => {
    const started = gate()
    const go = gate()
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/', async () => {
        started.open()
        await go.promise
        return 'finished'
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    const idle = await Http2Client.connect(t, server.port)
    const response = client.get('/')
    await within(started.promise, 'the start of the handler')
    const stopped = server.stop()
    await idle.closed()
    go.open()
    assert.equal((await response).text, 'finished')
    assert.deepEqual(await within(stopped, 'the stop'), { aborted: 0 })
    await assert.rejects(Http2Client.connect(t, server.port))
  })

  test('stop: what is left at the deadline is aborted and counted', async (t) => {
    const left = gate<unknown>()
    const { server } = await serveHttp2(t, waiting(left))
    const client = await Http2Client.connect(t, server.port)
    const response = client.get('/')
    await new Promise((resolve) => client.session.ping(resolve))
    assert.deepEqual(await within(server.stop({ graceMs: 50 }), 'the stop'), { aborted: 1 })
    assert.equal(((await left.promise) as { code: string }).code, 'WEIR_SERVER_STOPPED')
    assert.equal((await response).status, 0)
  })

  test('stop waits for the handler of a client that has left', async (t) => {
    const left = gate<unknown>()
    const started = gate()
    const cleaned = gate()
    const { server } = await serveHttp2(t, (one) =>
      one.mapGet('/', async (_, { signal }) => {
        signal.addEventListener('abort', () => left.open(signal.reason))
        started.open()
        await cleaned.promise
      }),
    )
    const client = await Http2Client.connect(t, server.port)
    client.open({ ':path': '/' })
    await within(started.promise, 'the start of the handler')
    client.session.destroy()
    await within(left.promise, 'the abort')
    let isOver = false
    const stopped = server.stop().then(() => (isOver = true))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(isOver, false)
    cleaned.open()
    await within(stopped, 'the stop')
  })

  test('stop under load: every request that was answered at all was answered completely', async (t) => {
    const { server, logged } = await serveHttp2(t, (one) =>
      one.mapGet('/', async () => {
        await new Promise((resolve) => setTimeout(resolve, 2))
        return 'whole'
      }),
    )
    const clients = await Promise.all(Array.from({ length: 4 }, () => Http2Client.connect(t, server.port)))
    let whole = 0
    const broken: string[] = []
    const load = clients.map(async (client) => {
      while (!client.session.closed && !client.session.destroyed) {
        const { status, text, code } = await client.get('/').catch((error: Error) => ({ status: 0, text: error.message, code: 7 }))
        if (status === 200 && text === 'whole' && code === 0) whole++
        else if (status !== 0) broken.push(`${status} ${text} ${code}`)
      }
    })
    await eventually(() => whole > 100, 'some load')
    assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
    await Promise.all(load)
    assert.deepEqual([broken, logged], [[], []])
  })
})

describe('clients that are not ours', () => {
  test('curl: an upload, a download, several at the same time', { skip: noCurl }, async (t) => {
    const { server } = await serveHttp2(t, (one) =>
      one.mapPost('/echo', { body: 'stream' }, (_, { request, response }) => response.stream(request.bodyStream())),
    )
    const url = `https://localhost:${server.port}/echo`
    const { response } = await curl(['--insecure', '--http2', '--data-binary', '@-', url], large)
    assert.deepEqual([response.protocol, response.status], ['HTTP/2', 200])
    assert.ok(response.body.equals(large))
    const refused = await curl(
      ['--insecure', '--http2', '--data-binary', '@-', '-H', 'Expect: 100-continue', url.replace('echo', 'nope')],
      large,
    )
    assert.deepEqual([refused.response.status, refused.exitCode], [404, 0])
  })

  test('undici, through a Unix socket', async (t) => {
    const unixSocket = join(temporaryDirectory(t), 'server.sock')
    await serveHttp2(t, (one) => one.mapPost('/', (_, session) => `${session.request.protocol} ${session.request.body}`), { unixSocket })
    const dispatcher = new Agent({ allowH2: true, connect: { socketPath: unixSocket, ca: cert, servername: 'localhost' } })
    t.after(() => dispatcher.close())
    const response = await fetch('https://localhost/', { method: 'POST', body: 'hello', dispatcher })
    assert.equal(await response.text(), 'HTTP/2.0 hello')
  })

  test('undici: many requests on one connection', async (t) => {
    const ids = new Set<string>()
    const { server } = await serveHttp2(t, (one) =>
      one.mapPost('/', (_, session) => {
        ids.add(session.connectionId)
        return session.request.bodyString
      }),
    )
    const dispatcher = new Agent({ allowH2: true, connections: 1, connect: { ca: cert } })
    t.after(() => dispatcher.close())
    const bodies = Array.from({ length: 50 }, (_, i) => `body ${i} ${'x'.repeat(i * 100)}`)
    const responses = await Promise.all(
      bodies.map(async (body) => {
        const response = await request(`https://localhost:${server.port}/`, { method: 'POST', body, dispatcher })
        return response.body.text()
      }),
    )
    assert.deepEqual(responses, bodies)
    assert.equal(ids.size, 1)
  })

  test('Chromium: a page, its requests, an upload and a stream, all over h2', { skip: noChromium }, async (t) => {
    const protocols = new Set<string>()
    const { server } = await serveHttp2(t, (one) => {
      one.use((session, next) => {
        protocols.add(session.request.protocol)
        return next()
      })
      one.mapGet('/', (_, { response }) => response.html('<title>weir</title>'))
      one.mapPost('/upload', async (_, { request }) => {
        const form = await request.bodyFile()
        return { name: form.files[0]!.fileName, bytes: form.files[0]!.content.length }
      })
      one.mapGet('/stream', (_, { response }) => response.stream(Readable.from(['one ', 'two ', 'three'])))
    })
    const browser = await launchChromium()
    t.after(() => browser.close())
    const page = await browser.newPage({ ignoreHTTPSErrors: true })
    await page.goto(`https://localhost:${server.port}/`)
    assert.equal(await page.evaluate(`performance.getEntriesByType('navigation')[0].nextHopProtocol`), 'h2')
    const upload = await page.evaluate(`(async () => {
      const form = new FormData()
      form.set('file', new Blob([new Uint8Array(1000000)]), 'million.bin')
      return (await fetch('/upload', { method: 'POST', body: form })).json()
    })()`)
    assert.deepEqual(upload, { name: 'million.bin', bytes: 1_000_000 })
    assert.equal(await page.evaluate(`fetch('/stream').then((answer) => answer.text())`), 'one two three')
    assert.deepEqual([...protocols], ['HTTP/2.0'])
  })
})
