// A relay in Redis, whatever its kind: names of keys, local subscribers, and whether it is connected.

import type { Size } from 'weirjs'
import { type Clock, invalid, isInstance, kindOf, option, shown, systemClock } from 'weirjs/kit'
import type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'
import { checkSubscribe, onceOf } from 'weirjs/relay'
import { RedisAccess } from '../client/redis-access.ts'
import { type RedisSubscribingClient, subscriberSourceOf } from '../client/redis-subscriber.ts'

import { type RedisChannel, RedisChannels } from './redis-channels.ts'
import { RedisOutbox } from './redis-outbox.ts'
import type { LiveMessage, RedisSubscription, SubscriptionEvents } from './redis-subscription.ts'

const { forTests, func, listener, size, text } = option

/** The options that both kinds have. */
export interface RedisMessengerOptions {
  /** The beginning of all keys and channels in Redis. Relays with the same prefix share their channels. Default `weir:relay:`. */
  readonly prefix?: string
  /** How many bytes of messages may wait for Redis. Each message counts 200 more. When exceeded, `publish` rejects. Default 16 MiB. */
  readonly maxQueuedSize?: Size
  /**
   * Called when messages no longer reach other processes, and when they do again.
   *
   * @param error the reason; null when they do again
   */
  readonly onChange?: (isDegraded: boolean, error: unknown) => void
  /** Called with what a listener has thrown. Default: it becomes a warning of the process. */
  readonly onError?: (error: unknown) => void
  /** For tests. Default: the system's clock. */
  readonly clock?: Clock
}

/** The keys of a channel, which are in one slot of a cluster, and its name for subscribers. */
interface ChannelNames {
  readonly state: string
  readonly name: string
}

/** The differences between the kinds of relays. */
interface MessengerKind {
  /** The end of the names of its keys and channels: relays of different kinds do not meet. */
  readonly suffix: string
  readonly timeoutMs: number
  readonly retries: boolean
  readonly keeps: boolean
  /** Parses what the script of `send` has published. Null: it was published by another program. */
  parse(text: string): LiveMessage | null
  send(
    access: RedisAccess,
    channel: ChannelNames,
    publishing: { readonly command: string; readonly publisherKey: string; readonly number: number },
    batch: readonly string[],
    once: readonly (string | null)[],
  ): Promise<readonly (string | null)[]>
  /** Called for the first of several subscribers of a channel. */
  open(access: RedisAccess, channel: ChannelNames): Subscribe
}

type Subscribe = (
  listener: (message: RelayMessage) => void,
  options: RelaySubscribeOptions,
  events: SubscriptionEvents,
) => RedisSubscription

/** @internal */
export const MESSENGER_RULES = {
  prefix: text().or('weir:relay:'),
  maxQueuedSize: size({ least: 1 }).or('16MiB'),
  onChange: func().optional('nothing'),
  onError: listener().or(warn, 'a warning of the process'),
  clock: forTests(),
}

interface MessengerSettings {
  readonly prefix: string
  readonly maxQueuedSize: number
  readonly onChange: ((isDegraded: boolean, error: unknown) => void) | undefined
  readonly onError: (error: unknown) => void
  readonly clock: Clock | undefined
}

/** How long Redis has for an attempt to publish, and for reading. */
const ATTEMPT_MS = 1_000
/** Publishers wait for Redis in any case, so Redis is probed soon. */
const PAUSE_MS = 500
/** How long a published message may take to arrive before the connection counts as dead. */
const ARRIVAL_MS = 1_000

export class RedisMessenger implements Relay {
  readonly #owner: string
  readonly #kind: MessengerKind
  readonly #prefix: string
  readonly #access: RedisAccess
  readonly #clock: Clock
  readonly #outbox: RedisOutbox
  readonly #channels: RedisChannels
  readonly #keyPrefix: string
  readonly #local = new Map<string, LocalChannel>()
  readonly #onChange: ((isDegraded: boolean, error: unknown) => void) | undefined
  readonly #onError: (error: unknown) => void
  #isTold = false
  #isClosed = false

