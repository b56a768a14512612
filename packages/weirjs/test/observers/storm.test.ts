// Hostile clients over real sockets: plain, behind PROXY headers, over TLS, and callers of `server.fetch`. They send nonsense, leave at any
// moment and do not read, while gates, handlers, hooks and observers fail, and at the end the server stops in the middle of it. Every begin
// has exactly one end, nothing is left open, and the process survives.
//
// `SEED=123 node scripts/test.mjs storm` repeats the choices of one run. What happens depends on the network's timing as well.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { SeededRandom } from '../../../dev/src/chaos/seeded-random.ts'
import { type ExchangeRecord, HttpError, HttpResponse, HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { eventually, within } from '../support/serving.ts'

const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9))
const CLIENTS = 300
const CALLERS = 60
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: plain\r\n\r\n'

const GATES = ['pass', 'pass', 'refuse', 'throw', 'pass later', 'refuse later', 'never']
const PATHS = ['/text', '/later', '/never', '/fails', '/stream', '/large', '/short', '/none', '/%2e/']
const HEADERS = ['PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', 'PROXY UNKNOWN\r\n', 'PROXY TCP4 10.1', 'nonsense\r\n']
const NONSENSE = [
  '\r\n\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  '\x16\x03\x01',
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
]

/** Who has begun and not ended, and what is wrong with that. */
class Pairs {
  readonly open = new Set<string>()
  readonly wrongs: string[] = []
  count = 0

  begin(id: string): void {
    this.count++
    if (this.open.has(id)) this.wrongs.push(`${id} began twice`)
    this.open.add(id)
  }

  end({ kind, requestId, route }: ExchangeRecord): void {
    const has = kind === 'request' || kind === 'upgrade'
    if (has && !this.open.delete(`${kind} ${requestId}`)) this.wrongs.push(`${kind} ${requestId} (${route}) ended without a begin`)
  }
}

function newServer(random: SeededRandom, pairs: Pairs): HttpServer {
  const soon = (): Promise<void> => sleep(random.below(30))
  const server = new HttpServer({
    hosts: 'any',
    listen: [
      { port: 0 },
      { port: 0, tls: { key, cert } },
      { port: 0, proxyProtocol: 'required' },
      { port: 0, proxyProtocol: 'required', tls: { key, cert } },
    ],
    proxies: { trust: ['loopback'] },
    logger: { error: () => Promise.reject(new Error('no logger either')) },
    timeouts: { headersTimeout: 200, keepAliveTimeout: 200, requestTimeout: 150, writeTimeout: 200, lingerTimeout: 40 },
    limits: { maxConnections: 150, maxRequestBodySize: 20_000, maxDrainSize: 5_000 },
    onError: () => (random.chance(0.2) ? new HttpResponse().status(500).text('of its own') : undefined),
  })
  server.observe({ begin: ({ kind, requestId }) => pairs.begin(`${kind} ${requestId}`), end: (record) => pairs.end(record) })
  server.observe({
    begin() {
      throw new Error('an observer fails')
    },
    end: () => Promise.reject(new Error('an observer fails later')),
  })
  server.gate(async ({ request, response }) => {
    const how = request.header('x-gate')
    if (how?.endsWith('later') === true) await soon()
    if (how === 'never') await new Promise(() => {})
    if (how === 'throw') throw new HttpError(401, 'not you')
    return how?.startsWith('refuse') === true ? response.forbidden() : undefined
  })
  server.beforeSend((_, response) => {
    response.header('X-Hook', '1')
    if (random.chance(0.05)) throw new Error('a hook fails')
    return random.chance(0.2) ? soon() : undefined
  })
  server.mapGet('/text', () => 'text')
  server.mapGet('/later', () => soon().then(() => 'later'))
  server.mapGet('/never', () => new Promise(() => {}))
  server.mapGet('/fails', () => Promise.reject(new Error('a handler fails')))
  server.mapGet('/large', () => Buffer.alloc(2_000_000))
  server.mapGet('/short', (_, { response }) => response.header('Content-Length', 9).stream(ReadableStream.from(['short'])))
  server.mapGet('/stream', async function* () {
    for (let n = random.below(10); n > 0; n--) {
      yield Buffer.alloc(random.below(50_000))
      await soon()
    }
    if (random.chance(0.2)) throw new Error('a stream fails')
  })
  server.mapGet('/plain', (_, { response }) =>
    response.upgrade('plain', (socket) => {
      if (random.chance(0.2)) throw new Error('nobody takes over')
      socket.on('error', () => {}).write(SWITCHED)
      if (random.chance(0.5)) socket.pipe(socket)
      else socket.resume().end('bye')
    }),
  )
  server.mapPost('/buffer', (_, { request }) => request.bodyLength)
  server.mapPost('/echo', { body: 'stream' }, (_, { request }) => request.bodyStream())
  server.mapPost('/ignore', { body: 'stream' }, () => 'ignored')
  return server
}

