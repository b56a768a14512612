// Writes all frames that the engine of a connection has made in a turn of the event loop with one write.
//
// Code that has made frames calls `flushSoon`. Responses that wait for the client are told after each write.

import type { Buffer } from 'node:buffer'
import type { Http2WireConnection } from '../../wire/http2/connection.ts'
import { giveBack, isLent } from '../../wire/http2/output-blocks.ts'

import type { Transport } from '../transport/transport.ts'
import type { Flushable } from '../transport/write-batch.ts'

/** How much is handed to the transport with one write: two full frames, and their heads. More gains nothing, and waits for slow clients. */
const WRITE_BYTES = 33 * 1024
/** The same while many clients do not read. Twice the cost for each byte, for a quarter of the memory. */
const TIGHT_WRITE_BYTES = 8 * 1024 + 9
/** How much is written, and not taken by the operating system, when clients count as not reading. */
export const MUCH_STUCK_BYTES: number = 2 * 1024 * 1024
/** Only one write that is larger than this is on its way at a time. */
const SMALL_BYTES = 4 * 1024

/**
 * How many bytes of all connections of the thread were written and not taken by the operating system, because their clients do not read. Each of
 * them is in memory twice: as a frame, and encrypted by Node. One connection need not save memory, but thousands have to.
 */
let allStuckBytes = 0
/** Whether so many clients do not read that memory has to be saved: connections then write less at a time. */
export let isTight = false

function countStuck(bytes: number): void {
  allStuckBytes += bytes
  isTight = allStuckBytes >= MUCH_STUCK_BYTES
}

/** The exchange of a stream. */
export interface Watched {
  /** Frames have been made. @returns whether it waits for more of them */
  settle(): boolean
  /** Nothing of its response waits, and the client's windows are open. */
  onDry(): void
  /** A large piece of its response has been made while much waits for the client: it may reset the stream. */
  onBacklog(): void
}

export interface OutputOwner {
  /** Whether events are being read: the owner flushes after that. */
  readonly isRunning: boolean
  /** Frames may have been written. */
  onFlushed(): void
  /** More can be written. */
  onDrain(): void
}

export class Output<T extends Watched> implements Flushable {
  readonly #wire: Http2WireConnection<T>
  readonly #transport: Transport
  readonly #owner: OutputOwner
  #watched: T[] = []
  #isDue = false
  /** `isAgreed` was true before: it stays so. */
  #isAgreed = false
  /** The large write that is on its way. */
  #underWay: Buffer | null = null
  /** How much of it counts as stuck. */
  #stuckBytes = 0
  #onSent: ((bytes: Buffer) => void) | null = null
  /** How many writes there have been. */
  writes = 0

  constructor(wire: Http2WireConnection<T>, transport: Transport, owner: OutputOwner) {
    this.#wire = wire
    this.#transport = transport
    this.#owner = owner
  }

  /** Whether nothing waits in memory to be written. */
  get isEmpty(): boolean {
    return this.#wire.sender.output.end === 0
  }

  /** The write that takes the frames made last. */
  get lastWrite(): number {
    return this.isEmpty ? this.writes : this.writes + 1
  }

  /** Whether the operating system has taken all writes. */
  get hasSentAll(): boolean {
    return this.#transport.unsentBytes === 0 && !this.#transport.isDestroyed
  }

  /** Whether the result of the last write is told in a later turn. */
  get awaitsResult(): boolean {
    return this.#transport.awaitsResult
  }

  /** Whether the client is known to speak HTTP/2. Without TLS it may speak something else, until its preface is complete. */
  get isAgreed(): boolean {
    return this.#transport.isSecure || this.#wire.frames.hasBegun
  }

  /** Calls `settle` of `exchange` whenever frames have been made, until that returns false. */
  watch(exchange: T): void {
    this.#watched.push(exchange)
  }

  /** Writes the gathered frames: after the events that are being read, or at the end of this turn. */
  flushSoon(): void {
    if (this.#owner.isRunning || this.#isDue) return
    this.#isDue = true
    process.nextTick(flushDue, this)
  }

  /** @internal */
  flushDue(): void {
    this.#isDue = false
    this.flushTurn()
  }

  /** Writes the frames of this turn: now, or under load together with those of other connections. */
  flushTurn(): void {
    const { output, queuedBytes } = this.#wire.sender
    if (output.end > 0 || queuedBytes > 0) this.#transport.flushSoon(this)
    else this.flush()
  }

  /** Writes what is ready, as far as the transport is not full, and tells the responses that wait. */
  flush(): void {
    const { sender } = this.#wire
    const transport = this.#transport
    this.#isAgreed ||= this.isAgreed
    while (this.#isAgreed && !transport.isBlocked && this.#underWay === null) {
      if (sender.queuedBytes > 0) sender.fill(isTight ? TIGHT_WRITE_BYTES : WRITE_BYTES)
      if (sender.output.end === 0) break
      this.write()
    }
    if (sender.dry.length > 0 && !this.mustWait)
      for (let stream = sender.nextHungry(); stream !== null; stream = sender.nextHungry()) stream.owner?.onDry()
    if (this.#watched.length > 0) {
      const watched = this.#watched
      this.#watched = []
      for (const exchange of watched) if (exchange.settle()) this.#watched.push(exchange)
    }
    this.#owner.onFlushed()
  }

  /** Writes what is ready, even if the transport is full. */
  write(): void {
    const { output } = this.#wire.sender
    if (output.end === 0) return
    this.writes++
    const bytes = output.take()
    if (bytes.length > SMALL_BYTES) this.#writeLarge(bytes)
    else this.#transport.writeBytes(bytes)
  }

  #writeLarge(bytes: Buffer): void {
    this.#release()
    this.#underWay = bytes
    this.#onSent ??= (sent) => this.#settle(sent)
    this.#transport.writeBytes(bytes, this.#onSent)
    if (this.#underWay === null || this.#transport.unsentBytes === 0) return
    this.#stuckBytes = bytes.length
    countStuck(bytes.length)
  }

  #settle(sent: Buffer): void {
    if (isLent(sent)) giveBack(sent)
    if (sent !== this.#underWay) return
    this.#release()
    this.#owner.onDrain()
  }

  #release(): void {
    this.#underWay = null
    countStuck(-this.#stuckBytes)
    this.#stuckBytes = 0
  }

  /** Nothing more is sent. */
  close(): void {
    this.#release()
  }

  /** Whether a large write is on its way: what is sent until it is complete has to wait. */
  get isBusy(): boolean {
    return this.#underWay !== null
  }

  /** Whether a source should not be asked for more until what has been sent is on its way. */
  get mustWait(): boolean {
    return isTight && (this.#underWay !== null || !this.isEmpty)
  }
}

function flushDue(output: Output<Watched>): void {
  output.flushDue()
}
