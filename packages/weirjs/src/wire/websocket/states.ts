// How a WebSocket ends: which side has sent a close frame (RFC 6455 §5.5.1, §7.1). Each side sends one, and nothing after it.
//
// Only methods of `CloseState` change the state. A move that is not in the table is a bug in weir, and throws. Errors of the client are not moves:
// they are found by the receiver, and lead to `beginClose`.

import { illegalMove, masksOf } from '../../base/moves.ts'

/** Neither side has sent a close frame. */
export const OPEN = 0
/** We have sent our close frame, and wait for the client's. What the client sent before it is still read. */
export const CLOSING_BY_US = 1
/** The client has sent its close frame. Nothing more is read from it, and we owe ours. */
export const CLOSING_BY_THEM = 2
/** Both were sent, or the connection is gone. Nothing is read or written any more. */
export const CLOSED = 3

const STATE_NAMES = ['open', 'closing by us', 'closing by them', 'closed'] as const

/** For each state, the states that may follow. */
const MOVES: readonly (readonly number[])[] = [
  [CLOSING_BY_US, CLOSING_BY_THEM, CLOSED], // open
  [CLOSED], // closing by us
  [CLOSED], // closing by them
  [], // closed
]

const MASKS = masksOf(MOVES)

export abstract class CloseState {
  /** One of OPEN, CLOSING_BY_US, CLOSING_BY_THEM, CLOSED. A field, because it is read for each frame. */
  readonly state: number = OPEN

  get isOpen(): boolean {
    return this.state === OPEN
  }

  /** Our close frame is about to be sent. @returns false if there was one before, or the connection is gone */
  beginClose(): boolean {
    if (this.state === OPEN) this.#move(CLOSING_BY_US)
    else if (this.state === CLOSING_BY_THEM) this.#move(CLOSED)
    else return false
    return true
  }

  /** The close frame of the client has been read. */
  protected closedByThem(): void {
    this.#move(this.state === OPEN ? CLOSING_BY_THEM : CLOSED)
  }

  /** The connection is gone, or must be. */
  abort(): void {
    if (this.state !== CLOSED) this.#move(CLOSED)
  }

  #move(to: number): void {
    if (((MASKS[this.state]! >> to) & 1) === 0) throw illegalMove('a WebSocket', STATE_NAMES, this.state, to)
    ;(this as { state: number }).state = to
  }
}
