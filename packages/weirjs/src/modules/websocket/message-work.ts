// How much the messages of all WebSockets of a process count in a turn of the event loop.

import { workTurns } from '../../http/work-turns.ts'

/** Work that `workTurns` do not know of yet: to tell them of each message would plan a callback in each turn of the event loop. */
let untold = 0
const MOST_UNTOLD = 32

/** A client may have hundreds of WebSockets, on as many connections or on one of HTTP/2. */
export function spend(work: number): void {
  untold += work
  if (untold < MOST_UNTOLD) return
  workTurns.spend(untold)
  untold = 0
}
