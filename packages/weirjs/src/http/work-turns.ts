// Takes turns between clients whose work costs them little and the server much: a thousand bytes may decompress to a mebibyte, and one byte may be
// sent to everyone in a room.

import { FairQueue } from '../base/fair-queue.ts'

/** In KiB of decompressed data. Other work counts in the same unit. */
const WORK_PER_TURN = 1024

export const workTurns: ReturnType<typeof FairQueue.turns> = FairQueue.turns(WORK_PER_TURN)
