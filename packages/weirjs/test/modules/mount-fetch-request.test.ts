// The Request that a mounted fetch function receives is the one that fetch itself would have: whatever a guest reads of it, in whatever
// order, is what a native Request states. On Node 20 and 22 it is a light object, and on Node 24 a native one; this test does not know.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'

import fc from 'fast-check'

import { HttpServer } from '../../src/index.ts'
import { type FetchHandler, mountFetch } from '../../src/node/index.ts'

const quiet = { logger: null }

function mounted(fetch: FetchHandler): HttpServer {
  const server = new HttpServer(quiet)
  mountFetch(server, '/', fetch)
  return server
}

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The native Request with the same meaning. Node's fetch would add nothing that a guest sees. */
function nativeOf({ method, url, headers, body }: Asked): Request {
  const { host = 'localhost', ...others } = headers
  const native = new Request(`http://${host}${url}`, {
    method,
    headers: others,
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  })
  native.headers.set('host', host)
  if (body !== undefined) native.headers.set('content-length', String(Buffer.byteLength(body)))
  return native
}

const NAMES = [
  'host',
  'HOST',
  'content-type',
  'Content-Length',
  'cookie',
  'x-list',
  'x-none',
  'connection',
  'te',
  'constructor',
  '__proto__',
]

/** The ways in which a guest may look at a request. Each returns what it has seen as something that can be compared. */
const LOOKS: Readonly<Record<string, (request: Request) => unknown>> = {
  method: (request) => request.method,
  url: (request) => request.url,
  get: ({ headers }) => NAMES.map((name) => headers.get(name)),
  has: ({ headers }) => NAMES.map((name) => headers.has(name)),
  entries: ({ headers }) => [...headers],
  forEach: ({ headers }) => {
    const seen: string[] = []
    headers.forEach((value, name) => {
      seen.push(name, value)
    })
    return seen
  },
  keys: ({ headers }) => [...headers.keys(), ...headers.values()],
  cookies: ({ headers }) => headers.getSetCookie(),
  copied: ({ headers }) => [...new Headers(headers)],
  'bad name': ({ headers }) => failureOf(() => headers.get('a b')),
  instances: (request) => [request instanceof Request, request.headers instanceof Headers, request.signal instanceof AbortSignal],
  tags: (request) => [String(request), String(request.headers), request.constructor.name],
  settings: ({ cache, credentials, destination, integrity, keepalive, mode, redirect, referrer, referrerPolicy }) => [
    cache,
    credentials,
    destination,
    integrity,
    keepalive,
    mode,
    redirect,
    referrer,
    referrerPolicy,
  ],
  hasBody: (request) => [request.body === null, request.bodyUsed, request.signal.aborted],
  changed: (request) => {
    request.headers.set('x-new', 'new')
    request.headers.delete('x-list')
    request.headers.append('x-more', 'a')
    return [request.headers.get('x-new'), request.headers.get('x-list'), [...new Request(request.clone()).headers]]
  },
  clone: async (request) => (request.bodyUsed ? 'used' : seenBy(request.clone())),
  'new Request': async (request) => (request.bodyUsed ? failureOf(() => new Request(request)) : seenBy(new Request(request.clone()))),
  'new Request of a URL': async (request) =>
    request.bodyUsed ? 'used' : seenBy(new Request('http://other/x', request.clone() as RequestInit)),
  text: (request) => settledBy(() => request.text()),
  json: (request) => settledBy(() => request.json()),
  arrayBuffer: async (request) => settledBy(async () => Buffer.from(await request.arrayBuffer()).toString('hex')),
  blob: async (request) => settledBy(async () => [(await request.blob()).type, await new Response(request.body).text()]),
  form: (request) => settledBy(async () => [...(await request.formData())]),
  reader: (request) =>
    settledBy(async () => {
      const pieces: Uint8Array[] = []
      if (request.body !== null) for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece)
      return Buffer.concat(pieces).toString()
    }),
  taken: async (request) => settledBy(async () => new Request(request).text()),
}

function failureOf(act: () => unknown): unknown {
  try {
    act()
    return 'none'
  } catch (error) {
    return (error as Error).name
  }
}

async function settledBy(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    return (error as Error).name
  }
}

async function seenBy(request: Request): Promise<unknown> {
  return [request.method, request.url, [...request.headers], await request.text(), request.bodyUsed]
}

async function lookAt(request: Request, looks: readonly string[]): Promise<unknown[]> {
  const seen: unknown[] = []
  for (const look of looks) seen.push([look, await settledBy(async () => LOOKS[look]!(request))])
  seen.push(request.bodyUsed)
  return seen
}

const BODIES = ['', '{"a":1}', 'a=1&b=%20', '\uFEFFbom', 'ünï', '{"a":']
const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY', 'PURGE'),
  url: fc.constantFrom('/', '/a/b.c', '/%C3%BC?q=a%20b&q', "/it's?'", '/a%2Fb//c', '/{x}|"?<y>', '/a;b=c@d:e', '/?', '/a?b?c/..'),
  headers: fc
    .record(
      {
        host: fc.constantFrom('localhost', 'EXAMPLE.org', 'h:8080', '127.0.0.1:99', '[::1]:80', 'h:80', 'xn--mnchen-3ya.de', 'a.0x7f.b'),
        'content-type': fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain'),
        cookie: fc.constantFrom('a=1; b=2', 'a'),
        'x-list': fc.constantFrom('a, b', 'caf\u00e9', ''),
        accept: fc.constant('*/*'),
      },
      { requiredKeys: [] },
    )
    .map((fields) => fields as Record<string, string>),
  body: fc.constantFrom(...BODIES),
})

