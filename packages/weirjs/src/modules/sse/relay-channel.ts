// Server-sent events across machines: what one process publishes, the clients of all get.

import { type Clock, systemClock } from '../../base/clock.ts'
import { WeirError } from '../../base/errors.ts'
import { kindOf } from '../../base/kind-of.ts'
import { anything, listener, object } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { HttpSession } from '../../http/session.ts'
import { checkedRelay, type Relay, type RelayPublishOptions } from '../relay/relay-option.ts'
import { QUEUE_RULES, type SseQueueOptions } from './client-queues.ts'
import { EncodedEvent, type SseEvent } from './event.ts'
import { encodeEnvelope, type RelayEvent } from './event-envelope.ts'
import { SseFeed } from './feed.ts'
import { LiveFeed } from './live-feed.ts'

export interface RelayChannelOptions extends SseQueueOptions {
  /**
   * The event that a client gets when it may have lost events: events after the last one that it saw are no longer kept, or the relay was away and
   * keeps none. It comes before the next event, and must not have an id. Default `{ event: 'gap', data: '' }`.
   */
  readonly gapEvent?: SseEvent
  /** Called once, with the first message of the channel that is not an event: other programs use its name. Default: it is not reported. */
  readonly onError?: (error: unknown) => void
}

const OWNER = 'relayChannel()'
/** @internal */
export const RELAY_CHANNEL_RULES = rules<RelayChannelOptions>(OWNER)({
  ...QUEUE_RULES,
  gapEvent: object().or({ event: 'gap', data: '' }, "{ event: 'gap', data: '' }"),
  onError: listener().or(() => {}, 'nothing'),
})
/** @internal */
export const RELAY_EVENT_RULES = rules<RelayEvent>('publish()')({ data: anything().optional(), event: anything().optional() })

/**
 * Returns a source for `sse(session, source)`. What is published on any machine reaches the clients of all, in one order. A client that
 * reconnects to any machine gets what it has missed, as long as the relay keeps it. Create it once, not for each request. Who may listen is
 * for the handler to check.
 *
 * @param name of the relay's channel. Processes with the same relay and the same name share the channel
 * @throws WEIR_OPTION_INVALID; WEIR_RESULT_UNSENDABLE for a `gapEvent` that cannot be sent
 */
export function relayChannel(relay: Relay, name: string, options: RelayChannelOptions = {}): RelayChannel {
  return new RelayChannel(relay, name, options, systemClock)
}

/** The checked settings of a channel over a relay. @throws WEIR_OPTION_INVALID; WEIR_RESULT_UNSENDABLE @internal */
export function checkedFeed(owner: string, relay: Relay, name: string, options: RelayChannelOptions) {
  checkedRelay(relay, owner)
  if (typeof name !== 'string') throw invalid(owner, `the name is ${kindOf(name)}, not a string`)
  const { gapEvent, onError, ...queues } = RELAY_CHANNEL_RULES.read(options, owner)
  if (gapEvent.id !== undefined) throw invalid(owner, 'gapEvent has an id, after which clients would resume: leave the id out')
  return { relay, queues, gap: new EncodedEvent(gapEvent), onError }
}

/** @throws WEIR_RESULT_UNSENDABLE; WEIR_OPTION_INVALID for another member, such as an id @internal */
export function publishEvent(
  relay: Relay,
  channel: string,
  event: RelayEvent | string,
  options: RelayPublishOptions,
): Promise<string | null> {
  const given = typeof event === 'string' ? { data: event } : event
  RELAY_EVENT_RULES.read(given)
  return relay.publish(channel, encodeEnvelope(given), options)
}

/** A source of events for clients on all machines. Listens to the relay while it has clients here. */
export class RelayChannel extends SseFeed {
  readonly #relay: Relay
  readonly #name: string
  readonly #feed: LiveFeed
  #isClosed = false

  /** @internal */
  constructor(relay: Relay, name: string, options: RelayChannelOptions, clock: Clock) {
    super()
    const settings = checkedFeed(OWNER, relay, name, options)
    this.#relay = relay
    this.#name = `events ${name}`
    this.#feed = new LiveFeed({ ...settings, name: this.#name, clock })
  }

  /** The number of clients that listen in this process. */
  get size(): number {
    return this.#feed.size
  }

  /**
   * Sends an event to the clients of all machines. Resolves when the relay has it.
   *
   * @param event a string is the data of an event
   * @param options `once`: an id of the program, so that the event is stored once although it is published again
   * @returns its id; null if the relay keeps no messages
   * @throws (rejects) WEIR_RESULT_UNSENDABLE for an event that cannot be sent; WEIR_OPTION_INVALID for one with another member, such as an
   * id; WEIR_RELAY_UNAVAILABLE if the relay is away or too much waits for it, and after `close`
   */
  async publish(event: RelayEvent | string, options: RelayPublishOptions = {}): Promise<string | null> {
    if (this.#isClosed) throw new WeirError('WEIR_RELAY_UNAVAILABLE', 'the channel is closed')
    return publishEvent(this.#relay, this.#name, event, options)
  }

  /** Ends the streams of the clients of this process once they have read what is queued. The channel stays usable. */
  endAll(): void {
    this.#feed.finish()
  }

  /** Ends the streams as `endAll` does, and ends the streams of clients that connect later immediately. Ends the subscription; the relay stays open. */
  close(): void {
    this.#isClosed = true
    this.#feed.close()
  }

  /** @internal */
  subscribe(lastEventId: string | null, session?: HttpSession): AsyncIterable<EncodedEvent> {
    return this.#feed.listen(lastEventId, session?.clientAddress ?? '')
  }
}
