// Handlers, iterables and answers that misbehave, and clients that make the most of it: none may end the process, show what belongs to
// somebody else, or hang the server.

import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import type { SavedFile, StandardSchema } from '../../src/index.ts'
import { HttpResponse, HttpServer, saveTo } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { FakeConnection } from '../support/fake-connection.ts'
import { eventually, gate, inBothReadModes, within } from '../support/serving.ts'

const quiet = { logger: null }

/** An iterable that `for await` takes, but whose `return` gives no promise. */
function plainReturn(values: readonly string[], onReturn: () => void): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]() {
      let i = 0
      return {
        next: async () => (i < values.length ? { done: false, value: values[i++]! } : { done: true, value: undefined }),
        return(): never {
          onReturn()
          return { done: true, value: undefined } as never
        },
      }
    },
  }
}

inBothReadModes('misuse', (serve) => {
  test('a Readable that will fail ends nothing when HEAD asks for it, or when its answer is replaced', async (t) => {
    const missing = join(tmpdir(), 'weir-is-not-here')
    const { connect } = await serve(t, (server) => {
      server.use(async ({ request }, next) => {
        await next()
        return request.path === '/replaced' ? 'instead' : undefined
      })
      server.mapGet('/doc', () => createReadStream(missing))
      server.mapGet('/replaced', () => createReadStream(missing))
      server.mapGet('/later', async (_, { response }) => {
        response.stream(createReadStream(missing))
        await new Promise((resolve) => setTimeout(resolve, 20))
      })
    })
    const client = await connect()
    client.send('HEAD /doc HTTP/1.1\r\nHost: h\r\n\r\n')
    assert.equal((await client.message(true)).status, 200)
    assert.equal((await client.get('/replaced').message()).text, 'instead')
    assert.equal((await client.get('/later').message()).status, 500)
    assert.equal((await client.get('/doc').message()).status, 500)
  })

  test('a Readable that fails after its client has left ends nothing', async (t) => {
    const [left, returned] = [gate(), gate()]
    const { connect } = await serve(t, (server) =>
      server.mapGet('/', async (_, { signal }) => {
        signal.addEventListener('abort', () => left.open())
        await left.promise
        returned.open()
        return createReadStream(join(tmpdir(), 'weir-is-not-here'))
      }),
    )
    const client = (await connect()).get('/')
    setTimeout(() => client.reset(), 20)
    await within(returned.promise, 'the handler')
    await new Promise((resolve) => setTimeout(resolve, 20))
  })

  test('bufferBody that nobody awaits ends nothing', async (t) => {
    const { connect } = await serve(t, (server) =>
      server.mapPost('/', { body: 'stream' }, (_, { request }) => {
        void request.bufferBody()
        return 'x'
      }),
    )
    const client = await connect()
    client.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc')
    assert.equal((await client.message()).text, 'x')
    client.reset()
    await new Promise((resolve) => setTimeout(resolve, 20))
  })

  test('an iterator whose return gives no promise is streamed whole, and closed when the client leaves', async (t) => {
    let returns = 0
    const { connect } = await serve(t, (server) => {
      server.mapGet('/whole', () => plainReturn(['a', 'b'], () => returns++))
      server.mapGet('/endless', () => plainReturn(new Array(1_000_000).fill('x'.repeat(1000)), () => returns++))
    })
    const client = await connect()
    assert.equal((await client.get('/whole').message()).text, 'ab')
    const before = returns
    await client.get('/endless').atLeast(10_000)
    client.reset()
    await eventually(() => returns > before, 'the return')
  })

  test('a client that has left is noticed while its socket is not read', async (t) => {
    let aborted = 0
    let started = 0
    const wait = (signal: AbortSignal): Promise<void> => {
      started++
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(void aborted++)))
    }
    const { connect } = await serve(
      t,
      (server) => {
        server.mapGet('/wait', (_, { signal }) => wait(signal))
        server.mapPost('/unread', { body: 'stream' }, (_, { signal }) => wait(signal))
      },
      { timeouts: { lingerTimeout: 100 } },
    )
    const flood = await connect()
    flood.send('GET /wait HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(5_000))
    const unread = await connect()
    unread.send('POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc')
    await eventually(() => started === 2, 'both handlers')
    await new Promise((resolve) => setTimeout(resolve, 50))
    flood.reset()
    unread.reset()
    await eventually(() => aborted === 2, 'both signals')
  })
})

