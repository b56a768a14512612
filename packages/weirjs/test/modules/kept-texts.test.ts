// What modules keep of a request after it has ended does not keep its head alive. A part of a text keeps the whole text in memory, and a head
// may have 64 KiB: bounds on what is kept would say nothing. Each module that remembers something of clients has a line here.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Endpoint } from '../../src/http/session.ts'
import { HttpServer } from '../../src/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { idempotency, memoryIdempotency } from '../../src/modules/idempotency/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { metrics } from '../../src/modules/metrics/index.ts'
import { memoryRelay } from '../../src/modules/relay/index.ts'
import { memorySessions, sealed, sessions } from '../../src/modules/sessions/index.ts'
import { ResumableStreams, sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { HostRules } from '../../src/net/hosts/host-rules.ts'
import { temporaryDirectory } from '../support/temporary.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const REQUESTS = 250
const WARM_UPS = 100
/** The rest of each head. */
const JUNK = 'x'.repeat(50_000)
/** Kept for a request at most, on average: a tenth of its head. */
const MOST_BYTES = 5_000
/** Long enough to be a part of another text, and not a copy. */
const name = (i: number): string => `what-the-client-calls-it-${i}`

const HERE = { address: '127.0.0.1' }
const cookies: Record<number, string> = {}
let sentFrom = ''

interface Keeper {
  readonly what: string
  set(server: HttpServer, t: TestContext): void | Promise<void>
  /** Of the responses. Default 200. */
  readonly status?: number
  request(i: number): { readonly method?: string; readonly url?: string; readonly headers?: Readonly<Record<string, string>> }
}

const KEEPERS: readonly Keeper[] = [
  {
    what: 'files, by their names',
    set(server, t) {
      const root = join(temporaryDirectory(t), 'root')
      mkdirSync(root)
      for (let i = -1; i < REQUESTS; i++) {
        writeFileSync(join(root, name(i)), 'x')
        utimesSync(join(root, name(i)), 1e9, 1e9)
      }
      server.use(staticFiles({ root }))
    },
    request: (i) => ({ url: `/${name(i)}` }),
  },
  {
    what: 'files that a handler sends, by their paths',
    set(server, t) {
      sentFrom = temporaryDirectory(t)
      for (let i = -1; i < REQUESTS; i++) {
        writeFileSync(join(sentFrom, name(i)), 'x')
        utimesSync(join(sentFrom, name(i)), 1e9, 1e9)
      }
      server.mapGet('/', (_, { request, response }) => response.file(request.header('x-path')!))
    },
    request: (i) => ({ headers: { 'x-path': join(sentFrom, name(i)) } }),
  },
  {
    what: 'responses, by a field of the request',
    set: (server) => void server.mapGet('/', { use: [cache({ maxAge: '1h', vary: ['x-name'] })] }, () => 'x'),
    request: (i) => ({ headers: { 'x-name': name(i) } }),
  },
  {
    what: 'that there is no response to keep, by a long field',
    async set(server) {
      server.mapGet('/', { use: [cache({ maxAge: '1h', vary: ['x-name'] })] }, (_, { request, response }) =>
        request.header('x-name') === 'kept' ? 'x' : response.header('Cache-Control', 'no-store').text('x'),
      )
      await server.inject({ url: '/', headers: { 'x-name': 'kept' } })
    },
    request: (i) => ({ headers: { 'x-name': `${name(i)}${'x'.repeat(2 * MOST_BYTES)}` } }),
  },
  {
    what: 'responses that repeat a part of the request, and are tagged with it',
    set: (server) =>
      void server.mapGet('/:id', { use: [cache({ maxAge: '1h', tags: ({ request }) => [request.path] })] }, (_, { request, response }) =>
        response.header('x-repeated', request.path).text('x'),
      ),
    request: (i) => ({ url: `/${name(i)}` }),
  },
  {
    what: 'responses, by their path',
    set: (server) => void server.mapGet('/:id', { use: [cache({ maxAge: '1h' })] }, () => 'x'),
    request: (i) => ({ url: `/${name(i)}` }),
  },
  {
    what: 'lines of a log, by what many requests have in common',
    set(server) {
      server.use(accessLog({ to: { write: () => true } as never, fields: ['user-agent'] }))
      server.mapGet('/:id', () => 'x')
    },
    request: (i) => ({ url: `/${name(i)}?${name(i)}=1`, headers: { 'user-agent': name(i) } }),
  },
  {
    what: 'quotas, by a field',
    set: (server) =>
      void server.mapGet(
        '/',
        { use: [rateLimit({ name: 'a', quota: 5, window: '1h', key: ({ request }) => request.header('x-name')! })] },
        () => 'x',
      ),
    request: (i) => ({ headers: { 'x-name': name(i) } }),
  },
  {
    what: 'outcomes, by their keys',
    set: (server) =>
      void server.mapPost('/', { use: [idempotency({ store: memoryIdempotency() })] }, (_, { response }) =>
        response.header('x-a', 'b').text('x'),
      ),
    request: (i) => ({ method: 'POST', headers: { 'idempotency-key': `0123456789-${name(i)}` } }),
  },
  {
    what: 'sessions in memory, by what they hold',
    set(server) {
      const users = sessions({ store: memorySessions(), allowInsecure: true })
      server.use(users)
      server.mapGet('/', (_, session) => {
        users.signIn(session, { id: session.request.header('x-name')!, roles: [] })
        return 'x'
      })
    },
    request: (i) => ({ headers: { 'x-name': name(i) } }),
  },
  {
    what: 'sealed sessions that were opened, by their cookies',
    async set(server) {
      const users = sessions({ store: sealed({ keys: [randomBytes(32)] }), allowInsecure: true })
      server.use(users)
      server.mapGet('/', (_, session) => users.of(session).principal!.id)
      server.mapPost('/', (_, session) => {
        users.signIn(session, { id: 'ann', roles: [] })
        return 'x'
      })
      for (let i = -1; i < REQUESTS; i++) {
        const { headers } = await server.inject({ method: 'POST', url: '/', peer: HERE })
        cookies[i] = headers.get('set-cookie')!.split(';')[0]!
      }
    },
    request: (i) => ({ headers: { cookie: cookies[i]! } }),
  },
  {
    what: 'messages of a relay, by their channels',
    set(server) {
      const relay = memoryRelay({ maxLength: 10 })
      server.mapGet('/:id', async (_, { request }) => {
        await relay.publish(request.path, request.header('x-name')!)
        return 'x'
      })
    },
    request: (i) => ({ url: `/${name(i)}`, headers: { 'x-name': name(i) } }),
  },
  {
    what: 'messages of a relay, by names of the program',
    set(server) {
      const relay = memoryRelay({ maxLength: 1_000 })
      server.mapGet('/', async (_, { request }) => {
        await relay.publish('channel', 'x', { once: request.header('x-name')! })
        return 'x'
      })
    },
    request: (i) => ({ headers: { 'x-name': name(i) } }),
  },
  {
    what: 'resumable streams, by the work that their clients would begin',
    set(server) {
      const streams = new ResumableStreams()
      server.mapGet('/:id', ({ id }, session) =>
        sse(
          session,
          streams.resumable(id, async function* () {
            yield session.request.method
          }),
        ),
      )
    },
    request: (i) => ({ url: `/${name(i)}` }),
  },
  {
    what: 'codings, by what clients accept',
    set(server) {
      server.use(compression())
      server.mapGet('/', () => 'x'.repeat(5_000))
    },
    request: (i) => ({ headers: { 'accept-encoding': `gzip;q=0.5, ${name(i)};q=0.1` } }),
  },
  {
    what: 'types of responses that repeat a part of the request',
    set(server) {
      server.use(compression())
      server.mapGet('/', (_, { request, response }) => response.contentType(`text/${request.header('x-name')!}`).text('x'.repeat(5_000)))
    },
    request: (i) => ({ headers: { 'accept-encoding': 'gzip', 'x-name': name(i) } }),
  },
  {
    what: 'origins that are refused',
    set: (server) => void server.use(cors({ origins: 'https://app.example' })),
    status: 403,
    request: (i) => ({
      method: 'OPTIONS',
      headers: { origin: `https://${name(i)}${'x'.repeat(2 * MOST_BYTES)}`, 'access-control-request-method': 'PUT' },
    }),
  },
  {
    what: 'hosts that are refused',
    set(server) {
      const rules = new HostRules({ hosts: ['app.example'], proxyHosts: null, warn: () => {} })
      const hosts = rules.at({ address: '192.0.2.1', port: 80, isUnixSocket: false } as Endpoint, undefined)
      server.mapGet('/', (_, { request }) => {
        hosts.tell(request.header('host')!)
        return 'x'
      })
    },
    request: (i) => ({ headers: { host: `${name(i)}.example` } }),
  },
  {
    what: 'series, by methods and paths',
    set(server) {
      server.use(metrics())
      server.map(null, '/:id', () => 'x')
    },
    request: (i) => ({ method: `METHODMETHODMETHOD${i}`, url: `/${name(i)}` }),
  },
  {
    what: 'proxies, by their addresses',
    set(server) {
      server.mapGet('/', (_, session) => session.clientAddress)
    },
    request: (i) => ({ headers: { 'x-forwarded-for': `192.0.2.1, 2001:db8:1111:2222:3333:4444:5555:${i}` } }),
  },
]

for (const { what, set, request, status = 200 } of KEEPERS)
  test(`keeps no heads: ${what}`, async (t) => {
    const server = new HttpServer({ logger: null, proxies: { trust: ['2001:db8::/32', 'loopback'] } })
    await set(server, t)
    const send = async (i: number): Promise<number> => {
      const { headers, ...rest } = request(i)
      return (await server.inject({ url: '/', ...rest, headers: { ...headers, 'x-junk': JUNK }, peer: HERE })).status
    }
    // The same one again and again, of which nothing more is kept: what is compiled meanwhile is no memory of requests.
    for (let i = 0; i < WARM_UPS; i++) await send(-1)
    const before = await heapBytes()
    for (let i = 0; i < REQUESTS; i++) assert.equal(await send(i), status)
    const perRequest = ((await heapBytes()) - before) / REQUESTS
    assert.ok(perRequest < MOST_BYTES, `${Math.round(perRequest)} bytes are kept for each request`)
  })

async function heapBytes(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
