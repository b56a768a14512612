// A developer's error says where the mistake is and what to do about it: mistakes in all parts of weir.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { csv, file, HttpResponse, HttpServer, header, multipart, t, WeirError } from '../../src/index.ts'
import { auth, basic, PasswordHasher } from '../../src/modules/auth/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { securityHeaders } from '../../src/modules/headers/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { idempotency } from '../../src/modules/idempotency/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { memoryRelay, relayChannel } from '../../src/modules/relay/index.ts'
import { memorySessions, sealed, sessions } from '../../src/modules/sessions/index.ts'
import { signing } from '../../src/modules/signing/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { webhook } from '../../src/modules/webhooks/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { mountNode } from '../../src/node/index.ts'
import { connect } from '../../src/testing/index.ts'

/** What a program without types passes. */
const wrong = (value: unknown) => value as never
const quiet = () => new HttpServer({ logger: null })
const handler = () => 'x'
const key = Buffer.alloc(32, 'a key of a test, and of no program')

const MISTAKES: Readonly<Record<string, () => unknown>> = {
  'an option of the server': () => new HttpServer({ frontends: [] } as never),
  'a size in other words': () => new HttpServer({ limits: { maxRequestBodySize: wrong('25mb') } }),
  'a signal that no process can handle': () => quiet().run({ signals: [wrong('SIGKILL')] }),
  'any client as a proxy': () => new HttpServer({ proxies: { trust: ['0.0.0.0/0'] } }),
  'a page of its own without TLS': () => new HttpServer({ frontEnds: ['http://app.example.com'] }),
  'a path without a slash': () => quiet().get('users', handler),
  'a parameter without a name': () => quiet().get('/:', handler),
  'the same route twice': () => quiet().get('/a/:id', handler).get('/a/:name', handler),
  'a name in two places': () => quiet().get('/:at', { at: header('at', t.int) }, handler),
  'a body beside a parameter of this name': () => quiet().post('/:body', { body: t.object({}) }, handler),
  'a schema that does not exist': () => quiet().get('/:id', { id: wrong(undefined) }, handler),
  'two policies with one name': () => quiet().use(csrf()).use(csrf()),
  'a path in place of middleware': () => quiet().use(wrong('/api')),
  'a default that cannot be copied': () => t.object({}).default(wrong({ call() {} })),
  'a default that does not fit': () => t.int.default(wrong('x')),
  'a minimum above the maximum': () => t.date.min(new Date(1)).max(new Date(0)),
  'a status as text': () => new HttpResponse().status(wrong('404')),
  'a table without columns': () => csv([], { columns: [] }),
  'no scheme': () => auth({ schemes: [] }),
  'users as a list': () => basic({ users: wrong([['ada', 'x']]) }),
  'a hash without end': () => new PasswordHasher({ ln: 24, r: 32 }),
  'a key twice': () => sessions({ store: sealed({ keys: [key, key] }) }),
  'no key of links': () => signing({ keys: [] }),
  'no secret of a webhook': () => webhook({ scheme: 'github', secrets: [], body: t.object({}) }),
  'an origin with a slash': () => cors({ origins: ['https://a.com/'] }),
  'a window under another name': () => rateLimit(wrong({ windowMs: 60_000, quota: 5 })),
  'a memory shorter than a lease': () => idempotency({ ttl: '1s', lease: '1m' }),
  'a tag in place of an object': () => cache().invalidate(wrong('/x')),
  'a check that has run': () => health({ ready: { relay: wrong(memoryRelay().isConnected) } }),
  'a directive without a value': () => securityHeaders('page', { contentSecurityPolicy: { 'img-src': [] } }),
  'a level of compression': () => compression(wrong({ level: 9 })),
  'a folder as text': () => staticFiles(wrong('./public')),
  'a log to a path': () => accessLog({ to: wrong('/var/log/app.log') }),
  'events without the session': () => sse(wrong(new HttpResponse()), wrong(handler)),
  'an event after which clients would resume': () => relayChannel(memoryRelay(), 'news', { gapEvent: { data: '', id: '1' } }),
  'compression of a WebSocket': () => websocket('/chat', wrong({ compression: true })),
  'a password as the key of sessions': () => sessions({ store: sealed({ keys: ['secret'] }) }),
  'a policy without a list': () => quiet().get('/', { use: wrong(csrf()) }, handler),
  'a port from the environment': () => new HttpServer('127.0.0.1', wrong('3000')),
  'a URL in place of a server': () => connect(wrong('http://127.0.0.1:3000')),
  'a schema that was spread': () => t.object(wrong({ ...t.object({ a: t.int }), b: t.int })),
  'a path of a request': () => quiet().inject(wrong({ path: '/' })),
  'a request in place of the session': () => sessions({ store: memorySessions() }).of(wrong(new Request('http://a/'))),
  'an application of Koa': () => mountNode(quiet(), '/', wrong({ callback() {} })),
}

/** What to do: an order behind a colon or a semicolon, what would have been right, or the names that there are. */
const REMEDY = new RegExp(
  [
    /[:;,] (?:await|call|change|choose|give|leave|list|make|mount|name|pass|remove|rename|spread|stop|use|write) /,
    /[:;] (?:the options are|it is called|perhaps) |, perhaps "/,
    /, (?:not|neither) (?:a|an|one|the|true|whole) |, and must |, which has no function |is needed|must be /,
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** The error, also of a function that rejects. */
async function errorOf(attempt: () => unknown): Promise<WeirError> {
  try {
    await attempt()
  } catch (error) {
    assert.ok(error instanceof WeirError, String(error))
    return error
  }
  return assert.fail('nothing was refused')
}

for (const [what, attempt] of Object.entries(MISTAKES))
  test(`${what}: the line of the program, a page, and what to do`, async () => {
    const { message, stack, help, code } = await errorOf(attempt)
    const [frame] = stack!.slice(stack!.indexOf(message) + message.length + 1).split('\n')
    assert.match(frame!, /where-and-remedy\.test\.[jt]s:/, stack)
    assert.equal(help, `https://github.com/weirjs/weir/blob/main/docs/errors.md#${code.toLowerCase()}`)
    assert.match(message, REMEDY)
  })

const FILM = multipart({ files: { film: file({ saveTo: './none' }) } })

test('a mistake that shows when the server starts names the line of the route', async () => {
  await assert.rejects(
    quiet().post('/films', { body: FILM }, handler).start(),
    /POST \/films \(inline\) at .*where-and-remedy\.test\.[jt]s:\d+:\d+: the file/,
  )
  const closed = quiet().get('/a', { use: [auth.roles('admin')] }, handler)
  await assert.rejects(
    closed.start(),
    /GET \/a \(inline\) at .*where-and-remedy\.test\.[jt]s:\d+:\d+: auth\.roles\(\) is used without auth/,
  )
})

test('the log names the line of a route that nobody may use, and what changes frozen data', async () => {
  const log: string[] = []
  const server = new HttpServer({ logger: { error: (text: string) => void log.push(text) } })
  server.get('/a', { use: [auth.roles('admin')] }, handler)
  server.get('/b', () => {
    const data: { visits: number } = Object.freeze({ visits: 0 })
    data.visits = 1
  })
  await server.inject('/a')
  await server.inject('/b')
  assert.match(log[0]!, /, in GET \/a \(inline\) at .*where-and-remedy\.test\.[jt]s:/)
  assert.match(log[1]!, /perhaps it is frozen: update\(/)
})
