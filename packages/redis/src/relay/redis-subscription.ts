// One subscriber of a channel in Redis: what both kinds of relays share.

import type { RelayMessage, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'
import { unavailable } from './redis-outbox.ts'

/** A message as it arrives: with its predecessor in the channel, which shows whether one is missing. */
export interface LiveMessage {
  readonly previous: string
  readonly id: string
  readonly message: RelayMessage
}

export interface SubscriptionEvents {
  readonly onClose: (subscription: RedisSubscription) => void
  /** The program's listener has thrown. Must not throw. */
  readonly onError: (error: unknown) => void
  /** A message is missing: `catchUp` has to run. */
  readonly onHole: () => void
}

export abstract class RedisSubscription implements RelaySubscription {
  readonly ready: Promise<void>
  /** See `RelaySubscription`. */
  get position(): string | null {
    return null
  }
  protected isClosed = false
  readonly #listener: (message: RelayMessage) => void
  readonly #onGap: (() => void) | undefined
  readonly #events: SubscriptionEvents
  #resolveReady!: () => void
  #rejectReady!: (error: Error) => void

  constructor(listener: (message: RelayMessage) => void, { onGap }: RelaySubscribeOptions, events: SubscriptionEvents) {
    this.#listener = listener
    this.#onGap = onGap
    this.#events = events
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve
      this.#rejectReady = reject
    })
    this.ready.catch(() => {}) // the program need not wait for it
  }

  abstract onLive(live: LiveMessage): void

  /**
   * Delivers missed messages, as far as Redis has them.
   *
   * @returns whether a message was missing that should have arrived by itself
   * @throws (rejects) if Redis does not reply
   */
  abstract catchUp(): Promise<boolean>

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#rejectReady(unavailable('the subscription is closed'))
    this.#events.onClose(this)
  }

  protected becomeReady(): void {
    this.#resolveReady()
  }

  protected deliver(message: RelayMessage): void {
    if (this.isClosed) return
    try {
      this.#listener(message)
    } catch (error) {
      this.#events.onError(error)
    }
  }

  protected gap(): void {
    if (this.isClosed) return
    try {
      this.#onGap?.()
    } catch (error) {
      this.#events.onError(error)
    }
  }

  protected reportHole(): void {
    this.#events.onHole()
  }
}
