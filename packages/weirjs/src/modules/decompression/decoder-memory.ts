// The memory of all decoders of the process. A decoder allocates its window when the first bytes tell it to, before anything has come out, so
// fifty bytes on the wire may take megabytes. What does not fit waits its turn, in order of arrival.
//
// A client that sends a little and then nothing must not keep the others waiting: while somebody waits, a decoder that has waited
// for its client for some seconds, all in all, is given up.

import { type Clock, systemClock } from '../../base/clock.ts'

/** For all decoders together: seven of the largest window of Brotli that is accepted, or five hundred of gzip. */
const ALL_BYTES = 32 * 1024 * 1024
/** How long a decoder may wait for its client while others wait for a decoder. As long as `minBodyRate` grants a body. */
const STARVING_MS = 5_000
const LOOK_MS = 1_000

/** A body that needs a decoder. */
export interface DecoderOwner {
  /** The most memory that its decoder takes. */
  readonly decoderBytes: number
  /** How long it has been waiting for its client, all in all: a byte now and then is no reason to stay. */
  starvedMs(now: number): number
  /** There is room now. */
  start(): void
  /** Its client has been too slow while others wait. It has to leave. */
  giveUp(): void
}

export class DecoderMemory {
  readonly clock: Clock
  readonly #allBytes: number
  readonly #working = new Set<DecoderOwner>()
  readonly #waiting = new Set<DecoderOwner>()
  #usedBytes = 0
  #stopLooking: (() => void) | null = null

  constructor(clock: Clock = systemClock, allBytes: number = ALL_BYTES) {
    this.clock = clock
    this.#allBytes = allBytes
  }

  /** Starts `owner` now, or as soon as there is room. */
  enter(owner: DecoderOwner): void {
    this.#waiting.add(owner)
    this.#admit()
  }

  /** `owner` has no decoder any more, or needs none. Any number of calls have the effect of one. */
  leave(owner: DecoderOwner): void {
    if (this.#working.delete(owner)) this.#usedBytes -= owner.decoderBytes
    else if (!this.#waiting.delete(owner)) return
    this.#admit()
  }

  #admit(): void {
    for (const owner of this.#waiting) {
      if (this.#usedBytes + owner.decoderBytes > this.#allBytes) break // a small one that comes later does not overtake it
      this.#waiting.delete(owner)
      this.#working.add(owner)
      this.#usedBytes += owner.decoderBytes
      owner.start()
    }
    if (this.#waiting.size > 0) this.#stopLooking ??= this.clock.every(LOOK_MS, () => this.#look())
    else {
      this.#stopLooking?.()
      this.#stopLooking = null
    }
  }

  #look(): void {
    const now = this.clock.now()
    for (const owner of [...this.#working]) if (owner.starvedMs(now) >= STARVING_MS) owner.giveUp()
  }
}

/** That of this process: several servers share it, as they share its memory. */
export const decoderMemory = new DecoderMemory()
