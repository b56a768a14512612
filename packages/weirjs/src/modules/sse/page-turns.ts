// Which pages of missed events are read next. A client asks for one in a few bytes, and may have a hundred streams: all clients of the process
// share what is read in one turn of the event loop.

import { networkOf } from '../../formats/client-network.ts'
import { Fifo } from './fifo.ts'

/** A page has 256 KiB, and takes some milliseconds. */
const PAGES_PER_TURN = 4

let left = PAGES_PER_TURN
let isPlanned = false
/** Whose turn it is comes first. */
const waiting = new Map<string, Fifo<() => boolean>>()

/**
 * Calls `begin` once, now or in a later turn. Clients take turns, so that none waits for all that another one asks for.
 * @param begin returns whether it has begun a page; must not throw
 */
export function inPageTurn(clientAddress: string, begin: () => boolean): void {
  if (!isPlanned) {
    isPlanned = true
    setImmediate(beginTurn)
  }
  if (left > 0 && begin()) left--
  else if (left === 0) {
    const client = networkOf(clientAddress)
    const own = waiting.get(client) ?? new Fifo()
    waiting.set(client, own)
    own.push(begin)
  }
}

function beginTurn(): void {
  left = PAGES_PER_TURN
  for (const [client, own] of waiting) {
    if (left === 0) break
    const begin = own.shift()!
    waiting.delete(client)
    if (own.length > 0) waiting.set(client, own)
    if (begin()) left--
  }
  isPlanned = waiting.size > 0
  if (isPlanned) setImmediate(beginTurn)
}
