// A server with everything that a document can describe.

import {
  bytes,
  Controller,
  cookie,
  file,
  form,
  HttpServer,
  header,
  json,
  multipart,
  Problem,
  routes,
  type Schema,
  t,
  text,
} from '../../weirjs/src/index.ts'
import { apiKey, auth, basic } from '../../weirjs/src/modules/auth/index.ts'
import { concurrencyLimit, rateLimit } from '../../weirjs/src/modules/limits/index.ts'
import { type OpenApiOptions, openapi } from '../src/index.ts'

interface Node {
  name: string
  children: Node[]
}

const User = t.named('User', t.object({ id: t.int, name: t.string.max(50), mail: t.string.optional(), born: t.date.nullable() }))
/** Equal to `User`, and made a second time. */
const SameUser = t.named('User', t.object({ id: t.int, name: t.string.max(50), mail: t.string.optional(), born: t.date.nullable() }))
const Tree: Schema<Node> = t.named('Node', t.object({ name: t.string, children: t.array(t.lazy(() => Tree)) })) as Schema<Node>

class TeamController extends Controller {
  static routes = routes(this, {
    prefix: '/teams',
    tags: ['teams'],
    list: ['GET', '', { answers: { 200: t.array(t.string) } }],
  })

  list(): string[] {
    return []
  }
}

export const INFO = { title: 'Everything', version: '1.2.3', license: { name: 'MIT', identifier: 'MIT' } } as const

export function everything(options: Partial<OpenApiOptions> = {}): HttpServer {
  const server = new HttpServer({ logger: null })
  server.use(openapi({ info: INFO, servers: [{ url: '/' }], ...options }))
  server
    .mapGet(
      '/users/:id',
      {
        id: t.int.min(1),
        expand: t.array(t.enum('mail', 'teams')).optional(),
        page: t.int.default(1),
        tenant: header('X-Tenant', t.uuid),
        theme: cookie('theme', t.enum('dark', 'light').default('light')),
        lang: header('Accept', t.string),
        answers: { 200: User, 404: Problem },
        summary: 'Shows a user',
        description: 'With **everything** that is known.',
        operationId: 'showUser',
        tags: ['users'],
      },
      () => ({ id: 1, name: 'Ada', born: null }),
    )
    .mapPut('/users/:user', { user: t.int, body: json(SameUser), answers: { 204: null }, tags: ['users'], deprecated: true }, () => {})
    .mapPost('/users', { body: t.object({ name: t.string, secret: t.string.secret() }), answers: { 201: User, 400: t.string } }, () => ({
      id: 1,
      name: 'Ada',
      born: null,
    }))
    .mapPost(
      '/login',
      { body: form(t.object({ name: t.string, remember: t.bool.default(false) })), answers: { 303: null } },
      (_, { response }) => response.redirect('/', 303),
    )
    .mapPost(
      '/photos',
      {
        body: multipart({
          fields: { title: t.string, width: t.int.optional() },
          files: { photo: file({ maxSize: 1_000_000, types: ['image/png', 'image/jpeg'] }), notes: file({ count: 3 }).optional() },
        }).strict(),
      },
      () => 'saved',
    )
    .mapPost('/notes', { body: text('text/plain', 'text/markdown'), answers: { 200: text('text/html') } }, () => '<p>')
    .mapPut('/blobs/:name', { body: bytes('image/*'), answers: { 200: bytes('image/png', 'image/webp') } }, () => new Uint8Array(1))
    .mapPost('/streams', { body: 'stream', maxRequestBodySize: null, requestTimeout: null }, () => 'read')
    .mapPost('/trees', { body: json(Tree), answers: { 200: Tree } }, ({ body }) => body)
    .mapGet('/files/*path', ({ path }) => path)
    .mapGet('/grüße/%7Bx%7D', () => 'x')
    .mapGet('/hosted', { host: '*.example.com' }, () => 'x')
    .mapDelete('/limited', { use: [rateLimit({ quota: 5, window: '1m' }), concurrencyLimit({ max: 2 })], requestTimeout: null }, () => 'x')
  server.mapController(TeamController)
  const guard = auth({
    schemes: [basic({ users: () => null }), apiKey({ keys: () => null })],
    roles: ['admin'],
  })
  const closed = server.group('/admin', { use: [guard], tags: ['admin'] })
  closed.mapGet('/any', () => 'x')
  closed.mapGet('/open', { use: [guard.open] }, () => 'x')
  closed.mapGet('/narrow', { use: [guard.required('basic'), guard.roles('admin')] }, () => 'x')
  return server
}

/** With what only OpenAPI 3.2 has. */
export function everything32(options: Partial<OpenApiOptions> = {}): HttpServer {
  const server = everything(options)
  server.mapQuery('/users', { body: t.object({ name: t.string }), answers: { 200: t.array(User) } }, () => [])
  server.mapGet('/events', { answers: { 200: text('text/event-stream') } }, (_, { response }) =>
    response.contentType('text/event-stream').text(''),
  )
  server.map('PROPFIND', '/files/*path', () => 'x')
  return server
}
