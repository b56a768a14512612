// Code for `node:http` inside weir: what weir's routes, policies, limits, timeouts and observers do with it.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'

import { HttpServer } from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { decompression } from '../../src/modules/decompression/index.ts'
import { mountNode, type NodeHandler } from '../../src/node/index.ts'
import { connect as connectInMemory, TestClock } from '../../src/testing/index.ts'
import { exchange, type LoggingHandler, listen, mount } from '../support/mounted.ts'
import { Observed, outlineOf } from '../support/observed.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, gate } from '../support/serving.ts'

const GET = (path: string, fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`
const echoUrl: NodeHandler = (req, res) => res.end(`${req.method} ${req.url}`)

test('it answers every path and method that no route of weir has', async () => {
  const server = new HttpServer()
  server.mapGet('/own', () => 'own').mapGet('/users/:id', ({ id }) => `user ${id}`)
  mountNode(server, '/', echoUrl)
  for (const [method, url, text] of [
    ['GET', '/own', 'own'],
    ['GET', '/users/1', 'user 1'],
    ['POST', '/own', 'POST /own'],
    ['DELETE', '/users/1?a=1', 'DELETE /users/1?a=1'],
    ['GET', '/', 'GET /'],
    ['GET', '/users', 'GET /users'],
    ['GET', '//two//slashes/', 'GET //two//slashes/'],
    ['GET', '/a%2Fb%20c?d=%zz', 'GET /a%2Fb%20c?d=%zz'],
    ['OPTIONS', '/own', 'OPTIONS /own'],
    ['PROPFIND', '/', 'PROPFIND /'],
  ] as const) {
    assert.equal((await server.inject({ method, url })).text(), text, `${method} ${url}`)
  }
  assert.equal((await server.inject({ method: 'OPTIONS', url: '*' })).status, 204)
})

test('below a prefix, req.url begins after it, as in a router of Express', async () => {
  const seen: NodeHandler = (req, res) => {
    const { url, baseUrl, originalUrl } = req as { url?: string; baseUrl?: string; originalUrl?: string }
    res.end(JSON.stringify([url, baseUrl, originalUrl]))
  }
  const server = new HttpServer()
  mountNode(server, '/old', seen)
  mountNode(server.group('/api/:version'), '/legacy', seen)
  mountNode(server, '/whole/', seen, { stripPrefix: false })
  for (const [url, ...expected] of [
    ['/old', '/', '/old', '/old'],
    ['/old/', '/', '/old', '/old/'],
    ['/old?a=/b', '/?a=/b', '/old', '/old?a=/b'],
    ['/old/a/b?c', '/a/b?c', '/old', '/old/a/b?c'],
    ['/old//a', '//a', '/old', '/old//a'],
    ['/%6fld/a', '/a', '/%6fld', '/%6fld/a'],
    ['/api/2/legacy/x', '/x', '/api/2/legacy', '/api/2/legacy/x'],
    ['/whole/a', '/whole/a', null, null],
  ] as const) {
    assert.deepEqual((await server.inject(url)).json(), expected, url)
  }
  assert.equal((await server.inject('/older')).status, 404)
})

test('request and response are those of node:http', async () => {
  const server = new HttpServer()
  mountNode(server, '/', (req, res) => {
    assert.ok(req instanceof IncomingMessage && res instanceof ServerResponse)
    res.end('ok')
  })
  assert.equal((await server.inject('/')).text(), 'ok')
})

test('next() leads to weir', async () => {
  const server = new HttpServer({ logger: null })
  mountNode(server, '/404', (_req, _res, next) => next())
  mountNode(server, '/own', (_req, _res, next) => setImmediate(next), { next: ({ request }) => `weir has ${request.url}` })
  mountNode(server, '/418', (_req, _res, next) => next(Object.assign(new Error('short and stout'), { status: 418 })))
  mountNode(server, '/hidden', (_req, _res, next) => next(Object.assign(new Error('secret'), { statusCode: 403, expose: false })))
  mountNode(server, '/500', (_req, _res, next) => next(new Error('secret')))
  mountNode(server, '/headers', (_req, _res, next) =>
    next(Object.assign(new Error('wait'), { status: 503, headers: { 'Retry-After': '5' } })),
  )
  mountNode(server, '/twice', (_req, res, next) => {
    next()
    res.end('too late')
    next(new Error('too late'))
  })
  mountNode(server, '/none', (_req, res, next) => res.end(typeof next), { next: false })
  const bodies: unknown[] = []
  for (const url of ['/404', '/own/a', '/418', '/hidden', '/500', '/headers', '/twice', '/none']) {
    const response = await server.inject(url)
    const found = /secret|stout|weir has [^"]*/.exec(response.text())
    bodies.push([response.status, found?.[0] ?? null, response.headers.get('retry-after')])
  }
  assert.deepEqual(bodies, [
    [404, null, null],
    [200, 'weir has /own/a', null],
    [418, 'stout', null],
    [403, null, null],
    [500, null, null],
    [503, null, '5'],
    [404, null, null],
    [200, null, null],
  ])
})

test('what is thrown, and a promise that rejects, becomes the response', async () => {
  const logged: unknown[] = []
  const server = new HttpServer({
    logger: { error: (_, detail) => logged.push((detail as Error).message) },
    onError: (error) => ({ caught: (error as Error).message }),
  })
  mountNode(server, '/throws', () => {
    throw new Error('thrown')
  })
  mountNode(server, '/rejects', async () => {
    await wait(1)
    throw new Error('rejected')
  })
  mountNode(server, '/half', (_req, res) => {
    res.write('half')
    throw new Error('after write')
  })
  mountNode(server, '/late', async (_req, res) => {
    res.end('done')
    throw new Error('late')
  })
  const bodies = []
  for (const url of ['/throws', '/rejects', '/half', '/late']) bodies.push((await server.inject(url)).text())
  assert.deepEqual(bodies, ['{"caught":"thrown"}', '{"caught":"rejected"}', '{"caught":"after write"}', 'done'])
  assert.deepEqual(logged, ['thrown', 'rejected', 'after write', 'late'])
})

test('a promise that rejects after the first bytes aborts the response', async (t) => {
  const observed = new Observed()
  const server = await mount(
    t,
    async (_req, res) => {
      res.write('half')
      await wait(5)
      throw new Error('broken')
    },
    { map: (server) => observed.on(server) },
  )
  const client = await RawClient.connect(server.port)
  client.get('/')
  assert.match(await client.rest(), /\r\n4\r\nhalf\r\n$/)
  const { outcome, status, error } = await observed.record()
  assert.deepEqual([outcome, status, (error as Error).message], ['failed', 200, 'broken'])
})

test('code that fails after the head of a response without a body', async (t) => {
  const log: string[] = []
  const server = await mount(t, async (_req, res) => {
    res.on('close', () => log.push('close'))
    res.writeHead(204).flushHeaders()
    await wait(5)
    throw new Error('broken')
  })
  assert.equal((await exchange(server.port, GET('/'))).status, 204)
  await eventually(() => log.length === 1, 'close')
})

test('next(error) after the first bytes aborts the response, and next() does nothing', async (t) => {
  const server = await mount(t, async (req, res, next) => {
    res.write('half')
    await wait(5)
    next(req.url === '/error' ? new Error('broken') : undefined)
    await wait(5)
    res.end(' done')
  })
  const client = await RawClient.connect(server.port)
  client.get('/error')
  assert.match(await client.rest(), /\r\n4\r\nhalf\r\n$/)
  assert.equal((await exchange(server.port, GET('/'))).text, 'half done')
})

test('callbacks and events run in the asynchronous context of the code', async (t) => {
  const store = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const server = await mount(t, (req, res) =>
    store.run(req.url!, async () => {
      const see = (what: string): void => void seen.push(`${what} ${store.getStore()}`)
      res.on('finish', () => see('finish')).on('close', () => see('close'))
      if (req.url === '/whole') res.end('x', () => see('end'))
      else {
        res.write('x'.repeat(200_000), () => see('write'))
        await once(res, 'drain')
        see('drain')
        res.end(() => see('end'))
      }
    }),
  )
  await exchange(server.port, GET('/whole'))
  await exchange(server.port, GET('/stream'))
  await eventually(() => seen.filter((one) => String(one).startsWith('close')).length === 2, 'both ends')
  for (const one of seen) assert.match(String(one), one === seen[0] || String(one).includes('whole') ? /\/whole$/ : /\/stream$/)
  assert.equal(seen.length, 8)
})

test('observers are told once, with the route of the mount', async (t) => {
  const observed = new Observed()
  const server = await mount(t, (req, res) => void req.pipe(res), { map: (server) => observed.on(server) })
  await exchange(server.port, 'POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello')
  assert.deepEqual(outlineOf(await observed.record()), ['request', 'ANY /**mountedPath', 'POST', 'HTTP/1.1', 200, 'completed', null, 5, 5])
})

test('gates, middleware and hooks apply to it', async () => {
  const server = new HttpServer()
  const order: string[] = []
  server.use({
    name: 'own',
    gate: ({ request }) => {
      if (request.header('x-refused') !== null) throw new Error('refused')
    },
    middleware: async (_session, next) => {
      order.push('before')
      await next()
      order.push('after')
    },
    beforeSend: (_, response) => {
      response.header('X-Hook', response.getHeader('x-app') ?? 'none')
      order.push('hook')
    },
  })
  mountNode(server, '/', (_req, res) => {
    order.push('code')
    res.setHeader('X-App', 'express')
    res.end('ok')
  })
  const { headers } = await server.inject('/')
  assert.deepEqual([headers.get('x-hook'), order], ['express', ['before', 'code', 'after', 'hook']])
})

test('fields that policies have set stay, unless the code sets them', async () => {
  const server = new HttpServer()
  server.use((session, next) => {
    session.response.header('X-Policy', 'kept').header('X-Both', 'policy')
    return next()
  })
  mountNode(server, '/', (_req, res) => res.writeHead(200, { 'x-both': 'code' }).end('ok'))
  const { headers } = await server.inject('/')
  assert.deepEqual([headers.get('x-policy'), headers.get('x-both')], ['kept', 'code'])
})

test('weir compresses its responses and decodes its bodies', async () => {
  const { gzipSync } = await import('node:zlib')
  const server = new HttpServer()
  server.use(compression())
  server.use(decompression())
  mountNode(server, '/', (req, res) => {
    res.setHeader('Content-Type', 'text/plain')
    res.setHeader('X-Seen', `${req.headers['content-encoding']} ${req.headers['content-length']}`)
    req.pipe(res)
  })
  const text = 'compressible '.repeat(1000)
  const { headers, body } = await server.inject({
    method: 'POST',
    url: '/',
    headers: { 'Content-Encoding': 'gzip', 'Accept-Encoding': 'gzip' },
    body: gzipSync(text),
  })
  assert.deepEqual([headers.get('x-seen'), headers.get('content-encoding')], ['undefined undefined', 'gzip'])
  assert.ok(body.length < 1000)
})

test('a body over the limit is a 413: of the code if it hears of it, otherwise of weir', async (t) => {
  const server = await mount(
    t,
    (req, res) => {
      if (req.url === '/heard') req.on('error', (error) => res.writeHead((error as { status?: number }).status!).end('of the code'))
      req.resume()
    },
    { server: { limits: { maxRequestBodySize: 10 } } },
  )
  const chunked = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${'6\r\nabcdef\r\n'.repeat(2)}0\r\n\r\n`
  const heard = await exchange(server.port, chunked('/heard'))
  assert.deepEqual([heard.status, heard.text], [413, 'of the code'])
  const unheard = await exchange(server.port, chunked('/unheard'))
  assert.deepEqual([unheard.status, (unheard.json() as { code: string }).code], [413, 'WEIR_BODY_TOO_LARGE'])
  const declared = await exchange(server.port, 'POST /heard HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\nabcdefghijk')
  assert.deepEqual([declared.status, (declared.json() as { code: string }).code], [413, 'WEIR_BODY_TOO_LARGE'])
})

