// Bounds how many signatures are checked at a time. Each check waits for a thread of the pool, which files and DNS names use too, and clients decide how
// many tokens need one: thousands would be ready in one turn of the event loop, whose other clients would wait for all of them.

import { type ExchangeHandle, FairQueue, networkOf } from 'weirjs/kit'

/** Enough for all threads of the pool. A check takes the main thread about 0.2 ms. */
const MOST_AT_ONCE = 16

const waiting = new FairQueue<() => void>()
let running = 0

/** Runs `work` when it is its turn. Clients take turns, so that none waits for all tokens of another one. */
export async function inTurn<T>({ clientAddress }: ExchangeHandle, work: () => Promise<T>): Promise<T> {
  if (running < MOST_AT_ONCE) running++
  else await new Promise<void>((resolve) => waiting.add(networkOf(clientAddress), resolve))
  try {
    return await work()
  } finally {
    const next = waiting.next()
    if (next === null) running--
    else next()
  }
}
