// Which key of a limit a request belongs to.

import { kindOf, shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { networkOf } from '../../formats/client-network.ts'
import type { HttpSession } from '../../http/session.ts'
import { principalKey, shortKey } from '../auth/principal-key.ts'
import { exchange } from '../kit/exchange.ts'

/**
 * Which requests share a quota:
 *
 * - `address`: all requests of a client's address; with IPv6, of its /64 network.
 * - `principal`: all requests of `session.principal`, by its `scheme` and `id`, because two issuers may give the same id to different people;
 *   without a principal, of the address.
 * - `all`: all requests share one.
 * - a function that returns a key, or null for a request that is not limited.
 */
export type LimitKey = 'address' | 'principal' | 'all' | ((session: HttpSession) => string | null)

/** The key of a request; null if it is not limited. @throws WEIR_OPTION_INVALID for a key that is neither */
export type KeyOf = (session: HttpSession) => string | null

/** @throws WEIR_OPTION_INVALID */
export function keyReader(owner: string, key: LimitKey): KeyOf {
  if (key === 'address') return addressKey
  if (key === 'principal') return (session) => principalKey(owner, session) ?? addressKey(session)
  if (key === 'all') return () => 'all'
  if (typeof key !== 'function') throw invalid(owner, `key is ${shown(key)}, not "address", "principal", "all" or a function`)
  return (session) => {
    const own = key(session)
    return own === null ? null : boundedKey(owner, own)
  }
}

/** @throws WEIR_OPTION_INVALID if it is not a string */
export function boundedKey(owner: string, key: string): string {
  if (typeof key !== 'string')
    throw invalid(owner, `a key is ${kindOf(key)}, not a string${key === undefined ? ': return null for no limit' : ''}`)
  return shortKey(key)
}

function addressKey(session: HttpSession): string {
  return networkOf(exchange(session).clientAddress)
}