test('a body over the limit whose first chunk is too large is a 413 too, whenever the code begins to read', async (t) => {
  const server = await mount(
    t,
    async (req, res) => {
      if (req.url === '/later') await turn()
      if (req.url === '/unheard') req.resume()
      else
        try {
          for await (const _ of req);
        } catch (error) {
          res.writeHead((error as { status?: number }).status!).end('of the code')
        }
    },
    { server: { limits: { maxRequestBodySize: 10 } } },
  )
  const chunked = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nabcdefghijk\r\n0\r\n\r\n`
  for (const path of ['/now', '/later']) {
    const { status, text } = await exchange(server.port, chunked(path))
    assert.deepEqual([path, status, text], [path, 413, 'of the code'])
  }
  const unheard = await exchange(server.port, chunked('/unheard'))
  assert.deepEqual([unheard.status, (unheard.json() as { code: string }).code], [413, 'WEIR_BODY_TOO_LARGE'])
})

test('code that never answers is ended by requestTimeout, and its late response is discarded', async () => {
  const clock = new TestClock()
  const late = gate()
  const closed = gate()
  const server = new HttpServer({ timeouts: { requestTimeout: 1000 }, logger: null })
  mountNode(server, '/', async (req, res) => {
    res.on('close', () => closed.open())
    await late.promise
    assert.deepEqual([res.destroyed, req.destroyed], [true, true])
    res.setHeader('X-Late', '1')
    res.end('late')
  })
  const client = await connectInMemory(server, { clock })
  const response = client.get('/')
  await eventually(() => clock.running > 0, 'a timer')
  await clock.advance(2000)
  assert.equal((await response).status, 503)
  await closed.promise
  late.open()
})

test('stop() waits for it, and aborts what is left', async (t) => {
  const begun = gate()
  const stopping = gate()
  const closed = gate()
  const server = await mount(t, (req, res) => {
    if (req.url === '/slow') void stopping.promise.then(() => res.end('done'))
    else res.write('begun')
    res.on('close', () => req.url !== '/slow' && closed.open())
    begun.open()
  })
  const slow = exchange(server.port, GET('/slow'))
  await begun.promise
  const endless = await RawClient.connect(server.port)
  endless.get('/endless')
  await endless.until('begun')
  const stopped = server.stop({ graceMs: 200 })
  stopping.open()
  const message = await slow
  assert.deepEqual([message.text, message.header('connection')], ['done', 'close'])
  await stopped
  await closed.promise
})

test('a client that leaves', async (t) => {
  const observed = new Observed()
  const log: string[] = []
  const waiting = gate()
  const server = await mount(
    t,
    (req, res) => {
      for (const name of ['aborted', 'error', 'close']) req.on(name, (error) => log.push(`req ${name} ${error?.code ?? ''}`.trim()))
      for (const name of ['finish', 'close']) res.on(name, () => log.push(`res ${name}`))
      req.socket.on('close', () => log.push('socket close'))
      if (req.url === '/stream') res.write('begun')
      if (req.method === 'POST') req.resume()
      waiting.open()
    },
    { map: (server) => observed.on(server) },
  )
  for (const [name, request] of [
    ['before the response', GET('/')],
    ['during the response', GET('/stream')],
    ['during its body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc'],
  ] as const) {
    log.length = 0
    const client = await RawClient.connect(server.port)
    client.send(request)
    if (name === 'during the response') await client.until('begun')
    else await waiting.promise
    await wait(5)
    client.reset()
    await eventually(() => log.includes('req close'), `the end: ${log.join(', ')}`)
    assert.deepEqual(
      log.toSorted?.() ?? [...log].sort(),
      ['req aborted', 'req close', 'req error ECONNRESET', 'res close', 'socket close'],
      name,
    )
  }
  await eventually(() => observed.ended.length === 3, 'records')
  assert.deepEqual(
    observed.ended.map(({ outcome }) => outcome),
    ['client-gone', 'client-gone', 'client-gone'],
  )
})

test('destroying the request, the response or the socket resets the connection', async (t) => {
  const observed = new Observed()
  const server = await mount(
    t,
    (req, res) => {
      const [, when, what] = req.url!.split('/')
      if (when === 'late') res.write('begun')
      const act = (): unknown => (what === 'req' ? req : what === 'res' ? res : req.socket).destroy()
      if (when === 'now') act()
      else setTimeout(act, 5)
    },
    { map: (server) => observed.on(server) },
  )
  for (const when of ['now', 'soon', 'late']) {
    for (const what of ['req', 'res', 'socket']) {
      const client = await RawClient.connect(server.port)
      client.get(`/${when}/${what}`)
      const rest = await client.rest()
      if (when === 'late') assert.match(rest, /begun\r\n$/, `${when} ${what}`)
      else assert.equal(rest, '', `${when} ${what}`)
    }
  }
  await eventually(() => observed.ended.length === 9, 'all records')
  assert.deepEqual(new Set(observed.ended.map(({ outcome, code }) => `${outcome} ${code}`)), new Set(['failed WEIR_HANDLER_FAILED']))
})

test('a slow client slows the code down, and memory stays small', async (t) => {
  const PIECE = Buffer.alloc(16 * 1024)
  let written = 0
  let mostWaiting = 0
  let refusals = 0
  const server = await mount(t, async (_req, res) => {
    res.on('close', () => (written = Number.NaN))
    while (!res.destroyed) {
      const isFree = res.write(PIECE)
      written += PIECE.length
      mostWaiting = Math.max(mostWaiting, res.writableLength)
      if (!isFree) {
        refusals++
        assert.equal(res.writableNeedDrain, true)
        await Promise.race([once(res, 'drain'), once(res, 'close')])
      }
    }
  })
  const client = await RawClient.connect(server.port)
  client.pause().get('/')
  let before = -1
  await eventually(() => {
    const isStill = written > 0 && written === before
    before = written
    return isStill
  }, 'the code waits')
  assert.ok(written < 16 * 1024 * 1024, `${written} bytes`)
  assert.ok(mostWaiting <= 128 * 1024, `${mostWaiting} bytes waiting`)
  assert.ok(refusals > 0)
  const held = written
  client.resume()
  await eventually(() => written > held + 1024 * 1024, 'it continues')
  client.destroy()
  await eventually(() => Number.isNaN(written), 'close')
})

test('a body is read no faster than the code reads', async (t) => {
  let read: (() => void) | null = null
  let received = 0
  const server = await mount(
    t,
    (req, res) => {
      read = () => {
        req.on('data', (bytes: Buffer) => (received += bytes.length)).on('end', () => res.end(String(received)))
      }
    },
    { server: { limits: { maxRequestBodySize: null } } },
  )
  const size = 32 * 1024 * 1024
  const client = await RawClient.connect(server.port)
  client.send(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${size}\r\n\r\n`)
  for (let i = 0; i < size; i += 1024 * 1024) client.send(Buffer.alloc(1024 * 1024))
  await eventually(() => read !== null, 'the code')
  await wait(50)
  assert.ok(client.unsentBytes > size / 2, `${client.unsentBytes} bytes are unsent`)
  read!()
  assert.equal((await client.message()).text, String(size))
  client.destroy()
})