test('whatever a guest looks at, in any order, is as in a native Request', async () => {
  await fc.assert(
    fc.asyncProperty(asked, fc.array(fc.constantFrom(...Object.keys(LOOKS)), { minLength: 1, maxLength: 4 }), async (one, looks) => {
      const { body, ...rest } = one
      const request = body === '' || /^(?:get|head)$/i.test(one.method) ? rest : one
      let seen: unknown = null
      const server = mounted(async (guest) => {
        seen = await lookAt(guest, looks).catch(String)
        return new Response()
      })
      // Without a Host, inject adds one.
      await server.inject({ ...request, headers: { Host: request.headers['host'] ?? 'localhost', ...withoutHost(request.headers) } })
      assert.deepEqual(seen, await lookAt(nativeOf(request), looks))
    }),
    { numRuns: 400 },
  )
})

function withoutHost({ host: _, ...headers }: Readonly<Record<string, string>>): Record<string, string> {
  return headers
}

describe('the Request of a guest', () => {
  test('can be fetched, which sends its method, fields and body', async (t) => {
    const upstream = createServer(async (request, response) => {
      let body = ''
      for await (const piece of request) body += String(piece)
      response.end(`${request.method} ${request.url} ${request.headers['x-a']} ${body}`)
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      upstream.closeAllConnections()
      upstream.close()
    })
    const Host = `127.0.0.1:${(upstream.address() as { port: number }).port}`
    const server = mounted((request) => fetch(request))
    const posted = await server.inject({ method: 'POST', url: '/up', headers: { Host, 'X-A': 'a' }, body: 'body' })
    assert.equal(posted.text(), 'POST /up a body')
    assert.equal((await server.inject({ url: '/get?x', headers: { Host, 'X-A': 'b' } })).text(), 'GET /get?x b ')
  })

  test('has no two readings of a path', async () => {
    const server = mounted((request) => new Response(new URL(request.url).pathname))
    assert.equal((await server.inject('/a\\b')).status, 400)
    assert.equal((await server.inject('/a/%2e%2e/b')).status, 400)
    assert.equal((await server.inject('/a%5Cb')).text(), '/a%5Cb')
    assert.equal((await server.inject({ url: '/x', headers: { Host: 'h:99999' } })).status, 400)
    assert.equal((await server.inject({ url: '/x', headers: { Host: 'a.0x7f' } })).status, 400)
    assert.equal((await server.inject({ method: 'TRACE', url: '/x' })).status, 501)
  })

  test('has a signal that copies and clones follow', async (t) => {
    const server = new HttpServer(quiet)
    let seen: unknown
    mountFetch(server, '/', async (request) => {
      const signals = [request.signal, request.clone().signal, new Request(request).signal]
      const fired = Promise.all(signals.map((signal) => new Promise((resolve) => signal.addEventListener('abort', resolve))))
      controller.abort()
      await fired
      seen = signals.map((signal) => (signal.reason as { code: string }).code)
      return new Response()
    })
    const controller = new AbortController()
    t.after(() => controller.abort())
    await assert.rejects(server.inject({ url: '/', signal: controller.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(seen, Array(3).fill('WEIR_CLIENT_GONE'))
  })

  test('has the host for which weir has chosen the route, or is refused', async () => {
    const server = mounted((request) => new Response(new URL(request.url).hostname))
    server.mapGet('/own', (_, { request }) => new URL(request.toWeb().url).hostname)
    for (const path of ['/guest', '/own']) {
      for (const host of ['%61dmin.example', 'admin%2eexample', '0x7f.1', '127.1', '2130706433', '1']) {
        const response = await server.inject({ url: path, headers: { Host: host } })
        assert.deepEqual([response.status, (response.json() as { code: string }).code], [400, 'WEIR_HOST_SYNTAX'], host)
      }
      for (const host of ['Admin.Example', 'admin.example:00443', 'a_b', '127.0.0.1', '[::ffff:1.2.3.4]', 'xn--mnchen-3ya.de'])
        assert.equal((await server.inject({ url: path, headers: { Host: host } })).status, 200, host)
    }
  })

  test('is printed like a native one', async () => {
    let printed = ''
    const server = mounted((request) => {
      printed = inspect(request)
      return new Response()
    })
    await server.inject('/printed')
    assert.match(printed, /Request \{[\s\S]*url: 'http:\/\/localhost\/printed'/)
  })

  test('leaves every global as it was', async () => {
    const before = [Request, Response, Headers, globalThis.fetch]
    await mounted((request) => new Response(request.headers.get('host'))).inject('/')
    assert.deepEqual([Request, Response, Headers, globalThis.fetch], before)
  })
})
