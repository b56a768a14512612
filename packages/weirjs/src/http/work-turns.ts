// Whose work is done next that costs a client little and the server much. A client makes a mebibyte of a thousand bytes, or sends a byte to all who
// are in a room.

import { FairQueue } from '../base/fair-queue.ts'

/** In KiB that were decompressed, and what else counts as much. */
const WORK_PER_TURN = 1024

export const workTurns: ReturnType<typeof FairQueue.turns> = FairQueue.turns(WORK_PER_TURN)
