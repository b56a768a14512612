// How long a client has been silent, as the heartbeats of its connection see it.

import type { ByteLink } from '../../http/response/byte-link.ts'

/** There is nothing to do. */
const FINE = 0
/** The client is to be pinged. */
export const ASK = 1
/** The client has not answered the ping either. */
export const TOO_LONG = 2

export class Silence {
  readonly #intervalMs: number
  /** Whether something arrived, or was read by the client, since the last heartbeat. */
  #isAlive = true
  /** How many bytes had arrived by then. */
  #receivedBefore = 0
  #beatAt = 0
  /** How long it has given no sign of life. */
  #silentMs = 0
  #hasAsked = false

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** @param isDeaf whether nothing is read, so that silence means nothing @returns FINE, ASK or TOO_LONG */
  check(link: ByteLink, now: number, isDeaf: boolean): number {
    // The pong arrives only after the client has read everything that was sent before the ping.
    if (link.hasBeenRead()) this.#isAlive = true
    // A large message may take longer than any silence, so a piece of it counts as a sign of life.
    const { receivedBytes } = link
    if (receivedBytes !== this.#receivedBefore) this.#isAlive = true
    this.#receivedBefore = receivedBytes
    // Only a part of a late heartbeat counts: bytes that arrived while the process was blocked have not been read yet.
    const elapsed = Math.min(now - this.#beatAt, this.#intervalMs / 2)
    this.#beatAt = now
    if (this.#isAlive || isDeaf) {
      this.#isAlive = this.#hasAsked = false
      this.#silentMs = 0
      return FINE
    }
    this.#silentMs += elapsed
    if (this.#silentMs >= 2 * this.#intervalMs) return TOO_LONG
    if (this.#silentMs < this.#intervalMs || this.#hasAsked) return FINE
    this.#hasAsked = true
    return ASK
  }
}
