// How much all HTTP/2 connections of the thread have written that the operating system has not taken, because their clients do not read.
//
// Each of these bytes is in memory twice: as frames, and encrypted by Node. A connection alone need not save them, but thousands have to.

/** From here on connections write less at a time. */
export const MUCH_BYTES: number = 2 * 1024 * 1024

let bytes = 0

export function add(more: number): void {
  bytes += more
}

export function remove(less: number): void {
  bytes -= less
}

export function isMuch(): boolean {
  return bytes >= MUCH_BYTES
}
