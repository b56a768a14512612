// What the compiler says of a controller's method that its route cannot call, and of a declaration that is wrong: the last line must be a sentence.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'

/** Inside build/, so that the packages of the repository are found from there. */
const FOLDER = 'build/compiler-messages'

/** A declared argument, the declaration of the route, and how the last line ends. */
const ROWS: readonly [argument: string, declaration: string, ending: string][] = [
  ['{ id }: { id: string }', '{ id: t.int }', "'id' is a number, but the method declares a string"],
  ['{ ids }: { ids: number }', '{ id: t.int }', "the route has no 'ids'"],
  ['{ body }: { body: Order }', '{ body: NewOrder.optional() }', "'body' may be missing, so the method has to declare it as optional"],
  ['{ body }: { body: { count: string } }', '{ body: NewOrder }', "'body.count' is a number, but the method declares a string"],
  ['{ body }: { body: { owner: { id: string; key: string } } }', '{ body: NewOrder }', "the route has no 'body.owner.key'"],
  ['{ body }: { body: string }', '{ body: NewOrder }', "'body' is an object, but the method declares a string"],
  ['_: object, session: HttpSession, more: number', '{ id: t.int }', 'a method gets its arguments and the session, and nothing else'],
]

/** A property of a route's declaration, and what the last line says. */
const DECLARATIONS: readonly (readonly [property: string, says: string])[] = [
  ...['timeout', 'timeoutMs'].map((name) => [`${name}: 5`, `'${name}' is not an option: it is called 'requestTimeout'`] as const),
  ...['bodyLimit', 'limit', 'maxBodySize'].map(
    (name) => [`${name}: 5`, `'${name}' is not an option: it is called 'maxRequestBodySize'`] as const,
  ),
  ...['middleware', 'middlewares', 'guards', 'onRequest', 'preHandler', 'auth', 'gate'].map(
    (name) => [`${name}: [() => 1]`, `'${name}' is not an option: it is called 'use'`] as const,
  ),
  ...['input', 'json', 'validate'].map((name) => [`${name}: true`, `'${name}' is not an option: it is called 'body'`] as const),
  ...['responses', 'returns', 'output'].map((name) => [`${name}: null`, `'${name}' is not an option: it is called 'answers'`] as const),
  ['name: "x"', "'name' is not an option: it is called 'operationId'"],
  ['title: "x"', "'title' is not an option: it is called 'summary'"],
  ['tag: "x"', "'tag' is not an option: it is called 'tags'"],
  ['meta: 1', "'meta' is not an option: it is called 'metadata'"],
  ['params: ["id"]', "'params' is not an option: declare each parameter by its own name, such as { id: t.int }"],
  ['query: "q"', "'query' is not an option: declare each parameter by its own name, such as { id: t.int }"],
  ['requestTimout: 5', 'neither a schema, such as t.string, nor the name of an option'],
  ['id: Number', 'neither a schema, such as t.string, nor the name of an option'],
  ['id: "int"', 'neither a schema, such as t.string, nor the name of an option'],
]

/** What a handler of a route returns whose `answers` say something else, and what the last line says. */
const RESULTS: readonly (readonly [handler: string, says: string])[] = [
  [
    '() => ({ idd: 1 })',
    `Type '{ readonly idd: 1; }' is missing the following properties from type '{ readonly id: number; readonly role: "a" | "b"; }': id, role`,
  ],
  ['() => ({ id: "1", role: "a" })', "Type 'string' is not assignable to type 'number'"],
  ['() => ({ id: 1, role: "c" })', `Type '"c"' is not assignable to type '"a" | "b"'`],
  ['async () => ({ id: 1, role: "c" })', `Type '"c"' is not assignable to type '"a" | "b"'`],
  ['() => "text"', `Type 'string' is not assignable to type '{ readonly id: number; readonly role: "a" | "b"; }'`],
  ['() => {}', `Type 'void' is not assignable to type '{ readonly id: number; readonly role: "a" | "b"; }'`],
  ['(_, { response }) => response.status(409).json({ id: 1, role: "a" })', "Type '409' is not assignable to type '200 | 404'"],
  [
    '(_, { response }) => response.status(404).json({ titel: "" })',
    `Property 'title' is missing in type '{ readonly titel: ""; }' but required in type '{ readonly title: string; }'`,
  ],
]

