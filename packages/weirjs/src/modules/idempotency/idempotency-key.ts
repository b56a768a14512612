// The field in which a client sends its key (draft-ietf-httpapi-idempotency-key-header-07 §2.1), and the fingerprint of its request.

import { createHash } from 'node:crypto'
import { WeirError } from '../../base/errors.ts'
import type { HttpSession } from '../../http/session.ts'
import type { ExchangeHandle } from '../kit/exchange.ts'

const LONGEST_KEY = 255
/** Without a principal, only an unguessable key protects a response from other clients. */
export const SHORTEST_OPEN_KEY = 16

/** An sf-string (RFC 9651 §3.3.3). */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** What clients send that do not know of structured fields: `8e03978e-40d5-43dd-bc93-6894a57f9324`. */
const PLAIN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/

/**
 * The key, without quotes; null if there is none.
 *
 * @param name of the field, in lower case
 * @throws WEIR_IDEMPOTENCY_KEY_INVALID
 */
export function readKey(exchange: ExchangeHandle, name: string): string | null {
  const value = exchange.field(name)
  if (value === null) return null
  const key = PLAIN.test(value) ? value : QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1')
  if (key === undefined) throw new WeirError('WEIR_IDEMPOTENCY_KEY_INVALID', 'it is not one text in quotes')
  if (key === '') throw new WeirError('WEIR_IDEMPOTENCY_KEY_INVALID', 'it is empty')
  if (key.length > LONGEST_KEY)
    throw new WeirError('WEIR_IDEMPOTENCY_KEY_INVALID', `it has ${key.length} characters, more than ${LONGEST_KEY}`)
  return key
}

/** Two requests with the same fingerprint ask for the same. What the handler gets as parameters belongs to it: an account, for example. */
export function fingerprintOf({ request, route }: HttpSession, exchange: ExchangeHandle): string {
  const hash = createHash('sha256')
  const bound = exchange.bindings.flatMap(({ source, name }) => {
    if (source !== 'header' && source !== 'cookie') return []
    const value = source === 'header' ? exchange.field(name) : exchange.cookie(name)
    return [`${source} ${name}`, value === null ? 'none' : `is ${value}`]
  })
  for (const part of [
    exchange.method,
    route ?? '',
    exchange.url,
    exchange.field('content-type') ?? '',
    exchange.field('content-encoding') ?? '',
    ...bound,
  ]) {
    hash.update(`${part.length} ${part}\n`, 'utf16le')
  }
  return hash.update(request.bodySpan).digest('base64url')
}

/**
 * The key in the store: a hash, which does not show what it is made from. Below another path that a proxy states, the same URL may be another
 * tenant's. So may it be at another endpoint, if the route is bound to one: a route that is not is the same at all of them.
 * @param scope who may use it, at which of several servers
 */
export function storeKey(scope: string, { session, boundEndpoint }: ExchangeHandle, key: string): string {
  const { origin, basePath } = session
  const parts = boundEndpoint === null ? [scope, origin, basePath, key] : [scope, origin, basePath, key, boundEndpoint]
  return createHash('sha256').update(JSON.stringify(parts), 'utf16le').digest('base64url')
}
