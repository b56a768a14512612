// Bounds how many small pieces wait in a Writable that another protocol writes to.
//
// Node counts the bytes that wait, and keeps objects of some hundred bytes for each piece. With `socket.pipe(socket)`, a client that does not
// read decides how many pieces there are. Behind this many, `write` returns false, and `drain` follows once all of them have been taken.

import type { Writable } from 'node:stream'

type Done = (error?: Error | null) => void

const MOST_PIECES = 128

export class SmallWrites {
  readonly #stream: Writable
  #pieces = 0
  /** `write` has returned false without the stream itself knowing it. */
  #owesDrain = false

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** @returns the callback for the next write */
  callback(done: Done | undefined): Done | undefined {
    if (this.#pieces < MOST_PIECES) return done
    return done === undefined ? this.#onTaken : (error) => this.#taken(done, error)
  }

  /** A piece has been written. @param hasRoom what the stream has returned @returns what to return */
  count(hasRoom: boolean): boolean {
    this.#pieces = this.#stream.writableLength === 0 ? 0 : this.#pieces + 1
    if (this.#pieces <= MOST_PIECES) return hasRoom
    this.#owesDrain = hasRoom // otherwise the stream emits it
    return false
  }

  readonly #onTaken = (): void => {
    const stream = this.#stream
    if (!this.#owesDrain || stream.writableLength > 0 || stream.destroyed || stream.writableEnded) return
    this.#owesDrain = false
    stream.emit('drain')
  }

  #taken(done: Done, error: Error | null | undefined): void {
    done(error)
    this.#onTaken()
  }
}
