// Counts handlers that still work after their calls have ended: at a deadline, which a client chooses, or because the client has left. Their
// streams are closed, so the limits of HTTP/2 no longer count them.

import type { HttpSession } from 'weirjs'

import { RpcError } from './rpc-error.ts'

/** The most such handlers of one connection. */
const MOST = 100

/** How many there are, by connection. */
const counts = new Map<string, number>()

/** @throws RpcError if the connection of a call has too many of them */
export function checkLeftOver({ connectionId }: HttpSession): void {
  if (counts.size > 0 && (counts.get(connectionId) ?? 0) >= MOST)
    throw new RpcError('unavailable', `${MOST} earlier calls of this connection have ended, and their functions have not`)
}

/** @param work the promise of the handler that has not settled yet */
export function countLeftOver({ connectionId }: HttpSession, work: unknown): void {
  counts.set(connectionId, (counts.get(connectionId) ?? 0) + 1)
  const settle = (): void => {
    const left = counts.get(connectionId)! - 1
    if (left > 0) counts.set(connectionId, left)
    else counts.delete(connectionId)
  }
  Promise.resolve(work).then(settle, settle)
}
