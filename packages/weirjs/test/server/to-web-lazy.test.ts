// toWeb(): a native Request, whose signal and body are created when they are needed, and which fetch and `new Request` accept.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { describe, type TestContext, test } from 'node:test'

import type { HttpRequest, HttpServer } from '../../src/index.ts'
import { HttpServer as Server } from '../../src/index.ts'
import { gate, inBothReadModes, within } from '../support/serving.ts'
import { standsStill } from '../support/standing-still.ts'

/** An upstream server that answers with what it has received. @returns its origin */
async function upstream(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    const { host: _, connection: __, ...headers } = request.headers
    response.end(JSON.stringify({ method: request.method, url: request.url, headers, body }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as { port: number }).port}`
}

describe('a Request from toWeb', () => {
  test('is an instance of Request, and is printed as one', async () => {
    const server = new Server({ logger: null })
    server.mapPost('/', (_, { request }) => {
      const web = request.toWeb()
      assert.ok(web instanceof Request)
      assert.equal(Object.prototype.toString.call(web), '[object Request]')
      return [web.constructor.name, web.url, web.method, web.bodyUsed, web.redirect]
    })
    const response = await server.inject({ method: 'POST', url: '/', body: 'x' })
    assert.deepEqual(response.json(), ['Request', 'http://localhost/', 'POST', false, 'follow'])
  })

  test('can be passed to new Request, with changes or without, and be cloned', async () => {
    const server = new Server({ logger: null })
    server.mapPost('/', async (_, { request }) => {
      const copy = new Request(request.toWeb())
      const changed = new Request(request.toWeb(), { headers: { x: 'other' } })
      const web = request.toWeb()
      const clone = web.clone()
      return [
        [copy.method, copy.headers.get('x'), await copy.text()],
        [changed.method, changed.headers.get('x'), await changed.text()],
        [clone.headers.get('x'), await clone.text(), await web.text(), web.bodyUsed],
      ]
    })
    const response = await server.inject({ method: 'POST', url: '/', headers: { X: 'y' }, body: 'body' })
    assert.deepEqual(response.json(), [
      ['POST', 'y', 'body'],
      ['POST', 'other', 'body'],
      ['y', 'body', 'body', true],
    ])
  })

  inBothReadModes('can be fetched', (serve) => {
    for (const mode of ['buffer', 'stream'] as const) {
      test(`with the body that curl sends in chunks, after 100 Continue (${mode})`, async (t) => {
        const origin = await upstream(t)
        const { connect } = await serve(t, (server) =>
          server.map(null, '/*path', { body: mode }, (_, { request }) => fetch(new Request(`http://${origin}/up`, request.toWeb()))),
        )
        const client = await connect()
        client.send('PUT /down HTTP/1.1\r\nHost: h\r\nX: y\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nTE: trailers\r\n\r\n')
        assert.equal((await client.message()).status, 100)
        client.send('4\r\nbody\r\n0\r\n\r\n')
        const seen = (await client.message()).json() as { headers: Record<string, string> }
        assert.deepEqual([seen.headers['x'], seen.headers['te'], seen.headers['expect']], ['y', undefined, undefined])
        assert.deepEqual({ ...seen, headers: null }, { method: 'PUT', url: '/up', headers: null, body: 'body' })
      })
    }

    test('directly, without a copy, GET and POST', async (t) => {
      const origin = await upstream(t)
      const { connect } = await serve(t, (server) => server.map(null, '/*path', (_, { request }) => fetch(request.toWeb())))
      const client = await connect()
      // The Host is that of the upstream server, as behind a transparent proxy.
      client.send(`GET /a?b HTTP/1.1\r\nHost: ${origin}\r\nX: y\r\nConnection: keep-alive, TE\r\nKeep-Alive: timeout=5\r\n\r\n`)
      const got = (await client.message()).json() as { url: string; headers: Record<string, string> }
      assert.deepEqual([got.url, got.headers['x']], ['/a?b', 'y'])
      client.send(`POST /c HTTP/1.1\r\nHost: ${origin}\r\nContent-Length: 4\r\n\r\nbody`)
      const posted = (await client.message()).json() as { method: string; body: string }
      assert.deepEqual([posted.method, posted.body], ['POST', 'body'])
    })
  })
})