test('interim responses: 100 when the body is read or on demand, and 103', async (t) => {
  const server = await mount(t, (req, res) => {
    if (req.url === '/hints') {
      res.writeEarlyHints({ link: '</a.css>; rel=preload', 'x-hint': '1' }, () => res.end('hinted'))
      return
    }
    if (req.url === '/continue') res.writeContinue()
    req.resume().on('end', () => res.end('read'))
  })
  for (const path of ['/continue', '/read']) {
    const client = await RawClient.connect(server.port)
    client.send(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`)
    assert.equal((await client.message()).status, 100)
    client.send('ab')
    assert.equal((await client.message()).text, 'read')
    client.destroy()
  }
  const client = await RawClient.connect(server.port)
  client.get('/hints')
  const hints = await client.message()
  assert.deepEqual([hints.status, hints.header('link'), hints.header('x-hint')], [103, '</a.css>; rel=preload', '1'])
  assert.equal((await client.message()).text, 'hinted')
  client.destroy()
})

test('trailers that the field Trailer announces', async (t) => {
  const server = await mount(t, async (_req, res) => {
    res.writeHead(200, { Trailer: 'X-Sum, Content-Length', 'Content-Type': 'text/plain' })
    res.write('abc')
    await wait(1)
    res.addTrailers({ 'X-Sum': '3', 'X-Other': 'not announced' })
    res.end()
  })
  const client = await RawClient.connect(server.port)
  client.get('/', 'TE: trailers\r\nConnection: close\r\n')
  const text = await client.rest()
  assert.match(text, /\r\nTrailer: X-Sum\r\n/)
  assert.match(text, /\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\nX-Other: not announced\r\n\r\n$/)
})

test('trailers that nobody has announced, as node:http sends them', async (t) => {
  const ways: Readonly<Record<string, LoggingHandler>> = {
    'in one turn': (_req, res) => {
      res.write('abc')
      res.addTrailers({ 'X-Sum': '3' })
      res.end()
    },
    streamed: async (_req, res) => {
      res.write('abc')
      await wait(1)
      res.addTrailers([
        ['X-Sum', '3'],
        ['X-Sum', '4'],
      ])
      res.end('d')
    },
    'without a body': (_req, res) => {
      res.writeHead(200)
      res.addTrailers({ 'grpc-status': '12', 'grpc-message': 'no' })
      res.end()
    },
    'after Content-Length, where Node drops them': async (_req, res) => {
      res.writeHead(200, { 'Content-Length': 3 })
      res.write('abc')
      await wait(1)
      res.addTrailers({ 'X-Sum': '3' })
      res.end()
    },
    'after one piece, where Node drops them': (_req, res) => {
      res.addTrailers({ 'X-Sum': '3' })
      res.end('abc')
    },
    'none at all': async (_req, res) => {
      res.write('abc')
      await wait(1)
      res.end()
    },
  }
  for (const [way, handler] of Object.entries(ways)) {
    const responses = []
    for (const port of [
      await listen(t, (req, res) => handler(req, res, () => {})),
      (await mount(t, (req, res) => handler(req, res, () => {}))).port,
    ]) {
      for (const method of ['GET', 'HEAD']) {
        const client = await RawClient.connect(port)
        client.send(`${method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
        const text = await client.rest()
        // The pieces of a body are cut differently.
        responses.push(/\r\n0\r\n([\s\S]*)\r\n$/.exec(text)?.[1] ?? '')
      }
    }
    assert.deepEqual(responses.slice(2), responses.slice(0, 2), way)
  }
})

