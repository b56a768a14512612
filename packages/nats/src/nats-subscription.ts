// A subscription of the program to a relay over NATS: its listener is called in order, and what it throws is reported.

import type { RelayMessage, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'
import { BEFORE_FIRST } from 'weirjs/relay'
import { unavailable } from './nats-link.ts'

export class NatsSubscription implements RelaySubscription {
  readonly #listener: (message: RelayMessage) => void
  readonly #onGap: (() => void) | undefined
  readonly #onError: (error: unknown) => void
  readonly ready: Promise<void>
  #becomeReady: () => void = () => {}
  #failToBeReady: (error: unknown) => void = () => {}
  #onClose: (() => void) | null = null
  isClosed = false
  /** The sequence in the stream up to which it has heard everything; -1 if it is unknown, or there is none. */
  sequence = -1

  constructor(listener: (message: RelayMessage) => void, { onGap }: RelaySubscribeOptions, onError: (error: unknown) => void) {
    this.#listener = listener
    this.#onGap = onGap
    this.#onError = onError
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve
      this.#failToBeReady = reject
    })
    this.ready.catch(() => {}) // not every caller waits for it
  }

  set onClose(onClose: () => void) {
    this.#onClose = onClose
  }

  get position(): string | null {
    if (this.sequence < 0) return null
    return this.sequence === 0 ? BEFORE_FIRST : String(this.sequence)
  }

  becomeReady(): void {
    this.#becomeReady()
  }

  hear(message: RelayMessage): void {
    if (this.isClosed) return
    try {
      this.#listener(message)
    } catch (error) {
      this.#onError(error)
    }
  }

  /** Receives a message of the stream, unless it has received it before. */
  hearFrom(seq: number, message: RelayMessage): void {
    if (seq <= this.sequence) return
    this.sequence = seq
    this.hear(message)
  }

  /** @param sequence where it continues in the stream */
  hearGap(sequence: number = -1): void {
    if (this.isClosed) return
    this.sequence = sequence
    try {
      this.#onGap?.()
    } catch (error) {
      this.#onError(error)
    }
  }

  close(): void {
    this.end(unavailable('the subscription was closed'))
  }

  /** @param error what `ready` rejects with */
  end(error: unknown): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#failToBeReady(error)
    this.#onClose?.()
  }
}
