// No timeout covers a trailer function or `onError`: if one never settles, the exchange ends when its client leaves, or when the server stops.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { cert, key } from '../support/certificate.ts'
import { END_STREAM, HEADERS, RawHttp2, RST_STREAM } from '../support/http2-client.ts'
import { RawClient } from '../support/raw-client.ts'
import { eventually, within } from '../support/serving.ts'

const NEVER = new Promise<never>(() => {})

interface Waiting {
  readonly server: HttpServer
  readonly signals: AbortSignal[]
}

async function start(t: TestContext): Promise<Waiting> {
  const signals: AbortSignal[] = []
  const server = new HttpServer({
    logger: null,
    onError: () => NEVER,
    timeouts: { requestTimeout: 1 },
    listen: [{ port: 0 }, { port: 0, tls: { key, cert }, http2: true }],
  })
  server.mapGet('/trailer', (_, { request, response }) => {
    signals.push(request.signal)
    return response.trailer('X-Sum', () => NEVER).text('whole')
  })
  server.mapGet('/error', (_, { request }) => {
    signals.push(request.signal)
    throw new Error('meant to fail')
  })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return { server, signals }
}

/** Sends both requests, each on a connection of its own, and waits for what arrives of the first response. @returns how the clients leave */
async function askOverHttp1(t: TestContext, { server, signals }: Waiting): Promise<() => void> {
  const [trailing, failing] = [await RawClient.connect(server.endpoints[0]!.port), await RawClient.connect(server.endpoints[0]!.port)]
  trailing.get('/trailer', 'TE: trailers\r\nConnection: TE\r\n')
  failing.get('/error')
  const leave = (): void => {
    trailing.destroy()
    failing.destroy()
  }
  t.after(leave)
  await eventually(() => signals.length === 2, 'both requests')
  return leave
}

async function askOverHttp2(t: TestContext, { server, signals }: Waiting): Promise<() => void> {
  const client = await RawHttp2.connect(t, server.endpoints[1]!.port)
  for (const [i, path] of ['/trailer', '/error'].entries()) {
    client.headers(2 * i + 1, [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', 'localhost'],
      [':path', path],
    ])
  }
  await eventually(() => signals.length === 2, 'both requests')
  return () => {
    client.frame(RST_STREAM, 0, 1, Buffer.of(0, 0, 0, 8)).frame(RST_STREAM, 0, 3, Buffer.of(0, 0, 0, 8))
    assert.ok(!client.frames.some(({ type, flags }) => type === HEADERS && (flags & END_STREAM) !== 0))
  }
}

for (const [protocol, ask] of [
  ['HTTP/1.1', askOverHttp1],
  ['HTTP/2', askOverHttp2],
] as const) {
  test(`a client that leaves meanwhile: its signals abort, and nothing keeps the server, over ${protocol}`, async (t) => {
    const waiting = await start(t)
    const leave = await ask(t, waiting)
    leave()
    await eventually(() => waiting.signals.every(({ aborted }) => aborted), 'both signals abort')
    await within(waiting.server.stop({ graceMs: 0 }), 'the stop')
  })

  test(`stop() waits for graceMs, and not longer, over ${protocol}`, async (t) => {
    const waiting = await start(t)
    await ask(t, waiting)
    const { aborted } = await within(waiting.server.stop({ graceMs: 10 }), 'the stop')
    assert.ok(aborted > 0)
    assert.ok(waiting.signals.every((signal) => signal.aborted))
  })
}