test('fields of the connection are the server’s, except Connection: close', async (t) => {
  const server = await mount(t, (_req, res) =>
    res
      .writeHead(200, {
        Connection: 'close',
        'Keep-Alive': 'timeout=5',
        'Transfer-Encoding': 'chunked',
        Upgrade: 'h2c',
        'Proxy-Connection': 'a',
      })
      .end('ok'),
  )
  const client = await RawClient.connect(server.port)
  client.get('/')
  const text = await client.rest()
  assert.match(text, /\r\nConnection: close\r\n/)
  assert.doesNotMatch(text, /keep-alive:|transfer-encoding|upgrade|proxy-connection/i)
})

test('a declared length that is wrong: corrected in one piece, aborted in a stream', async (t) => {
  const server = await mount(t, (req, res) => {
    res.setHeader('Content-Length', 3)
    if (req.url === '/whole') res.end('hello')
    else {
      res.write('hel')
      setImmediate(() => res.end('lo'))
    }
  })
  assert.equal((await exchange(server.port, GET('/whole'))).text, 'hello')
  const client = await RawClient.connect(server.port)
  client.get('/stream')
  assert.doesNotMatch(await client.rest(), /lo$/)
})

test('statuses', async () => {
  const server = new HttpServer({ logger: null })
  mountNode(server, '/', (req, res) => res.writeHead(Number(req.url!.slice(1))).end())
  for (const status of [200, 418, 599, 700, 999]) assert.equal((await server.inject(`/${status}`)).status, status)
  assert.equal((await server.inject('/101')).status, 500)
})

