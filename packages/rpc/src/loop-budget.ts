// How much work that could be done in the thread pool is done on the event loop instead, in a turn of it. A small message costs less there than its way
// to the pool and back, and a thousand small messages would hold up all other connections.

/** About 20 ms, however it is spent. */
const UNITS_OF_A_TURN = 4 * 1024 * 1024
/** What each piece of work costs beside its bytes. */
const LEAST_UNITS = 4 * 1024

let left = UNITS_OF_A_TURN

/** @param bytes that are decompressed, or as many as take as long. @returns whether the work may be done at once */
export function mayWorkNow(bytes: number): boolean {
  const units = Math.max(LEAST_UNITS, bytes)
  if (units > left) return false
  if (left === UNITS_OF_A_TURN) setImmediate(renew)
  left -= units
  return true
}

function renew(): void {
  left = UNITS_OF_A_TURN
}
