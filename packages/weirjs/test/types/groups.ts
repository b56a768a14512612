// What the types of groups, policies and typed keys promise. Only tsc runs this file.

import {
  Controller,
  type Gate,
  type Group,
  HttpServer,
  type HttpSession,
  metadataKey,
  type Policy,
  principalKey,
  Route,
  routes,
  t,
} from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const server = new HttpServer()
const auth: Policy = { name: 'auth', gate: (session) => void session.principal }
const gate: Gate = () => {}

// Parameters of a group are in the arguments of every handler in it.
const api = server.group('/api/:org', { org: t.int, use: [auth, (_session, next) => next()], metadata: { a: 1 }, tags: ['api'] })
api.mapGet('/orders', ({ org }) => org.toFixed())
api.mapGet('/orders', { page: t.int.default(1) }, (args) => {
  type _args = Expect<Equal<typeof args, { org: number; page: number }>>
  const is: _args = true
  return is
})
api.map('PURGE', '/orders/:id', { id: t.uuid, use: [auth] }, ({ org, id }) => org.toFixed() + id.length)
api.mapGet('/plain/:id', ({ org, id }) => org.toFixed() + id.length)
api.fallback(({ org }) => org.toFixed())
// @ts-expect-error there is no such parameter
api.mapGet('/orders', ({ page }) => page)
// @ts-expect-error it is a number
api.mapGet('/orders', ({ org }) => org.length)

// Inner groups add theirs, and may replace those of an outer one.
const team = api.group('/teams/:team', { team: t.uuid, since: t.dateTime.optional() })
team.mapGet('/', ({ org, team, since }) => org.toFixed() + team.length + (since?.getTime() ?? 0))
team.mapGet('/late', { since: t.dateTime }, ({ since }) => since.getTime())
const inner = api.group('/x', { org: t.string })
inner.mapGet('/', ({ org }) => org.length)
// A parameter of a group whose name is in the path of a route.
server.group('/y', { id: t.int }).mapGet('/:id', ({ id }) => id.toFixed())
// Without a declaration, parameters of the prefix are strings.
server.group('/z/:zone').mapGet('/:id', ({ zone, id }) => zone.length + id.length)

export type _group = Expect<Equal<typeof team extends Group<infer P, infer _D> ? P : never, '/api/:org//teams/:team'>>

// Middleware in a declaration needs no types.
server.mapGet('/:id', { id: t.int, use: [(session, next) => (session.principal === null ? 'no' : next())] }, ({ id }) => id.toFixed())
server.map(null, '/', { use: [(_, next) => next(), { gate: ({ request }) => request.path }] }, () => 1)

// Members return the object on which they were called.
server
  .use(auth)
  .gate(gate)
  .use({ gate })
  .group('/a')
  .use(auth)
  .gate(gate)
  .beforeSend(() => {})
  .mapGet('/', () => 1)
  .mapController(class extends Controller {})

// @ts-expect-error not an option of a group: each route states how it reads its body
server.group('/b', { body: 'stream' })
// @ts-expect-error not an option, and not a schema
server.group('/b', { hosts: 'a.example' })
// @ts-expect-error not a policy
server.use({ gates: gate })
// @ts-expect-error not a middleware
server.group('/b', { use: ['auth'] })
// @ts-expect-error not a list
server.mapGet('/b', { use: auth }, () => 1)
// @ts-expect-error a gate is called only with the session
server.gate((_session: HttpSession, next: () => unknown) => next())

// Classes of controllers.
@Route('/user', { use: [auth], metadata: { a: 1 }, maxRequestBodySize: 10 })
export class Declared extends Controller {
  @Route('GET', '/:id', { id: t.int, use: [auth, (_session, next) => next()] })
  show({ id }: { id: number }) {
    return id
  }

  static routes = 1
}

// @ts-expect-error parameters belong to the routes
@Route('/user', { id: t.int })
export class Bound extends Controller {}

// @ts-expect-error the body does too
@Route('/user', { body: 'stream' })
export class Streamed extends Controller {}

export class Tabled extends Controller {
  static routes = routes(this, {
    prefix: '/user',
    use: [auth, (_session, next) => next()],
    metadata: { a: 1 },
    tags: ['a', 'b'],
    requestTimeout: 10,
    show: ['GET', '/:id', { id: t.int }],
    host: ['GET', '/host'],
  })

  show({ id }: { id: number }) {
    return id
  }

  /** A method with the name of an option. */
  host() {}
}

export class Mistabled extends Controller {
  static routes = routes(this, {
    // @ts-expect-error not a list
    use: auth,
    // @ts-expect-error not a number
    requestTimeout: 'long',
    // @ts-expect-error not a method, and not an option
    body: 'stream',
  })
}

// Typed keys.
interface User {
  readonly name: string
}
const role = metadataKey<'admin' | 'editor'>('role')
const audited = metadataKey<boolean>('audited')
const principalOf = principalKey<User>()

server.mapGet('/admin', { metadata: role('admin') }, (_, session) => role.of(session) === 'admin')
server.group('/admin', { metadata: { ...role('editor'), ...audited(true) } })
// @ts-expect-error there is no such role
server.mapGet('/admin', { metadata: role('amdin') }, () => 1)
// @ts-expect-error it is never that
server.mapGet('/admin', (_, session) => role.of(session) === 'amdin')
server.gate((session) => principalOf.set(session, { name: 'Ada' }))
server.mapGet('/me', (_, session) => principalOf(session)?.name)
// @ts-expect-error it may be null
server.mapGet('/me', (_, session) => principalOf(session).name)
// @ts-expect-error not a user
server.gate((session) => principalOf.set(session, 'Ada'))
