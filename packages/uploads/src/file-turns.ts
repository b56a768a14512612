// Bounds how many files are open for a moment, to read or write a record. Clients decide how many requests need one. Without a bound, requests for
// a single upload could together take all descriptors of the process.

/** For all storages of the thread. A copy of a file has two descriptors. */
const MOST_AT_ONCE = 16

let running = 0
const waiting: (() => void)[] = []

/** Runs `work` when it is its turn. `work` must wait neither for a client nor for another turn. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= MOST_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}
