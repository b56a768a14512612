// How long messages of WebSockets take to handle, as work of a turn of the event loop. Their number bounds only what weir does itself: a client that
// sends 1,024 messages in 7 KB decides how often a handler of the program runs.

import { workTurns } from '../../http/work-turns.ts'

/** A client may have hundreds of WebSockets. */
const WORK_OF_MESSAGE = 1 / 4
/** The work of a turn takes about 25 ms, as long as that of requests. */
const WORK_OF_MS = 40
/** Looking at the clock takes a tenth of the time of a small message. */
const MESSAGES_PER_LOOK = 16

let since = 0
/** Messages since then. */
let counted = 0

/** A connection begins to handle messages. */
export function beginHandling(): void {
  since = performance.now()
  counted = 0
}

export function countMessage(): void {
  workTurns.spend(WORK_OF_MESSAGE)
  if (++counted >= MESSAGES_PER_LOOK) spendTime()
}

/** Counts how much longer the messages have taken than their number counts. */
export function spendTime(): void {
  const now = performance.now()
  const work = (now - since) * WORK_OF_MS - counted * WORK_OF_MESSAGE
  since = now
  counted = 0
  if (work > 0) workTurns.spend(work)
}
