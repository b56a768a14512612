// A group of routes with policies: who has to sign in, what a role allows, and what is refused before a body is read.

import { type HttpServer, metadataKey, type Policy, principalKey, t } from 'weirjs'

type Role = 'captain' | 'member'

interface Person {
  readonly name: string
  readonly role: Role
}

/** Who may sign in, with a name in place of a real token. */
const PEOPLE: ReadonlyMap<string, Person> = new Map([
  ['ada', { name: 'Ada', role: 'captain' }],
  ['grace', { name: 'Grace', role: 'member' }],
])
const MAX_PICTURE_BYTES = 1024 ** 3

/** The role that a route requires. */
const requiredRole = metadataKey<Role>('role')
const personOf = principalKey<Person>()

/** `Authorization: Bearer ada`. It runs before the body is read. */
const signIn: Policy = {
  name: 'sign-in',
  gate(session) {
    const [, name = ''] = /^Bearer (\w+)$/.exec(session.request.header('authorization') ?? '') ?? []
    const person = PEOPLE.get(name)
    if (person === undefined) return session.response.header('WWW-Authenticate', 'Bearer').unauthorized()
    if (requiredRole.of(session) === 'captain' && person.role !== 'captain')
      return session.response.forbidden('Only a captain may do that.')
    personOf.set(session, person)
    return undefined // the request may pass
  },
  describe: () => ({ refuses: [401, 403] }), // for the OpenAPI document
}

/** How long the handler took, for the developer tools of a browser. */
const stopwatch: Policy = {
  name: 'stopwatch',
  async middleware(session, next) {
    const start = performance.now()
    await next()
    session.response.header('Server-Timing', `handler;dur=${(performance.now() - start).toFixed(2)}`)
  },
}

/** Everything below `/teams/:team`. */
export function mapTeams(server: HttpServer): void {
  const teams = server.group('/teams/:team', { team: t.string.pattern(/^[a-z]+$/), use: [signIn, stopwatch] })
  teams.mapGet('/', { summary: 'Shows a team to its members' }, ({ team }, session) => ({ team, you: personOf(session) }))
  teams.mapDelete(
    '/',
    { summary: 'Only for captains', metadata: requiredRole('captain') },
    ({ team }) => `You may delete ${team}. It is still here.`,
  )
  // A policy with only a name takes the place of the outer one: this route is open.
  teams.mapGet(
    '/rules',
    { summary: 'Open to everybody', use: [{ name: 'sign-in' }] },
    ({ team }) => `The rules of ${team} are open to everybody.`,
  )
  const upload = { summary: 'Counts the bytes of a picture', body: 'stream', maxRequestBodySize: MAX_PICTURE_BYTES } as const
  teams.mapPost('/pictures', upload, async ({ team }, { request }) => {
    let bytes = 0
    for await (const piece of request.bodyStream()) bytes += (piece as Buffer).length
    return { team, bytes }
  })
  teams.fallback(({ team }, { request, response }) => response.notFound(`The team ${team} has nothing at ${request.path}.`))
}
