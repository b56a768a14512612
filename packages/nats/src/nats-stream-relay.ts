// A relay over JetStream, which keeps messages: a subscriber that was away receives what was published meanwhile.

import type { Clock } from 'weirjs/kit'
import type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'
import { onceOf } from 'weirjs/relay'
import { NatsChannels } from './nats-channels.ts'
import { checkData, type NatsConnection } from './nats-client.ts'
import { NatsFeed } from './nats-feed.ts'
import { NatsLink } from './nats-link.ts'
import { NatsPublisher } from './nats-publisher.ts'
import { NatsStream, type NatsStreamOptions, type StreamState } from './nats-stream.ts'
import { turn } from './nats-turns.ts'

interface NatsStreamRelayOptions extends NatsStreamOptions {
  readonly connection: NatsConnection
  readonly clock: Clock
  readonly maxQueuedSize: number
  readonly onError: (error: unknown) => void
}

/**
 * A message can be lost between the servers of a cluster. The next message of its channel shows that. Without one, the loss is noticed within this
 * time.
 */
const VERIFY_MS = 30_000

export class NatsStreamRelay implements Relay {
  readonly #options: NatsStreamRelayOptions
  readonly #link: NatsLink
  readonly #stream: NatsStream
  readonly #publisher: NatsPublisher
  readonly #feeds: NatsChannels<NatsFeed>
  readonly #stopVerifying: () => void
  /** Whether the stream existed on the current connection. */
  #hasStream = false

  constructor(options: NatsStreamRelayOptions) {
    this.#options = options
    const { clock, connection, jetstream, maxQueuedSize, timeoutMs } = options
    this.#link = new NatsLink(connection, {
      onDown: () => {
        this.#hasStream = false
        this.#publisher.onDown()
        this.#settle()
      },
      onUp: () => {
        void this.#begin()
        this.#publisher.open()
      },
      onClosed: () => this.#end(),
    })
    this.#stream = new NatsStream(options, this.#link, () => this.#settle())
    this.#feeds = new NatsChannels(
      this.#link,
      options.onError,
      (channel, onEmpty) => new NatsFeed({ channel, connection, link: this.#link, stream: this.#stream, onEmpty }),
    )
    const prepare = async (): Promise<void> => void (await this.#look())
    this.#publisher = new NatsPublisher({ clock, jetstream, link: this.#link, maxQueuedSize, prepare, timeoutMs })
    this.#stopVerifying = clock.every(VERIFY_MS, () => void this.#verify())
    void this.#begin()
  }

  get isConnected(): boolean {
    return this.#link.isUp && this.#hasStream
  }

  async publish(channel: string, data: string, options: RelayPublishOptions = {}): Promise<string> {
    checkData(this.#options, data)
    const once = onceOf(this.#options.owner, options, true)
    return String(await this.#publisher.publish(this.#stream.subjectOf(channel), data, once).finally(turn))
  }

  subscribe(channel: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions = {}): RelaySubscription {
    return this.#feeds.subscribe(channel, listener, options)
  }

  async close(): Promise<void> {
    this.#link.close()
    this.#end()
  }

  #settle(): void {
    for (const feed of this.#feeds) feed.settle()
  }

  async #look(): Promise<StreamState> {
    const state = await this.#stream.state()
    this.#hasStream = true
    return state
  }

  async #begin(): Promise<void> {
    try {
      await this.#look()
    } catch {} // publish and `ready` tell why
  }

  async #verify(): Promise<void> {
    try {
      const { last } = await this.#look()
      await Promise.all([...this.#feeds].map((feed) => turn().then(() => feed.verify(last))))
    } catch {} // the next turn may succeed
  }

  #end(): void {
    this.#stopVerifying()
    this.#publisher.close(this.#link.error())
    this.#feeds.end()
  }
}
