// What the types of weirjs/sessions and @weirjs/oidc promise. Only tsc runs this.

import { oidc, type Tokens } from '../../../oidc/src/index.ts'
import { redisSessions } from '../../../redis/src/index.ts'
import { HttpServer, t } from '../../src/index.ts'
import { memorySessions, type SessionPrincipal, sealed, sessions } from '../../src/modules/sessions/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const server = new HttpServer()
const users = sessions({
  store: sealed({ keys: ['key', new Uint8Array(32)] }),
  data: t.object({ cart: t.array(t.string).default([]), theme: t.enum('dark', 'light').optional() }),
  claims: t.object({ email: t.string.optional() }),
})
server.use(users)

server.mapGet('/', (_, session) => {
  const visit = users.of(session)
  const cart: readonly string[] = visit.data.cart
  const theme: 'dark' | 'light' | undefined = visit.data.theme
  visit.update({ cart: [...cart, 'book'] })
  visit.update({ theme: undefined })
  // @ts-expect-error data is changed with update
  visit.data.theme = 'dark'
  // @ts-expect-error a property that the schema lacks
  visit.update({ card: [] })
  // @ts-expect-error a value of another type
  visit.update({ theme: 'blue' })
  users.signIn(session, { id: 'ann', roles: ['admin'], claims: { email: 'ann@example.com' } })
  // @ts-expect-error a principal has an id
  users.signIn(session, { name: 'ann' })
  // @ts-expect-error claims of another type
  users.signIn(session, { id: 'ann', claims: { email: 7 } })
  const email: string | undefined = visit.principal?.claims.email
  // @ts-expect-error nobody may have signed in
  visit.principal.id
  return [theme, email]
})

// Without schemas, data and claims are objects of any kind.
const any = sessions({ store: memorySessions(), notBefore: (principal) => (principal === null ? null : new Date()) })
server.mapGet('/any', (_, session) => any.of(session).update({ whatever: 1 }))
const principal: SessionPrincipal | null = null as SessionPrincipal | null
export type _scheme = Expect<Equal<NonNullable<typeof principal>['scheme'], 'session'>>

// @ts-expect-error a store is needed
sessions({})
// @ts-expect-error a client of Redis is not a store
sessions({ store: { sendCommand: async () => null } })
sessions({ store: redisSessions({ sendCommand: async (_args: string[]) => null }) })

const login = oidc({
  sessions: users,
  issuer: 'https://id.example.com',
  clientId: 'app',
  principal: ({ sub, email }) => ({ id: sub, claims: { email: String(email) } }),
})
export type _tokens = Expect<Equal<Awaited<ReturnType<typeof login.tokens>>, Tokens | null>>
// @ts-expect-error claims that the sessions do not have
oidc({ sessions: users, issuer: 'https://id.example.com', clientId: 'app', principal: ({ sub }) => ({ id: sub, claims: { email: 7 } }) })
// @ts-expect-error sessions are needed
oidc({ issuer: 'https://id.example.com', clientId: 'app' })
