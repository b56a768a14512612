// What people try first who come from other libraries, and what the error tells them.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { redisStreamRelay } from '../../../redis/src/index.ts'
import { saveToS3 } from '../../../s3/src/index.ts'
import { diskStorage, uploads } from '../../../uploads/src/index.ts'
import { HttpServer } from '../../src/index.ts'
import { cache, cacheMetrics } from '../../src/modules/cache/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { idempotency } from '../../src/modules/idempotency/index.ts'
import { memoryRelay, relayChannel } from '../../src/modules/relay/index.ts'
import { memorySessions, sessions } from '../../src/modules/sessions/index.ts'
import { mountNode } from '../../src/node/index.ts'

const INVALID = 'an option or argument is invalid: '
const server = new HttpServer({ logger: null })

/** What a program without types passes. */
function untyped<T>(value: unknown): T {
  return value as T
}

const MISTAKES: ReadonlyArray<readonly [make: () => unknown, message: string]> = [
  [
    () => mountNode(server, '/', untyped({ callback: () => {} })),
    'mountNode(): the handler is an object, not a function: pass app.callback()',
  ],
  [
    () => mountNode(server, '/', untyped({ fetch: () => {} })),
    'mountNode(): the handler is an object, not a function: use mountFetch(server, path, app.fetch)',
  ],
  [
    () => mountNode(server, '/', untyped(createServer())),
    'mountNode(): the handler is a Server, not a function: pass the function that it calls for each request',
  ],
  [
    () =>
      mountNode(
        server,
        untyped(() => {}),
        untyped('/'),
      ),
    'mountNode(): the handler is a string, not a function: write mountNode(server, path, handler)',
  ],
  [
    () => server.use(untyped((_req: unknown, _res: unknown, next: () => void) => next())),
    'use(): a middleware has two parameters, session and next, not 3: mount code for Express with mountNode()',
  ],
  [
    () => new HttpServer({ logger: null }).use(sessions({ store: memorySessions() })).use(csrf()),
    'use(): there already is a policy "csrf" at this level: beside csrf(), give sessions() `csrf: false`, or the options of csrf(); a second sessions() needs its own group',
  ],
  [
    () => new HttpServer({ logger: null }).use(csrf()).use(sessions({ store: memorySessions() })),
    'use(): there already is a policy "csrf" at this level: beside csrf(), give sessions() `csrf: false`, or the options of csrf(); a second sessions() needs its own group',
  ],
  [
    () =>
      new HttpServer({ logger: null })
        .use(sessions({ store: memorySessions() }))
        .use(sessions({ store: memorySessions(), name: 'staff', csrf: false })),
    'use(): there already is a policy "sessions" at this level: beside csrf(), give sessions() `csrf: false`, or the options of csrf(); a second sessions() needs its own group',
  ],
  [
    () => new HttpServer({ limits: { maxRequestBodySize: untyped('25mb') } }),
    'limits: maxRequestBodySize is the string "25mb", not a whole number of at least 0 or a size such as "64KiB" or "10MiB", or null: write "25MiB"',
  ],
  [
    () => cache({ maxSize: untyped('64kB') }),
    'cache: maxSize is the string "64kB", not a whole number of at least 1 or a size such as "64KiB" or "10MiB": write "64KiB"',
  ],
  [
    () => cache({ maxSize: untyped('many') }),
    'cache: maxSize is the string "many", not a whole number of at least 1 or a size such as "64KiB" or "10MiB"',
  ],
  [() => cache({ key: untyped('user') }), 'cache: key is the string "user", not "all", "principal" or a function'],
  [() => cache().invalidate(untyped('/x')), 'invalidate(): either { path } or { tag } is needed, not a string'],
  [() => cacheMetrics(untyped(cache())), 'cacheMetrics(): an object of caches is needed, such as { pages }: its member "name" is a string'],
  [() => idempotency({ methods: ['post'] }), 'idempotency: methods: the names of methods are case-sensitive: write "POST", not "post"'],
  [
    () => idempotency({ store: untyped('memory') }),
    'idempotency: store is the string "memory", which has no function begin(): for a client of Redis, write redisIdempotency(client)',
  ],
  [
    () => redisStreamRelay(untyped(Promise.resolve({ sendCommand() {} })), { maxLength: 10 }),
    'redisStreamRelay(): client is a promise: await it',
  ],
  [
    () => relayChannel(untyped({ publish() {}, subscribe() {}, close() {} }), 'news'), // a client of Redis
    'relayChannel(): relay is an object without isConnected: pass what redisRelay(client), natsRelay(connection) or memoryRelay() returns',
  ],
  [
    () =>
      memoryRelay().subscribe(
        untyped(() => {}),
        untyped('news'),
      ),
    'memoryRelay(): channel is a function, not a name such as "news"',
  ],
  [() => memoryRelay().subscribe('news', untyped('news')), 'memoryRelay(): listener is the string "news", not a function'],
  [() => memoryRelay().publish('news', untyped({ usd: 4 })), 'memoryRelay(): publish: the data is an object, not a string'],
  [
    () => uploads('/files', { storage: untyped('/var/uploads'), onComplete() {} }),
    'uploads: storage is the string "/var/uploads", which has no function create(): write diskStorage(directory) or s3Storage(client, { bucket })',
  ],
  [
    () => uploads('/files', { storage: diskStorage('/tmp/never-used'), locks: untyped({ call() {} }), onComplete() {} }),
    'uploads: locks is an object, which has no function acquire(): for a client of Redis, write redisLocks(client)',
  ],
  [
    () => saveToS3(untyped({ send() {}, config: {} }), untyped('photos'), { fileName: 'a.png' }, new Uint8Array(1)),
    'saveToS3(): target is the string "photos", not an object such as { bucket: \'photos\' }',
  ],
  [
    () => health({ ready: { relay: untyped(memoryRelay().isConnected) } }),
    'health: ready.relay is true, not a function or { check }: write () => …, which is called for each check',
  ],
  [
    () => health({ ready: { relay: untyped(memoryRelay()) } }),
    'health: ready.relay is a MemoryRelay, not a function or { check }: write () => …, which is called for each check',
  ],
]

for (const [make, message] of MISTAKES)
  test(message, async () => {
    await assert.rejects(async () => make(), { code: 'WEIR_OPTION_INVALID', message: INVALID + message })
  })

for (const [name, returned] of [
  ['a Response', () => new Response('hello')],
  ['a promise of one', async () => new Response('hello')],
] as const)
  test(`a mounted handler that returns ${name} fails instead of waiting forever`, async () => {
    const errors: unknown[] = []
    const mounting = new HttpServer({ logger: null, onError: (error) => void errors.push(error) })
    mountNode(mounting, '/', returned)
    assert.equal((await mounting.inject('/')).status, 500)
    assert.match(String(errors[0]), /a handler of mountNode\(\) returned a Response: mount it with mountFetch\(\)/)
  })

test('a mounted handler may return the Response of a call of its own once it has responded', async () => {
  const mounting = new HttpServer({ logger: null })
  mountNode(mounting, '/', async (_req, res) => {
    res.end('mine')
    return new Response('theirs')
  })
  assert.equal((await mounting.inject('/')).text(), 'mine')
})