describe('the signal of a Request from toWeb', () => {
  test('is that of the request', async () => {
    const server = new Server({ logger: null })
    server.mapGet('/', (_, { request }) => request.toWeb().signal === request.signal)
    assert.equal((await server.inject('/')).json(), true)
  })

  inBothReadModes('fires when the client leaves', (serve) => {
    /** Runs `act` in a handler whose client leaves, and returns what it resolves with. */
    async function whenTheClientLeaves(t: TestContext, act: (request: HttpRequest) => Promise<unknown>): Promise<unknown> {
      const begun = gate()
      const seen = gate<unknown>()
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', async (_, { request }) => {
          const result = act(request)
          begun.open()
          seen.open(await result)
        }),
      )
      const client = await connect()
      client.post('/', 'body')
      await begun.promise
      client.destroy()
      return within(seen.promise, 'the signal')
    }
    const abortOf = (signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve((signal.reason as { code: string }).code)))

    test('in itself, in copies, in clones, and in signals that depend on it', async (t) => {
      const codes = await whenTheClientLeaves(t, (request) => {
        const web = request.toWeb()
        const signals = [
          web.signal,
          new Request(web.clone()).signal,
          web.clone().signal,
          AbortSignal.any([web.signal]),
          new Request(web).signal,
        ]
        return Promise.all(signals.map(abortOf))
      })
      assert.deepEqual(codes, Array(5).fill('WEIR_CLIENT_GONE'))
    })

    test('in a fetch of it that is in progress, although the signal was never read', async (t) => {
      const arrived = gate()
      const silent = createServer(() => arrived.open())
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      t.after(() => {
        silent.closeAllConnections()
        silent.close()
      })
      const { port } = silent.address() as { port: number }
      const failed = gate<unknown>()
      const { connect } = await serve(t, (server) =>
        server.mapGet('/', (_, { request }) => fetch(request.toWeb()).catch((error: unknown) => failed.open(error))),
      )
      const client = await connect()
      client.send(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
      await within(arrived.promise, 'the request to the other server')
      client.destroy()
      assert.equal(((await within(failed.promise, 'the end of the fetch')) as { code: string }).code, 'WEIR_CLIENT_GONE')
    })

    test('in one that is started afterwards', async (t) => {
      const results = await whenTheClientLeaves(t, async (request) => {
        await abortOf(request.signal)
        const fetched = fetch(request.toWeb()).catch((error: { code: string }) => error.code)
        return [request.toWeb().signal.aborted, new Request(request.toWeb()).signal.aborted, await fetched]
      })
      assert.deepEqual(results, [true, true, 'WEIR_CLIENT_GONE'])
    })
  })
})

