// Events for one user, or for anything else that a key stands for, whose clients may be connected to any machine.

import { type Clock, systemClock } from '../../base/clock.ts'
import type { HttpSession } from '../../http/session.ts'
import type { Relay, RelayPublishOptions } from '../relay/relay-option.ts'
import { checkKey } from './channels.ts'
import type { EncodedEvent } from './event.ts'
import type { RelayEvent } from './event-envelope.ts'
import { SseFeed } from './feed.ts'
import { keyedChannel } from './keyed-channel.ts'
import { LiveFeed } from './live-feed.ts'
import { checkedFeed, publishEvent, type RelayChannelOptions } from './relay-channel.ts'

const OWNER = 'relayChannels()'
/** There may be as many keys as clients. Older events are read from the relay. */
const RECENT_BYTES = 16 * 1024

/**
 * Returns a channel over a relay for each key, such as the id of a user: `sse(session, channels.of(user.id))`, and
 * `channels.publish(user.id, event)` on any machine. The relay is listened to while a key has clients here. A client that reconnects to any
 * machine gets what it has missed, as long as the relay keeps it. Create it once, not for each request.
 *
 * @param name of the channels. Processes with the same relay and the same name share them
 * @throws WEIR_OPTION_INVALID; WEIR_RESULT_UNSENDABLE for a `gapEvent` that cannot be sent
 */
export function relayChannels(relay: Relay, name: string, options: RelayChannelOptions = {}): RelayChannels {
  return new RelayChannels(relay, name, options, systemClock)
}

/** What `relayChannels` returns. */
export class RelayChannels {
  readonly #relay: Relay
  readonly #name: string
  readonly #make: (key: string) => LiveFeed
  /** The channels that have clients here. */
  readonly #feeds = new Map<string, LiveFeed>()

  /** @internal */
  constructor(relay: Relay, name: string, options: RelayChannelOptions, clock: Clock) {
    const settings = checkedFeed(OWNER, relay, name, options)
    this.#relay = relay
    this.#name = name
    this.#make = (key) => {
      const onUnused = (): void => void this.#feeds.delete(key)
      return new LiveFeed({ ...settings, name: this.#channelOf(key), clock, recentBytes: RECENT_BYTES, onUnused })
    }
  }

  /** The number of keys that clients of this process listen to. */
  get size(): number {
    return this.#feeds.size
  }

  /**
   * The source of events for one key. Who may listen to a key is for the handler to check.
   * @throws WEIR_OPTION_INVALID for a key that is not a string, or empty
   */
  of(key: string): SseFeed {
    checkKey(OWNER, key)
    return new KeyFeed(this.#feeds, key, this.#make)
  }

  /**
   * Sends an event to the clients of a key on all machines. Resolves when the relay has it.
   *
   * @param event a string is the data of an event
   * @param options `once`: an id of the program, so that the event is stored once although it is published again
   * @returns its id; null if the relay keeps no messages
   * @throws (rejects) WEIR_RESULT_UNSENDABLE for an event that cannot be sent; WEIR_OPTION_INVALID for one with another member, such as an
   * id, and for a key that is not a string, or empty; WEIR_RELAY_UNAVAILABLE if the relay is away or too much waits for it
   */
  async publish(key: string, event: RelayEvent | string, options: RelayPublishOptions = {}): Promise<string | null> {
    checkKey(OWNER, key)
    return publishEvent(this.#relay, this.#channelOf(key), event, options)
  }

  /** Ends the streams of a key's clients in this process once they have read what is queued. They may connect again. */
  end(key: string): void {
    this.#feeds.get(key)?.finish()
  }

  /** The same for all keys. */
  endAll(): void {
    for (const feed of this.#feeds.values()) feed.finish()
  }

  #channelOf(key: string): string {
    return keyedChannel('keyed events', this.#name, key)
  }
}

/** The channel of a key, which exists while it has clients here. */
class KeyFeed extends SseFeed {
  readonly #feeds: Map<string, LiveFeed>
  readonly #key: string
  readonly #make: (key: string) => LiveFeed

  constructor(feeds: Map<string, LiveFeed>, key: string, make: (key: string) => LiveFeed) {
    super()
    this.#feeds = feeds
    this.#key = key
    this.#make = make
  }

  get size(): number {
    return this.#feeds.get(this.#key)?.size ?? 0
  }

  subscribe(lastEventId: string | null, session?: HttpSession): AsyncIterable<EncodedEvent> {
    let feed = this.#feeds.get(this.#key)
    if (feed === undefined) {
      feed = this.#make(this.#key)
      this.#feeds.set(this.#key, feed)
    }
    return feed.listen(lastEventId, session?.clientAddress ?? '')
  }
}
