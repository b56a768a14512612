// Counts handlers that still work after their calls have ended: at a deadline, which a client chooses, or because the client has left. Their
// streams are closed, so the limits of HTTP/2 no longer count them.

import type { HttpSession } from 'weirjs'
import { exchange, networkOf } from 'weirjs/kit'

import { RpcError } from './rpc-error.ts'

/** The most such handlers of one client on one connection. */
const MOST = 100

/** How many there are, by connection and client. */
const counts = new Map<string, number>()

/** Over one connection, a proxy sends the calls of many clients, and none must use up what the others may have. */
function senderOf(session: HttpSession): string {
  // Not read from the session: then a cache would take the response for one that depends on its client.
  return `${session.connectionId} ${networkOf(exchange(session).clientAddress)}`
}

/** @throws RpcError if the client of a call has too many of them on its connection */
export function checkLeftOver(session: HttpSession): void {
  if (counts.size > 0 && (counts.get(senderOf(session)) ?? 0) >= MOST)
    throw new RpcError('unavailable', `${MOST} earlier calls of this client have ended, and their functions have not`)
}

/** @param work the promise of the handler that has not settled yet */
export function countLeftOver(session: HttpSession, work: unknown): void {
  const sender = senderOf(session)
  counts.set(sender, (counts.get(sender) ?? 0) + 1)
  const settle = (): void => {
    const left = counts.get(sender)! - 1
    if (left > 0) counts.set(sender, left)
    else counts.delete(sender)
  }
  Promise.resolve(work).then(settle, settle)
}