test('a Web Response takes the place of the whole answer', async () => {
  const server = new HttpServer(quiet)
  server.use(async ({ request }, next) => {
    await next()
    if (request.path === '/redirect') return Response.redirect('http://h/login', 302)
    if (request.path === '/denied') return new Response(null, { status: 403 })
    return new Response('x', { headers: { 'Proxy-Connection': 'close', Upgrade: 'h2c', Trailer: 'a', TE: 'trailers', X: '1' } })
  })
  server.map(null, '/*p', (_, { response }) => response.header('ETag', '"secret"').text('SECRET'))
  const redirect = await server.inject('/redirect')
  assert.deepEqual([redirect.status, redirect.text(), redirect.headers.get('etag')], [302, '', null])
  const denied = await server.inject('/denied')
  assert.deepEqual([denied.status, denied.text(), denied.headers.get('content-type')], [403, '', null])
  const plain = await server.inject('/')
  assert.deepEqual([plain.status, plain.text(), plain.headers.get('x'), plain.headers.get('upgrade')], [200, 'x', '1', null])
})

test('an onError whose answer fails is asked once', async () => {
  let asked = 0
  const server = new HttpServer({
    ...quiet,
    // biome-ignore lint/correctness/useYield: it fails before it has anything to give
    onError: async function* () {
      asked++
      throw new Error('again')
    },
  })
  server.mapGet('/', () => {
    throw new Error('first')
  })
  const answer = await server.inject('/')
  assert.deepEqual([answer.status, asked], [500, 1])
})

test('what is replaced is closed, and says nothing about what replaces it', {
  skip: process.platform !== 'linux' && 'counts descriptors',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'large.html')
  writeFileSync(file, Buffer.alloc(300_000, 'x'))
  const server = new HttpServer(quiet)
  server.use(async ({ request }, next) => {
    await next()
    switch (request.query.get('how')) {
      case 'other':
        return new HttpResponse().text('other')
      case 'text':
        return 'text'
      case 'web':
        return new Response('denied', { status: 403 })
      case 'generator':
        return (async function* () {
          yield 'piece'
        })()
    }
    return undefined
  })
  server.mapGet('/', (_, { response }) => response.file(file))
  const descriptors = (): number => readdirSync('/proc/self/fd').length
  await server.inject('/?how=text')
  const before = descriptors()
  for (const [how, text, type] of [
    ['other', 'other', 'text/plain; charset=utf-8'],
    ['text', 'text', 'text/plain; charset=utf-8'],
    ['web', 'denied', 'text/plain;charset=UTF-8'],
    ['generator', 'piece', 'application/octet-stream'],
  ]) {
    for (let i = 0; i < 5; i++) {
      const answer = await server.inject({ url: `/?how=${how}`, headers: { Range: 'bytes=0-99999' } })
      const { headers } = answer
      assert.deepEqual([answer.text(), headers.get('content-type')], [text, type])
      for (const name of ['etag', 'last-modified', 'content-range', 'accept-ranges']) assert.equal(headers.get(name), null)
      assert.notEqual(answer.status, 206)
    }
  }
  await eventually(() => descriptors() <= before, 'the files to be closed')
})

test('one response object answers one request', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'page.html'), 'page')
  const shared = new HttpResponse().file(join(folder, 'page.html'))
  const server = new HttpServer(quiet).mapGet('/', () => shared)
  assert.equal((await server.inject({ url: '/', headers: { Range: 'bytes=0-0' } })).text(), 'p')
  assert.deepEqual((await server.inject('/')).json(), { title: 'Internal Server Error', status: 500, code: 'WEIR_RESPONSE_SENT' })
})

test('answers that cannot be sent are a 500, not a broken connection', async () => {
  const bodies: ((response: HttpResponse) => unknown)[] = [
    (r) => r.text(42 as never),
    (r) => r.text(undefined as never),
    (r) => r.body('hello' as never),
    (r) => r.body(null as never),
    (r) => r.stream({} as never),
    (r) => r.header('x', undefined as never).text(''),
    () => new Error('returned'),
    () => new Map([[1, 2]]),
    () => new Blob(['x']),
  ]
  for (const body of bodies) {
    const server = new HttpServer(quiet).mapGet('/', (_, { response }) => body(response))
    assert.equal((await server.inject('/')).status, 500, String(body))
  }
})

