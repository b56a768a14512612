// Decides which pages of missed events are read next. A client asks for a page in a few bytes, and may have a hundred streams.

import { FairQueue } from '../../base/fair-queue.ts'
import { networkOf } from '../../formats/client-network.ts'

/** A page has 256 KiB, and takes some milliseconds. */
const PAGES_PER_TURN = 4

const turns = FairQueue.turns(PAGES_PER_TURN)

/**
 * Calls `begin` once, now or in a later turn. Clients take turns, so that none waits for all that another one asks for.
 * @param begin returns whether it has begun a page; must not throw
 */
export function inPageTurn(clientAddress: string, begin: () => boolean): void {
  turns.run(networkOf(clientAddress), () => {
    if (begin()) turns.spend(1)
  })
}
