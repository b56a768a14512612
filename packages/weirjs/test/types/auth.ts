// What the types of weirjs/auth and @weirjs/jwt promise. Only tsc runs this.

import { type JwtClaims, jwt } from '../../../jwt/src/index.ts'
import { Controller, HttpServer, type HttpSession, Route } from '../../src/index.ts'
import {
  type Auth,
  apiKey,
  auth,
  basic,
  CredentialsError,
  type Principal,
  type PrincipalOf,
  protectedResource,
  type Scheme,
} from '../../src/modules/auth/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

interface Team {
  readonly team: string
}

const tokens = jwt({ issuer: 'https://issuer.example', audience: 'api', algorithms: ['ES256'], jwks: { keys: [] } })
const people = basic({ name: 'people', users: (name) => ({ id: name, claims: { team: 'x' } as Team }) })
const keys = apiKey({ keys: {} })
export type _tokens = Expect<Equal<PrincipalOf<typeof tokens>, Principal<'jwt', JwtClaims>>>
export type _people = Expect<Equal<PrincipalOf<typeof people>, Principal<'people', Team>>>
export type _keys = Expect<Equal<PrincipalOf<typeof keys>['scheme'], 'apiKey'>>

const users = auth({ schemes: [tokens, people], roles: ['admin', 'editor'] })
export type _users = Expect<Equal<typeof users, Auth<Principal<'jwt', JwtClaims> | Principal<'people', Team>, 'admin' | 'editor'>>>

const server = new HttpServer()
server.use(users)
server.mapGet('/', { use: [users.roles('admin', 'editor'), users.scopes('read')] }, (_, session) => {
  const principal = users.principal.required(session)
  if (principal.scheme === 'people') return principal.claims.team
  const expires: number = principal.claims.exp
  // @ts-expect-error claims of the other scheme
  principal.claims.team satisfies string
  // @ts-expect-error nobody can change a principal
  principal.roles = ['admin']
  return `${principal.id} ${principal.name?.length} ${expires}`
})
export type _any = Expect<Equal<ReturnType<typeof users.principal>, Principal<'jwt', JwtClaims> | Principal<'people', Team> | null>>

// @ts-expect-error an unknown role
users.roles('admni')
// @ts-expect-error no role
users.roles()
// @ts-expect-error no scope
users.scopes()
// @ts-expect-error an unknown scheme
users.required('basic')
users.required('jwt', 'people')
users.policy(({ scheme }) => scheme === 'jwt')
users.policy(async ({ id }, { request }: HttpSession) => request.routeValues?.['id'] === id)
// @ts-expect-error nothing is returned
users.policy(() => {})
// @ts-expect-error a text is returned
users.policy(({ id }) => id)
// @ts-expect-error without declared roles, there is none to require
auth({ schemes: [tokens] }).roles('admin')
// @ts-expect-error schemes are needed
auth({})
// @ts-expect-error no such value
auth({ schemes: [tokens], anonymous: 'open' })

// Requirements that do not know their auth: names are checked at the start.
@Route('/reports', { use: [auth.roles('admin')] })
class Reports extends Controller {
  @Route('GET', '/', { use: [auth.open] })
  list(): string {
    return 'done'
  }
}
server.mapController(Reports)
server.group('/x', { use: [auth.required('jwt'), auth.policy(({ claims }) => claims['team'] === 'x')] })

// A scheme of a program.
const own: Scheme<Principal<'own', Team>> = {
  name: 'own',
  authenticate({ clientCertificate }) {
    if (clientCertificate === null) return null
    if (!clientCertificate.authorized) throw new CredentialsError('the certificate is not valid')
    return { id: clientCertificate.serialNumber, name: null, roles: [], scopes: [], claims: { team: 'x' }, scheme: 'own' }
  },
  description: { type: 'mutualTLS' },
}
const team: string = auth({ schemes: [own] }).principal.required(null as unknown as HttpSession).claims.team
server.mapGet('/team', () => team)
// @ts-expect-error a description is needed
export const incomplete: Scheme = { name: 'x', authenticate: () => null }

server.use(protectedResource({ resource: 'https://api.example/', authorizationServers: ['https://issuer.example'] }))
// @ts-expect-error issuer, audience and algorithms are needed
jwt({ jwks: 'https://issuer.example/keys' })
// @ts-expect-error not an algorithm
jwt({ issuer: 'x', audience: 'x', algorithms: ['none'], jwks: 'https://issuer.example/keys' })
