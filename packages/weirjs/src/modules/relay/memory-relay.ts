// A relay within one process: for services of one process, for development, and for tests.

import { createHmac, randomBytes } from 'node:crypto'
import { isInstance, WeirError } from '../../base/errors.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { count, listener } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { ownText } from '../../base/own-text.ts'
import { onceOf } from './publish-once.ts'
import {
  checkSubscribe,
  type Relay,
  type RelayMessage,
  type RelayPublishOptions,
  type RelaySubscribeOptions,
  type RelaySubscription,
} from './relay-option.ts'

export interface MemoryRelayOptions {
  /** How many of the latest messages are kept for each channel. With 0, messages have no ids. Default 1,000. */
  readonly maxLength?: number
  /** Called with what a listener has thrown. Default: it becomes a warning of the process. */
  readonly onError?: (error: unknown) => void
}

const OWNER = 'memoryRelay()'
/** How many messages a subscriber gets in one turn of the event loop: what it does with them takes longer. */
const MOST_AT_ONCE = 1_000
/** @internal */
export const MEMORY_RELAY_RULES = rules<MemoryRelayOptions>(OWNER)({
  maxLength: count().or(1_000),
  onError: listener().or(warn, 'a warning of the process'),
})

/**
 * Returns a relay that reaches the subscribers of this process alone, and keeps messages in its memory. A message that is published is
 * delivered before `publish` resolves. A channel that keeps messages stays in memory until the relay is closed.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function memoryRelay(options: MemoryRelayOptions = {}): Relay {
  const { maxLength, onError } = MEMORY_RELAY_RULES.read(options)
  return new MemoryRelay(maxLength, onError)
}

function checkName(channel: unknown): void {
  if (typeof channel !== 'string' || channel === '') throw invalid(OWNER, `channel is ${shown(channel)}, not a name such as "news"`)
}

function warn(error: unknown): void {
  process.emitWarning(isInstance(error, Error) ? error : `a listener of a relay threw ${String(error)}`)
}

class Channel {
  /** The beginning of each id, so that ids of other channels, or from before a restart of the program, are not known here. */
  readonly prefix: string
  /** The latest messages, and up to a sixteenth more: without the first, a long list moves as a whole. The last one has the number `count`. */
  readonly kept: RelayMessage[] = []
  count = 0
  /** The ids of the last messages that have a name of the program, by that name. */
  readonly named = new Map<string, string>()
  readonly subscriptions = new Set<Subscription>()

  constructor(prefix: string) {
    this.prefix = prefix
  }
}

class MemoryRelay implements Relay {
  readonly #maxLength: number
  readonly #onError: (error: unknown) => void
  readonly #channels = new Map<string, Channel>()
  readonly #secret = randomBytes(16)
  isConnected = true

  constructor(maxLength: number, onError: (error: unknown) => void) {
    this.#maxLength = maxLength
    this.#onError = onError
  }

