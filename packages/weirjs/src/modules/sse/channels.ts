// Events for one user, or for anything else that a key stands for: a channel for each key, which exists while a client listens to it.

import { shown } from '../../base/kind-of.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ClientQueues, QUEUE_RULES, type QueueSettings, type SseQueueOptions } from './client-queues.ts'
import { EncodedEvent, type SseEvent } from './event.ts'
import { SseFeed } from './feed.ts'

/** @internal */
export const CHANNELS_RULES = rules<SseQueueOptions>('channels')(QUEUE_RULES)

/** @throws WEIR_OPTION_INVALID for an invalid key, such as the missing id of a user */
export function checkKey(owner: string, key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '') throw invalid(owner, `the key is ${shown(key)}, not a string that is not empty`)
}

/**
 * A channel for each key, such as the id of a user. A channel begins with its first client and ends with its last, so it has no history: events
 * that are sent while no client listens are lost. For that, and for clients on several machines, see `relayChannels` of `weirjs/relay`.
 */
export class SseChannels {
  readonly #settings: QueueSettings
  readonly #channels = new Map<string, ClientQueues>()

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: SseQueueOptions = {}) {
    this.#settings = CHANNELS_RULES.read(options)
  }

  /** The number of keys that clients listen to. */
  get size(): number {
    return this.#channels.size
  }

  /**
   * The source of events for one key: `sse(session, channels.of(user.id))`. Who may listen to a key is for the handler to check.
   * @throws WEIR_OPTION_INVALID for a key that is not a string, or empty
   */
  of(key: string): SseFeed {
    checkKey('channels', key)
    return new KeyFeed(this.#channels, key, this.#settings)
  }

  /**
   * Sends an event to all clients that listen to a key. Never waits.
   *
   * @param event a string is the data of an event
   * @returns the number of clients for which it was queued; 0 if none listens
   * @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent; WEIR_OPTION_INVALID for a key that is not a string, or empty
   */
  send(key: string, event: SseEvent | string): number {
    checkKey('channels', key)
    const encoded = new EncodedEvent(event)
    return this.#channels.get(key)?.push(encoded) ?? 0
  }

  /** Ends the streams of a key once their clients have read what is queued. They may connect again. */
  end(key: string): void {
    this.#channels.get(key)?.finish()
  }

  /** The same for all keys. */
  endAll(): void {
    for (const clients of this.#channels.values()) clients.finish()
  }
}

class KeyFeed extends SseFeed {
  readonly #channels: Map<string, ClientQueues>
  readonly #key: string
  readonly #settings: QueueSettings

  constructor(channels: Map<string, ClientQueues>, key: string, settings: QueueSettings) {
    super()
    this.#channels = channels
    this.#key = key
    this.#settings = settings
  }

  get size(): number {
    return this.#channels.get(this.#key)?.size ?? 0
  }

  subscribe(): AsyncIterable<EncodedEvent> {
    const channels = this.#channels
    const key = this.#key
    let clients = channels.get(key)
    if (clients === undefined) {
      const made = new ClientQueues(this.#settings, () => {
        if (made.size === 0) channels.delete(key)
      })
      clients = made
      channels.set(key, made)
    }
    return clients.add(null)
  }
}
