// What the types of modules promise. Only tsc runs this.

import type { Span } from '@opentelemetry/api'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import express from 'express'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { inspector } from '../../../dev/src/index.ts'
import { type OpenApiOptions, openapi } from '../../../openapi/src/index.ts'
import { opentelemetry, spanOf } from '../../../opentelemetry/src/index.ts'
import type { Duration } from '../../src/index.ts'
import { type Group, HttpServer, type HttpSession, type Module, type ModuleHost, type Policy, t } from '../../src/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { type CsrfRefusal, csrf } from '../../src/modules/csrf/index.ts'
import { decompression, type RequestCoding } from '../../src/modules/decompression/index.ts'
import { type nonceOf, type SecurityHeadersOptions, securityHeaders } from '../../src/modules/headers/index.ts'
import { health } from '../../src/modules/health/index.ts'
import {
  type ConcurrencyLimit,
  concurrencyLimit,
  type LimitStore,
  memoryStore,
  priority,
  type RateLimit,
  rateLimit,
  type Shed,
  shed,
  type Taken,
} from '../../src/modules/limits/index.ts'
import { type FoundLocal, type findLocal, local } from '../../src/modules/local/index.ts'
import { type AccessLogEntry, accessLog, requestLogger } from '../../src/modules/log/index.ts'
import { type MetricSource, metrics } from '../../src/modules/metrics/index.ts'
import { type PrecompressedEncoding, staticFiles } from '../../src/modules/static/index.ts'
import { type WebSocketRoute, websocket } from '../../src/modules/websocket/index.ts'
import { mountNode } from '../../src/node/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const server = new HttpServer()

// The library's own modules are modules like any other.
const codings: readonly PrecompressedEncoding[] = ['br']
const own: readonly Module[] = [
  compression(),
  cors({ origins: 'any' }),
  staticFiles({ root: '.', precompressed: codings }),
  inspector({ exchanges: 10, mask: ['internal'] }),
  websocket('/', {}),
  accessLog(),
  health(),
  metrics(),
  openapi({ info: { title: 'API', version: '1', license: { name: 'MIT' } }, include: ({ path }) => path !== '/' }),
  opentelemetry(),
]
for (const module of own) server.use(module)
export type _websocket = Expect<Equal<ReturnType<typeof websocket<'/:room'>>, WebSocketRoute<{ room: string }>>>

const documented: OpenApiOptions = { info: { title: 'API', version: '1' }, version: '3.2', ui: '/docs' }
// @ts-expect-error: a document has a title and a version
openapi({ ...documented, info: { title: 'API' } })
// @ts-expect-error: 3.0 has another dialect of JSON Schema
openapi({ ...documented, version: '3.0' })

// Code for node:http is mounted on a server or on a group, whatever the group binds.
mountNode(server, '/', express())
mountNode(server.group('/:tenant', { tenant: t.int }), '/old', (req, res, next) => (req.url === '/' ? res.end() : next()), { next: false })
// @ts-expect-error: the listener for upgrades is a function
mountNode(server, '/', express(), { upgrade: true })

// Policies go where policies go.
const secured: readonly Policy[] = [securityHeaders('page'), securityHeaders('api', { xFrameOptions: false })]
server.use(secured[0]!).group('/api', { use: [secured[1]!] })
export type _nonceOf = Expect<Equal<typeof nonceOf, (session: HttpSession) => string>>
server.use(csrf({ onRefused: (refusal, session) => describeRefusal(refusal, session.route) }))
function describeRefusal(refusal: CsrfRefusal, route: string | null): string {
  return `${refusal.site} ${refusal.origin} ${route}`
}
const accepted: readonly RequestCoding[] = ['gzip', 'zstd']
server.group('/bulk', { use: [decompression({ codings: accepted, maxRatio: 1000 })] })