test('a thenable that gives nothing back, and errors that have no text, are answered', async () => {
  class Thenable {
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    then(resolve: (value: string) => void): void {
      resolve('x')
    }
  }
  const server = new HttpServer({ debug: true, logger: { error: () => assert.fail('a logger that fails') } })
  server.mapGet('/thenable', () => new Thenable())
  server.mapGet('/bare', () => {
    throw Object.create(null)
  })
  assert.equal((await server.inject('/thenable')).text(), 'x')
  const bare = await server.inject('/bare')
  assert.deepEqual([bare.status, (bare.json() as { detail: string }).detail], [500, 'an object'])
})

test('a length that was promised can be taken back', async () => {
  const server = new HttpServer(quiet)
  server.use(async ({ response }, next) => {
    await next()
    assert.equal(response.getHeader('content-length'), '5')
    response.removeHeader('Content-Length').stream(Buffer.from('longer').length > 5 ? (async function* () { yield 'longer' })() : (null as never)) // biome-ignore format: one line
  })
  server.mapGet('/', (_, { response }) => response.header('Content-Length', 5).stream((async function* () { yield 'short' })())) // biome-ignore format: one line
  assert.equal((await server.inject('/')).text(), 'longer')
})

test('a schema that rejects behind one that throws ends nothing', async () => {
  const make = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
    '~standard': { version: 1, vendor: 'x', validate },
  })
  const server = new HttpServer(quiet)
  const throws = (): never => {
    throw new Error('sync')
  }
  server.mapGet('/', { a: make(() => Promise.reject(new Error('async'))), b: make(throws) }, () => '')
  assert.equal((await server.inject('/?a=1&b=2')).status, 500)
  await new Promise((resolve) => setImmediate(resolve))
})

test('toWeb sees the path that was routed, and refuses what fetch has no words for', async () => {
  const server = new HttpServer(quiet)
  server.map(null, '/*p', (_, { request }) => new URL(request.toWeb().url).pathname)
  assert.equal((await server.inject('/public/a%5Cb')).text(), '/public/a%5Cb')
  assert.equal((await server.inject('/public/..\\..\\admin')).status, 400)
  assert.equal((await server.inject('/public/%5C..%5Cadmin')).status, 400)
  assert.equal((await server.inject({ url: '/x', headers: { Host: 'h:99999' } })).status, 400)
  assert.equal((await server.inject({ url: '/x', method: 'TRACE' })).status, 501)
})

test('requestTimeout holds also behind a body that was too slow', async () => {
  const connection = new FakeConnection({
    timeouts: { requestTimeout: 10_000, minBodyRate: 256, bodyGracePeriod: 1_000 },
    routes: {
      'POST ~hang': async (_, { request }) => {
        await request.bufferBody().catch(() => {})
        return new Promise(() => {})
      },
    },
  })
  await connection.send('POST /hang HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx')
  await connection.clock.advance(12_000)
  assert.equal(connection.answer()?.status, 503)
})

test('minBodyRate: a burst buys no hours of silence', async () => {
  const connection = new FakeConnection({ timeouts: { minBodyRate: 256, bodyGracePeriod: 5_000 }, routes: { 'POST /': () => '' } })
  await connection.send('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n')
  await connection.send('x'.repeat(1_000_000))
  await connection.clock.advance(300_000)
  assert.equal(connection.answer()?.status, 408)
})

test('stop does not wait for TLS handshakes that never end', async (t) => {
  const server = new HttpServer({ ...quiet, tls: { key, cert }, timeouts: { headersTimeout: 200 } })
  await server.start()
  const silent = connectTcp(server.port, '127.0.0.1')
  t.after(() => silent.destroy())
  const gone = new Promise<void>((resolve) => silent.once('close', () => resolve()))
  silent.on('error', () => {})
  silent.resume()
  await within(gone, 'the end of a handshake that takes too long')
  const second = connectTcp(server.port, '127.0.0.1')
  second.on('error', () => {})
  t.after(() => second.destroy())
  await new Promise<void>((resolve) => second.once('connect', () => resolve()))
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await within(server.stop(), 'the stop'), { aborted: 0 })
})

