// Where a connection stands: two small machines, one for what is read and one for what is written, and the moves that they may make.
//
// A move that is not in the tables is a bug of ours, never a silent no-op. Errors of the client are not moves: they are thrown
// where they are seen, and lead to CLOSED. docs/http.md draws its diagram from these tables.

/** Between two requests; nothing of the next one has come. Nothing is owed. */
export const IDLE = 0
/** Reading: inside a head. Writing: an answer is owed, nothing of it was sent. */
export const HEAD = 1
/** Inside a body. */
export const BODY = 2
/** The message is complete; the other direction may not be. */
export const DONE = 3
/** The bytes belong to another protocol now. */
export const SWITCHED = 4
/** Nothing more is read or written. */
export const CLOSED = 5

export const STATE_NAMES = ['idle', 'head', 'body', 'done', 'switched', 'closed'] as const

/** For each state, those that may follow. */
export const READING_MOVES: readonly (readonly number[])[] = [
  [HEAD, CLOSED], // idle
  [BODY, DONE, CLOSED], // head
  [DONE, CLOSED], // body
  [IDLE, SWITCHED, CLOSED], // done
  [CLOSED], // switched
  [], // closed
]

export const WRITING_MOVES: readonly (readonly number[])[] = [
  [HEAD, CLOSED], // idle
  [BODY, DONE, SWITCHED, CLOSED], // head
  [DONE, CLOSED], // body
  [IDLE, CLOSED], // done
  [CLOSED], // switched
  [], // closed
]

const READING_MASKS = READING_MOVES.map(maskOf)
const WRITING_MASKS = WRITING_MOVES.map(maskOf)

/** @throws Error when the machine has no such move */
export function checkMove(machine: 'reading' | 'writing', from: number, to: number): void {
  const masks = machine === 'reading' ? READING_MASKS : WRITING_MASKS
  if (((masks[from]! >> to) & 1) === 0) throw new Error(`weir: ${machine} cannot go from ${STATE_NAMES[from]} to ${STATE_NAMES[to]}`)
}

function maskOf(moves: readonly number[]): number {
  return moves.reduce((mask, to) => mask | (1 << to), 0)
}