  async publish(name: string, data: string, options: RelayPublishOptions = {}): Promise<string | null> {
    checkName(name)
    if (typeof data !== 'string') throw invalid(OWNER, `publish: the data is ${kindOf(data)}, not a string`)
    if (!this.isConnected) throw new WeirError('WEIR_RELAY_UNAVAILABLE', 'the relay is closed')
    const once = onceOf(OWNER, options, this.#maxLength > 0)
    const channel = this.#channelOf(name)
    const stored = once === null ? undefined : channel.named.get(once)
    if (stored !== undefined) return stored
    const id = this.#maxLength === 0 ? null : `${channel.prefix}${++channel.count}`
    const message = Object.freeze({ id, data: id === null ? data : ownText(data) })
    if (id !== null) {
      channel.kept.push(message)
      const extra = channel.kept.length - this.#maxLength
      if (extra > this.#maxLength / 16) channel.kept.splice(0, extra)
      if (once !== null) {
        channel.named.set(ownText(once), id)
        keepNewest(channel.named, this.#maxLength)
      }
    }
    let delivered: Promise<void> | null = null
    for (const one of channel.subscriptions) delivered = one.add(message)
    await delivered
    this.#forgetIfUnused(name, channel)
    return id
  }

  subscribe(name: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions = {}): RelaySubscription {
    checkName(name)
    if (typeof listener !== 'function') throw invalid(OWNER, `listener is ${shown(listener)}, not a function`)
    const { after, onGap } = options
    checkSubscribe({ after, onGap }, OWNER)
    const channel = this.#channelOf(name)
    const position = this.#maxLength === 0 ? null : `${channel.prefix}${channel.count}`
    const subscription = new Subscription(listener, onGap, this.#onError, position, () => {
      channel.subscriptions.delete(subscription)
      this.#forgetIfUnused(name, channel)
    })
    if (!this.isConnected) subscription.close()
    else channel.subscriptions.add(subscription)
    subscription.begin(after === undefined ? [] : this.#missedAfter(channel, after))
    return subscription
  }

  async close(): Promise<void> {
    this.isConnected = false
    for (const { subscriptions } of this.#channels.values()) for (const one of subscriptions) one.close()
    this.#channels.clear()
  }

  /** Null is a gap. */
  #missedAfter({ prefix, kept, count }: Channel, after: string): readonly (RelayMessage | null)[] {
    const number = after.startsWith(prefix) ? Number(/^(?:0|[1-9]\d{0,15})$/.exec(after.slice(prefix.length)) ?? -1) : -1
    const length = Math.min(kept.length, this.#maxLength)
    const oldest = count - length + 1
    // The message before the oldest one was dropped, but none after it.
    const isKnown = number >= 0 && number >= oldest - 1 && number <= count
    const missed = kept.slice(kept.length - (isKnown ? count - number : length))
    return isKnown ? missed : [null, ...missed]
  }

  #channelOf(name: string): Channel {
    let channel = this.#channels.get(name)
    if (channel === undefined) {
      // A channel that was forgotten before its first message gets the same prefix again, because subscribers have it as their position.
      channel = new Channel(`${createHmac('sha256', this.#secret).update(name).digest('base64url').slice(0, 12)}-`)
      this.#channels.set(ownText(name), channel)
    }
    return channel
  }

  #forgetIfUnused(name: string, channel: Channel): void {
    if (channel.count === 0 && channel.subscriptions.size === 0 && this.#channels.get(name) === channel) this.#channels.delete(name)
  }
}

class Subscription implements RelaySubscription {
  readonly #listener: (message: RelayMessage) => void
  readonly #onGap: (() => void) | undefined
  readonly #onError: (error: unknown) => void
  readonly #onClose: () => void
  readonly ready: Promise<void>
  #becomeReady: () => void = () => {}
  #failToBeReady: (error: unknown) => void = () => {}
  /** The messages to deliver next; null is a gap. */
  #queue: (RelayMessage | null)[] = []
  #delivery: Promise<void> | null = null
  position: string | null
  #isClosed = false

  constructor(
    listener: (message: RelayMessage) => void,
    onGap: (() => void) | undefined,
    onError: (error: unknown) => void,
    position: string | null,
    onClose: () => void,
  ) {
    this.position = position
    this.#listener = listener
    this.#onGap = onGap
    this.#onError = onError
    this.#onClose = onClose
    this.ready = new Promise((resolve, reject) => {
      this.#becomeReady = resolve
      this.#failToBeReady = reject
    })
    this.ready.catch(() => {}) // the program need not wait for it
  }

  /** Never calls the listener itself: the listener may be publishing. @returns when everything was delivered */
  add(message: RelayMessage): Promise<void> {
    this.#queue.push(message)
    return this.#deliverSoon()
  }

  /** The same for what was missed: a subscriber may need only the first of many messages, and subscribe again for the rest. */
  begin(missed: readonly (RelayMessage | null)[]): void {
    this.#queue = this.#queue.concat(missed)
    void this.#deliverSoon().then(() => this.#becomeReady())
  }

  #deliverSoon(): Promise<void> {
    this.#delivery ??= Promise.resolve().then(() => this.#deliver())
    return this.#delivery
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queue = []
    this.#failToBeReady(new WeirError('WEIR_RELAY_UNAVAILABLE', 'the subscription was closed'))
    this.#onClose()
  }

  /** After so many messages, others come first: a subscriber may have missed everything that is kept. */
  #deliver(): Promise<void> | undefined {
    const queue = this.#queue.splice(0, MOST_AT_ONCE)
    const rest = this.#queue.length === 0 ? undefined : new Promise(setImmediate).then(() => this.#deliver())
    this.#delivery = rest ?? null
    for (const message of queue) {
      if (this.#isClosed) return undefined
      this.position = message?.id ?? this.position
      try {
        if (message === null) this.#onGap?.()
        else this.#listener(message)
      } catch (error) {
        this.#onError(error)
      }
    }
    return rest
  }
}
