// Runs the gates of a route, one after the other. Synchronous gates create no promise.

import { WeirError } from '../../base/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { isLater, replyInPlace } from '../reply.ts'
import type { Gate } from './policy.ts'

/** Names the code that has answered a request, for messages. */
const GATE = 'a gate'

/** The result of gates: null if all of them let the request pass. */
export type Held = OutgoingResponse | null | Promise<OutgoingResponse | null>

/** @throws what a gate throws */
export function runGates(exchange: Exchange, gates: readonly Gate[], from: number): Held {
  for (let i = from; i < gates.length; i++) {
    const result = gates[i]!(exchange.session)
    if (isLater(result)) return awaitGate(exchange, gates, result, i + 1)
    if (isRefusal(exchange, result, GATE)) return replyInPlace(exchange, result, GATE)
  }
  return null
}

async function awaitGate(
  exchange: Exchange,
  gates: readonly Gate[],
  running: Promise<unknown>,
  next: number,
): Promise<OutgoingResponse | null> {
  const result = await running
  if (isRefusal(exchange, result, GATE)) return replyInPlace(exchange, result, GATE)
  // The server has answered in the meantime, because the request timed out. A client that has only ended its side still waits for a response.
  if (exchange.sent !== null) throw new WeirError('WEIR_RESPONSE_SENT')
  return runGates(exchange, gates, next)
}

/**
 * Whether the result of a gate, or of another function that works like one, answers the request. A gate that returns nothing but has built a
 * response has answered too: it can hardly have meant to let the request pass. @param who the function that returned it, for errors @throws
 * WEIR_RESULT_UNSENDABLE for a result that is hardly meant as a response: a verdict or a status, and the principal, which `return
 * (session.principal = user)` would send to the client
 */
export function isRefusal(exchange: Exchange, result: unknown, who: string): boolean {
  if (result === undefined) return exchange.own.isAnswered && exchange.sent === null
  if (result === null || typeof result === 'boolean' || typeof result === 'number')
    throw new WeirError(
      'WEIR_RESULT_UNSENDABLE',
      `${who} returned ${result}: it returns nothing to let a request pass, and a response to refuse it`,
    )
  if (result === exchange.session.principal)
    throw new WeirError('WEIR_RESULT_UNSENDABLE', `${who} returned session.principal: it returns nothing to let a request pass`)
  return true
}