function requestText(random: SeededRandom): string {
  const fields = `Host: x\r\nX-Gate: ${random.pick(GATES)}\r\n${random.chance(0.1) ? 'Connection: close\r\n' : ''}`
  const path = random.pick(['/buffer', '/echo', '/ignore', '/none'])
  const length = random.below(30_000)
  const expect = random.chance(0.3) ? 'Expect: 100-continue\r\n' : ''
  switch (random.below(6)) {
    case 0:
      return `POST ${path} HTTP/1.1\r\n${fields}${expect}Content-Length: ${length}\r\n\r\n${'x'.repeat(length)}`
    case 1:
      return `POST ${path} HTTP/1.1\r\n${fields}Transfer-Encoding: chunked\r\n\r\n${'5\r\nhello\r\n'.repeat(length % 50)}${random.pick(['0\r\n\r\n', 'x', ''])}`
    case 2:
      return `GET /plain HTTP/1.1\r\n${fields}Connection: upgrade\r\nUpgrade: plain\r\n\r\nmore`
    case 3:
      return random.pick(NONSENSE)
    default:
      return `${random.pick(['GET', 'GET', 'HEAD', 'OPTIONS'])} ${random.pick(PATHS)} HTTP/1.1\r\n${fields}\r\n`
  }
}

async function attack(random: SeededRandom, ports: readonly number[]): Promise<void> {
  const which = random.below(ports.length)
  const socket = connect({ port: ports[which]!, allowHalfOpen: random.chance(0.5) }).on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed])
  if (which >= 2) socket.write(random.pick(HEADERS))
  const speaksTls = which % 2 === 1 && random.chance(0.8)
  const client: Socket = speaksTls ? connectTls({ socket, rejectUnauthorized: false }).on('error', () => {}) : socket
  if (random.chance(0.85)) client.resume()
  const text = Array.from({ length: random.between(1, 4) }, () => requestText(random)).join('')
  const end = random.chance(0.3) ? random.below(text.length) : text.length
  for (let at = 0; at < end && !client.destroyed; ) {
    const next = random.chance(0.5) ? end : Math.min(end, at + random.between(1, 2_000))
    client.write(text.slice(at, next), 'latin1')
    at = next
    if (random.chance(0.4)) await sleep(random.below(5))
  }
  await sleep(random.below(random.pick([5, 40, 150])))
  if (random.chance(0.3)) {
    client.end()
    await sleep(random.below(50))
  } else if (random.chance(0.4)) socket.resetAndDestroy() // after `end`, Node would never close its handle
  socket.destroy()
  await closed
}

async function callFetch(random: SeededRandom, server: HttpServer): Promise<void> {
  const controller = new AbortController()
  if (random.chance(0.4)) setTimeout(() => controller.abort(), random.below(50))
  const pull = async (body: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await sleep(random.below(5))
    if (random.chance(0.2)) body.close()
    else if (random.chance(0.05)) body.error(new Error('the body fails'))
    else body.enqueue(Buffer.alloc(random.below(3_000)))
  }
  const body = random.chance(0.5) ? null : new ReadableStream({ pull })
  const path = random.pick(body === null ? [...PATHS, '/plain'] : ['/buffer', '/echo', '/ignore', '/none'])
  const init = {
    method: body === null ? 'GET' : 'POST',
    body,
    duplex: 'half',
    signal: controller.signal,
    headers: { 'X-Gate': random.pick(GATES) },
  }
  const response = await server.fetch(new Request(`http://x${path}`, init as RequestInit))
  if (random.chance(0.5)) await response.text()
  else await response.body?.cancel('enough')
}

test(`a storm: one end for each begin (SEED=${SEED})`, async (t) => {
  const random = new SeededRandom(SEED)
  const pairs = new Pairs()
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', onUnhandled)
  const awake = setInterval(() => {}, 1_000) // the clock of `server.fetch` does not keep the process alive
  t.after(() => {
    process.off('unhandledRejection', onUnhandled)
    clearInterval(awake)
  })

  const server = newServer(random, pairs)
  await server.start()
  const ports = server.endpoints.map(({ port }) => port)
  const under: Promise<unknown>[] = []
  for (let i = 0; i < CLIENTS; i++) {
    under.push(attack(random, ports))
    if (i % (CLIENTS / CALLERS) === 0) under.push(callFetch(random, server).catch(() => {}))
    if (i % 10 === 0) await sleep(5)
  }
  await within(server.stop({ graceMs: random.pick([0, 50, 500]) }), 'the stop')
  await Promise.all(under)
  await eventually(() => pairs.open.size === 0, 'the last end').catch(() => {})

  assert.deepEqual([[...pairs.open], pairs.wrongs, unhandled], [[], [], []])
  assert.ok(pairs.count > CLIENTS / 4, `only ${pairs.count} requests began`)
})
