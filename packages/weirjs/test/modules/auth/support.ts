// A scheme for tests: `Authorization: Test <name>`, where the name decides what the principal is.

import type { HttpServer, HttpSession } from '../../../src/index.ts'
import { CredentialsError, type Principal, type Scheme } from '../../../src/modules/auth/index.ts'

const PEOPLE: Readonly<Record<string, { readonly roles: readonly string[]; readonly scopes: readonly string[] }>> = {
  ann: { roles: ['admin'], scopes: ['read', 'write'] },
  eve: { roles: ['editor'], scopes: ['read'] },
  bob: { roles: [], scopes: [] },
}

/** @param isLate whether it answers with promises */
export function testScheme<const N extends string = 'test'>(name: N = 'test' as N, isLate = false): Scheme<Principal<N>> {
  const find = ({ request }: HttpSession): Principal<N> | null => {
    const [scheme, id = ''] = (request.header('authorization') ?? '').split(' ')
    if (scheme!.toLowerCase() !== name) return null
    const person = PEOPLE[id]
    if (person === undefined) throw new CredentialsError('nobody has this name')
    return { id, name: id.toUpperCase(), ...person, claims: {}, scheme: name }
  }
  return {
    name,
    authenticate: isLate ? async (session) => find(session) : find,
    challenge: (_, { status, error, scopes }) => {
      const details = [
        `realm="${name}"`,
        ...(error === null ? [] : ['error="bad"']),
        ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
      ]
      return status === 403 && scopes.length === 0 ? null : `${name} ${details.join(', ')}`
    },
    description: { type: 'http', scheme: name },
  }
}

/** The status of a request of a person. */
export async function statusFor(server: HttpServer, url: string, person: string | null = null, method = 'GET'): Promise<number> {
  const headers: Record<string, string> = person === null ? {} : { Authorization: `test ${person}` }
  return (await server.inject({ method, url, headers })).status
}