/** A call of a function of a module, and what the last line says. */
const CALLS: readonly (readonly [call: string, says: string])[] = [
  ['mergePatch(t.string)', 'the argument is a schema of an object, such as t.object({ name: t.string })'],
  ['mergePatch({ name: t.string })', 'the argument is a schema of an object, such as t.object({ name: t.string })'],
  ["server.mapGet('/', (_, session) => sse(async function* () {}, session))", 'the session is the first argument: sse(session, source)'],
  [
    "server.mapGet('/', (_, { response }) => sse(response, async function* () {}))",
    'the session is the first argument: sse(session, source)',
  ],
  ['login.signIn(session, row)', 'a principal is { id, name, roles, scopes, claims }: pick these from the row'],
  ["login.signIn(session, { id: 'ada', email: 'x' })", 'a principal is { id, name, roles, scopes, claims }: pick these from the row'],
  ['login.signIn(session, { id: row.id })', 'the id is a string: write String(id)'],
  ["login.signIn(session, { name: 'Ada' })", "Property 'id' is missing"],
  ["login.signIn(session, 'ada')", "Argument of type 'string' is not assignable to parameter of type 'SignIn"],
  ...['{ contentSecurityPolicy: false }', "'json'", 'null'].map(
    (given) => [`securityHeaders(${given})`, "the first argument is 'page' or 'api', and the second has the options"] as const,
  ),
  [
    "server.mapPost('/', (_, { request }) => { const { name } = request.body; return name })",
    "Property 'name' does not exist on type 'String'",
  ],
  ["server.mapPost('/', ({ body }) => body)", "Property 'body' does not exist on type '{}'"],
  ...[
    ['basic({ verify: () => true })', 'verify', 'BasicOptions'],
    ["apiKey({ header: 'x', verify: () => null })", 'verify', 'ApiKeyOptions'],
    ['auth({ strategies: [] })', 'strategies', 'AuthOptions'],
    ['cache({ ttl: 5 })', 'ttl', 'CacheOptions'],
    ['compression({ level: 6 })', 'level', 'CompressionOptions'],
    ["cors({ origin: '*' })", 'origin', 'CorsOptions'],
    ['csrf({ origins: [] })', 'origins', 'CsrfOptions'],
    ["securityHeaders('api', { hsts: false })", 'hsts', 'SecurityHeadersOptions'],
    ["health({ path: '/x' })", 'path', 'HealthOptions'],
    ['idempotency({ expiresIn: 5 })', 'expiresIn', 'IdempotencyOptions'],
    ["rateLimit({ limit: 5, window: '1m' })", 'limit', 'RateLimitOptions'],
    ['concurrencyLimit({ limit: 5 })', 'limit', 'ConcurrencyLimitOptions'],
    ["accessLog({ level: 'info' })", 'level', 'AccessLogOptions'],
    ["metrics({ prefix: 'x' })", 'prefix', 'MetricsOptions'],
    ["sessions({ secret: 'x' })", 'secret', 'SessionsOptions'],
    ["signing({ secret: 'x' })", 'secret', 'SigningOptions'],
    ["staticFiles({ dir: 'public' })", 'dir', 'StaticOptions'],
    ["webhook({ secret: 'x' })", 'secret', 'WebhookOptions'],
    ["websocket('/x', { onMessage() {} })", 'onMessage', 'WebSocketOptions'],
    ["websocket(ws('/x'), { onMessage() {} })", 'onMessage', 'WebSocketEntryHandlers'],
    ['new HttpServer({ trustProxy: true })', 'trustProxy', 'ServerOptions'],
    ["acme({ domain: 'example.com' })", 'domain', 'AcmeOptions'],
    ["jwt({ key: 'x' })", 'key', 'JwtOptions'],
    ['mcp(server, { routes: [] })', 'routes', 'McpOptions'],
    ["natsRelay(any, { subject: 'x' })", 'subject', 'NatsRelayOptions'],
    ["oidc({ redirectUri: '/cb' })", 'redirectUri', 'OidcOptions'],
    ["openapi({ title: 'x' })", 'title', 'OpenApiOptions'],
    ["opentelemetry({ serviceName: 'x' })", 'serviceName', 'OpenTelemetryOptions'],
    ['redisCache(any, { ttl: 5 })', 'ttl', 'RedisCacheOptions'],
    ['redisIdempotency(any, { ttl: 5 })', 'ttl', 'RedisIdempotencyOptions'],
    ['redisLocks(any, { ttl: 5 })', 'ttl', 'RedisLocksOptions'],
    ["redisRelay(any, { channel: 'x' })", 'channel', 'RedisRelayOptions'],
    ['redisSessions(any, { ttl: 5 })', 'ttl', 'RedisSessionsOptions'],
    ["redisStore(any, { window: '1m' })", 'window', 'RedisStoreOptions'],
    ['redisStreamRelay(any, { length: 5 })', 'length', 'RedisStreamRelayOptions'],
    ['mapService(server, Health, {}, { interceptors: [] })', 'interceptors', 'RpcOptions'],
    ["rpcHealth(server, { service: 'x' })", 'service', 'HealthOptions'],
    ["s3Storage(any, { folder: 'x' })", 'folder', 'S3StorageOptions'],
    ["s3Files(any, { folder: 'x' })", 'folder', 'Omit<S3Target, "key">'],
    ["diskStorage('x', { fsync: true })", 'fsync', 'DiskStorageOptions'],
    ["uploads('/files', { directory: 'x' })", 'directory', 'UploadsOptions'],
  ].map(([call, option, type]) => [call!, `'${option}' does not exist in type '${type}`] as const),
]

