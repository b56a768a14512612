// Runs the gates of a route, one after the other. Synchronous gates create no promise.

import { WeirError } from '../../base/errors.ts'
import { OutgoingResponse } from '../../http/answer/outgoing-response.ts'
import type { Exchange } from '../../http/session.ts'
import { isLater, reply } from '../reply.ts'
import type { Gate } from './policy.ts'

/** The result of gates: null if all of them let the request pass. */
export type Held = OutgoingResponse | null | Promise<OutgoingResponse | null>

/** @throws what a gate throws */
export function runGates(exchange: Exchange, gates: readonly Gate[], from: number): Held {
  for (let i = from; i < gates.length; i++) {
    const result = gates[i]!(exchange.session)
    if (isLater(result)) return awaitGate(exchange, gates, result, i + 1)
    if (hasAnswered(exchange, result)) return answer(exchange, result)
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
  if (hasAnswered(exchange, result)) return answer(exchange, result)
  // The server has answered in the meantime, because the time was over. A client that has only ended its side is still waiting for a
  // response.
  if (exchange.own.isTaken) throw new WeirError('WEIR_RESPONSE_SENT')
  return runGates(exchange, gates, next)
}

/** True even without a result if the gate has set a response, which was hardly meant to let the request pass. */
function hasAnswered({ own }: Exchange, result: unknown): boolean {
  return result !== undefined || (own.isAnswered && !own.isTaken)
}

/** @throws WEIR_RESULT_UNSENDABLE for what only a handler may return, or what is never meant to be sent */
function answer(exchange: Exchange, result: unknown): OutgoingResponse | Promise<OutgoingResponse> {
  if (typeof result === 'boolean')
    throw new WeirError(
      'WEIR_RESULT_UNSENDABLE',
      `a gate returned ${result}: it returns nothing to let a request pass, and a response to refuse it`,
    )
  const response = reply(exchange, result)
  if (response instanceof OutgoingResponse && response.content.kind === 'upgrade')
    throw new WeirError('WEIR_RESULT_UNSENDABLE', 'a gate cannot answer with an upgrade')
  return response
}
