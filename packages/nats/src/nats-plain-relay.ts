// A relay over core NATS, which keeps nothing: a process that is disconnected when a message is published misses it.

import { setImmediate } from 'node:timers/promises'
import type { Relay, RelayMessage, RelayPublishOptions, RelaySubscribeOptions, RelaySubscription } from 'weirjs/relay'
import { onceOf } from 'weirjs/relay'

import { NatsChannels } from './nats-channels.ts'
import { checkData, type NatsConnection } from './nats-client.ts'
import { NatsLink, unavailable } from './nats-link.ts'
import { queuedSize, queueFull } from './nats-publisher.ts'
import { subjectToken } from './nats-subject.ts'
import type { NatsSubscription } from './nats-subscription.ts'
import { turn } from './nats-turns.ts'

interface PlainNatsOptions {
  readonly owner: string
  readonly connection: NatsConnection
  readonly prefix: string
  readonly maxQueuedSize: number
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
}

/** The messages of one tick, which one reply of the server confirms. */
interface Batch {
  readonly confirmed: Promise<void>
  readonly refused: Map<string, Error>
  bytes: number
}

export class PlainNatsRelay implements Relay {
  readonly #options: PlainNatsOptions
  readonly #link: NatsLink
  readonly #channels: NatsChannels<PlainChannel>
  readonly #refusals = new Set<Map<string, Error>>()
  #batch: Batch | null = null
  /** Of messages that the client may still hold, because the server has not confirmed them on this connection. */
  #bytes = 0
  /** Flushes without a reply in time. While there is one, nothing more is given to the client. */
  #late = 0

  constructor(options: PlainNatsOptions) {
    this.#options = options
    this.#link = new NatsLink(options.connection, {
      onDown: () => {
        for (const channel of this.#channels) channel.onDown()
      },
      onUp: () => {
        for (const channel of this.#channels) void turn().then(() => channel.begin())
      },
      onClosed: () => this.#channels.end(),
      onRefused: (subject, error) => {
        for (const refused of this.#refusals) refused.set(subject, error)
      },
    })
    this.#channels = new NatsChannels(
      this.#link,
      options.onError,
      (name, onEmpty) => new PlainChannel(options.connection, this.#link, this.#subjectOf(name), onEmpty),
    )
  }

  get isConnected(): boolean {
    return this.#link.isUp
  }

  async publish(channel: string, data: string, options: RelayPublishOptions = {}): Promise<null> {
    onceOf(this.#options.owner, options, false)
    checkData(this.#options, data)
    // While it is away, the client holds what is published, and drops it when it tries to reconnect.
    if (!this.#link.isUp) throw this.#link.error()
    if (this.#late > 0) throw unavailable('NATS does not reply: the message was not published')
    const { maxQueuedSize } = this.#options
    const bytes = queuedSize(data)
    if (this.#bytes + bytes > maxQueuedSize) throw queueFull(maxQueuedSize)
    const subject = this.#subjectOf(channel)
    try {
      this.#options.connection.publish(subject, data)
    } catch (error) {
      throw unavailable('the client refused the message', error)
    }
    const batch = this.#openBatch()
    batch.bytes += bytes
    this.#bytes += bytes
    await batch.confirmed.finally(turn)
    const error = batch.refused.get(subject)
    if (error !== undefined) throw unavailable('the server refused the message', error)
    return null
  }

  subscribe(name: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions = {}): RelaySubscription {
    return this.#channels.subscribe(name, listener, options)
  }

  async close(): Promise<void> {
    this.#link.close()
    this.#channels.end()
  }

  #subjectOf(channel: string): string {
    return `${this.#options.prefix}.plain.${subjectToken(channel)}`
  }

  /** The server replies to a flush after it has read everything that was sent before. */
  #openBatch(): Batch {
    this.#batch ??= this.#confirm()
    return this.#batch
  }

  #confirm(): Batch {
    const confirm = async (): Promise<void> => {
      await null // everything that is published in this tick
      this.#batch = null
      this.#refusals.add(batch.refused)
      try {
        await this.#flush(batch.bytes)
        await setImmediate() // a refusal arrives before the reply, and is told later
      } finally {
        this.#refusals.delete(batch.refused)
      }
    }
    const batch: Batch = { confirmed: confirm(), refused: new Map(), bytes: 0 }
    return batch
  }

  /** @param bytes of the messages, which count until the reply: the client holds them, however late it comes */
  async #flush(bytes: number): Promise<void> {
    const { connection, timeoutMs } = this.#options
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isLate = true
        this.#late++
        reject(unavailable(`NATS did not reply within ${timeoutMs} ms: the message may have been published`))
      }, timeoutMs)
      timer.unref()
    })
    const replied = this.#link
      .whileUp(() => connection.flush())
      .finally(() => {
        this.#bytes -= bytes
        if (isLate) this.#late--
      })
    try {
      await Promise.race([replied, late])
    } catch (error) {
      throw unavailable('the connection to NATS was lost: the message may have been published', error)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** One subscription in NATS for all subscribers of a channel in this process. */
class PlainChannel {
  readonly #connection: NatsConnection
  readonly #link: NatsLink
  readonly #onEmpty: () => void
  readonly #unsubscribe: () => void
  readonly #all = new Set<NatsSubscription>()
  /** The subscriptions to tell about a gap when it is over. */
  readonly #gaps = new Set<NatsSubscription>()
  /** The server has confirmed the subscription, on the present connection. */
  #isActive = false

  constructor(connection: NatsConnection, link: NatsLink, subject: string, onEmpty: () => void) {
    this.#connection = connection
    this.#link = link
    this.#onEmpty = onEmpty
    const subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) this.end(unavailable('the server refused the subscription', error))
        else this.#hear(message.string())
      },
    })
    this.#unsubscribe = () => subscription.unsubscribe()
    void this.begin()
  }

  add(subscription: NatsSubscription, after: string | undefined): void {
    this.#all.add(subscription)
    if (after !== undefined) this.#gaps.add(subscription)
    subscription.onClose = () => {
      this.#all.delete(subscription)
      this.#gaps.delete(subscription)
      if (this.#all.size > 0) return
      this.#onEmpty()
      this.#unsubscribe()
    }
    if (this.#isActive) queueMicrotask(() => this.#activate()) // no listener is called inside subscribe()
  }

  onDown(): void {
    this.#isActive = false
    for (const one of this.#all) this.#gaps.add(one)
  }

  /** Waits until the server has read the subscription, or the connection is lost. */
  async begin(): Promise<void> {
    try {
      await this.#link.whileUp(() => this.#connection.flush().then(turn))
    } catch {
      return // it begins again when the client has reconnected
    }
    this.#isActive = true
    this.#activate()
  }

  end(error: unknown): void {
    for (const one of [...this.#all]) one.end(error)
  }

  #activate(): void {
    if (!this.#isActive) return
    this.#tellGaps()
    for (const one of this.#all) one.becomeReady()
  }

  #hear(data: string): void {
    this.#tellGaps()
    const message: RelayMessage = Object.freeze({ id: null, data })
    for (const one of [...this.#all]) one.hear(message)
  }

  #tellGaps(): void {
    for (const one of this.#gaps) {
      this.#gaps.delete(one)
      one.hearGap()
    }
  }
}
