// The states of an HTTP/2 connection and of its streams, and every move between them (RFC 9113 §5.1, §6.8).
//
// There are three tables. `STREAM_MOVES` is the diagram of §5.1 without server push. `FRAMES_IN` defines what a frame from the client means for a
// stream in each state: it is taken, ignored, or an error of the catalogue. `LIFE_MOVES` is how a connection ends. A move that is not in the
// tables is a bug in weir, and throws.

import { illegalMove, masksOf } from '../../base/moves.ts'
import type { FaultName } from './errors.ts'

/** Nothing has been received on it. */
export const IDLE = 0
/** Both sides may send. */
export const OPEN = 1
/** Our response is complete. The client may still send. */
export const HALF_CLOSED_LOCAL = 2
/** The request is complete. The response is not. */
export const HALF_CLOSED_REMOTE = 3
/** Both sides have ended it, or the client has reset it. */
export const CLOSED = 4
/** We have reset or refused it. The client may not know that yet, so what it still sends is not an error. */
export const RESET = 5

export const STREAM_STATE_NAMES = ['idle', 'open', 'half-closed (local)', 'half-closed (remote)', 'closed', 'reset'] as const

/** For each state, the states that may follow. */
export const STREAM_MOVES: readonly (readonly number[])[] = [
  [OPEN, HALF_CLOSED_REMOTE, RESET], // idle
  [HALF_CLOSED_LOCAL, HALF_CLOSED_REMOTE, CLOSED, RESET], // open
  [CLOSED, RESET], // half-closed (local)
  [CLOSED, RESET], // half-closed (remote)
  [], // closed
  [], // reset
]

/** The frame is read. */
export const TAKEN = 0
/** The frame is discarded, but fields are decoded, and DATA counts for the window of the connection. */
export const IGNORED = 1
/** What a frame means: `TAKEN`, `IGNORED`, or the error that it causes. */
export type Verdict = typeof TAKEN | typeof IGNORED | FaultName

// The columns of FRAMES_IN. PRIORITY and PRIORITY_UPDATE are allowed in every state.
export const IN_HEADERS = 0
export const IN_DATA = 1
export const IN_RST_STREAM = 2
export const IN_WINDOW_UPDATE = 3

/** What a frame means for a stream, by the state of the stream and the type of the frame. */
export const FRAMES_IN: readonly (readonly [headers: Verdict, data: Verdict, reset: Verdict, windowUpdate: Verdict])[] = [
  [TAKEN, 'STREAM_IDLE', 'STREAM_IDLE', 'STREAM_IDLE'], // idle
  [TAKEN, TAKEN, TAKEN, TAKEN], // open
  [TAKEN, TAKEN, TAKEN, TAKEN], // half-closed (local)
  ['STREAM_ENDED', 'STREAM_ENDED', TAKEN, TAKEN], // half-closed (remote)
  ['STREAM_GONE', 'STREAM_GONE', IGNORED, IGNORED], // closed
  [IGNORED, IGNORED, IGNORED, IGNORED], // reset
]

/** New streams are taken. */
export const SERVING = 0
/** A first GOAWAY (2^31 - 1) has asked the client to open no more streams. Those that it opens before it reads that are taken. */
export const ENDING = 1
/** GOAWAY has named the last stream. Streams above it are ignored. */
export const LAST = 2
/** The client has broken the protocol, or the owner has given up: nothing more is read, and all streams are gone. */
export const FAILED = 3
/** All has been written, and our side has ended. What arrives is discarded until the client ends its side too. */
export const LINGERING = 4
/** The connection is being reset, and the transport has not closed yet. */
export const ABORTED = 5
/** The transport has closed. */
export const GONE = 6

export const LIFE_NAMES = ['serving', 'ending', 'last', 'failed', 'lingering', 'aborted', 'gone'] as const

export const LIFE_MOVES: readonly (readonly number[])[] = [
  [ENDING, LAST, FAILED], // serving
  [LAST, FAILED], // ending
  [FAILED, LINGERING], // last
  [LINGERING, ABORTED, GONE], // failed
  [ABORTED, GONE], // lingering
  [GONE], // aborted
  [], // gone
]

/** `STREAM_MOVES` as bits, for `moveTo` of a stream. */
export const STREAM_MASKS: readonly number[] = masksOf(STREAM_MOVES)
const LIFE_MASKS = masksOf(LIFE_MOVES)

/** @throws Error for a move of the connection that is not in the table */
export function checkLifeMove(from: number, to: number): void {
  if (((LIFE_MASKS[from]! >> to) & 1) === 0) throw illegalMove('connection', LIFE_NAMES, from, to)
}
