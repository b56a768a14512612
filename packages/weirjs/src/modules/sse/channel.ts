// Sends events to the clients of this process. Each event is encoded once, and waits for each client in a bounded queue.

import { count } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { ClientQueues, QUEUE_RULES, type SseQueueOptions } from './client-queues.ts'
import { EncodedEvent, type SseEvent } from './event.ts'
import { EventHistory } from './event-history.ts'
import { SseFeed } from './feed.ts'

export interface SseChannelOptions extends SseQueueOptions {
  /** How many of the latest events with an id are kept for clients that reconnect with Last-Event-ID. Default 0. */
  readonly history?: number
}

/** @internal */
export const CHANNEL_RULES = rules<SseChannelOptions>('channel')({ ...QUEUE_RULES, history: count().or(0) })

/** A source of events with any number of listening clients. */
export class SseChannel extends SseFeed {
  readonly #history: EventHistory
  readonly #clients: ClientQueues

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: SseChannelOptions = {}) {
    super()
    const settings = CHANNEL_RULES.read(options)
    this.#clients = new ClientQueues(settings)
    this.#history = new EventHistory(settings.history)
  }

  /** The number of listening clients. */
  get size(): number {
    return this.#clients.size
  }

  /**
   * Sends an event to all listening clients. Never waits.
   *
   * @param event a string is the data of an event
   * @returns the number of clients for which it was queued
   * @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent; no client gets it then
   */
  send(event: SseEvent | string): number {
    const encoded = new EncodedEvent(event)
    if (encoded.id !== null) this.#history.add(encoded.id, encoded)
    return this.#clients.push(encoded)
  }

  /** Ends the streams of all listening clients once they have read what is queued. The channel stays usable: clients may connect again. */
  endAll(): void {
    this.#clients.finish()
  }

  /** @internal Listens from now on, beginning with the events that were missed since `lastEventId`. */
  subscribe(lastEventId: string | null): AsyncIterable<EncodedEvent> {
    const client = this.#clients.add(lastEventId === null ? null : this.#history.since(lastEventId))
    if (lastEventId === null) client.start = this.#history.lastId
    return client
  }
}
