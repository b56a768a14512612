// A client that has reset its connection before anything of the response was written: whatever carries the request, whatever responds, and whenever it
// leaves, there is one record, and it says so.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

import { HttpServer, type HttpSession, type ServerOptions } from '../../src/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { metrics } from '../../src/modules/metrics/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { cert, key } from '../support/certificate.ts'
import { END_HEADERS, END_STREAM, encodeFields, encodeFrame, HEADERS, PREFACE, SETTINGS } from '../support/http2-client.ts'
import { Observed } from '../support/observed.ts'
import { eventually, within } from '../support/serving.ts'

const TLS = { tls: { key, cert }, http2: true } as const

const CARRIERS: Readonly<Record<string, { readonly options: ServerOptions; readonly alpn?: string; readonly speaksHttp2?: true }>> = {
  'HTTP/1.1': { options: { sharedReceiveBuffer: true } },
  'HTTP/1.1 with data events': { options: { sharedReceiveBuffer: false } },
  'HTTP/1.1 over TLS': { options: TLS, alpn: 'http/1.1' },
  'HTTP/2': { options: TLS, alpn: 'h2', speaksHttp2: true },
  'HTTP/2 in cleartext': { options: { http2: 'cleartext' }, speaksHttp2: true },
}

/** What responds. The last moment at which the client may leave is when something asks for the first piece. */
const RESPONSES: Readonly<Record<string, (session: HttpSession, file: string, leave: () => void) => unknown>> = {
  text: () => 'text',
  json: () => ({ some: 'json' }),
  bytes: () => Buffer.alloc(1000),
  'many bytes': () => Buffer.alloc(1024 * 1024),
  'a long text': () => 'x'.repeat(100_000),
  nothing: () => undefined,
  304: (_, __, ___) => _.response.status(304),
  file: ({ response }, file) => void response.file(file),
  stream: (_, __, leave) =>
    (async function* () {
      leave()
      yield 'piece'
    })(),
  'late stream': (_, __, leave) =>
    (async function* () {
      await nextTurn()
      leave()
      yield 'piece'
      yield 'another'
    })(),
  'stream of nothing': (_, __, leave) =>
    // biome-ignore lint/correctness/useYield: it is empty
    (async function* () {
      leave()
    })(),
  'event stream': (session, _, leave) =>
    sse(session, async function* () {
      leave()
      yield { data: 'event' }
    }),
}

const MOMENTS = ['begin', 'gate', 'late gate', 'handler', 'late handler', 'beforeSend', 'source'] as const
type Moment = (typeof MOMENTS)[number]

interface Bench {
  readonly server: HttpServer
  readonly observed: Observed
  readonly lines: string[]
  /** When the next client leaves, and how. */
  next: { moment: Moment; response: string; leave: () => void }
}

async function serve(t: TestContext, options: ServerOptions, prepare: (bench: Bench) => void = () => {}): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-left-'))
  const file = join(folder, 'file.txt')
  await writeFile(file, 'a file')
  const bench: Bench = { server: new HttpServer({ logger: null, ...options }), observed: new Observed(), lines: [], next: null! }
  const { server } = bench
  const at = (moment: Moment): void => {
    if (bench.next.moment === moment) bench.next.leave()
  }
  server.use(accessLog({ to: { write: (text) => bench.lines.push(...text.trimEnd().split('\n')) } }))
  server.use(metrics())
  server.observe({ begin: () => at('begin'), end: () => {} })
  bench.observed.on(server)
  server.gate(() => {
    at('gate')
    return bench.next.moment === 'late gate' ? nextTurn().then(() => at('late gate')) : undefined
  })
  server.beforeSend(() => at('beforeSend'))
  server.mapGet('/', (_, session) => {
    const respond = (): unknown => RESPONSES[bench.next.response]!(session, file, () => at('source'))
    at('handler')
    if (bench.next.moment !== 'late handler') return respond()
    return nextTurn().then(() => {
      at('late handler')
      return respond()
    })
  })
  prepare(bench)
  await server.start()
  t.after(async () => {
    await server.stop({ graceMs: 0 })
    await rm(folder, { recursive: true })
  })
  return bench
}

/** Sends one request. @param leavesEarly whether before the last bytes of the handshake are there @returns what resets its connection */
async function request(
  t: TestContext,
  port: number,
  method: string,
  { alpn, speaksHttp2 }: (typeof CARRIERS)[string],
  leavesEarly = false,
): Promise<() => void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  let to: Socket = socket
  if (alpn !== undefined) {
    to = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: [alpn], servername: 'localhost' }).on('error', () => {})
    await within(new Promise((resolve) => to.once(leavesEarly ? 'secureConnect' : 'session', resolve)), 'the handshake')
    await nextTurn() // what is written within that event breaks the connection
  }
  if (speaksHttp2) {
    const head = encodeFields([
      [':method', method],
      [':scheme', alpn === undefined ? 'http' : 'https'],
      [':authority', 'localhost'],
      [':path', '/'],
    ])
    to.write(Buffer.concat([PREFACE, encodeFrame(SETTINGS, 0, 0), encodeFrame(HEADERS, END_HEADERS | END_STREAM, 1, head)]))
  } else to.write(`${method} / HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  return () => void socket.resetAndDestroy()
}

for (const [name, carrier] of Object.entries(CARRIERS)) {
  test(`${name}: a client that leaves before the first byte is one record, client-gone`, async (t) => {
    const bench = await serve(t, carrier.options)
    const { server, observed, lines } = bench
    let cases = 0
    const wrong: string[] = []
    for (const moment of MOMENTS) {
      for (const response of Object.keys(RESPONSES)) {
        if (moment === 'source' && !response.includes('stream')) continue
        for (const method of moment === 'source' ? ['GET'] : ['GET', 'HEAD']) {
          let reset: (() => void) | null = null
          let isDue = false
          const leave = (): void => {
            isDue = true
            reset?.()
          }
          bench.next = { moment, response, leave }
          reset = await request(t, server.port, method, carrier)
          if (isDue) reset()
          cases++
          await eventually(() => observed.ended.length >= cases && lines.length >= cases, `the record of ${moment}, ${response}`)
          const { outcome, code, firstByteMs } = observed.ended[cases - 1]!
          const line = JSON.parse(lines[cases - 1]!) as { readonly status: number }
          const seen = [outcome, code, line.status, observed.ended.length].join(' ')
          if (seen !== `client-gone WEIR_CLIENT_GONE 499 ${cases}`) wrong.push(`${moment}, ${method}, ${response}: ${seen} ${firstByteMs}`)
        }
      }
    }
    assert.deepEqual(wrong, [])
    assert.match(
      (await server.inject('/metrics')).text(),
      new RegExp(`weir_unsuccessful_total\\{kind="request",outcome="client-gone"\\} ${cases}\n`),
    )
  })
}

test('a client that leaves before it has read the end of the TLS handshake: Node never tells that the response has failed', async (t) => {
  const carrier = CARRIERS['HTTP/1.1 over TLS']!
  const { server, observed } = await serve(t, { ...carrier.options, timeouts: { lingerTimeout: 100 } }, (bench) => {
    bench.next = { moment: 'handler', response: 'file', leave: () => reset?.() }
  })
  let reset: (() => void) | null = null
  reset = await request(t, server.port, 'GET', carrier, true)
  const { outcome, code } = await observed.record()
  assert.deepEqual([outcome, code], ['client-gone', 'WEIR_CLIENT_GONE'])
})