test('a timeout of the socket', async () => {
  const clock = new TestClock()
  const log: string[] = []
  const server = new HttpServer({ logger: null })
  mountNode(server, '/', (req, res) => {
    if (req.url === '/heard') res.setTimeout(1000, () => res.writeHead(504).end('too slow'))
    else req.socket.setTimeout(1000)
    res.on('close', () => log.push(req.url!))
  })
  const client = await connectInMemory(server, { clock })
  const heard = client.get('/heard')
  await wait(5)
  await clock.advance(1500)
  assert.equal((await heard).status, 504)
  const unheard = assert.rejects(client.get('/unheard'))
  await wait(5)
  await clock.advance(1500)
  await unheard
  await eventually(() => log.length === 2, 'both are over')
})

test('server.fetch', async () => {
  const server = new HttpServer({ logger: null })
  mountNode(server, '/', (req, res) => {
    res.setHeader('X-Url', req.url!)
    if (req.method === 'POST') req.pipe(res)
    else if (req.url === '/destroyed') res.destroy()
    else res.end('ok')
  })
  const response = await server.fetch(new Request('http://localhost/a', { method: 'POST', body: 'echo' }))
  assert.deepEqual([response.headers.get('x-url'), await response.text()], ['/a', 'echo'])
  await assert.rejects(server.fetch(new Request('http://localhost/destroyed')))
})

