// Whose compressed messages are handled next. A client makes a mebibyte of a thousand bytes, and what a handler does with it takes much longer than to
// send it. So all connections of the process share what is inflated in one turn of the event loop: however many there are, others come first.

import { networkOf } from '../../formats/client-network.ts'

/** As `PerMessageDeflate` counts it: a mebibyte. */
const WORK_PER_TURN = 1024

let workLeft = WORK_PER_TURN
/** Connections that have to wait, by client. */
const waiting = new Map<string, Set<() => void>>()
let waitingCount = 0
let isNextTurnPlanned = false

/** Whether there is something left of this turn. */
export function mayInflate(): boolean {
  return workLeft > 0
}

/** A message was inflated. */
export function countInflated(work: number): void {
  workLeft -= work
  planNextTurn()
}

/** Calls `goOn` in a later turn. Clients take turns, so that none waits for all the connections of another. */
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