const HEAD = `import { Controller, HttpError, HttpServer, type HttpSession, mergePatch, Route, routes, t } from 'weirjs'
import { apiKey, auth, basic } from 'weirjs/auth'
import { cache } from 'weirjs/cache'
import { compression } from 'weirjs/compression'
import { cors } from 'weirjs/cors'
import { csrf } from 'weirjs/csrf'
import { securityHeaders } from 'weirjs/headers'
import { health } from 'weirjs/health'
import { idempotency } from 'weirjs/idempotency'
import { concurrencyLimit, rateLimit } from 'weirjs/limits'
import { accessLog } from 'weirjs/log'
import { metrics } from 'weirjs/metrics'
import { sealed, sessions } from 'weirjs/sessions'
import { signing } from 'weirjs/signing'
import { sse } from 'weirjs/sse'
import { staticFiles } from 'weirjs/static'
import { webhook } from 'weirjs/webhooks'
import { websocket } from 'weirjs/websocket'
import { contract, get, header, post, ws } from 'weirjs/client'
import { acme } from '@weirjs/acme'
import { jwt } from '@weirjs/jwt'
import { mcp } from '@weirjs/mcp'
import { natsRelay } from '@weirjs/nats'
import { oidc } from '@weirjs/oidc'
import { openapi } from '@weirjs/openapi'
import { opentelemetry } from '@weirjs/opentelemetry'
import { redisCache, redisIdempotency, redisLocks, redisRelay, redisSessions, redisStore, redisStreamRelay } from '@weirjs/redis'
import { Health, health as rpcHealth, mapService } from '@weirjs/rpc'
import { s3Files, s3Storage } from '@weirjs/s3'
import { diskStorage, uploads } from '@weirjs/uploads'
const NewOrder = t.object({ count: t.int, owner: t.object({ id: t.string }) })
interface Order { count: number; owner: { id: string } }
`

const programOf = (): string =>
  HEAD +
  ROWS.map(
    ([argument, declaration], i) => `
export class Decorated${i} extends Controller {
  @Route('POST', '/:id', ${declaration})
  one(${argument}) {}
}
export class WithoutMethod${i} extends Controller {
  @Route('/:id', ${declaration})
  one(${argument}) {}
}
export class Tabled${i} extends Controller {
  static routes = routes(this, { one: ['POST', '/:id', ${declaration}] })
  one(${argument}) {}
}
`,
  ).join('') +
  `
export class Missing extends Controller {
  static routes = routes(this, { lost: ['GET', '/lost'] })
}
export class Undeclared extends Controller {
  static routes = routes(this, { answers: { 200: t.int }, text: ['GET', '/text'] })
  text() { return 'text' }
}
export class InGroup extends Controller {
  static routes = routes(this, { fits: ['GET', '/fits'], text: ['GET', '/text'] })
  fits() { return 5 }
  text() { return 'text' }
}
new HttpServer().group('/', { answers: { 200: t.int } }).mapController(InGroup)
const api = contract({ user: get('/users/:id', { id: t.int }), save: post('/users') })
new HttpServer().mapContract(api, { user: () => 1 })
new HttpServer().mapContract(api, { user: () => 1, save: () => 1, load: () => 1 })
get('/', { use: [] })
ws('/', { use: [] })
ws('/', { answers: { 200: t.int } })
ws('/', { key: header('x-key', t.string) })
const server = new HttpServer()
server.mapGet('/', { body: NewOrder }, () => 1)
server.mapGet('/', () => new Map([['a', 1]]))
server.mapPost('/', { body: NewOrder }, async () => new Set(['a']))
server.mapGet('/', async () => (new Date() > any ? { id: 1 } : new HttpError(404, 'x')))
server.group('/', { summary: 'x' })
${DECLARATIONS.map(([property]) => `server.mapPost('/:id', { ${property} }, () => 1)\n`).join('')}
const answers = { 200: t.object({ id: t.int, role: t.enum('a', 'b') }), 404: t.object({ title: t.string }) }
${RESULTS.map(([handler]) => `server.mapGet('/', { answers }, ${handler})\n`).join('')}
server.mapDelete('/', { answers: { 204: null } }, () => 1)
declare const row: { id: number; email: string; passwordHash: string }
declare const session: HttpSession
declare const any: any
const login = sessions({ store: sealed({ keys: [] }) })
${CALLS.map(([call]) => `${call}\n`).join('')}
// These fit, and so do types of which nothing is known.
login.signIn(session, { id: 'ada', name: 'Ada', roles: ['a'], claims: { a: 1 } })
login.signIn(session, any)
securityHeaders(any)
securityHeaders(any as 'page' | 'api', {})
mergePatch(NewOrder)
mergePatch(any)
server.mapPatch('/', { body: mergePatch(NewOrder) }, ({ body }) => body.applyTo({ count: 1, owner: { id: '' } }).count)
server.mapGet('/', (_, session) => sse(session, async function* () { yield 'x' }))
sse(any, any)
server.mapGet('/', { answers }, () => ({ id: 1, role: 'a' }))
server.mapGet('/', { answers }, async () => ({ id: 1, role: 'a' }))
server.mapGet('/', { answers }, (_, { response }) => {
  if (any) return { id: 1, role: 'a' }
  return response.status(404).json({ title: 'x' })
})
server.mapGet('/', { answers }, async (_, { response }) => (any ? { id: 1, role: 'a' } : response.status(404).json({ title: 'x' })))
server.mapGet('/', { answers }, async () => any)
server.mapGet('/', { answers: { 200: t.array(t.enum('a')) } }, () => ['a', 'a'])
const known: unknown = any
server.mapGet('/', () => any)
server.mapGet('/', async () => any)
server.mapGet('/', async () => (known ? any.rows[0] : { id: 1 }))
server.mapGet('/', async () => known)
server.mapGet('/', async () => { throw new Error() })
server.mapGet('/', function* () { yield 'a' })
server.mapGet('/', { name: t.string, limit: t.int, title: t.string, query: t.string, use: [(_, next) => next()] }, ({ name, limit }) => name.repeat(limit))
`

