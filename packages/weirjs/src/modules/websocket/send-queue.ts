// The messages that wait for a client: whether more fit, and when they have gone out.

import type { WebSocket } from 'ws'

/** What a waiting message takes in addition to its bytes, measured as growth of RSS: 350,000 messages of one byte on Node 20. */
const MESSAGE_BYTES = 512

interface Waiter {
  /** The number of messages for which it waits. */
  readonly count: number
  resolve(): void
}

export class SendQueue {
  readonly #ws: WebSocket
  readonly #maxBytes: number
  /** Messages that were passed to ws, those for which ws has called back, and those that are known to have gone out. */
  #given = 0
  #calledBack = 0
  #gone = 0
  #waiters: Waiter[] = []

  constructor(ws: WebSocket, maxBytes: number) {
    this.#ws = ws
    this.#maxBytes = maxBytes
  }

  /** How many messages were passed to ws, and are not known to have gone out. */
  get waiting(): number {
    return this.#given - this.#gone
  }

  /** Whether this many bytes may wait in addition to those that do. */
  hasRoom(bytes: number): boolean {
    this.#notice()
    return this.#ws.bufferedAmount + this.waiting * MESSAGE_BYTES + bytes <= this.#maxBytes
  }

  /** Counts a message that was passed to ws. */
  add(): void {
    this.#given++
    this.#notice()
  }

  /** ws calls back later. */
  #notice(): void {
    if (this.#ws.bufferedAmount === 0) this.#gone = this.#given
  }

  /** The callback for ws, which calls it for each message in order. */
  readonly onGone = (): void => {
    this.#calledBack++
    this.#gone = Math.max(this.#gone, this.#calledBack)
    while (this.#waiters.length > 0 && this.#waiters[0]!.count <= this.#gone) this.#waiters.shift()!.resolve()
  }

  /** Resolves when everything that was passed to ws so far has gone out, or the connection has ended. */
  drained(): Promise<void> {
    if (this.#gone === this.#given || this.#ws.readyState === this.#ws.CLOSED) return Promise.resolve()
    return new Promise((resolve) => void this.#waiters.push({ count: this.#given, resolve }))
  }

  /** The connection has ended. */
  end(): void {
    for (const { resolve } of this.#waiters) resolve()
    this.#waiters = []
  }
}