  /** @throws WEIR_OPTION_INVALID */
  constructor(owner: string, client: RedisSubscribingClient, settings: MessengerSettings, publisher: string, kind: MessengerKind) {
    const { prefix, maxQueuedSize, onChange, onError, clock = systemClock } = settings
    const source = subscriberSourceOf(owner, client)
    this.#owner = owner
    this.#kind = kind
    this.#prefix = prefix
    this.#onChange = onChange
    this.#onError = onError
    this.#clock = clock
    this.#keyPrefix = source.keyPrefix
    const changed = (error: unknown): void => this.#tell(error)
    this.#access = new RedisAccess(owner, client, {
      timeoutMs: Math.min(ATTEMPT_MS, kind.timeoutMs),
      pauseMs: PAUSE_MS,
      onChange: (_, error) => changed(error),
      clock,
    })
    this.#channels = new RedisChannels(source, clock, changed)
    const command = source.isSharded ? 'SPUBLISH' : 'PUBLISH'
    this.#outbox = new RedisOutbox({
      access: this.#access,
      clock,
      timeoutMs: kind.timeoutMs,
      retries: kind.retries,
      maxQueuedSize,
      send: (channel, number, batch, once) => {
        const names = this.#namesOf(channel)
        return kind.send(this.#access, names, { command, publisherKey: `${names.state}:${publisher}`, number }, batch, once)
      },
    })
  }

  get isConnected(): boolean {
    return !this.#isClosed && !this.#access.isDegraded && this.#channels.isConnected
  }

  async publish(channel: string, data: string, options: RelayPublishOptions = {}): Promise<string | null> {
    this.#checkName(channel)
    if (typeof data !== 'string') throw invalid(this.#owner, `publish: the data is ${kindOf(data)}, not a string`)
    return this.#outbox.publish(channel, data, onceOf(this.#owner, options, this.#kind.keeps))
  }

  subscribe(channel: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions = {}): RelaySubscription {
    this.#checkName(channel)
    if (typeof listener !== 'function') throw invalid(this.#owner, `listener is ${shown(listener)}, not a function`)
    checkSubscribe(options, this.#owner)
    const names = this.#namesOf(channel)
    const { name } = names
    const existing = this.#local.get(name)
    const local =
      existing ??
      new LocalChannel(
        this.#clock,
        this.#kind.parse,
        this.#kind.open(this.#access, names),
        () => this.#channels.replace(),
        () => {
          this.#local.delete(name)
          this.#channels.remove(name)
        },
      )
    const subscription = local.subscribe(listener, options, {
      onError: this.#onError,
      onHole: () => this.#channels.verify(name),
    })
    if (this.#isClosed) subscription.close()
    else if (existing === undefined) {
      this.#local.set(name, local)
      this.#channels.add(name, local)
    } else if (this.#channels.isActive(name)) this.#channels.verify(name)
    return subscription
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#outbox.close()
    for (const local of [...this.#local.values()]) local.close()
    this.#channels.close()
  }

  #namesOf(channel: string): ChannelNames {
    // The braces make the channel the part that decides the slot, so the channel itself may not contain braces. Half a surrogate pair has no bytes.
    const name = channel.replace(/[%{}]|\p{Surrogate}/gu, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`)
    const state = `${this.#prefix}{${name}}:${this.#kind.suffix}`
    return { state, name: this.#keyPrefix + state }
  }

  #checkName(channel: unknown): void {
    if (typeof channel !== 'string' || channel === '') throw invalid(this.#owner, `channel is ${shown(channel)}, not a name such as "news"`)
  }

  #tell(error: unknown): void {
    const isDegraded = !this.isConnected
    if (isDegraded === this.#isTold || this.#isClosed) return
    this.#isTold = isDegraded
    try {
      this.#onChange?.(isDegraded, isDegraded ? error : null)
    } catch (failure) {
      process.emitWarning(failure as Error)
    }
  }
}

/** The subscribers of a channel in this process. */
class LocalChannel implements RedisChannel {
  readonly #clock: Clock
  readonly #parse: (text: string) => LiveMessage | null
  readonly #subscribe: Subscribe
  readonly #onDeaf: () => void
  readonly #onEmpty: () => void
  readonly #subscriptions = new Set<RedisSubscription>()
  /** Since when a published message has been known that has not arrived; null if there is none. */
  #missingSince: number | null = null

  constructor(clock: Clock, parse: (text: string) => LiveMessage | null, subscribe: Subscribe, onDeaf: () => void, onEmpty: () => void) {
    this.#clock = clock
    this.#parse = parse
    this.#subscribe = subscribe
    this.#onDeaf = onDeaf
    this.#onEmpty = onEmpty
  }

  subscribe(
    listener: (message: RelayMessage) => void,
    options: RelaySubscribeOptions,
    events: Omit<SubscriptionEvents, 'onClose'>,
  ): RelaySubscription {
    const onClose = (closed: RedisSubscription): void => {
      this.#subscriptions.delete(closed)
      if (this.#subscriptions.size === 0) this.#onEmpty()
    }
    const subscription = this.#subscribe(listener, options, { ...events, onClose })
    this.#subscriptions.add(subscription)
    return subscription
  }

  close(): void {
    for (const subscription of [...this.#subscriptions]) subscription.close()
  }

  onMessage(text: string): void {
    const live = this.#parse(text)
    if (live === null) return
    this.#missingSince = null
    for (const subscription of this.#subscriptions) subscription.onLive(live)
  }

  async verify(isFresh: boolean): Promise<void> {
    const now = this.#clock.now()
    if (isFresh) this.#missingSince = null
    else if (this.#missingSince !== null && now - this.#missingSince >= ARRIVAL_MS) {
      this.#missingSince = null
      this.#onDeaf()
    }
    const found = await Promise.all([...this.#subscriptions].map((subscription) => subscription.catchUp()))
    if (!isFresh && found.includes(true)) this.#missingSince = now
  }
}

function warn(error: unknown): void {
  process.emitWarning(isInstance(error, Error) ? error : `a listener of a relay threw ${String(error)}`)
}