// Limits are policies, and state what they return.
const window: Duration = '15m'
const limits: readonly [RateLimit, ConcurrencyLimit, Shed] = [rateLimit({ quota: 1, window }), concurrencyLimit({ max: 1 }), shed()]
const kept: LimitStore = memoryStore({ maxKeys: 10 })
server.group('/limited', { use: limits, metadata: priority('high') })
export type _taken = Expect<Equal<ReturnType<RateLimit['take']>, Taken | Promise<Taken>>>
rateLimit({ quota: 1, window: '500ms', store: kept, key: ({ request }) => request.header('x-tenant') })
// @ts-expect-error a result that may be a promise has to be awaited
limits[0].take('key').isAllowed
// @ts-expect-error a window without a unit
rateLimit({ quota: 1, window: '15' })
// @ts-expect-error a key that may be undefined would be no limit by mistake
rateLimit({ quota: 1, window, key: ({ bag }) => bag.get({ name: 'tenant' }) as string | undefined })
// @ts-expect-error a priority that does not exist
priority('highest')
// @ts-expect-error a coding that is not decoded
decompression({ codings: ['compress'] })
// @ts-expect-error a mode that does not exist
csrf({ mode: 'log' })
// @ts-expect-error a preset is needed
securityHeaders({})
// @ts-expect-error an unknown directive
securityHeaders('page', { contentSecurityPolicy: { scriptSrc: [] } })
// @ts-expect-error a directive that takes no list
securityHeaders('page', { contentSecurityPolicy: { 'upgrade-insecure-requests': [] } })
export type _frameOptions = Expect<Equal<SecurityHeadersOptions['xFrameOptions'], 'DENY' | 'SAMEORIGIN' | false | undefined>>

// A module that only needs the public API can be installed on anything that has it.
const routes: Module = {
  name: 'routes',
  install(host) {
    const isHost: Expect<Equal<typeof host, ModuleHost>> = true
    const all = host.mapPut('/:id', ({ id }) => id).mapPatch('/:id', ({ id }) => id)
    all.mapDelete('/:id', ({ id }) => id).mapQuery('/:id', ({ id }) => id)
    // @ts-expect-error a host has no access to the network
    host.start
    return isHost && host.endpoints[0]?.isSecure
  },
}
server.use(routes)

// A group is given to modules as a host, by a cast: it must have all that a host has.
export type _group = Expect<Equal<Exclude<keyof ModuleHost, keyof Group>, never>>

// A hook may be one expression, whatever it returns.
server.beforeSend((_, response) => response.header('X-A', '1')).beforeSend(async (_, response) => response.vary('Accept'))

// A module that needs more of a server declares it.
const controllers: Module = {
  name: 'controllers',
  install(server: HttpServer) {
    server.mapControllers([])
  },
}
server.use(controllers)

server.use({ name: 'inline', install: (host) => void host.use((_, next) => next()) })
server.use({ name: 'inline too', install: (server: HttpServer) => void server.inject('/') })
class Own implements Module {
  readonly name = 'class'
  install(server: HttpServer): void {
    server.use(routes)
  }
}
server.use(new Own())

// @ts-expect-error a module has a name
server.use({ install() {} })

// What observes a server accepts the objects of others as they are.
const log = accessLog({ to: pino(), format: ({ status, url }: AccessLogEntry) => `${status} ${url}` })
const sources: readonly MetricSource[] = [log]
metrics({ sources, registry: new Registry() })
opentelemetry({ tracerProvider: new BasicTracerProvider(), meterProvider: new MeterProvider() })
const loggerOf = requestLogger(pino())
export type _requestLogger = Expect<Equal<ReturnType<typeof loggerOf>, Logger>>
server.mapGet('/spans', (_, session) => {
  const span: Span | undefined = spanOf(session)
  const timed: Expect<Equal<number, ReturnType<typeof session.time<number>>>> = true
  return { id: span?.spanContext().spanId, timed }
})
// @ts-expect-error a file is opened by the program
accessLog({ to: 'access.log' })
// @ts-expect-error a console has no children
requestLogger(console)
// @ts-expect-error a check has a name
health({ ready: [() => true] })

// A local server: what is returned says whether it is one that was running.
const opened = local(server, { name: 'tool', port: 4870, single: 'error' })
export type _opened = Expect<Equal<Awaited<typeof opened>['reused'], boolean>>
export type _found = Expect<Equal<Awaited<ReturnType<typeof findLocal>>, FoundLocal | null>>
// @ts-expect-error other programs find it by its name
local(server, { port: 4870 })
// @ts-expect-error what happens to a second one is one of three words
local(server, { name: 'tool', single: true })
