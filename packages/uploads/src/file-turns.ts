// Bounds how many files are open for a moment, to read or write a record. Clients decide how many requests need one. Without a bound, requests for
// a single upload could together take all descriptors of the process.

import { FairQueue } from 'weirjs/kit'

/** For all storages of the thread. A copy of a file has two descriptors. */
const semaphore = FairQueue.semaphore(16)

/** Runs `work` when it is its turn. `work` must wait neither for a client nor for another turn. */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  return semaphore('', null, work)
}