test('options that do not exist are refused', () => {
  assert.throws(() => new HttpServer({ onEror: () => '' } as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new HttpServer(3000 as never), { code: 'WEIR_OPTION_INVALID' })
  const wrong = [
    { logger: 'x' },
    { logger: {} },
    { onError: 'x' },
    { jsonEngine: { serialize: JSON.stringify } },
    { debug: 'yes' },
    { sharedReceiveBuffer: 0 },
  ]
  for (const options of wrong)
    assert.throws(() => new HttpServer(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  assert.throws(() => new HttpServer('127.0.0.1', '3000' as never), /"3000"/)
  assert.throws(() => new HttpServer().use({} as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => new HttpServer().useModule({ name: 'late', install: async () => {} }), { code: 'WEIR_OPTION_INVALID' })
})

test('inject takes forms, headers of other kinds, large answers and a way to stop waiting', async () => {
  const server = new HttpServer(quiet)
  server.mapPost('/', async (_, { request }) => {
    const form = await request.bodyMultipart()
    return form === null ? request.bodyForm() : { title: form.fields.get('title'), type: request.header('x') }
  })
  server.mapGet('/large', async function* () {
    for (let i = 0; i < 20_000; i++) yield Buffer.alloc(1_000, 'x')
  })
  server.mapGet('/endless', async function* (_, { signal }) {
    for (;;) {
      yield 'x'
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (signal.aborted) return
    }
  })
  const form = new FormData()
  form.set('title', 'T')
  assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form, headers: { x: 3 } })).json(), { title: 'T', type: '3' })
  assert.deepEqual(
    (await server.inject({ method: 'POST', url: '/', body: new URLSearchParams({ a: 'b' }), headers: new Headers() })).json(),
    {
      a: 'b',
    },
  )
  const pairs = [
    ['x', 'a'],
    ['x', 3],
  ] as const
  for (const headers of [pairs, new Map([['x', 'a, 3']])]) {
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form, headers })).json(), { title: 'T', type: 'a, 3' })
  }
  assert.equal((await server.inject('/large')).body.length, 20_000_000)
  const reason = new Error('enough')
  await assert.rejects(server.inject({ url: '/endless', signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), 20)
  await assert.rejects(server.inject({ url: '/endless', signal: controller.signal }), reason)
})

test('files whose saving onFile does not wait for are saved whole; a stream that was read is refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const server = new HttpServer(quiet)
  server.mapPost('/', async (_, { request }) => {
    const jobs: Promise<SavedFile>[] = []
    await request.bodyMultipartStream({ onFile: (info, content) => void jobs.push(saveTo(folder, info, content)) })
    return (await Promise.all(jobs)).map(({ size }) => size)
  })
  server.mapPost('/read', async (_, { request }) => {
    let outcome: unknown
    await request.bodyMultipartStream({
      onFile: async (info, content) => {
        content.resume()
        outcome = await saveTo(folder, info, content).catch((error: Error) => error.name)
      },
    })
    return { outcome }
  })
  for (const size of [0, 11, 100_000, 3_000_000]) {
    const form = new FormData()
    for (const name of ['a', 'b']) form.set(name, new File([Buffer.alloc(size, name)], `${name}.txt`))
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: form })).json(), [size, size])
    assert.deepEqual((await server.inject({ method: 'POST', url: '/read', body: form })).json(), { outcome: 'BodyAlreadyReadError' })
  }
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
  assert.deepEqual(
    sizes.sort((a, b) => a - b),
    [0, 0, 11, 11, 100_000, 100_000, 3_000_000, 3_000_000],
  )
})

test('a form where a text was expected is the client’s mistake, and not logged', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({ logger: { error: (_, error) => logged.push(error) } })
  server.mapPost('/text', (_, { request }) => request.body)
  server.mapPost('/stream', { body: 'stream' }, (_, { request }) => request.body)
  const form = new FormData()
  form.set('a', 'b')
  const answer = await server.inject({ method: 'POST', url: '/text', body: form })
  assert.deepEqual([answer.status, (answer.json() as { code: string }).code, logged.length], [415, 'WEIR_BODY_IS_FORM', 0])
  assert.equal((await server.inject({ method: 'POST', url: '/stream', body: form })).status, 500)
  assert.equal(logged.length, 1)
})
