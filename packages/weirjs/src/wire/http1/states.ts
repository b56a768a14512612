// The state of an HTTP/1.1 connection: three small state machines, and every move that they can make.
//
//   reading   how much of the current request has been received
//   writing   how much of the response to it has been sent
//   life      whether another request may follow, and how the connection ends
//
// Only methods of `ConnectionState` change them, and they contain every rule by which one machine moves another. A move that is not in the
// tables is a bug in weir: it throws, and the connection is reset. Errors of the client are not moves. They are thrown where they are
// found, and lead to `refuse`. docs/http.md shows these tables.

import { illegalMove, masksOf } from '../../base/moves.ts'

/** Between two requests: nothing of the next one has been received, and no response is owed. */
export const IDLE = 0
/** Reading: inside a head. Writing: a response is owed, and nothing of it has been sent. */
export const HEAD = 1
/** Inside a body. */
export const BODY = 2
/** Reading only: inside a body whose reader needs no more bytes for now. */
export const PAUSED = 3
/** The message is complete. The other direction may not be. */
export const DONE = 4
/** Nothing more is read or written as HTTP. */
export const CLOSED = 5

export const STATE_NAMES = ['idle', 'head', 'body', 'paused', 'done', 'closed'] as const

/** For each state, the states that may follow. */
export const READING_MOVES: readonly (readonly number[])[] = [
  [HEAD, CLOSED], // idle
  [BODY, CLOSED], // head
  [PAUSED, DONE, CLOSED], // body
  [BODY, CLOSED], // paused
  [IDLE, CLOSED], // done
  [], // closed
]

export const WRITING_MOVES: readonly (readonly number[])[] = [
  [HEAD, CLOSED], // idle
  [BODY, DONE, CLOSED], // head
  [DONE, CLOSED], // body
  [], // paused
  [IDLE, CLOSED], // done
  [], // closed
]

/** Another request may follow the current one. */
export const OPEN = 0
/** The response has been sent. The rest of its request is read and discarded, and then another one may follow. */
export const DRAINING = 1
/** No request follows the current one, if there is one: keep-alive is off. Every end passes through here. */
export const LAST = 2
/** The bytes belong to another protocol, until the transport closes. */
export const SWITCHED = 3
/** The last response has been sent, and our side has ended. What arrives is discarded until the client ends its side too. */
export const LINGERING = 4
/** The connection is being reset, and the transport has not closed yet. */
export const ABORTED = 5
/** The transport has closed. */
export const GONE = 6

export const LIFE_NAMES = ['open', 'draining', 'last', 'switched', 'lingering', 'aborted', 'gone'] as const

export const LIFE_MOVES: readonly (readonly number[])[] = [
  [DRAINING, LAST], // open
  [OPEN, LAST], // draining
  [SWITCHED, LINGERING, ABORTED, GONE], // last
  [ABORTED, GONE], // switched
  [ABORTED, GONE], // lingering
  [GONE], // aborted
  [], // gone
]

const READING_MASKS = masksOf(READING_MOVES)
const WRITING_MASKS = masksOf(WRITING_MOVES)
const LIFE_MASKS = masksOf(LIFE_MOVES)

/** Methods throw an `Error` for a move that is not in the tables. */
export abstract class ConnectionState {
  // Fields and not getters, because they are read many times for each request. Only the three methods at the end change them, and what follows
  // from `life` changes with it.

  /** One of IDLE, HEAD, BODY, PAUSED, DONE, CLOSED. */
  readonly reading: number = IDLE
  /** One of IDLE, HEAD, BODY, DONE, CLOSED. */
  readonly writing: number = IDLE
  /** One of OPEN, DRAINING, LAST, SWITCHED, LINGERING, ABORTED, GONE. */
  readonly life: number = OPEN

  /** Whether another request may follow the current one. If not, the response has `Connection: close`. */
  readonly keepsAlive: boolean = true
  /** Whether requests are read and answered here: neither another protocol nor the end has begun. */
  readonly isServing: boolean = true
  /** Whether nothing more can be sent to the client. */
  readonly isOver: boolean = false

  // The request, as it is read.

