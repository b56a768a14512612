// The channels of this process, for both relays over NATS: a channel is created for its first subscription, and removed with its last.

import type { RelayMessage, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'

import { type NatsLink, unavailable } from './nats-link.ts'
import { NatsSubscription } from './nats-subscription.ts'

/** Delivers the messages of a channel to its subscriptions. */
interface Channel {
  /** @param after the id after which the subscription wants to hear everything */
  add(subscription: NatsSubscription, after: string | undefined): void
  end(error: unknown): void
}

export class NatsChannels<C extends Channel> {
  readonly #link: NatsLink
  readonly #onError: (error: unknown) => void
  readonly #open: (name: string, onEmpty: () => void) => C
  readonly #all = new Map<string, C>()

  constructor(link: NatsLink, onError: (error: unknown) => void, open: (name: string, onEmpty: () => void) => C) {
    this.#link = link
    this.#onError = onError
    this.#open = open
  }

  [Symbol.iterator](): Iterator<C> {
    return this.#all.values()
  }

  subscribe(name: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions): RelaySubscription {
    const subscription = new NatsSubscription(listener, options, this.#onError)
    if (this.#link.isOver) {
      subscription.end(this.#link.error())
      return subscription
    }
    try {
      const channel = this.#all.get(name) ?? this.#added(name)
      channel.add(subscription, options.after)
    } catch (error) {
      subscription.end(unavailable('the client refused the subscription', error))
    }
    return subscription
  }

  /** Ends all subscriptions, because the connection is over. */
  end(): void {
    for (const channel of [...this]) channel.end(this.#link.error())
  }

  #added(name: string): C {
    const channel = this.#open(name, () => {
      if (this.#all.get(name) === channel) this.#all.delete(name)
    })
    this.#all.set(name, channel)
    return channel
  }
}
