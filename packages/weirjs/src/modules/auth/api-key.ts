// Keys that programs send in a header field. The server stores digests, from which no one can get the keys.

import { Buffer } from 'node:buffer'
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isToken } from '../../base/ascii.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf } from '../../base/kind-of.ts'
import { flag, readBy, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { challengeOf, insecureCredentials } from './authorization.ts'

import { type Identity, principalFor } from './identity.ts'
import { CredentialsError, type Principal, type Scheme } from './scheme.ts'

/** The owner of a key. */
interface KeyOwner<Claims extends object = Readonly<Record<string, unknown>>> extends Identity<Claims> {
  readonly id: string
}

/** Returns the owner of the key with this digest, or null. */
type FindKey<Claims extends object> = (digest: string, session: HttpSession) => KeyOwner<Claims> | null | Promise<KeyOwner<Claims> | null>

export interface ApiKeyOptions<N extends string = string, Claims extends object = Readonly<Record<string, unknown>>> {
  /** A table of owners by the digests of their keys, as `apiKeyDigest` returns them; or a function that finds one. */
  readonly keys: Readonly<Record<string, KeyOwner<Claims>>> | FindKey<Claims>
  /** The field that holds the key. Default `X-API-Key`. */
  readonly header?: string
  /** Whether to accept keys that are sent without TLS, where everyone on the way can read them. Default false. */
  readonly allowInsecure?: boolean
  /** The name of the scheme. Default `apiKey`. */
  readonly name?: N
}

/** @internal */
export const API_KEY_RULES = rules<ApiKeyOptions>('apiKey')({
  keys: readBy(finderOf),
  header: text('the name of a field', isToken).or('X-API-Key'),
  allowInsecure: flag(false),
  name: text().or('apiKey'),
})
const MOST_CHARACTERS = 1024

/**
 * Returns a scheme for keys in a header field. Keys in the query of a URL are not read: URLs are logged.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function apiKey<const N extends string = 'apiKey', Claims extends object = Readonly<Record<string, unknown>>>(
  options: ApiKeyOptions<N, Claims>,
): Scheme<Principal<N, Claims>> {
  const { keys, header, allowInsecure: allowsInsecure, name: given } = API_KEY_RULES.read(options as ApiKeyOptions)
  const name = given as N
  if (/^(?:authorization|cookie)$/i.test(header)) throw invalid('apiKey', `header is ${header}, which other schemes read`)
  const field = header.toLowerCase()
  const find = keys as FindKey<Claims>
  const conclude = (owner: KeyOwner<Claims> | null): Principal<N, Claims> => {
    if (owner === null) throw new CredentialsError('the key is not known')
    return principalFor(name, '', owner)
  }
  return {
    name,
    authenticate(session) {
      const key = exchange(session).field(field)
      if (key === null) return null
      if (!allowsInsecure && !session.isSecure) throw insecureCredentials()
      if (key === '' || key.length > MOST_CHARACTERS) throw new CredentialsError(`a key has 1 to ${MOST_CHARACTERS} characters`)
      const found = find(apiKeyDigest(key), session)
      return isPromise(found) ? found.then((owner) => conclude(owner as KeyOwner<Claims> | null)) : conclude(found)
    },
    challenge(session, { status }) {
      return status === 403 || (!allowsInsecure && !session.isSecure) ? null : challengeOf('ApiKey', { header })
    },
    description: { type: 'apiKey', in: 'header', name: header },
  }
}

/** The digest of a key, to be stored in its place: SHA-256 in hexadecimal. Keys are random, so no one can guess them from their digests. */
export function apiKeyDigest(key: string): string {
  return hash('sha256', key, 'hex')
}

/** A new random key of 256 bits. @param prefix by which people and scanners recognize it, such as `shop_` */
export function newApiKey(prefix = ''): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`
}

/** Messages do not repeat keys. */
function finderOf(keys: ApiKeyOptions['keys']): FindKey<Readonly<Record<string, unknown>>> {
  if (typeof keys === 'function') return keys
  if (typeof keys !== 'object' || keys === null) throw invalid('apiKey', `keys is ${kindOf(keys)}, not a table or a function`)
  return tableOf(keys)
}

/** Digests are looked up by a digest of them and a secret, so that the time of a lookup reveals nothing about them. */
function tableOf<C extends object>(keys: Readonly<Record<string, KeyOwner<C>>>): FindKey<C> {
  const secret = randomBytes(32).toString('base64')
  const blinded = (digest: string): string => hash('sha256', secret + digest, 'base64')
  const table = new Map<string, { readonly digest: Buffer; readonly owner: KeyOwner<C> }>()
  for (const [digest, owner] of Object.entries(keys)) {
    if (!/^[0-9a-f]{64}$/.test(digest))
      throw invalid('apiKey', 'keys has a name that is not a digest: use apiKeyDigest(key), and do not store keys')
    principalFor('apiKey', '', owner)
    table.set(blinded(digest), { digest: Buffer.from(digest), owner })
  }
  return (digest) => {
    const entry = table.get(blinded(digest))
    return entry !== undefined && timingSafeEqual(entry.digest, Buffer.from(digest)) ? entry.owner : null
  }
}