  /** @param keepsAlive whether the client allows another request after this one */
  protected endHead(keepsAlive: boolean): void {
    this.moveReading(BODY)
    this.#moveWriting(HEAD)
    if (!keepsAlive) this.#moveLife(LAST)
  }

  /** The client sends no more, and what it has sent of a next request is not enough for a response. */
  protected endReading(): void {
    this.#closeReading()
  }

  /** Discards all bytes that were not read. */
  protected abstract dropBytes(): void

  /** The reader needs no more of the body for now, if there is more. */
  pauseBody(): void {
    if (this.reading === BODY) this.moveReading(PAUSED)
  }

  /** The reader needs more of the body, if there is more. */
  resumeBody(): void {
    if (this.reading === PAUSED) this.moveReading(BODY)
  }

  /**
   * The request that is being read will not be completed, and no other is read after it. A response is owed: to the current request or, if
   * its head is not complete, to the part that was received.
   */
  refuse(): void {
    if (this.reading === CLOSED) return
    if (this.writing === IDLE) this.#moveWriting(HEAD)
    this.#closeReading()
  }

  // The response.

  /** Some of the response has been handed to the network. */
  beginResponse(): void {
    this.#moveWriting(BODY)
  }

  /** All of the response has been handed to the network. */
  endResponse(): void {
    this.#moveWriting(DONE)
  }

  /** No request follows the current one. Has no effect once its response has been sent. */
  disableKeepAlive(): void {
    if (this.life === OPEN) this.#moveLife(LAST)
  }

  // From one request to the next, or to the end.

  /**
   * The response has been sent. Continues with the next request or, if this one has not been read to its end, with the rest of it.
   * @returns OPEN for the next request, DRAINING for the rest; any other state if no request follows
   */
  endCycle(): number {
    if (!this.keepsAlive) return this.life
    if (this.reading === DONE) {
      this.moveReading(IDLE)
      this.#moveWriting(IDLE)
      if (this.life === DRAINING) this.#moveLife(OPEN)
    } else {
      if (this.writing !== DONE) throw illegalMove('life', LIFE_NAMES, this.life, DRAINING)
      this.resumeBody() // the rest is discarded
      this.#moveLife(DRAINING)
    }
    return this.life
  }

  /** Another protocol takes over. The current request has been read completely. */
  protected switchOver(): void {
    if (this.reading !== DONE || this.writing !== HEAD) throw illegalMove('life', LIFE_NAMES, this.life, SWITCHED)
    this.#end(SWITCHED)
  }

  /** Everything that was owed has been sent, and our side ends. */
  linger(): void {
    if (this.writing === HEAD || this.writing === BODY) throw illegalMove('life', LIFE_NAMES, this.life, LINGERING)
    this.#end(LINGERING)
  }

  /** The connection is reset, whatever is owed. */
  abort(): void {
    this.#end(ABORTED)
  }

  /** The transport has closed. */
  leave(): void {
    this.#end(GONE)
  }

  /** Every end goes through here. */
  #end(to: number): void {
    this.#closeReading()
    if (this.writing !== CLOSED) this.#moveWriting(CLOSED)
    this.#moveLife(to)
  }

  #closeReading(): void {
    if (this.reading === CLOSED) return
    this.moveReading(CLOSED)
    if (this.keepsAlive) this.#moveLife(LAST)
    this.dropBytes()
  }

  protected moveReading(to: number): void {
    if (((READING_MASKS[this.reading]! >> to) & 1) === 0) throw illegalMove('reading', STATE_NAMES, this.reading, to)
    ;(this as { reading: number }).reading = to
  }

  #moveWriting(to: number): void {
    if (((WRITING_MASKS[this.writing]! >> to) & 1) === 0) throw illegalMove('writing', STATE_NAMES, this.writing, to)
    ;(this as { writing: number }).writing = to
  }

  #moveLife(to: number): void {
    if (((LIFE_MASKS[this.life]! >> to) & 1) === 0) throw illegalMove('life', LIFE_NAMES, this.life, to)
    const own = this as { life: number; keepsAlive: boolean; isServing: boolean; isOver: boolean }
    own.life = to
    own.keepsAlive = to < LAST
    own.isServing = to < SWITCHED
    own.isOver = to >= ABORTED
  }
}
