// What SECURITY.md states about every server, where no test of a single part would notice that it has become false.

import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'

import { ERRORS } from '../packages/weirjs/src/base/error-codes.ts'
import { DEFAULT_LIMITS, DEFAULT_TIMEOUTS } from '../packages/weirjs/src/base/limits.ts'
import { HttpServer, type ServerOptions } from '../packages/weirjs/src/index.ts'
import { apiKey, apiKeyDigest, auth, basic, PasswordHasher } from '../packages/weirjs/src/modules/auth/index.ts'
import { loadConformanceCases } from '../packages/weirjs/test/conformance/cases.ts'
import { RawClient } from '../packages/weirjs/test/support/raw-client.ts'
import { TRANSPORTS } from '../packages/weirjs/test/support/transports.ts'

test('without an address, no other one is listened on', async (t) => {
  const port = await portOf(
    t,
    new HttpServer({ logger: null }).mapGet('/', () => 'done'),
  )
  const others = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  for (const { address, scopeid } of [...others, { address: '127.0.0.2', scopeid: 0 }]) {
    if (address === '127.0.0.1' || scopeid) continue
    await assert.rejects(RawClient.connect({ port, host: address }), address)
  }
  assert.match(await responseTo(port, 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'), / 200 /)
})

test('every limit and timeout is set, except for the three that SECURITY.md names', () => {
  const [sentence] = /^- Every limit and timeout .+?\.$/ms.exec(readFileSync('SECURITY.md', 'utf8')) ?? assert.fail('no such sentence')
  const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name!)
  const open = Object.entries({ ...DEFAULT_LIMITS, ...DEFAULT_TIMEOUTS }).filter(
    ([, value]) => value === null || value === Number.POSITIVE_INFINITY,
  )
  assert.deepEqual(named.sort(), open.map(([name]) => name).sort())
})

/** Each makes the server as permissive as that option can. */
const LOOSE: Readonly<Record<string, ServerOptions>> = {
  debug: { debug: true },
  'large limits': {
    limits: {
      maxRequestHeaderSize: 1 << 20,
      maxRequestHeaders: 10_000,
      maxChunkExtensionSize: 1 << 20,
      maxRequestBodySize: null,
      maxDrainSize: 1 << 30,
    },
  },
  'a proxy that is trusted': { proxies: { trust: ['loopback'] } },
  'an onError that answers 200': { onError: (_error, { response }) => response.status(200).text('fine') },
}

/** The proxy states the host of its client elsewhere. */
const EMPTY_HOST = /\r\nHost:[ \t]*\r\n/i

for (const [what, options] of Object.entries(LOOSE))
  test(`with ${what}, what is malformed is refused as without`, async (t) => {
    // Not those for a limit, nor those for an `https` target: a trusted proxy may have terminated TLS.
    const malformed = loadConformanceCases().filter(
      ({ refusal, expected, limits }) =>
        refusal !== null &&
        expected.length === 1 &&
        ERRORS[refusal].status < 405 &&
        JSON.stringify(limits) === JSON.stringify(DEFAULT_LIMITS),
    )
    assert.ok(malformed.length > 80, `only ${malformed.length} cases`)
    let handled = 0
    const server = new HttpServer({ hosts: 'any', logger: null, ...options })
    for (const path of ['/', '/*path']) server.map(null, path, () => String(++handled))
    const port = await portOf(t, server)
    for (const { id, bytes, expected } of malformed) {
      if (options.proxies !== undefined && EMPTY_HOST.test(bytes.toString('latin1'))) continue
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(await responseTo(port, bytes)) ?? assert.fail(`${id}: no response`)
      if (options.onError === undefined) assert.equal(Number(status), expected[0]!.status, id)
      assert.equal(handled, 0, id)
    }
  })

for (const { title, options, connect } of TRANSPORTS)
  test(`no field of a response names the server: ${title}`, async (t) => {
    const server = new HttpServer({ logger: null, ...options, address: '127.0.0.1', port: 0 })
    server.mapGet('/', () => ({ done: true }))
    server.mapGet('/file', (_, { response }) => response.file('package.json'))
    server.mapGet('/away', (_, { response }) => response.redirect('/'))
    server.mapGet('/fails', () => {
      throw new Error('no')
    })
    const line = await connect(await portOf(t, server))
    t.after(() => line.leave())
    const statuses = []
    for (const [method, path] of Object.entries({ '/': 'GET', '/file': 'GET', '/away': 'GET', '/fails': 'GET', '/none': 'HEAD' }).map(
      ([path, method]) => [method, path],
    ))
      for (const reply of [await line.ask({ method: method!, path: path! }), await line.ask({ method: 'PURGE', path: path! })]) {
        statuses.push(reply.status)
        for (const [name, value] of Object.entries(reply.fields)) {
          assert.doesNotMatch(name, /^(?:server|via|x-powered-by|x-generator|x-runtime)$/)
          assert.doesNotMatch(`${name}: ${value}`, /weir|node/i)
        }
      }
    assert.deepEqual([...new Set(statuses)].sort(), [200, 302, 404, 405, 500])
  })

test('passwords and keys are compared by timingSafeEqual, and by nothing else', async (t) => {
  const known = await new PasswordHasher({ ln: 4, r: 2, p: 1 }).hash('right')
  const KEY = 'key_0123456789abcdef'
  const compared: number[] = []
  const equals = crypto.timingSafeEqual
  t.after(() => {
    crypto.timingSafeEqual = equals
    syncBuiltinESMExports()
  })
  crypto.timingSafeEqual = (one, other) => {
    compared.push(one.byteLength)
    return equals(one, other)
  }
  syncBuiltinESMExports()
  const schemes = [basic({ users: { ann: known } }), apiKey({ keys: { [apiKeyDigest(KEY)]: { id: 'service' } } })]
  const server = new HttpServer({ logger: null }).use(auth({ schemes })).mapGet('/', () => 'done')
  const ask = async (headers: Record<string, string>) => (await server.inject({ url: '/', headers, peer: { isSecure: true } })).status
  const basicOf = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  for (const [headers, status] of [
    [basicOf('ann:right'), 200],
    [basicOf('ann:wrong'), 401],
    [{ 'X-API-Key': KEY }, 200],
  ] as const) {
    compared.length = 0
    assert.equal(await ask(headers), status)
    assert.deepEqual(compared.length, 1, JSON.stringify(headers))
  }
  // Where it says that all are equal, all are: nothing else was asked.
  crypto.timingSafeEqual = () => true
  syncBuiltinESMExports()
  assert.equal(await ask(basicOf('ann:another')), 200)
})

async function portOf(t: TestContext, server: HttpServer): Promise<number> {
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server.port
}

async function responseTo(port: number, bytes: string | Buffer): Promise<string> {
  const client = await RawClient.connect(port)
  client.send(bytes)
  client.end()
  return client.rest()
}
