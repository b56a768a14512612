// A server with `auth` and no declarations responds with 401 to everyone without credentials: on every route, whatever maps it, and on everything
// that is not a route.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { Controller, type Group, HttpServer, type Module, routes, type ServerOptions } from '../../src/index.ts'
import { auth, basic } from '../../src/modules/auth/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { securityHeaders } from '../../src/modules/headers/index.ts'
import { sse } from '../../src/modules/sse/index.ts'
import { staticFiles } from '../../src/modules/static/index.ts'
import { websocket } from '../../src/modules/websocket/index.ts'
import { connect } from '../../src/testing/index.ts'
import { isThinned, thinned } from '../support/thinned.ts'

type Kind = 'inline' | 'streamed' | 'events' | 'websocket' | 'controller' | 'module' | 'fallback'

interface Leaf {
  readonly kind: Kind
  readonly method: string | null
  readonly path: string
}

/** A group is all that is used of a server. */
type Host = Group

interface Level {
  readonly prefix: string
  readonly host: boolean
  readonly leaves: readonly Leaf[]
  readonly groups: readonly Level[]
}

const KINDS: readonly Kind[] = ['inline', 'streamed', 'events', 'websocket', 'controller', 'module', 'fallback']
const segment = fc.constantFrom('a', 'b', 'admin', ':id', ':name', '%C3%BC', 'x.y')
const template = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.constantFrom('', '', '/*rest', '/'))
  .map(([segments, end]) => `/${segments.map((one, i) => (one.startsWith(':') ? `${one}${i}` : one)).join('/')}${end}`.replace('//', '/'))
const leaf: fc.Arbitrary<Leaf> = fc.record({
  kind: fc.constantFrom(...KINDS),
  method: fc.constantFrom(null, 'GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'QUERY', 'HEAD', 'PURGE'),
  path: template,
})
const { level } = fc.letrec<{ level: Level }>((tie) => ({
  level: fc.record({
    prefix: fc.constantFrom('', '/g', '/:org', '/admin', '/deep/er'),
    host: fc.boolean(),
    leaves: fc.array(leaf, { maxLength: 5 }),
    groups: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('level'), { maxLength: 3 })),
  }),
}))

let ran: string[] = []

function run(what: string): string {
  ran.push(what)
  return what
}

/** What clashes with another route, or cannot stand below a prefix, is left out. */
function mapLeaf(host: Host, { kind, method, path }: Leaf): void {
  try {
    if (kind === 'inline') host.map(method, path, () => run(path))
    else if (kind === 'streamed') host.map(method ?? 'POST', path, { body: 'stream' }, () => run(path))
    else if (kind === 'events') host.mapGet(path, (_, session) => run(path) && sse(session, (async function* () {})()))
    else if (kind === 'websocket') host.use(websocket(path, { accept: () => run(path) }))
    else if (kind === 'fallback') host.fallback(() => run(path))
    else if (kind === 'module') host.use({ name: `module ${path}`, install: (on) => void on.map(method, path, () => run(path)) } as Module)
    else {
      class Things extends Controller {
        static routes = routes(this, { list: [method ?? 'GET', path] })
        list(): string {
          return run(path)
        }
      }
      host.mapController(Things)
    }
  } catch (error) {
    if (!/^WEIR_(?:ROUTE_|SERVER_STATE)/.test((error as { code?: string }).code ?? '')) throw error
  }
}

function mapLevel(host: Host, { leaves, groups }: Level): void {
  for (const one of leaves) mapLeaf(host, one)
  for (const inner of groups) {
    let group: Group
    try {
      group = host.group(inner.prefix as '/', inner.host ? { host: '*.example' } : {}) as unknown as Group
    } catch (error) {
      if ((error as { code?: string }).code === 'WEIR_ROUTE_TEMPLATE') continue
      throw error
    }
    mapLevel(group, inner)
  }
}

/** Some modules of the library, around and inside auth. */
function build(root: Level, isFirst: boolean, options: ServerOptions = {}): HttpServer {
  const server = new HttpServer({ logger: null, ...options })
  const users = auth({ schemes: [basic({ users: {} })] })
  if (isFirst) server.use(users)
  server.use(compression()).use(securityHeaders('api')).use(csrf())
  server.use(staticFiles({ root: 'docs', prefix: '/files', fallback: 'http.md' }))
  mapLevel(server as unknown as Host, root)
  if (!isFirst) server.use(users)
  return server
}

/** A path that the template matches. */
const filled = (path: string): string => path.replace(/:\w+/g, '7').replace(/\*\w+/, 'x/y')

test('401 for everything, and no handler runs', async () => {
  let requests = 0
  let mapped = 0
  const property = fc.asyncProperty(level, fc.boolean(), async (root, isFirst) => {
    ran = []
    const server = build(root, isFirst)
    const client = connect(server)
    const asked = [
      ...server.routes.map(({ method, path, host }) => ({
        method: method ?? 'GET',
        path: filled(path),
        host: host === null ? 'a' : 'a.example',
      })),
      ...server.routes.map(({ path }) => ({ method: 'OPTIONS', path: filled(path), host: 'a' })),
      ...server.routes.map(({ path }) => ({ method: 'PATCH', path: filled(path), host: 'a.example' })),
      ...['/', '/none', '/files/limits.md', '/files/', '/files/guide', '/files/none', '/g/none', '/admin'].map((path) => ({
        method: 'GET',
        path,
        host: 'a',
      })),
      { method: 'OPTIONS', path: '*', host: 'a' },
    ]
    mapped += server.routes.length
    for (const { method, path, host } of asked) {
      const isSocket = method === 'GET' && path.length % 2 === 0
      const upgrade = {
        Upgrade: 'websocket',
        Connection: 'Upgrade',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      }
      const headers = { Host: host, Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', ...(isSocket ? upgrade : {}) }
      const { status } = await client.request({ method, url: path, headers })
      assert.equal(status, 401, `${method} ${path} of ${host}`)
      requests++
    }
    assert.deepEqual(ran, [])
  })
  await fc.assert(property, { numRuns: thinned(150) })
  assert.ok(mapped > (isThinned ? 5 : 300) && requests > (isThinned ? 135 : 1500), `${mapped} routes, ${requests} requests`)
})
