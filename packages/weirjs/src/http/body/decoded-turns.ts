// Whose decompressed bytes are handled next. A client makes a mebibyte of a thousand bytes, and what is done with it takes much longer than to send
// it. So all clients of the process share what is handled in one turn of the event loop: however many of them send much, others come first.

import { networkOf } from '../../formats/client-network.ts'

/** In KiB, and what else counts as much work. */
const WORK_PER_TURN = 1024

let workLeft = WORK_PER_TURN
/** What has to wait, by client. */
const waiting = new Map<string, Set<() => void>>()
let waitingCount = 0
let isNextTurnPlanned = false

/** Whether there is something left of this turn. */
export function mayHandleDecoded(): boolean {
  return workLeft > 0
}

/** Something was decompressed, and is handled now. */
export function countDecoded(work: number): void {
  workLeft -= work
  planNextTurn()
}

/** Calls `goOn` in a later turn. Clients take turns, so that none waits for all that another one has sent. */
export function awaitTurn(clientAddress: string, goOn: () => void): void {
  const client = networkOf(clientAddress)
  const own = waiting.get(client) ?? new Set()
  waiting.set(client, own)
  own.add(goOn)
  waitingCount++
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
    for (let most = waitingCount; most > 0 && workLeft > 0; most--) takeNext()()
  } finally {
    if (waitingCount > 0) planNextTurn()
  }
}

function takeNext(): () => void {
  const [client, own] = waiting.entries().next().value!
  const [next] = own
  own.delete(next!)
  waiting.delete(client)
  if (own.size > 0) waiting.set(client, own)
  waitingCount--
  return next!
}
