// Whose work is done next that costs a client little and the server much. A client makes a mebibyte of a thousand bytes, or sends a byte to all who
// are in a room. So all clients of the process share what is done in one turn of the event loop: however many of them send much, others come first.

import { FairQueue } from '../base/fair-queue.ts'
import { networkOf } from '../formats/client-network.ts'

/** In KiB that were decompressed, and what else counts as much. */
const WORK_PER_TURN = 1024

let workLeft = WORK_PER_TURN
const waiting = new FairQueue<() => void>()
let isNextTurnPlanned = false

/** Whether there is something left of this turn. */
export function mayWork(): boolean {
  return workLeft > 0
}

/** So much is done now. */
export function countWork(work: number): void {
  workLeft -= work
  planNextTurn()
}

/** Calls `goOn` in a later turn. Clients take turns, so that none waits for all that another one has sent. */
export function awaitTurn(clientAddress: string, goOn: () => void): void {
  waiting.add(networkOf(clientAddress), goOn)
  planNextTurn()
}

function planNextTurn(): void {
  if (isNextTurnPlanned) return
  isNextTurnPlanned = true
  setImmediate(beginTurn)
}

function beginTurn(): void {
  isNextTurnPlanned = false
  workLeft = WORK_PER_TURN
  try {
    // Whoever waits again meanwhile does so for the turn after this one.
    for (let most = waiting.length; most > 0 && workLeft > 0; most--) waiting.next()!()
  } finally {
    if (waiting.length > 0) planNextTurn()
  }
}
