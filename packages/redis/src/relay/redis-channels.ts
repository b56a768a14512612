// The channels of a relay in Redis: one connection for all of them, one subscription for each, and the search for what was missed.

import type { Clock } from 'weirjs/kit'
import type { RedisSubscriber, SubscriberSource } from '../client/redis-subscriber.ts'

/** A channel that has subscribers in this process. */
export interface RedisChannel {
  onMessage(text: string): void
  /**
   * Finds out from Redis whether messages were missed, and makes up for them if Redis has them. Called when a subscription has been confirmed,
   * and again from time to time.
   *
   * @param isFresh whether the subscription has just been confirmed: messages may have been missed before
   * @throws (rejects) if Redis does not reply
   */
  verify(isFresh: boolean): Promise<void>
}

interface Entry {
  readonly name: string
  readonly channel: RedisChannel
  /** Redis has confirmed the subscription, on the present connection. */
  isActive: boolean
  /** Whether it has not been verified since it was confirmed. */
  isFresh: boolean
  /** Whether it waits for the confirmation. */
  isSubscribing: boolean
  /** Which one was asked to subscribe, and may do so again by itself. */
  subscriber: RedisSubscriber | null
  isVerifying: boolean
}

const TICK_MS = 1_000
/** How many channels are verified at a time, and in each tick in turn. */
const MOST_VERIFYING = 64
/** How many channels are subscribed to in one turn of the event loop: Redis may come back for thousands, and each takes about 20 µs. */
const MOST_SUBSCRIBING = 128
/** The least time between two connections that were replaced because messages did not arrive. */
const REPLACE_MS = 5_000
/** A connection that has not confirmed a subscription for this long counts as dead. */
const CONFIRM_MS = 5_000

/**
 * A client may lose a subscription without a word: in a cluster whose slots move, or when a connection is dead but not closed. So every channel
 * is verified in turn, through the program's client, and the connection is replaced if it does not deliver.
 */
export class RedisChannels {
  readonly #source: SubscriberSource
  readonly #clock: Clock
  readonly #onConnection: (error: unknown) => void
  readonly #entries = new Map<string, Entry>()
  readonly #due = new Set<Entry>()
  /** The channels whose `verify` has failed. They are due in the next tick. */
  readonly #failed = new Set<Entry>()
  /** The channels that Redis refuses, because its user may not subscribe to them. */
  readonly #refused = new Set<Entry>()
  /** When the subscriptions without a reply on the present connection were asked for, oldest first, also those of channels that are gone. */
  readonly #asked = new Set<{ readonly at: number }>()
  /** The rest of the current turn. */
  #turn: Iterator<Entry> | null = null
  #subscriber: RedisSubscriber | null = null
  #verifying = 0
  #replacedAt = Number.NEGATIVE_INFINITY
  #stopTicks: (() => void) | null = null

  /** @param onConnection called when the connection was made or lost, and when Redis begins or ceases to refuse a subscription */
  constructor(source: SubscriberSource, clock: Clock, onConnection: (error: unknown) => void) {
    this.#source = source
    this.#clock = clock
    this.#onConnection = onConnection
  }

  /** Whether messages arrive. True while there is nothing to subscribe to. */
  get isConnected(): boolean {
    return this.#subscriber === null || (this.#subscriber.isReady && this.#refused.size === 0)
  }

  isActive(name: string): boolean {
    return this.#entries.get(name)?.isActive === true
  }

  add(name: string, channel: RedisChannel): void {
    const entry: Entry = { name, channel, isActive: false, isFresh: true, isSubscribing: false, subscriber: null, isVerifying: false }
    this.#entries.set(name, entry)
    this.#stopTicks ??= this.#clock.every(TICK_MS, () => this.#tick())
    if (this.#subscriber === null) this.#open()
    else if (this.#subscriber.isReady) this.#subscribe(entry)
  }

  remove(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#forget(entry)
    this.#entries.delete(name)
    // A connection that is lost has no subscriptions. A client without a connection keeps each command until it has one.
    if (entry.subscriber === this.#subscriber) entry.subscriber?.unsubscribe(name).catch(() => {})
    this.#rest()
  }

  #rest(): void {
    if (this.#entries.size > 0 || this.#asked.size > 0) return
    this.#stopTicks?.()
    this.#stopTicks = null
  }

  /** Verifies the channel as soon as possible. */
  verify(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#due.add(entry)
    this.#verifyDue()
  }

  /** Opens a new connection: this one does not deliver. */
  replace(): void {
    const now = this.#clock.now()
    if (now - this.#replacedAt < REPLACE_MS) return
    this.#replacedAt = now
    this.#open()
  }

  close(): void {
    this.#stopTicks?.()
    this.#stopTicks = null
    this.#entries.clear()
    this.#asked.clear()
    this.#due.clear()
    this.#failed.clear()
    this.#refused.clear()
    this.#subscriber?.close()
    this.#subscriber = null
  }

  #open(): void {
    this.#subscriber?.close()
    this.#deactivate()
    this.#subscriber = this.#source.open({
      onMessage: (name, text) => this.#entries.get(name)?.channel.onMessage(text),
      onReady: () => {
        this.#deactivate()
        this.#subscribeMissing()
        this.#onConnection(null)
      },
      onLost: (error) => {
        this.#deactivate()
        this.#onConnection(error)
      },
    })
  }

  #deactivate(): void {
    this.#asked.clear()
    for (const entry of this.#entries.values()) {
      entry.isActive = false
      entry.isSubscribing = false
    }
  }

