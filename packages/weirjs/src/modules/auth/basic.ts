// The Basic scheme (RFC 7617): a name and a password in every request.

import { Buffer } from 'node:buffer'
import { hash, randomBytes } from 'node:crypto'
import { isPromise } from '../../base/is-promise.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { kindOf } from '../../base/kind-of.ts'
import { anything, flag, readBy, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { challengeOf, credentialsOf, insecureCredentials } from './authorization.ts'

import { type Identity, principalFor } from './identity.ts'
import { PasswordHasher } from './password.ts'
import { checkPasswordHash } from './password-hash.ts'
import { CredentialsError, type Principal, type Scheme } from './scheme.ts'

/** A user in a table: the hash of the password, as `hashPassword` returns it. */
interface BasicUser<Claims extends object = Readonly<Record<string, unknown>>> extends Identity<Claims> {
  readonly password: string
}

/** Returns the user with this name and password, or null. It must compare in constant time, and take as long for a name that does not exist. */
type FindUser<Claims extends object> = (
  name: string,
  password: string,
  session: HttpSession,
) => Identity<Claims> | null | Promise<Identity<Claims> | null>

export interface BasicOptions<N extends string = string, Claims extends object = Readonly<Record<string, unknown>>> {
  /** A table of users by their names, with hashes of `hashPassword`; or a function that checks a name and a password. */
  readonly users: Readonly<Record<string, string | BasicUser<Claims>>> | FindUser<Claims>
  /** What browsers show when they ask for a password. Default `restricted`. */
  readonly realm?: string
  /** Whether to accept passwords that are sent without TLS, where everyone on the way can read them. Default false. */
  readonly allowInsecure?: boolean
  /** The name of the scheme. Default `basic`. */
  readonly name?: N
}

/** @internal */
export const BASIC_RULES = rules<BasicOptions>('basic')({
  users: readBy(finderOf),
  realm: text().or('restricted'),
  allowInsecure: flag(false),
  name: text().or('basic'),
})
const GIVEN = anything().optional()
/** @internal `checkPasswordHash` and `principalFor` check the values, and repeat no password. */
export const BASIC_USER_RULES = rules<BasicUser>('basic')({
  password: GIVEN,
  id: GIVEN,
  name: GIVEN,
  roles: GIVEN,
  scopes: GIVEN,
  claims: GIVEN,
})
/** Credentials of a table that have been verified: a hash takes too long to compute it for each request. */
const MOST_VERIFIED = 1_000
const MALFORMED = 'Basic needs the base64 of a name, a colon and a password'

/**
 * Returns the Basic scheme (RFC 7617).
 *
 * @throws WEIR_OPTION_INVALID; WEIR_PASSWORD_HASH for a table with a password that is not hashed
 */
export function basic<const N extends string = 'basic', Claims extends object = Readonly<Record<string, unknown>>>(
  options: BasicOptions<N, Claims>,
): Scheme<Principal<N, Claims>> {
  const { users, realm, allowInsecure: allowsInsecure, name } = BASIC_RULES.read(options as BasicOptions)
  const schemeName = name as N
  const find = users as FindUser<Claims>
  const conclude = (userName: string, found: Identity<Claims> | null): Principal<N, Claims> => {
    if (found === null) throw new CredentialsError('the name or the password is wrong')
    return principalFor(schemeName, userName, found)
  }
  return {
    name: schemeName,
    authenticate(session) {
      const credentials = credentialsOf(session, 'Basic')
      if (credentials === null) return null
      if (!allowsInsecure && !session.isSecure) throw insecureCredentials()
      const [userName, password] = decode(credentials)
      const found = find(userName, password, session)
      return isPromise(found) ? found.then((one) => conclude(userName, one as Identity<Claims> | null)) : conclude(userName, found)
    },
    challenge(session, { status }) {
      // Without TLS, a browser would ask for a password and send it in the clear.
      if (status === 403 || (!allowsInsecure && !session.isSecure)) return null
      return challengeOf('Basic', { realm, charset: 'UTF-8' })
    },
    description: { type: 'http', scheme: 'basic' },
  }
}

/** @throws CredentialsError */
function decode(credentials: string): readonly [name: string, password: string] {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) throw new CredentialsError(MALFORMED)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(credentials, 'base64'))
  } catch {
    throw new CredentialsError('name and password are not UTF-8')
  }
  const colon = text.indexOf(':')
  if (colon === -1 || /[\x00-\x1f\x7f]/.test(text)) throw new CredentialsError(MALFORMED)
  return [text.slice(0, colon), text.slice(colon + 1)]
}

function finderOf(users: BasicOptions['users']): FindUser<Readonly<Record<string, unknown>>> {
  if (typeof users === 'function') return users
  if (typeof users !== 'object' || users === null) throw invalid('basic', `users is ${kindOf(users)}, not a table or a function`)
  if (Array.isArray(users)) throw invalid('basic', 'users is an array, not a table from names to hashes')
  return tableOf(users as Readonly<Record<string, string | BasicUser>>)
}

/**
 * A name that does not exist costs as much as a wrong password of the first user. Verified credentials are looked up by a digest of them and a
 * secret, so the time of a lookup reveals nothing about passwords.
 */
function tableOf<C extends object>(users: Readonly<Record<string, string | BasicUser<C>>>): FindUser<C> {
  const table = new Map<string, BasicUser<C>>()
  for (const [name, user] of Object.entries(users)) {
    if (name.includes(':')) throw invalid('basic', 'the name of a user cannot contain a colon')
    const isHash = typeof user === 'string' || isPromise(user) // a promise is a hash that no one has awaited
    const entry = isHash ? { password: user as string } : user
    const where = `basic: user ${JSON.stringify(name)}`
    BASIC_USER_RULES.checkNames(entry, where)
    const { password, ...identity } = entry
    checkPasswordHash(password, `${where}: `)
    principalFor('basic', name, identity as Identity<C>)
    table.set(name, { ...identity, password } as BasicUser<C>)
  }
  const [first] = table.values()
  const hasher = new PasswordHasher()
  const secret = randomBytes(32).toString('base64')
  const verified = new Set<string>()
  const running = new Map<string, Promise<boolean>>()
  const isRight = async (user: BasicUser<C> | undefined, password: string, from: string): Promise<boolean> => {
    const isSame = await hasher.verify(password, (user ?? first)?.password ?? null, from)
    return isSame && user !== undefined
  }
  return async (name, password, session) => {
    const user = table.get(name)
    const digest = hash('sha256', `${secret}${name}:${password}`, 'base64')
    if (verified.has(digest)) return user ?? null
    let checking = running.get(digest)
    if (checking === undefined) {
      checking = isRight(user, password, exchange(session).clientAddress).finally(() => running.delete(digest))
      running.set(digest, checking) // requests that arrive in the meantime wait for the same hash
    }
    if (!(await exchange(session).inTurn(checking)) || user === undefined) return null
    verified.add(digest)
    keepNewest(verified, MOST_VERIFIED)
    return user
  }
}
