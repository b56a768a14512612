// Which pages of missed events are read next. A client asks for one in a few bytes, and may have a hundred streams: all clients of the process
// share what is read in one turn of the event loop.

import { FairQueue } from '../../base/fair-queue.ts'
import { networkOf } from '../../formats/client-network.ts'

/** A page has 256 KiB, and takes some milliseconds. */
const PAGES_PER_TURN = 4

let left = PAGES_PER_TURN
let isPlanned = false
const waiting = new FairQueue<() => boolean>()

/**
 * Calls `begin` once, now or in a later turn. Clients take turns, so that none waits for all that another one asks for.
 * @param begin returns whether it has begun a page; must not throw
 */
export function inPageTurn(clientAddress: string, begin: () => boolean): void {
  if (!isPlanned) {
    isPlanned = true
    setImmediate(beginTurn)
  }
  if (left === 0) waiting.add(networkOf(clientAddress), begin)
  else if (begin()) left--
}

function beginTurn(): void {
  left = PAGES_PER_TURN
  while (left > 0 && waiting.length > 0) if (waiting.next()!()) left--
  isPlanned = waiting.length > 0
  if (isPlanned) setImmediate(beginTurn)
}