test('two servers in one process may share the code', async () => {
  const code: NodeHandler = (_req, res) => setImmediate(() => res.end('shared'))
  const [one, other] = [new HttpServer(), new HttpServer()]
  mountNode(one, '/', code)
  mountNode(other, '/app', code)
  assert.deepEqual([(await one.inject('/')).text(), (await other.inject('/app')).text()], ['shared', 'shared'])
})

test('mistakes are refused when something is mounted', () => {
  const server = new HttpServer()
  const refused = (act: () => void, message: RegExp): void => assert.throws(act, { code: 'WEIR_OPTION_INVALID', message })
  refused(() => mountNode(server, '/', null as unknown as NodeHandler), /the handler is null, not a function/)
  refused(() => mountNode({} as HttpServer, '/', echoUrl), /not a server or a group/)
  refused(() => mountNode(server, '/', echoUrl, { prefix: '/' } as object), /no option "prefix"/)
  refused(() => mountNode(server, '/', echoUrl, { stripPrefix: 'yes' } as object), /stripPrefix is .*"yes"/)
  refused(() => mountNode(server, '/', echoUrl, { next: 'no' } as object), /next is .*"no"/)
  refused(() => mountNode(server, '/', echoUrl, { upgrade: true } as object), /upgrade is true, not a function/)
  assert.throws(() => mountNode(server, 'old', echoUrl), { code: 'WEIR_ROUTE_TEMPLATE' })
  mountNode(server, '/', echoUrl)
  assert.throws(() => mountNode(server, '/', echoUrl), { code: 'WEIR_ROUTE_CLASH' })
})

