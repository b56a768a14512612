// Nonces: random values that allow single inline scripts and styles of one response (CSP Level 3, "nonce-source").

import { randomBytes } from 'node:crypto'

import { WeirError } from '../../base/errors.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'

/** CSP Level 3 §7.1 recommends at least 128 bits. */
const NONCE_BYTES = 16

/** By request, because another session replaces the first one when the server answers instead of the handler. */
const nonces = new WeakMap<HttpRequest, string>()

/**
 * The nonce of this exchange, for the attribute `nonce` of `<script>` and `<style>`. The first call creates it: 128 random bits in base64url,
 * which needs no escaping in HTML. The Content-Security-Policy of the response then contains it. Later calls return the same nonce.
 *
 * @throws WEIR_RESPONSE_SENT for a first call after the head of the response was sent
 */
export function nonceOf(session: HttpSession): string {
  exchange(session).markPersonal('nonce')
  let nonce = nonces.get(session.request)
  if (nonce !== undefined) return nonce
  if (exchange(session).isAnswered)
    throw new WeirError('WEIR_RESPONSE_SENT', 'call nonceOf() before the response begins: its Content-Security-Policy lacks the nonce')
  nonce = randomBytes(NONCE_BYTES).toString('base64url')
  nonces.set(session.request, nonce)
  return nonce
}

/** The nonce of this exchange; undefined if nothing has called `nonceOf`. */
export function existingNonce(session: HttpSession): string | undefined {
  return nonces.get(session.request)
}
