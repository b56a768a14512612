// What waits for a client: whether more may, and when it has gone out.

import type { WebSocket } from 'ws'

/** What a message that waits takes beside its bytes: measured as growth of RSS, 350,000 messages of one byte on Node 20. */
const MESSAGE_BYTES = 512

interface Waiter {
  /** It waits for so many messages. */
  readonly count: number
  resolve(): void
}

export class SendQueue {
  readonly #ws: WebSocket
  readonly #maxBytes: number
  /** Messages that ws was given, those that it has called back for, and those that are known to have gone out. */
  #given = 0
  #calledBack = 0
  #gone = 0
  #waiters: Waiter[] = []

  constructor(ws: WebSocket, maxBytes: number) {
    this.#ws = ws
    this.#maxBytes = maxBytes
  }

  /** Whether so many bytes may wait, beside what does. */
  hasRoom(bytes: number): boolean {
    return this.#ws.bufferedAmount + (this.#given - this.#gone) * MESSAGE_BYTES + bytes <= this.#maxBytes
  }

  /** Ws was given one message more. */
  add(): void {
    this.#given++
    if (this.#ws.bufferedAmount === 0) this.#gone = this.#given // ws calls back later
  }

  /** For ws, which calls it for each message in order. */
  readonly onGone = (): void => {
    this.#calledBack++
    this.#gone = Math.max(this.#gone, this.#calledBack)
    while (this.#waiters.length > 0 && this.#waiters[0]!.count <= this.#gone) this.#waiters.shift()!.resolve()
  }

  /** Resolves when what ws was given so far has gone out, or the connection has ended. */
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
