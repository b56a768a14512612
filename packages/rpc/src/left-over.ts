// Handlers that are still at work after their calls have ended: at a deadline, which a client chooses, or because it has left. Its streams are free
// again, so the limits of HTTP/2 no longer see them.

import type { HttpSession } from 'weirjs'

import { RpcError } from './rpc-error.ts'

/** Of one connection. */
const MOST = 100

/** How many there are, by connection. */
const counts = new Map<string, number>()

/** @throws RpcError if the connection of a call has so many that it gets no other handler */
export function checkLeftOver({ connectionId }: HttpSession): void {
  if (counts.size > 0 && (counts.get(connectionId) ?? 0) >= MOST)
    throw new RpcError('unavailable', `${MOST} earlier calls of this connection have ended, and their functions have not`)
}

/** @param work what the handler has not settled yet */
export function countLeftOver({ connectionId }: HttpSession, work: unknown): void {
  counts.set(connectionId, (counts.get(connectionId) ?? 0) + 1)
  const settle = (): void => {
    const left = counts.get(connectionId)! - 1
    if (left > 0) counts.set(connectionId, left)
    else counts.delete(connectionId)
  }
  Promise.resolve(work).then(settle, settle)
}
