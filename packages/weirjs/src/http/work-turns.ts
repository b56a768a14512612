// Takes turns between clients whose work costs them little and the server much: a thousand bytes may decompress to a mebibyte, and one byte may be
// sent to everyone in a room.

import { FairQueue } from '../base/fair-queue.ts'

/** In KiB of decompressed data. Other work counts in the same unit. */
const WORK_PER_TURN = 1024

export const workTurns: ReturnType<typeof FairQueue.turns> = FairQueue.turns(WORK_PER_TURN)

/** What one response costs that many requests have waited for, in the same unit. It takes about 40 µs. */
const WORK_OF_RESPONSE = 8

/**
 * For a request that has waited for what others wait for, too: when it may go on. If all of them went on at once, their responses would be made in one
 * turn of the event loop, and clients decide how many there are.
 *
 * @param from the network of its client
 * @returns null: now
 */
export function turnAfterWait(from: string): Promise<void> | null {
  return workTurns.take(from, WORK_OF_RESPONSE)
}
