// All clients of a channel, and what happens to those that read too slowly.

import { oneOf, size } from '../../base/option-kinds.ts'
import type { Size } from '../../base/size.ts'

import { ClientQueue, type FullQueuePolicy } from './client-queue.ts'
import type { EncodedEvent } from './event.ts'
import type { MissedEvents } from './event-history.ts'

export interface SseQueueOptions {
  /**
   * How many bytes of events may wait for one client, in addition to what its socket buffers. Each event counts 64 bytes more than its
   * size. Default 1 MiB.
   */
  readonly maxQueuedSize?: Size
  /**
   * What happens to a client that reads too slowly. `'disconnect'`, the default, discards its queue and ends its stream, so that the client
   * reconnects and sends the last id that it saw. `'drop-oldest'` discards the oldest waiting events, or the new event if it alone exceeds
   * `maxQueuedSize`.
   */
  readonly whenFull?: FullQueuePolicy
}

/** @internal For channels of all kinds. */
export const QUEUE_RULES = {
  maxQueuedSize: size({ least: 1 }).or('1MiB'),
  whenFull: oneOf('disconnect', 'drop-oldest').or('disconnect'),
}

export interface QueueSettings {
  readonly maxQueuedSize: number
  readonly whenFull: FullQueuePolicy
}

export class ClientQueues {
  readonly #maxQueuedSize: number
  readonly #whenFull: FullQueuePolicy
  readonly #onLeave: () => void
  readonly #clients = new Set<ClientQueue>()

  /**
   * @param onLeave called after a client has left
   */
  constructor({ maxQueuedSize, whenFull }: QueueSettings, onLeave: () => void = () => {}) {
    this.#maxQueuedSize = maxQueuedSize
    this.#whenFull = whenFull
    this.#onLeave = onLeave
  }

  get size(): number {
    return this.#clients.size
  }

  /**
   * @param missed what the client gets first; null: nothing
   * @param opened when it may be told that it is connected; null: immediately
   */
  add(missed: MissedEvents | null, opened: Promise<void> | null = null): ClientQueue {
    const client: ClientQueue = new ClientQueue(missed, opened, () => {
      if (this.#clients.delete(client)) this.#onLeave()
    })
    this.#clients.add(client)
    return client
  }

  /** @returns the number of clients for which it was queued */
  push(event: EncodedEvent): number {
    let queued = 0
    for (const client of this.#clients) if (client.push(event, this.#maxQueuedSize, this.#whenFull)) queued++
    return queued
  }

  /** Ends all streams once the clients have read what is queued. */
  finish(): void {
    for (const client of this.#clients) client.finish()
  }
}
