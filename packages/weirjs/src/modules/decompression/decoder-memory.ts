// The memory of all decoders of the process. A decoder allocates its window when it reads the first bytes, before it returns anything, so fifty
// bytes on the wire may take megabytes. Bodies that do not fit wait their turn: clients take turns, and the bodies of one start in order of arrival.
//
// Part of the memory is only for small decoders, which overtake waiting large ones there.
//
// A client that sends a little and then nothing, or does not read what a handler makes of its body, must not keep the others waiting: while others
// wait, a decoder that has waited for its client or its reader for some seconds, all in all, is given up.

import { type Clock, systemClock } from '../../base/clock.ts'
import { FairQueue } from '../../base/fair-queue.ts'

/** For all decoders together: seven of the largest window of Brotli that is accepted, or five hundred of gzip. */
const ALL_BYTES = 32 * 1024 * 1024
/** Not for large ones. */
const SMALL_ONES_BYTES = 3.5 * 1024 * 1024
/** The most memory that a decoder of gzip, or of Brotli with a small window, takes. */
const MOST_SMALL_BYTES = 128 * 1024
/** How long a decoder may wait for its client or its reader while others wait for a decoder. As long as `bodyGracePeriod` is by default. */
const IDLE_MS = 5_000
const LOOK_MS = 1_000

/** A body that needs a decoder. */
export interface DecoderOwner {
  /** The network of its client. */
  readonly client: string
  /** The most memory that its decoder takes. */
  readonly decoderBytes: number
  /** How long it has been waiting for its client or its reader in total: a byte now and then does not let it stay. */
  idleMs(now: number): number
  /** There is room now. */
  start(): void
  /** Its client or its reader has been too slow while others wait. It has to leave. */
  giveUp(): void
}

/** Owners that wait for memory of one kind. */
class Line {
  readonly #queue = new FairQueue<DecoderOwner>()
  #first: DecoderOwner | null = null

  get size(): number {
    return this.#queue.length + (this.#first === null ? 0 : 1)
  }

  add(owner: DecoderOwner): void {
    this.#queue.add(owner.client, owner)
  }

  /** @returns whether it waited */
  delete(owner: DecoderOwner): boolean {
    if (this.#first !== owner) return this.#queue.delete(owner.client, owner)
    this.#first = null
    return true
  }

  /** The owner whose turn it is, until it is deleted; null for none. @param onNew called when it becomes the first */
  first(onNew: () => void): DecoderOwner | null {
    if (this.#first !== null) return this.#first
    this.#first = this.#queue.next()
    if (this.#first !== null) onNew()
    return this.#first
  }
}

export class DecoderMemory {
  readonly clock: Clock
  readonly #allBytes: number
  readonly #working = new Set<DecoderOwner>()
  readonly #waitingSmall = new Line()
  readonly #waitingLarge = new Line()
  /** Whether the first large one has been the first for longer than the first small one. */
  #isLargeBefore = false
  #smallBytes = 0
  #largeBytes = 0
  #stopLooking: (() => void) | null = null

  constructor(clock: Clock = systemClock, allBytes: number = ALL_BYTES) {
    this.clock = clock
    this.#allBytes = allBytes
  }

  /** Starts `owner` now, or as soon as there is room. */
  enter(owner: DecoderOwner): void {
    this.#waitingFor(owner).add(owner)
    this.#admit()
  }

  /** `owner` has no decoder any more, or needs none. Any number of calls have the effect of one. */
  leave(owner: DecoderOwner): void {
    if (this.#working.delete(owner)) this.#use(owner, -owner.decoderBytes)
    else if (!this.#waitingFor(owner).delete(owner)) return
    this.#admit()
  }

  #waitingFor(owner: DecoderOwner): Line {
    return isSmall(owner) ? this.#waitingSmall : this.#waitingLarge
  }

  #use(owner: DecoderOwner, bytes: number): void {
    if (isSmall(owner)) this.#smallBytes += bytes
    else this.#largeBytes += bytes
  }

  get #isAwaited(): boolean {
    return this.#waitingSmall.size + this.#waitingLarge.size > 0
  }

  #admit(): void {
    for (let owner = this.#next(); owner !== null; owner = this.#next()) {
      this.#waitingFor(owner).delete(owner)
      this.#working.add(owner)
      this.#use(owner, owner.decoderBytes)
      owner.start()
    }
    if (this.#isAwaited) this.#stopLooking ??= this.clock.every(LOOK_MS, () => this.#look())
    else {
      this.#stopLooking?.()
      this.#stopLooking = null
    }
  }

  /** The owner that may start now; null for none. */
  #next(): DecoderOwner | null {
    const large = this.#waitingLarge.first(() => (this.#isLargeBefore = false))
    const small = this.#waitingSmall.first(() => (this.#isLargeBefore = large !== null))
    const free = this.#allBytes - this.#smallBytes - this.#largeBytes
    if (large !== null && (small === null || this.#isLargeBefore)) {
      const { decoderBytes } = large
      if (decoderBytes <= free && this.#largeBytes + decoderBytes <= this.#allBytes - SMALL_ONES_BYTES) return large
      // A small one overtakes only into memory that a large one never gets.
      return small !== null && this.#smallBytes + small.decoderBytes <= SMALL_ONES_BYTES ? small : null
    }
    return small !== null && small.decoderBytes <= free ? small : null
  }

  /** Ends the largest ones first, and no more than necessary. */
  #look(): void {
    const now = this.clock.now()
    const idle = [...this.#working].filter((owner) => owner.idleMs(now) >= IDLE_MS)
    for (const owner of idle.sort((a, b) => b.decoderBytes - a.decoderBytes)) if (this.#isAwaited) owner.giveUp()
  }
}

function isSmall(owner: DecoderOwner): boolean {
  return owner.decoderBytes <= MOST_SMALL_BYTES
}

/** The budget of this process: several servers share it, as they share its memory. */
export const decoderMemory = new DecoderMemory()
