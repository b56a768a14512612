// What `exchange` and its kin of weirjs/kit promise to authors of modules.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'

import { HttpServer, type HttpSession, type Policy } from '../../src/index.ts'
import { ContentReader, exchange, KeptResponse, rerun, responseHandle } from '../../src/modules/kit/index.ts'
import { growthOf } from '../support/memory-growth.ts'

/** A policy that does something in one of its hooks. */
function policy(hooks: Omit<Policy, 'name'>): Policy {
  return { name: 'test', ...hooks }
}

test('what modules say to each other survives when the server answers in the place of a handler', async () => {
  const server = new HttpServer({ logger: null })
  const seen: unknown[] = []
  server.use(
    policy({
      gate(session) {
        const handle = exchange(session)
        assert.deepEqual([handle.personal, handle.span, handle.answeredBy, handle.isClaimed('principal')], [null, null, null, false])
        handle.answeredBy = 'test'
        handle.claim('principal')
        handle.markPersonal('nonce')
        handle.markPersonal('session') // which says less
        handle.span = { traceId: 'a', spanId: 'b' }
      },
      beforeSend(session) {
        const { personal, span, answeredBy, failure } = exchange(session)
        seen.push(
          personal,
          span?.spanId,
          answeredBy,
          exchange(session).isClaimed('principal'),
          exchange(session).isClaimed('other'),
          failure !== null,
        )
      },
    }),
  )
  server.mapGet('/', () => {
    throw new Error('a failure')
  })
  assert.equal((await server.inject('/')).status, 500)
  assert.deepEqual(seen, ['nonce', 'b', 'test', true, false, true])
})

test('a note that replaces another one takes its place and its memory', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', async (_, session) => {
    const handle = exchange(session)
    handle.answeredBy = 'test'
    const grown = await growthOf(() => {
      for (let i = 0; i < 20_000; i++) handle.span = { traceId: 'a', spanId: String(i) }
    })
    assert.deepEqual([handle.span?.spanId, handle.answeredBy], ['19999', 'test'])
    return grown
  })
  const grown = Number((await server.inject('/')).text())
  assert.ok(grown < 1024 * 1024, `${grown} bytes`)
})

test('methods that a module offers are in Allow, for that request alone', async () => {
  const server = new HttpServer()
  server.use((session, next) => {
    if (session.request.header('offers') !== null) exchange(session).offer(['GET'])
    return next()
  })
  server.mapPut('/', () => 'put')
  const allowed = async (headers: Record<string, string>) =>
    (await server.inject({ method: 'DELETE', url: '/', headers })).headers.get('allow')
  assert.equal(await allowed({ offers: 'yes' }), 'GET, HEAD, OPTIONS, PUT')
  assert.equal(await allowed({}), 'OPTIONS, PUT')
})

test('policies and bindings are one list for all requests of a route', async () => {
  const server = new HttpServer()
  const lists = new Map<string, Set<unknown>>()
  server.use(
    policy({
      gate(session) {
        const { policies, bindings } = exchange(session)
        const known = lists.get(session.request.path) ?? new Set()
        lists.set(session.request.path, known.add(policies).add(bindings))
      },
    }),
  )
  server.mapGet('/a', () => '')
  server.mapGet('/b', () => '')
  for (const path of ['/a', '/a', '/b', '/a']) await server.inject(path)
  assert.deepEqual(
    [...lists.values()].map(({ size }) => size),
    [2, 2],
  )
})

test('a request that is run again has its fields and no client, and is known by a mark that no client can set', async () => {
  const server = new HttpServer()
  const marks: (object | null)[] = []
  const fields: (string | null)[][] = []
  let first: HttpSession | null = null
  server.mapGet('/x', (_, session) => {
    first ??= session
    marks.push(exchange(session).mark)
    fields.push(['authorization', 'range', 'if-none-match', 'weir-cache-refresh'].map((name) => session.request.header(name)))
    return session.request.url
  })
  const headers = { Authorization: 'Bearer a', Range: 'bytes=0-1', 'If-None-Match': '"a"', 'Weir-Cache-Refresh': 'x' }
  await server.inject({ url: '/x?q=1', headers })
  const mark = {}
  await rerun(first!, mark, () => false)
  assert.equal(marks[0], null)
  assert.equal(marks[1], mark)
  assert.deepEqual(fields, [
    ['Bearer a', 'bytes=0-1', '"a"', 'x'],
    ['Bearer a', null, null, 'x'],
  ])
})

