// Watches whether the program's connection to NATS is up, by the status of the client, and fails the requests to which a lost connection brings no
// reply.

import { WeirError } from 'weirjs'
import type { NatsConnection, NatsStatus } from './nats-client.ts'

interface NatsLinkListener {
  /** The connection is lost; the client tries to reconnect. */
  onDown(): void
  /** The client has reconnected, and has subscribed again. */
  onUp(): void
  /** The connection is closed for good. */
  onClosed(): void
  /** The server does not allow a subject. */
  onRefused?(subject: string, error: Error): void
}

export class NatsLink {
  readonly #connection: NatsConnection
  readonly #listener: NatsLinkListener
  readonly #statuses: AsyncIterator<NatsStatus>
  readonly #waiting = new Set<(error: WeirError) => void>()
  readonly #awaiting = new Set<() => void>()
  #isUp: boolean
  /** The connection or the relay is closed. */
  #isOver = false

  constructor(connection: NatsConnection, listener: NatsLinkListener) {
    this.#connection = connection
    this.#listener = listener
    this.#statuses = connection.status()[Symbol.asyncIterator]()
    this.#isUp = !connection.isClosed() && connection.info !== undefined
    void this.#watch()
  }

  get isUp(): boolean {
    return this.#isUp && !this.isOver
  }

  get isOver(): boolean {
    return this.#isOver || this.#connection.isClosed()
  }

  /**
   * Waits for a reply, but no longer than the connection lasts.
   *
   * @throws (rejects) WEIR_RELAY_UNAVAILABLE
   */
  whileUp<T>(ask: () => Promise<T>): Promise<T> {
    if (!this.isUp) return Promise.reject(this.error())
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      const settle = (): void => void this.#waiting.delete(reject)
      ask().then(
        (value) => {
          settle()
          resolve(value)
        },
        (error: unknown) => {
          settle()
          reject(error)
        },
      )
    })
  }

  /** Resolves when the connection is up, or closed for good. */
  async up(): Promise<void> {
    if (!this.isUp && !this.isOver) await new Promise<void>((resolve) => this.#awaiting.add(resolve))
  }

  error(): WeirError {
    return unavailable(this.isOver ? 'it is closed' : 'there is no connection to NATS')
  }

  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#forsake()
    this.#wake()
    // Takes effect at the next status, until which the client keeps the iterator.
    void this.#statuses.return?.()
  }

  async #watch(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#statuses.next()
        if (this.#isOver) return
        if (done === true) break
        this.#take(value)
      }
    } catch {} // the connection is closed
    if (!this.#isOver) this.#take({ type: 'close' })
  }

  #take(status: NatsStatus): void {
    if (status.type === 'disconnect') {
      this.#isUp = false
      this.#forsake()
      this.#listener.onDown()
    } else if (status.type === 'reconnect') {
      this.#isUp = true
      this.#listener.onUp()
      this.#wake()
    } else if (status.type === 'close') {
      this.#isOver = true
      this.#forsake()
      this.#wake()
      this.#listener.onClosed()
    } else if (status.type === 'error') {
      const { error } = status as { readonly error?: Error & { readonly operation?: unknown; readonly subject?: unknown } }
      if (error?.operation === 'publish' && typeof error.subject === 'string') this.#listener.onRefused?.(error.subject, error)
    }
  }

  #wake(): void {
    for (const resolve of this.#awaiting) resolve()
    this.#awaiting.clear()
  }

  #forsake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const reject of waiting) reject(this.error())
  }
}

export function unavailable(detail: string, cause?: unknown): WeirError {
  return new WeirError('WEIR_RELAY_UNAVAILABLE', detail, { cause })
}