  #subscribe(entry: Entry): void {
    const subscriber = this.#subscriber
    if (subscriber === null) return
    entry.isActive = false
    entry.isSubscribing = true
    entry.subscriber = subscriber
    const asked = { at: this.#clock.now() }
    this.#asked.add(asked)
    /** @returns whether anyone still waits for it */
    const settle = (): boolean => {
      this.#asked.delete(asked)
      return this.#subscriber === subscriber && this.#entries.get(entry.name) === entry && entry.isSubscribing
    }
    subscriber.subscribe(entry.name).then(
      () => {
        if (!settle()) return
        entry.isSubscribing = false
        entry.isActive = true
        entry.isFresh = true
        this.#due.add(entry)
        this.#verifyDue()
        if (this.#refused.delete(entry)) this.#onConnection(null)
      },
      (error: unknown) => {
        if (!settle()) return
        entry.isSubscribing = false // it is tried again in the next tick, or when the connection is there
        if (!subscriber.isReady) return
        this.#refused.add(entry)
        this.#onConnection(error)
      },
    )
  }

  #tick(): void {
    if (this.#subscriber?.hasEnded === true) this.#open()
    else this.#subscribeMissing()
    if (this.#isDead) this.replace()
    for (const entry of this.#failed) this.#due.add(entry)
    this.#failed.clear()
    // A turn ends before it begins again: a channel is not verified twice in a tick.
    this.#turn ??= this.#entries.values()
    for (let i = 0; i < MOST_VERIFYING; i++) {
      const { done, value } = this.#turn.next()
      if (done === true) {
        this.#turn = null
        break
      }
      if (value.isActive) this.#due.add(value)
    }
    this.#verifyDue()
    this.#rest()
  }

  /** Whether a subscription has not been confirmed for too long. */
  get #isDead(): boolean {
    const [oldest] = this.#asked
    return oldest !== undefined && oldest.at <= this.#clock.now() - CONFIRM_MS
  }

  /** @param rest the entries to look at. An iterator of a Map goes on where a loop has left it */
  #subscribeMissing(rest: MapIterator<Entry> = this.#entries.values(), subscriber: RedisSubscriber | null = this.#subscriber): void {
    if (this.#subscriber !== subscriber || subscriber?.isReady !== true) return
    let most = MOST_SUBSCRIBING
    for (const entry of rest) {
      if (entry.isActive || entry.isSubscribing) continue
      this.#subscribe(entry)
      if (--most > 0) continue
      setImmediate(() => this.#subscribeMissing(rest, subscriber))
      return
    }
  }

  #verifyDue(): void {
    for (const entry of this.#due) {
      if (this.#verifying >= MOST_VERIFYING) return
      if (entry.isVerifying) continue // when the verification has ended, it is verified again
      this.#due.delete(entry)
      entry.isVerifying = true
      this.#verifying++
      const { isFresh } = entry
      entry.isFresh = false
      entry.channel.verify(isFresh).then(
        () => this.#endVerify(entry),
        () => {
          entry.isFresh ||= isFresh
          if (this.#entries.get(entry.name) === entry) this.#failed.add(entry)
          this.#endVerify(entry)
        },
      )
    }
  }

  #endVerify(entry: Entry): void {
    entry.isVerifying = false
    this.#verifying--
    this.#verifyDue()
  }

  #forget(entry: Entry): void {
    this.#due.delete(entry)
    this.#failed.delete(entry)
    if (this.#refused.delete(entry)) this.#onConnection(null)
  }
}
