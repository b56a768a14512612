// connect-web in Chromium, on a page of another origin: Connect and gRPC-Web, over HTTP/1.1 and HTTP/2.
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'

import type { Browser } from 'playwright-core'
import { rolldown } from 'rolldown'
import { HttpServer, type Policy, type ServerOptions } from 'weirjs'
import { cors } from 'weirjs/cors'

import { cert, key } from '../../weirjs/test/support/certificate.ts'
import { launchChromium, noChromium } from '../../weirjs/test/support/chromium.ts'
import { mapService } from '../src/index.ts'
import { EchoService } from './proto/echo_pb.ts'
import { ECHO } from './support/echo.ts'

const PROGRAM = `
import { ConnectError, Code, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { EchoRequestSchema, EchoService } from ${JSON.stringify(resolve('build/packages/rpc/test/proto/echo_pb.js'))}

globalThis.run = async (kind, baseUrl, closedUrl, options) => {
  const transportTo = (url) => (kind === 'gRPC-Web' ? createGrpcWebTransport : createConnectTransport)({ baseUrl: url, ...options })
  const client = createClient(EchoService, transportTo(baseUrl))
  const failureOf = async (work) => {
    try { await work() } catch (error) {
      const { code, rawMessage, metadata } = ConnectError.from(error)
      return [Code[code], rawMessage, metadata.get('x-why'), ConnectError.from(error).findDetails(EchoRequestSchema).map(({ text }) => text)]
    }
    return 'the call succeeded'
  }
  const out = {}
  let head, tail
  out.unary = (await client.say({ text: 'hello' }, {
    headers: { 'x-sent': 'yes' }, onHeader: (fields) => (head = fields), onTrailer: (fields) => (tail = fields),
  })).text
  out.metadata = [head.get('x-head'), tail.get('x-tail')]
  out.read = (await client.peek({ text: 'a & ü' })).text
  out.stream = []
  for await (const { index } of client.repeat({ text: 'x', count: 300 })) out.stream.push(index)
  out.large = (await client.say({ text: 'y'.repeat(100_000) })).text.length
  out.failure = await failureOf(() => client.say({ text: 'fail' }))
  out.unknown = await failureOf(() => client.say({ text: 'break' }))
  const seen = []
  out.cut = await failureOf(async () => { for await (const { index } of client.repeat({ text: 'fail', count: 2 })) seen.push(index) })
  out.cut.push(seen)
  out.deadline = (await failureOf(() => client.say({ text: 'wait' }, { timeoutMs: 300 })))[0]
  const closed = createClient(EchoService, transportTo(closedUrl))
  out.refused = await failureOf(() => closed.say({ text: 'x' }))
  out.refusedStream = await failureOf(async () => { for await (const _ of closed.repeat({ text: 'x', count: 1 })); })
  return out
}
document.title = 'ready'
`

describe('connect-web in Chromium', { skip: noChromium }, () => {
  let browser: Browser
  let script: string
  before(async () => {
    browser = await launchChromium()
    const bundle = await rolldown({
      input: 'page-entry',
      platform: 'browser',
      plugins: [
        {
          name: 'program',
          resolveId: (id) => (id === 'page-entry' ? resolve('page-entry.js') : null),
          load: (id) => (id.endsWith('page-entry.js') ? PROGRAM : null),
        },
      ],
    })
    script = (await bundle.generate({ format: 'esm' })).output[0].code
    await bundle.close()
  })
  after(() => browser?.close())

  async function start(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions = {}): Promise<string> {
    const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null, ...options })
    map(server)
    await server.start()
    t.after(() => server.stop({ grace: 0 }))
    return `${'tls' in options ? 'https' : 'http'}://127.0.0.1:${server.port}`
  }

  for (const [version, options] of [
    ['HTTP/1.1', {}],
    ['HTTP/2', { tls: { key, cert }, http2: true }],
  ] as const)
    for (const kind of ['Connect', 'gRPC-Web'] as const)
      test(`${kind} over ${version}`, async (t) => {
        const frontEnd = await start(
          t,
          (server) => {
            server.mapGet('/', (_, { response }) => response.html('<!doctype html><script type="module" src="/script.js"></script>'))
            server.mapGet('/script.js', (_, { response }) => response.contentType('text/javascript').text(script))
          },
          options,
        )
        const protocols = new Set<string>()
        const serve = (use: readonly Policy[]): Promise<string> =>
          start(
            t,
            (server) => {
              server.observe({ begin: ({ protocol }) => void protocols.add(protocol), end: () => {} })
              server.use(cors({ exposedHeaders: ['x-head', 'x-why', 'trailer-x-tail'] }))
              mapService(server, EchoService, ECHO, { use })
            },
            { ...options, frontEnds: [frontEnd] },
          )
        const closed: Policy = { name: 'closed', gate: ({ response }) => response.unauthorized('log in first') }
        const page = await browser.newPage({ ignoreHTTPSErrors: true })
        t.after(() => page.close())
        await page.goto(frontEnd)
        await page.waitForFunction("document.title === 'ready'")
        const urls = [await serve([]), await serve([closed])]
        for (const transport of kind === 'Connect' ? [{ useHttpGet: true }, { useBinaryFormat: true }] : [{ useBinaryFormat: true }, {}]) {
          const seen: unknown = await page.evaluate(`run(${[kind, ...urls, transport].map((one) => JSON.stringify(one)).join()})`)
          const { deadline, ...rest } = seen as { readonly deadline: string }
          assert.deepEqual(rest, {
            unary: 'hello',
            metadata: ['yes', 'the end'],
            read: 'peeked at a & ü',
            stream: Array.from({ length: 300 }, (_, index) => index),
            large: 100_000,
            failure: ['NotFound', 'no ä here %', 'gone', ['detail']],
            unknown: ['Internal', 'internal error', null, []],
            cut: ['Aborted', 'in the middle', null, [], [0, 1]],
            refused: ['Unauthenticated', 'log in first', null, []],
            refusedStream: ['Unauthenticated', 'log in first', null, []],
          })
          assert.equal(deadline, 'DeadlineExceeded')
        }
        assert.deepEqual([...protocols], [version === 'HTTP/2' ? 'HTTP/2.0' : 'HTTP/1.1'])
      })
})
