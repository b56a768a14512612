// Who is in: the connections of a server, through whichever door they came. Counts them, and sees them out.

import { WeirError } from '../base/errors.ts'

/** One connection, of either protocol. */
export interface Guest {
  /** Whether a request is being received or answered. */
  readonly isBusy: boolean
  /** Whether the client has left. Its handlers may still be cleaning up. */
  readonly isGone: boolean
  /** The server stops: an idle connection ends now, a busy one after its answers. */
  drain(): void
  /** Ends the connection now, whatever is under way. */
  abort(error: Error): void
}

export class Guests {
  readonly #maximum: number | null
  readonly #guests = new Set<Guest>()
  /** Open sockets. Guests may stay longer: their handlers clean up. */
  #sockets = 0
  #onEmpty: (() => void) | null = null
  #deadline: NodeJS.Timeout | undefined
  #aborted = 0
  /** A socket has closed. */
  readonly leave = (): void => {
    this.#sockets--
  }

  /** @param maximum of open sockets, null for no limit */
  constructor(maximum: number | null) {
    this.#maximum = maximum
  }

  /** Counts a new socket, which must `leave`. @returns false when there is no room for it, and it is not counted */
  enter(): boolean {
    if (this.#maximum !== null && this.#sockets >= this.#maximum) return false
    this.#sockets++
    return true
  }

  add(guest: Guest): void {
    this.#guests.add(guest)
  }

  forget(guest: Guest): void {
    this.#guests.delete(guest)
    if (this.#guests.size === 0) this.#onEmpty?.()
  }

  /**
   * Ends those that have said nothing yet, lets the others finish, and aborts what is left after `graceMs`.
   * @returns how many connections were aborted
   */
  seeOut(graceMs: number): Promise<number> {
    for (const guest of this.#guests) guest.drain()
    if (this.#guests.size === 0) return Promise.resolve(0)
    return new Promise((resolve) => {
      this.#onEmpty = () => {
        clearTimeout(this.#deadline)
        this.#onEmpty = null
        resolve(this.#aborted)
      }
      this.hurry(graceMs)
    })
  }

  /** Brings the deadline of a `seeOut` under way nearer. */
  hurry(graceMs: number): void {
    if (this.#onEmpty === null) return
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(() => {
      this.#aborted = [...this.#guests].filter((guest) => guest.isBusy && !guest.isGone).length
      const error = new WeirError('WEIR_SERVER_STOPPED')
      for (const guest of this.#guests) guest.abort(error)
    }, graceMs)
  }
}