test('end() and destroySoon() of req.socket end the exchange after what was written, and destroy(error) tells of the error', async (t) => {
  const heard: string[] = []
  const server = await mount(t, (req, res) => {
    const { socket } = req
    for (const event of ['error', 'finish', 'close'])
      socket.on(event, (error?: unknown) => heard.push(error instanceof Error ? error.message : event))
    if (req.url === '/end') socket.end()
    else if (req.url === '/soon') socket.destroySoon()
    else if (req.url === '/error') socket.destroy(new Error('broken'))
    else {
      res.writeHead(200)
      res.write('written')
      setTimeout(() => socket.end(() => heard.push('called')), 5)
    }
  })
  const expected = {
    '/end': ['', 'finish,close'],
    '/soon': ['', 'finish,close'],
    '/error': ['', 'broken,close'],
    '/written': ['written', 'finish,called,close'],
  }
  for (const [path, [body, events]] of Object.entries(expected)) {
    heard.length = 0
    const client = await RawClient.connect(server.port)
    client.get(path)
    const text = body === '' ? '' : await client.until(body!)
    await client.closed()
    assert.ok(text.includes(body!), path)
    assert.equal(heard.join(), events, path)
  }
})

test('a middleware gives each exchange a scope of its own, in routes and in mounted code', async (t) => {
  const scopes = new AsyncLocalStorage<{ name: string }>()
  const seen: string[] = []
  const note = async (name: string): Promise<void> => {
    scopes.getStore()!.name = name
    await wait(5)
    seen.push(`${name} ${scopes.getStore()!.name}`)
  }
  const server = await mount(
    t,
    async (req, res) => {
      await note(req.url!)
      res.end()
    },
    {
      map: (server) => {
        server.use((_, next) => scopes.run({ name: '' }, next))
        server.mapGet('/route/:name', async ({ name }) => note(String(name)))
      },
    },
  )
  await Promise.all(['/route/a', '/route/b', '/c', '/d'].map((path) => fetch(`http://127.0.0.1:${server.port}${path}`)))
  assert.deepEqual(seen.sort(), ['/c /c', '/d /d', 'a a', 'b b'])
})
