// Limits for real clients: curl, undici, and clients behind a proxy that the server trusts.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { Agent, request } from 'undici'

import { HttpServer, type ServerOptions } from '../../packages/weirjs/src/index.ts'
import { concurrencyLimit, rateLimit, shed } from '../../packages/weirjs/src/modules/limits/index.ts'
import { TestClock } from '../../packages/weirjs/src/testing/test-clock.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { RawClient } from '../../packages/weirjs/test/support/raw-client.ts'
import { haproxyHttp, haproxyTcp } from './hops.ts'
import { noHaproxy } from './proxy.ts'

async function serve(t: TestContext, options: ServerOptions = {}): Promise<HttpServer> {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  server
    .use(shed())
    .use(rateLimit({ name: 'api', quota: 2, window: '1h', clock: new TestClock() }))
    .use(concurrencyLimit({ max: 100 }))
  server.mapGet('/', () => 'done')
  server.mapPost('/', () => 'received')
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

for (const [title, options, flags] of [
  ['HTTP/1.1', {}, []],
  ['HTTP/2', { tls: { cert, key }, http2: true }, ['--insecure', '--http2']],
] as const)
  test(`curl over ${title} sends no body that would be refused`, { skip: noCurl }, async (t) => {
    const server = await serve(t, options)
    const url = `${title === 'HTTP/2' ? 'https' : 'http'}://127.0.0.1:${server.port}/`
    const send = async () =>
      (await curl([...flags, '--header', 'Expect: 100-continue', '--data-binary', '@-', url], Buffer.alloc(100_000))).responses
    assert.deepEqual(
      (await send()).map(({ status }) => status),
      [100, 200],
    )
    await send()
    const refused = await send()
    assert.deepEqual(
      refused.map(({ status }) => status),
      [429],
    )
    assert.equal(refused[0]!.header('retry-after'), '1800')
    assert.equal(refused[0]!.header('ratelimit'), '"api";r=0;t=3600')
    assert.match(refused[0]!.text, /"violated-policies":\["api"\]/)
  })

test('undici gets the refusal of a body that it is sending', async (t) => {
  const server = await serve(t)
  const agent = new Agent()
  t.after(() => agent.close())
  const send = async (): Promise<number> => {
    const options = { method: 'POST', body: Buffer.alloc(5_000_000), dispatcher: agent } as const
    const { statusCode, body } = await request(`http://127.0.0.1:${server.port}/`, options)
    await body.dump()
    return statusCode
  }
  assert.deepEqual([await send(), await send(), await send()], [200, 200, 429])
})

for (const [title, start, options] of [
  ['X-Forwarded-For', haproxyHttp, {}],
  [
    'the PROXY protocol',
    (t: TestContext, port: number) => haproxyTcp(t, port, 'send-proxy-v2'),
    { listen: [{ port: 0, proxyProtocol: 'required' }] },
  ],
] as const)
  test(`clients behind HAProxy have separate quotas, by ${title}, whatever they state`, { skip: noHaproxy }, async (t) => {
    const server = await serve(t, { proxies: { trust: ['127.0.0.1'] }, ...(options as ServerOptions) })
    const port = await start(t, server.port)
    let lies = 0
    const ask = async (localAddress: string): Promise<number> => {
      const client = await RawClient.connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
      const lie = `X-Forwarded-For: 192.0.2.${++lies}\r\nForwarded: for=192.0.2.${lies}`
      const { status } = await client.send(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lie}\r\n\r\n`).message()
      client.destroy()
      return status
    }
    for (const address of ['127.0.0.77', '127.0.0.78'])
      assert.deepEqual([await ask(address), await ask(address), await ask(address)], [200, 200, 429])
  })