test('the last line of the compiler says what does not fit, in each notation', () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const compilerOptions = {
    paths: {
      weirjs: ['../../packages/weirjs/src/index.ts'],
      'weirjs/*': ['../../packages/weirjs/src/modules/*/index.ts'],
      '@weirjs/*': ['../../packages/*/src/index.ts'],
    },
    rootDir: '../..',
    noEmit: true,
    incremental: false,
    tsBuildInfoFile: null,
  }
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: { ...compilerOptions, noUnusedParameters: false },
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(`${FOLDER}/tsconfig.json`, JSON.stringify(config))
  writeFileSync(`${FOLDER}/program.ts`, programOf())
  const { stdout } = spawnSync('node_modules/.bin/tsc', ['-p', FOLDER], { encoding: 'utf8' })
  rmSync(FOLDER, { recursive: true })
  const errors = stdout.split(/^(?=\S)/m)
  const others = errors.splice(-CALLS.length)
  for (const [i, [call, says]] of CALLS.entries()) {
    const last = others[i]?.trimEnd().split('\n').at(-1)
    assert.ok(last?.includes(says), `${call}: ${last}`)
  }
  const endings = errors.map(
    (error) =>
      /is not assignable to type '"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"(?: \| ["\w]+)*'\.$/.exec(error.trimEnd())?.[1] ??
      /(?:^|: | {2})((?:Type|Property) '.*?)\.?$/.exec(error.trimEnd())?.[1] ??
      error,
  )
  assert.deepEqual(endings, [
    ...ROWS.flatMap(([, , ending]) => [ending, ending, ending]),
    'the class has no public method of this name',
    'the method returns something that \\"answers\\" does not declare',
    `'text' returns something that \\"answers\\" of the group do not declare`,
    "'save' of the contract has no handler",
    "the contract has no entry 'load'",
    "clients do not need 'use': pass it to mapContract",
    "clients do not need 'use': pass it to mapContract",
    "a WebSocket has no 'answers': declare receives and sends",
    "pages cannot send 'key' with a WebSocket: declare a parameter of the query",
    'a GET request has no body: use QUERY (mapQuery) or POST, or declare parameters of the query by their names',
    'a Map or a Set has no JSON form: return Object.fromEntries(map), or [...set]',
    'a Map or a Set has no JSON form: return Object.fromEntries(map), or [...set]',
    'an error is thrown, not returned: throw new HttpError(…)',
    "a group has no option 'summary': each of its routes declares its own",
    ...DECLARATIONS.map(([, says]) => says),
    ...RESULTS.map(([, says]) => says),
    "Type '1' is not assignable to type 'undefined'",
  ])
})
