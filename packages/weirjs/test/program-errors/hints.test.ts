// What messages add for whoever has to mend a program: its line, and what to write.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type HttpSession, t } from '../../src/index.ts'
import { auth } from '../../src/modules/auth/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { concurrencyLimit, rateLimit } from '../../src/modules/limits/index.ts'
import { sessions } from '../../src/modules/sessions/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { testScheme } from '../modules/auth/support.ts'

/** What a program without types passes. */
const wrong = (value: unknown) => value as never
const LINE = /, in GET \/ \(inline\) at .*hints\.test\.[jt]s:\d+:\d+/

/** The line that a request of a test logs. */
async function logged(handler: (...args: never[]) => unknown, declaration: object = {}): Promise<string> {
  const lines: string[] = []
  const server = new HttpServer({ logger: { error: (message, error) => void lines.push(`${message} ${(error as Error)?.message}`) } })
  server.mapGet('/', declaration, handler as never)
  assert.equal((await server.inject('/')).status, 500)
  assert.equal(lines.length, 1)
  return lines[0]!
}

async function startOf(build: (server: HttpServer) => unknown): Promise<void> {
  await using server = new HttpServer('127.0.0.1', 0, { logger: null })
  build(server)
  await server.start()
}

test('a value that cannot be sent names the route and its line, unless the stack does', async () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  for (const handler of [() => new Map(), () => ({ n: 1n }), () => ({ later: Promise.resolve() }), () => circular])
    assert.match(await logged(handler), LINE)
  assert.match(await logged(() => circular), /\nLeave out what leads back/)
  assert.match(await logged(() => ({ a: 'x' }), { answers: { 200: t.object({ a: t.int }) } }), LINE)
  assert.match(await logged(() => Promise.reject('text')), /: throw an Error, which has a stack/)
  assert.doesNotMatch(await logged((_: never, { response }: HttpSession) => response.json(1n)), /, in GET/)
})

test('a method of another framework is answered with what to write', async () => {
  assert.match(
    await logged((_: never, session: never) => (session as { response: { send(): void } }).response.send()),
    /; perhaps it was meant to return the value, or response\.json/,
  )
  assert.match(await logged((_: never, res: never) => (res as { json(): void }).json()), /a handler gets \(args, session\)/)
  assert.match(
    await logged((_: never, { request: { header } }: HttpSession) => header('a')),
    /a method was taken off its object: call it as in request\.header/,
  )
  assert.doesNotMatch(await logged(() => wrong(null as unknown as { x: never }['x'])['y']), /; perhaps/)
})

test('a limit without a name in the place of another is refused at the start', async () => {
  const quick = { quota: 5, window: '1m' } as const
  await assert.rejects(
    startOf((server) => server.use(rateLimit({ quota: 500, window: '1m' })).post('/login', { use: [rateLimit(quick)] }, () => 'x')),
    {
      code: 'WEIR_ROUTE_DECLARATION',
      message: /POST \/login .*"rateLimit:default" replaces the one of its server, because neither has a name: give each/,
    },
  )
  await assert.rejects(
    startOf((server) =>
      server.group('/a', { use: [concurrencyLimit({ max: 9 })] }).get('/', { use: [concurrencyLimit({ max: 1 })] }, () => 'x'),
    ),
    { code: 'WEIR_ROUTE_DECLARATION', message: /"concurrencyLimit:default" replaces the one of its group/ },
  )
  const meant = rateLimit({ name: 'default', ...quick })
  await startOf((server) => server.use(rateLimit({ quota: 500, window: '1m' })).post('/login', { use: [meant] }, () => 'x'))
  const login = rateLimit({ name: 'login', ...quick })
  await startOf((server) => server.use(rateLimit({ quota: 500, window: '1m' })).post('/login', { use: [login] }, () => 'x'))
})

test('health behind auth is refused at the start, unless its routes say who may ask', async () => {
  const scheme = testScheme()
  const closed = () => auth({ schemes: [scheme] })
  await assert.rejects(
    startOf((server) => server.use(closed()).use(health())),
    {
      code: 'WEIR_AUTH_SETUP',
      message: /GET \/livez .* is behind auth, so that an orchestrator gets 401: write health\(\{ use: \[auth\.open\] \}\)/,
    },
  )
  await startOf((server) => server.use(closed()).use(health({ use: [auth.open] })))
  await startOf((server) => server.use(closed()).use(health({ use: [auth.required()] })))
  await startOf((server) => server.use(auth({ schemes: [scheme], anonymous: 'allowed' })).use(health()))
  await startOf((server) =>
    server
      .use(health())
      .group('/api', { use: [closed()] })
      .get('/', () => 'x'),
  )
})

test('a port that is taken, and other refusals, state what to do', async () => {
  await using first = new HttpServer('127.0.0.1', 0, { logger: null })
  await first.start()
  const second = new HttpServer('127.0.0.1', first.port, { logger: null })
  await assert.rejects(second.start(), {
    code: 'EADDRINUSE',
    port: first.port,
    message: /EADDRINUSE.*: another program listens there: stop it, or choose another port/,
  })
  const refusals: readonly (readonly [() => unknown, RegExp])[] = [
    [() => staticFiles(wrong('./public')), /not a string: write \{ root: … \}|not a string: write \{ \w+: … \}/],
    [() => sessions(wrong(undefined)), /not undefined: write \{ store: … \}/],
    [() => staticFiles({ root: './nowhere' }), /is not a directory: create it/],
    [() => staticFiles({ root: 5 as never }), /root is 5, not the path of a directory$/],
    [() => staticFiles({ root: '.', headers: { Server: 5 } as never }), /headers: Server is 5, not a string$/],
    [() => staticFiles({ root: '.', headers: 'no' as never }), /"?headers"? is the string "no", not/],
    [() => t.string.pattern(wrong('[a-z')), /write one, such as/],
    [
      () => new HttpServer({ tls: { key: 'key.pem', cert: 'cert.pem' } } as never),
      /"tls\.key" is a path, not what the file contains: write readFileSync\(path\)/,
    ],
    [() => new HttpServer().use({ name: 'a', gate() {} }).use({ name: 'a', gate() {} }), /leave one out, or give each a name of its own/],
  ]
  for (const [refuse, says] of refusals) assert.throws(refuse, { message: says })
})
