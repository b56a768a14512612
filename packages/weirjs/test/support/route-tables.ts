// Route tables of all kinds, for tests of their OpenAPI documents.

import fc from 'fast-check'
import { openapi } from '../../../openapi/src/index.ts'
import { bytes, cookie, file, form, HttpServer, header, json, multipart, t, text, WeirError } from '../../src/index.ts'
import { auth, basic } from '../../src/modules/auth/index.ts'
import { csrf } from '../../src/modules/csrf/index.ts'
import { concurrencyLimit, rateLimit } from '../../src/modules/limits/index.ts'

interface RouteSpec {
  readonly method: string
  readonly path: string
  readonly declaration: Record<string, unknown>
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'QUERY', 'PURGE']
const BODILESS = new Set(['GET', 'HEAD'])

const segment = fc.constantFrom('a', 'users', ':id', ':name', '%C3%BC', 'ü', '%7Bx%7D', 'x.y', '%3Aid')
const path = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.constantFrom('', '', '/*rest', '/'))
  .map(([parts, end]) => `/${parts.join('/')}${parts.length === 0 ? end.slice(1) : end}`)

const scalar = fc.constantFrom(
  t.string,
  t.string.min(1).max(5),
  t.int.min(1).default(3),
  t.number.optional(),
  t.bool,
  t.date,
  t.uuid,
  t.enum('a', 'b').default('a'),
  t.named('Code', t.string.max(3)),
  t.named('Code', t.string.max(4)),
  t.string.secret(),
)
const Tree = t.named('Tree', t.object({ children: t.array(t.lazy((): typeof t.string => Tree as never)) }))
/** No property is called `$ref`: the validator takes it for a reference wherever it is. */
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.constant(Tree),
    tie('value').map((item) => t.array(item as never)),
    fc.dictionary(fc.constantFrom('a', 'b', 'enum', 'type', 'ü'), tie('value'), { maxKeys: 3 }).map((shape) => t.object(shape as never)),
    tie('value').map((item) => t.named('Thing', item as never)),
    tie('value').map((item) => (item as typeof t.string).nullable()),
  ),
})).value as fc.Arbitrary<typeof t.string>

const body = fc.oneof(
  value.map((schema) => json(schema)),
  fc.constant(form(t.object({ a: t.string, b: t.int.optional() }))),
  fc.constant(text('text/plain', 'text/*')),
  fc.constant(bytes()),
  fc.constant(multipart({ fields: { a: t.string }, files: { b: file({ count: 2, types: ['image/*'] }).optional() } })),
  fc.constantFrom('buffer', 'stream'),
)
const answer = fc.oneof(value, fc.constant(text('text/event-stream')), fc.constant(bytes('image/*')), fc.constant(text()))
const declaration = fc.record(
  {
    summary: fc.constant('What it does'),
    description: fc.constant('In *detail*'),
    deprecated: fc.constantFrom(true, false, new Date(0)),
    tags: fc.uniqueArray(fc.constantFrom('x', 'y', 'z')),
    host: fc.constantFrom('a.test', '*.b.test'),
    q: fc.oneof(
      scalar,
      scalar.map((item) => t.array(item)),
    ),
    h: scalar.map((schema) => header('X-Header', schema)),
    accept: fc.constant(header('Accept', t.string.optional())),
    c: scalar.map((schema) => cookie('c', schema)),
    answers: fc.dictionary(fc.constantFrom('200', '201', '404', '422', '400'), answer, { maxKeys: 3 }),
    use: fc.constantFrom(
      [],
      [auth.open],
      [auth.roles('admin')],
      [rateLimit({ quota: 1, window: '1m' })],
      [csrf(), concurrencyLimit({ max: 1 })],
    ),
    maxRequestBodySize: fc.constant(null),
    requestTimeout: fc.constant(null),
  },
  { requiredKeys: [] },
)
const route: fc.Arbitrary<RouteSpec> = fc
  .record({ method: fc.constantFrom(...METHODS), path, declaration, body: fc.option(body) })
  .map(({ method, path, declaration, body }) => ({
    method,
    path,
    declaration: body === null || BODILESS.has(method) ? declaration : { ...declaration, body },
  }))

/** Maps what can be mapped: names clash, and templates too. */
function mapAll(server: HttpServer, specs: readonly RouteSpec[]): number {
  let mapped = 0
  specs.forEach(({ method, path, declaration }, i) => {
    try {
      server.map(method, path, { ...declaration, operationId: `route${i}` } as never, () => 'x')
      mapped++
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
    }
  })
  return mapped
}

export interface DocumentedTable {
  readonly server: HttpServer
  /** How many of the routes could be mapped. */
  readonly mapped: number
  readonly warnings: readonly string[]
}

/** Servers with generated routes and a document of them. */
export const routeTables: fc.Arbitrary<DocumentedTable> = fc
  .record({
    specs: fc.array(route, { minLength: 1, maxLength: 12 }),
    version: fc.constantFrom('auto' as const, '3.1' as const, '3.2' as const),
    isClosed: fc.boolean(),
    invalidBodyStatus: fc.constantFrom(400 as const, 422 as const),
  })
  .map(({ specs, version, isClosed, invalidBodyStatus }) => {
    const warnings: string[] = []
    const server = new HttpServer({ invalidBodyStatus, logger: { error: () => {}, warn: (text) => warnings.push(String(text)) } })
    if (isClosed) server.use(auth({ schemes: [basic({ users: () => null })], roles: ['admin'] }))
    server.use(openapi({ info: { title: 'x', version: '1' }, version, use: [auth.open] }))
    return { server, mapped: mapAll(server, specs), warnings }
  })

/** @returns the text of the document */
export async function documentOf({ server }: DocumentedTable): Promise<string> {
  return (await server.inject('/openapi.json')).text()
}
