// What `explain` says is what happens: the same route, the same status, and every route that is said not to match does not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytes, HttpServer, t, text } from '../../src/index.ts'
import type { Explanation } from '../../src/modules/explain/index.ts'
import { thinned } from '../support/thinned.ts'

interface TestRoute {
  readonly method: string | null
  readonly path: string
  readonly declaration: Readonly<Record<string, unknown>>
  readonly kind: 'route' | 'group' | 'fallback'
}

interface TestRequest {
  readonly method: string
  readonly url: string
  readonly headers: { readonly host: string; readonly 'content-type': string }
  readonly body: string
  readonly endpoint: string | undefined
}

const LISTEN = [{ port: 0 }, { port: 0, name: 'admin' }]

const piece = fc.constantFrom('a', 'A', 'ab', 'abc', 'ä', 'x%2Fy', ':p', ':p', ':q', ':q')
const template = fc
  .tuple(fc.array(piece, { maxLength: 3 }), fc.constantFrom('', '', '', '/', '/*rest'))
  .map(([pieces, end]) => `/${pieces.map((one, i) => one.replace(/^:.*/, `$&${i}`)).join('/')}${pieces.length === 0 ? end.slice(1) : end}`)
const noDeclaration: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.constant({})
const someDeclaration = fc
  .record(
    {
      host: fc.constantFrom('a.example', '*.example', 'b.example'),
      endpoint: fc.constant('admin'),
      maxRequestBodySize: fc.constantFrom(0, 3, null),
      body: fc.constantFrom('buffer', 'stream', text(), text(), bytes('text/*'), bytes('image/*')),
      p0: fc.constant(t.int),
      q1: fc.constant(t.bool.optional()),
      number: fc.constantFrom(t.int, t.int.optional(), t.int.default(1)),
    },
    { requiredKeys: [] },
  )
  .map((record): Readonly<Record<string, unknown>> => ({ ...record }))
const declaration = fc.oneof(noDeclaration, someDeclaration)
const route: fc.Arbitrary<TestRoute> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'QUERY', null),
  path: template,
  declaration,
  kind: fc.constantFrom('route', 'route', 'group', 'fallback'),
})

const known = fc.constantFrom('a', 'A', 'ab', 'abc', '%C3%A4', 'x%2fy', '7', '%61')
const segment = fc.oneof({ weight: 15, arbitrary: known }, { weight: 1, arbitrary: fc.constantFrom('abd', '', '.', '%zz') })
const request: fc.Arbitrary<TestRequest> = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'QUERY', 'PUT'),
  url: fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '', '?number=5', '?number=x', '?q1=true&q1=false'))
        .map(([parts, query]) => `/${parts.join('/')}${query}`),
    },
    { weight: 1, arbitrary: fc.constantFrom('*', 'http://a.example/a', 'https://a.example/a') },
  ),
  headers: fc.record({
    host: fc.constantFrom('localhost', 'a.example', 'A.EXAMPLE.:80', 'x.b.example', 'b.example:', 'localhost', ''),
    'content-type': fc.constantFrom('text/plain', 'multipart/form-data; boundary=x', 'nonsense'),
  }),
  body: fc.constantFrom('', 'x', 'four'),
  endpoint: fc.constantFrom(undefined, 'admin'),
})

/** Maps what can be mapped: templates may be malformed, and routes may clash. */
function serverOf(table: readonly TestRoute[]): HttpServer {
  const server = new HttpServer({ listen: LISTEN, logger: null })
  for (const [i, one] of table.entries()) map(server, one, () => String(i))
  return server
}

function map(server: HttpServer, { method, path, declaration, kind }: TestRoute, handler: () => string): void {
  try {
    if (kind === 'route') server.map(method, path, declaration as object, handler)
    else {
      const { body: _, ...ofGroup } = declaration
      const group = server.group(path, ofGroup as object)
      if (kind === 'group') group.map(method, '/a', handler)
      else group.fallback(handler)
    }
  } catch (error) {
    const { code } = error as { code?: string }
    assert.match(code ?? String(error), /^WEIR_ROUTE_/)
  }
}

/** Every status at least once, whatever the seed. */
const ask = (method: string, url: string, body = ''): TestRequest => ({
  method,
  url,
  headers: { host: 'a.example', 'content-type': 'text/plain' },
  body,
  endpoint: undefined,
})
const EXAMPLE: [TestRoute[], TestRequest[]] = [
  [
    { method: 'POST', path: '/a', declaration: { maxRequestBodySize: 3 }, kind: 'route' },
    { method: 'POST', path: '/ab', declaration: { body: bytes('image/*') }, kind: 'route' },
    { method: 'GET', path: '/:p0', declaration: { p0: t.int }, kind: 'route' },
  ],
  [
    ask('GET', '/7'),
    ask('OPTIONS', '/7'),
    ask('GET', '/x'),
    ask('GET', '/x/y'),
    ask('PUT', '/a'),
    ask('POST', '/a', 'four'),
    ask('POST', '/ab', 'x'),
    ask('GET', 'https://a.example/7'),
  ],
]

const statuses = new Map<number, number>()

test('the route that is explained is the one that answers, with the status that is explained', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(route, { maxLength: 20 }), fc.array(request, { minLength: 1, maxLength: 8 }), async (table, requests) => {
      const server = serverOf(table)
      let ran: string | null = null
      server.use((session, next) => {
        ran = session.route
        return next()
      })
      for (const { endpoint, ...asked } of requests) {
        ran = null
        const full = endpoint === undefined ? asked : { ...asked, endpoint }
        const explanation = await server.explain(full)
        const { status, headers } = await server.inject(full)
        const told = `${JSON.stringify(full)}\n${explanation}`
        assert.equal(explanation.response.status ?? 200, status, told)
        assert.equal(explanation.response.allow?.join(', ') ?? null, headers.get('allow'), told)
        if (ran !== null) assert.equal(ran, labelOf(explanation), told)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }),
    { numRuns: thinned(400), examples: [EXAMPLE] },
  )
  for (const status of [200, 204, 400, 404, 405, 413, 415, 421])
    assert.ok((statuses.get(status) ?? 0) > 0, `${status} was answered ${statuses.get(status)} times`)
})

function labelOf({ route }: Explanation): string | null {
  return route === null ? null : `${route.method ?? 'ANY'} ${route.host ?? ''}${route.path}`
}

test('a route that is explained not to match does not match on its own, and one that only comes later does', async () => {
  let rejected = 0
  await fc.assert(
    fc.asyncProperty(fc.array(route, { minLength: 1, maxLength: 12 }), request, async (table, { endpoint, ...asked }) => {
      const full = endpoint === undefined ? asked : { ...asked, endpoint }
      const explanation = await serverOf(table).explain(full)
      if (explanation.path === null) return
      for (const other of explanation.others) {
        rejected++
        const alone = new HttpServer({ listen: LISTEN, logger: null })
        const { host, endpoint: name, method, path } = other
        const conditions = { ...(host === null ? {} : { host }), ...(name === null ? {} : { endpoint: name }) }
        alone.map(method, path, conditions, () => '')
        const isLater = other.reasons.some(({ kind }) => kind === 'order')
        assert.equal((await alone.explain(full)).route !== null, isLater, `${JSON.stringify(full)}\n${explanation}`)
        if (isLater) assert.equal(other.reasons.length, 1)
      }
    }),
    { numRuns: thinned(600) },
  )
  assert.ok(rejected > thinned(300), `${rejected} routes were rejected`)
})
