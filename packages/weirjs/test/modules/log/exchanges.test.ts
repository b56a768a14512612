// weirjs/log: everything that ends has a line, on real sockets: answers, refusals, broken heads, clients that left, upgrades.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'

import { HttpServer } from '../../../src/index.ts'
import { accessLog, requestLogger } from '../../../src/modules/log/index.ts'
import { websocket } from '../../../src/modules/websocket/index.ts'
import { curl, noCurl } from '../../support/curl.ts'
import { RawClient } from '../../support/raw-client.ts'
import { eventually } from '../../support/serving.ts'

interface Line {
  readonly kind?: string
  readonly status: number
  readonly outcome: string
  readonly code?: string
  readonly url?: string
  readonly requestId?: string
  readonly protocol?: string
}

async function serve(
  t: { after(done: () => Promise<unknown>): void },
  map: (server: HttpServer) => void,
  format: 'json' | 'combined' = 'json',
) {
  let written = ''
  const server = new HttpServer('127.0.0.1', 0, { logger: null, limits: { maxConnections: 2 } })
  server.use(accessLog({ to: { write: (text) => (written += text) }, format }))
  map(server)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const texts = (): string[] => written.split('\n').slice(0, -1)
  const line = async (n = 1): Promise<string> => {
    await eventually(() => texts().length >= n, `line ${n}`)
    return texts()[n - 1]!
  }
  return { server, texts, line, json: async (n = 1): Promise<Line> => JSON.parse(await line(n)) as Line }
}

test('a client that leaves before or in its response has 499', async (t) => {
  let isWaiting = false
  const { server, json } = await serve(t, (server) => {
    server.mapGet('/wait', async (_, { signal }) => {
      isWaiting = true
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    })
    server.mapGet('/stream', async function* () {
      yield 'a'
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        yield 'b'
      }
    })
  })
  const before = (await RawClient.connect(server.port)).get('/wait')
  await eventually(() => isWaiting, 'the handler runs')
  before.reset()
  const first = await json(1)
  assert.deepEqual([first.status, first.outcome, first.code], [499, 'client-gone', 'WEIR_CLIENT_GONE'])
  const during = (await RawClient.connect(server.port)).get('/stream')
  await during.atLeast(10)
  during.reset()
  const second = await json(2)
  assert.deepEqual([second.status, second.outcome], [499, 'client-gone'])
})

test('broken heads and refused connections have lines, without what followed the request line', async (t) => {
  const { server, json, line } = await serve(t, () => {})
  const broken = (await RawClient.connect(server.port)).send('GET /a"b?token=SECRET HTTP/1.1\r\nAuthorization: Basic SECRET\r\n\r\n')
  await broken.closed()
  const { kind, status, outcome, code, url } = await json()
  assert.deepEqual([kind, status, outcome, code, url], ['head', 400, 'refused', 'WEIR_HOST_MISSING', 'GET /a"b?token=(not shown) HTTP/1.1'])
  assert.doesNotMatch(await line(), /SECRET/)
  const held = [await RawClient.connect(server.port), await RawClient.connect(server.port)]
  const refused = await RawClient.connect(server.port).catch(() => null)
  await refused?.closed()
  const third = await json(2)
  assert.deepEqual([third.kind, third.status, third.code], ['connection', 0, 'WEIR_TOO_MANY_CONNECTIONS'])
  for (const client of held) client.destroy()
})

test('a broken head in the combined format is one line with escaped quotes', async (t) => {
  const { server, line } = await serve(t, () => {}, 'combined')
  await (await RawClient.connect(server.port)).send('GET" /\x1b[2J\r\n"" 200\r\n\r\n').closed()
  assert.match(await line(), /^127\.0\.0\.1 - - \[[^\]]+\] "xxx\\" \/\\x1b\[xx" 400 \d+ "-" "-"$/)
})

test('a WebSocket has a line for its request, and in JSON another one when it ends', async (t) => {
  const map = (server: HttpServer): void => void server.use(websocket('/socket', {}))
  const handshake =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  const { server, json } = await serve(t, map)
  const client = (await RawClient.connect(server.port)).get('/socket', handshake)
  await client.until('101')
  client.destroy()
  const [first, second] = [await json(1), await json(2)]
  assert.deepEqual([first.status, second.kind, second.protocol, second.requestId], [101, 'upgrade', 'websocket', first.requestId])
  const combined = await serve(t, map, 'combined')
  const other = (await RawClient.connect(combined.server.port)).get('/socket', handshake)
  await other.until('101')
  other.destroy()
  await combined.server.stop({ graceMs: 0 })
  assert.equal(combined.texts().length, 1)
})

test('curl is logged as curl', { skip: noCurl }, async (t) => {
  const { server, line } = await serve(t, (server) => server.mapPost('/notes', () => 'taken'), 'combined')
  await curl(['-s', '-A', 'an "agent"', '-e', 'http://a.example/?token=SECRET', '-d', 'x=1', `http://127.0.0.1:${server.port}/notes`])
  assert.match(await line(), /"POST \/notes HTTP\/1\.1" 200 5 "http:\/\/a\.example\/\?token=\(not shown\)" "an \\"agent\\""$/)
})

test('the logger of a request has its id, and that of its trace if a trusted proxy states it', async () => {
  const lines: Record<string, unknown>[] = []
  const log = requestLogger(pino({ base: null }, { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) }))
  const server = new HttpServer({ logger: null, proxies: { trust: ['10.0.0.0/8'] } })
  const ids: string[] = []
  server.mapGet('/', (_, session) => {
    ids.push(session.requestId)
    log(session).info('one')
    assert.equal(log(session), log(session))
    return 'ok'
  })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  for (const address of ['10.0.0.1', '203.0.113.9']) await server.inject({ url: '/', headers: { traceparent }, peer: { address } })
  for (const value of ['00-0af7', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `${traceparent}"`])
    await server.inject({ url: '/', headers: { traceparent: value }, peer: { address: '10.0.0.1' } })
  assert.deepEqual(
    lines.map(({ requestId }) => requestId),
    ids,
  )
  assert.deepEqual(
    lines.map(({ traceId, spanId }) => [traceId, spanId]),
    [['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'], ...Array.from({ length: 4 }, () => [undefined, undefined])],
  )
  assert.throws(() => requestLogger(console as never), { code: 'WEIR_OPTION_INVALID', message: /a function child/ })
})