describe('the body of a Request from toWeb', () => {
  const streaming = (map: (request: HttpRequest) => unknown): HttpServer =>
    new Server({ logger: null }).mapPost('/', { body: 'stream' }, (_, { request }) => map(request))

  test('is null if there is none', async () => {
    const server = new Server({ logger: null }).mapPost('/', (_, { request }) => [request.toWeb().body])
    assert.deepEqual((await server.inject({ method: 'POST', url: '/' })).json(), [null])
  })

  test('is left to other readers until it is read', async () => {
    const server = streaming(async (request) => {
      const web = request.toWeb()
      await request.bufferBody()
      return [request.body, await web.text()]
    })
    assert.deepEqual((await server.inject({ method: 'POST', url: '/', body: 'both' })).json(), ['both', 'both'])
    const taken = streaming(async (request) => {
      const web = request.toWeb()
      for await (const _ of request.bodyStream());
      return web.text().catch((error: { code: string }) => error.code)
    })
    assert.equal((await taken.inject({ method: 'POST', url: '/', body: 'once' })).text(), 'WEIR_BODY_ALREADY_READ')
    const other = streaming(async (request) => {
      const text = await request.toWeb().text()
      assert.throws(() => request.bodyStream(), { code: 'WEIR_BODY_ALREADY_READ' })
      return text
    })
    assert.equal((await other.inject({ method: 'POST', url: '/', body: 'once' })).text(), 'once')
  })

  test('may be read as JSON, bytes and a form', async () => {
    const server = new Server({ logger: null }).mapPost('/', async (_, { request }) => {
      const form = await request.toWeb().formData()
      const { byteLength } = await request.toWeb().arrayBuffer()
      return [form.get('a'), byteLength]
    })
    const response = await server.inject({ method: 'POST', url: '/', body: new URLSearchParams({ a: 'ä' }) })
    assert.deepEqual(response.json(), ['ä', 8])
  })

  test('outlives the request if it was complete, in debug too, and fails if it was still arriving', async () => {
    for (const debug of [false, true]) {
      const kept: Request[] = []
      const server = new Server({ logger: null, debug })
      server.mapPost('/whole', (_, { request }) => void kept.push(request.toWeb(), request.toWeb()))
      server.mapPost('/stream', { body: 'stream' }, (_, { request }) => void kept.push(request.toWeb()))
      await server.inject({ method: 'POST', url: '/whole', body: 'whole' })
      await server.inject({ method: 'POST', url: '/stream', body: 'stream' })
      assert.deepEqual([await kept[0]!.text(), await new Request(kept[1]!).text()], ['whole', 'whole'])
      await assert.rejects(kept[2]!.text(), { code: 'WEIR_REQUEST_EXPIRED' })
    }
  })

  test('may be cancelled, before and while it is read', async () => {
    const server = streaming(async (request) => {
      const reader = request.toWeb().body!.getReader()
      await reader.read()
      await reader.cancel()
      return 'enough'
    })
    const large = 'x'.repeat(500_000)
    assert.equal((await server.inject({ method: 'POST', url: '/', body: large })).text(), 'enough')
    const unread = streaming(async (request) => {
      await request.toWeb().body!.cancel()
      await request.bufferBody()
      return request.bodyLength
    })
    assert.equal((await unread.inject({ method: 'POST', url: '/', body: large })).text(), '500000')
  })

  inBothReadModes('makes the client wait while it is not read', (serve) => {
    test('and loses nothing', async (t) => {
      const goOn = gate()
      const { connect } = await serve(t, (server) =>
        server.mapPost('/', { body: 'stream', maxRequestBodySize: null }, async (_, { request }) => {
          let bytes = 0
          const reader = request.toWeb().body!.getReader()
          for (let read = await reader.read(); !read.done; read = await reader.read()) {
            bytes += read.value.length
            await goOn.promise
          }
          return { bytes }
        }),
      )
      const client = await connect()
      const size = 40 * 1024 * 1024
      client.send(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${size}\r\n\r\n`)
      const drained = client.send(Buffer.alloc(size, 'x'))
      await standsStill(() => client.unsentBytes)
      assert.ok(client.unsentBytes > 0, 'everything was read immediately')
      goOn.open()
      await drained
      assert.deepEqual((await client.message()).json(), { bytes: size })
    })
  })
})

describe('globals that take time to load are not read', () => {
  /** Runs `code` in a separate process, in which reads of the named globals are recorded. */
  function touchedBy(code: string): string[] {
    const weir = new URL('../../src/index.js', import.meta.url).href
    const script = `
      const touched = []
      for (const name of ['Request', 'Response', 'Headers', 'FormData', 'fetch', 'ReadableStream', 'WebSocket', 'Blob', 'File']) {
        const { value, get = () => value } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {}
        Object.defineProperty(globalThis, name, { configurable: true, get() { touched.push(name); return get.call(globalThis) } })
      }
      const { HttpServer } = await import(${JSON.stringify(weir)})
      const { connect } = await import('node:net')
      const server = new HttpServer('127.0.0.1', 0, { logger: null })
      const ask = (text) => new Promise((resolve) => {
        const socket = connect(server.port, '127.0.0.1', () => socket.end(text))
        socket.resume().on('close', resolve)
      })
      ${code}
      await server.stop()
      console.log(JSON.stringify([...new Set(touched)].sort()))`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    return JSON.parse(run.stdout) as string[]
  }
  const POST = String.raw`'POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}'`

  test('by the import, by a server, or by a request', () => {
    assert.deepEqual(
      touchedBy(`
        server.mapPost('/', (_, { request }) => ({ a: request.body, b: request.header('host'), c: request.signal.aborted }))
        await server.start()
        await ask(${POST})`),
      [],
    )
  })

  test('by toWeb, except for Request and the stream of a body', () => {
    const touched = touchedBy(`
      server.mapPost('/', (_, { request }) => request.toWeb().headers.get('host'))
      await server.start()
      await ask(${POST})`)
    const others = touched.filter((name) => name !== 'File') // Node's own Request uses it while it loads
    assert.deepEqual(others, ['ReadableStream', 'Request'])
  })
})