test('a kept response is sent with the conditions and the range of each client, and survives a store of text', async () => {
  const server = new HttpServer()
  let kept: KeptResponse | null = null
  server.mapGet(
    '/',
    {
      use: [
        policy({
          async middleware(session, next) {
            if (kept !== null) return KeptResponse.unpack(JSON.parse(JSON.stringify(kept.pack())))!.answer(session, Date.now())
            const response = responseHandle(await next())
            const gathered = await KeptResponse.gather(response, 1_000, () => false)
            assert.ok(gathered !== null && 'whole' in gathered)
            kept = KeptResponse.of(response, null, gathered.whole)
            return session.response
          },
        }),
      ],
    },
    (_, { response }) => response.header('ETag', '"v1"').body(Uint8Array.of(0xff, 1, 2, 3)),
  )
  const get = async (headers: Record<string, string>) => {
    const { status, body } = await server.inject({ url: '/', headers })
    return status === 416 ? [status] : [status, ...body]
  }
  assert.deepEqual(await get({}), [200, 0xff, 1, 2, 3])
  assert.deepEqual(await get({}), [200, 0xff, 1, 2, 3])
  assert.deepEqual(await get({ 'If-None-Match': '"v1"' }), [304])
  assert.deepEqual(await get({ Range: 'bytes=1-2', 'If-Range': '"v1"' }), [206, 1, 2])
  assert.deepEqual(await get({ Range: 'bytes=9-' }), [416])
})

test('a streamed response is read in place of the engine, and its declared length holds', async () => {
  for (const [declared, outcome] of [
    [3, 'abc'],
    [4, 'WEIR_RESPONSE_LENGTH'],
    [2, 'WEIR_RESPONSE_LENGTH'],
  ] as const) {
    const server = new HttpServer({ logger: null })
    let read = ''
    server.beforeSend(async (session, response) => {
      if (session.route === null || response.content.kind !== 'stream') return
      const reader = ContentReader.of(responseHandle(response), exchange(session))!
      try {
        for (let piece = await reader.next(); piece !== null; piece = await reader.next()) read += Buffer.from(piece).toString()
      } catch (error) {
        read = (error as { code: string }).code
      }
      reader.close()
      responseHandle(response).encodeAs('test', Buffer.from(read))
    })
    server.mapGet('/', (_, { response }) =>
      response.header('Content-Length', declared).stream(
        (async function* () {
          yield 'ab'
          yield 'c'
        })(),
      ),
    )
    const reply = await server.inject('/')
    assert.equal(reply.headers.get('content-encoding'), 'test')
    assert.equal(read, outcome, `${declared}`)
  }
})

test('a module reads a body as it comes, and is told when its client leaves, without a stream or a signal', async () => {
  const server = new HttpServer({ port: 0, address: '127.0.0.1', logger: null })
  const told: string[] = []
  server.mapPost('/', { body: 'stream' }, async (_, session) => {
    const handle = exchange(session)
    handle.onAbort(() => told.push('replaced'))
    handle.onAbort(() => told.push('aborted'))
    const bytes: Buffer[] = []
    const body = await new Promise<{ demand(): void } | null>((resolve, reject) => {
      const body = handle.readBody('the test', {
        keepsBytes: true,
        data(buffer, start, end) {
          bytes.push(Buffer.from(buffer.subarray(start, end)))
          setImmediate(() => body!.demand())
          return false
        },
        end: () => setImmediate(() => resolve(body)),
        fail: reject,
      })
    })
    if (body !== null) assert.throws(() => handle.readBody('another', { keepsBytes: false, data: () => true, end() {}, fail() {} }))
    return `${body === null} ${Buffer.concat(bytes).toString()}`
  })
  assert.equal((await server.inject({ method: 'POST', url: '/' })).text(), 'true ')
  assert.equal((await server.inject({ method: 'POST', url: '/', body: 'abc' })).text(), 'false abc')
  await server.start()
  const socket = connect(server.port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  setTimeout(() => socket.write('1\r\nb\r\n0\r\n\r\n'), 5)
  const [answered] = (await once(socket, 'data')) as [Buffer]
  assert.match(answered.toString(), /\r\n\r\nfalse ab$/)
  assert.deepEqual(told, [])
  socket.write('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  setTimeout(() => socket.destroy(), 5)
  while (told.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(told, ['aborted'])
  await server.stop({ grace: 0 })
})
