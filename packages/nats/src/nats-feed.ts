// A channel of a relay over JetStream that has subscribers in this process: one subscription in NATS for all of them. Missed messages are read from
// the stream.

import type { RelayMessage } from 'weirjs/relay'
import { BEFORE_FIRST } from 'weirjs/relay'
import type { NatsConnection, NatsMessage } from './nats-client.ts'
import { type NatsLink, unavailable } from './nats-link.ts'
import type { NatsStream, StreamState } from './nats-stream.ts'
import type { NatsSubscription } from './nats-subscription.ts'
import { turn } from './nats-turns.ts'

/** A message that this channel has heard. */
interface Heard {
  readonly seq: number
  /** The channel has no other message between this sequence and the message. */
  readonly after: number
  readonly message: RelayMessage
}

/** The latest messages of a channel stay in memory, for clients that have been away for a moment. */
const MOST_RECENT = 256
const MOST_RECENT_CHARACTERS = 256 * 1024
/** How many messages that arrive while missed ones are being read are kept. Older ones are read from the stream too. */
const MOST_FRESH = 4_096
const PAUSE_MS = 500
const SEQUENCE = /^[1-9]\d{0,15}$/

interface NatsFeedOptions {
  readonly channel: string
  readonly connection: NatsConnection
  readonly link: NatsLink
  readonly stream: NatsStream
  /** Called when there is no listener any more. */
  readonly onEmpty: () => void
}

export class NatsFeed {
  readonly #link: NatsLink
  readonly #stream: NatsStream
  readonly #onEmpty: () => void
  readonly #subject: string
  readonly #unsubscribe: () => void
  readonly #all = new Set<NatsSubscription>()
  /** The subscriptions that have received everything up to `#position`. */
  readonly #live = new Set<NatsSubscription>()
  /** Subscriptions that begin with the next published message, as soon as the feed is live. */
  readonly #beginning = new Set<NatsSubscription>()
  /** The sequence up to which all messages of the channel have been handed out; -1 before the feed has begun. */
  #position = -1
  #created = ''
  /** The messages that were delivered last, and those that have arrived and wait for missed ones before them. */
  #recent: Heard[] = []
  #recentCharacters = 0
  #fresh: Heard[] = []
  #isLive = false
  /** Resolves when the feed is live, or has ended. */
  #settling: Promise<void> | null = null
  /** Counts the reasons to settle, because another one may arise meanwhile. */
  #alarms = 0
  #isClosed = false

  constructor({ channel, connection, link, onEmpty, stream }: NatsFeedOptions) {
    this.#link = link
    this.#stream = stream
    this.#onEmpty = onEmpty
    this.#subject = stream.subjectOf(channel)
    const subscription = connection.subscribe(stream.liveSubjectOf(channel), {
      callback: (error, message) => {
        if (error !== null) this.end(unavailable('the server refused the subscription', error))
        else this.#arrive(message)
      },
    })
    this.#unsubscribe = () => subscription.unsubscribe()
    this.settle()
  }

  add(subscription: NatsSubscription, after: string | undefined): void {
    this.#all.add(subscription)
    subscription.onClose = () => this.#remove(subscription)
    if (after === undefined) {
      this.#beginning.add(subscription)
      this.#begin()
    } else void this.#resume(subscription, after)
  }

  /** Called when no messages arrive any more, or some are missing: reads the missed messages as soon as there is a connection. */
  settle(): void {
    this.#isLive = false
    this.#alarms++
    this.#settling ??= this.#settle()
  }

  /**
   * Finds out whether a message was lost between servers of a cluster, which only the next one would show.
   *
   * @param last the sequence of the last message in the stream
   */
  async verify(last: number): Promise<void> {
    const position = this.#position
    if (!this.#isLive || position === last) return
    // `last` may be old by now. Otherwise, another program has stated a sequence.
    if (position > last) {
      this.settle()
      return
    }
    const next = await this.#stream.next(this.#subject, position + 1)
    if (!this.#isLive || this.#position !== position) return
    if (next === null) {
      this.#position = last
      for (const one of this.#live) one.sequence = last
    } else this.settle()
  }

  end(error: unknown): void {
    for (const one of [...this.#all]) one.end(error)
  }

  #remove(subscription: NatsSubscription): void {
    this.#all.delete(subscription)
    this.#live.delete(subscription)
    this.#beginning.delete(subscription)
    if (this.#all.size > 0 || this.#isClosed) return
    this.#isClosed = true
    this.#unsubscribe()
    this.#onEmpty()
  }

  #arrive(received: NatsMessage): void {
    const seq = Number(received.headers?.get('Nats-Sequence'))
    const after = Number(received.headers?.get('Nats-Last-Sequence'))
    if (!(Number.isSafeInteger(seq) && seq > 0 && after >= 0)) return // not an id of a server
    if (this.#isLive && seq <= this.#position) {
      if (!this.#hasHandedOut(seq)) this.#distrust(after)
      return
    }
    const heard: Heard = { seq, after, message: messageOf(seq, received.string()) }
    if (this.#isLive && after <= this.#position) {
      this.#handOut(heard)
      return
    }
    this.#fresh.push(heard)
    if (this.#fresh.length > MOST_FRESH) this.#fresh = this.#fresh.slice(MOST_FRESH / 2)
    if (this.#isLive) this.settle()
  }

  #hasHandedOut(seq: number): boolean {
    const oldest = this.#recent[0]
    return oldest === undefined || seq <= oldest.after || this.#recent.some((heard) => heard.seq === seq)
  }

  /** A message is new although its sequence is not: an earlier message was not from the server, and now the messages of the stream since then arrive. */
  #distrust(position: number): void {
    this.#hearGap(position)
    this.settle()
  }

  #handOut(heard: Heard): void {
    // With 0, the message before it was dropped, or there was none. Then nothing before this position is known.
    this.#recent.push(heard.after === 0 ? { ...heard, after: this.#position } : heard)
    this.#position = heard.seq
    this.#recentCharacters += heard.message.data.length
    while (this.#recent.length > MOST_RECENT || this.#recentCharacters > MOST_RECENT_CHARACTERS)
      this.#recentCharacters -= this.#recent.shift()!.message.data.length
    for (const one of [...this.#live]) one.hearFrom(heard.seq, heard.message)
  }

  async #settle(): Promise<void> {
    while (!this.#isClosed && !this.#link.isOver) {
      const alarms = this.#alarms
      try {
        await this.#link.up()
        await turn()
        await this.#catchUp()
        if (alarms !== this.#alarms) continue
        this.#isLive = true
        break
      } catch (error) {
        if (!this.#link.isUp) continue
        if (this.#position < 0 && (Object(error).code === 'WEIR_OPTION_INVALID' || isForbidden(error))) this.end(error)
        else await pause()
      }
    }
    this.#settling = null
    this.#begin()
  }

  /** Lets subscriptions without `after` join. */
  #begin(): void {
    if (!this.#isLive) return
    for (const one of this.#beginning) {
      this.#beginning.delete(one)
      one.sequence = this.#position
      this.#join(one)
    }
  }

  #join(subscription: NatsSubscription): void {
    this.#live.add(subscription)
    subscription.becomeReady()
  }

  /** Delivers everything that the stream has, up to the messages that arrive. */
  async #catchUp(): Promise<void> {
    const state = await this.#stream.state()
    if (this.#position < 0) {
      this.#position = state.last
      this.#created = state.created
    } else {
      const found = await this.#findGap(this.#position, state)
      this.#created = state.created
      if (found.isGap) this.#hearGap(found.position)
    }
    let isLast = false
    while (!this.#isClosed) {
      if (this.#handOutFresh()) return
      const next = await this.#stream.next(this.#subject, this.#position + 1)
      if (next !== null) {
        isLast = false
        this.#handOut({ seq: next.seq, after: this.#position, message: messageOf(next.seq, next.data) })
        continue
      }
      this.#position = Math.max(this.#position, state.last)
      if (this.#fresh.every(({ seq }) => seq <= this.#position)) return
      if (isLast) this.#skip() // the missing messages before it have been dropped
      isLast = true
    }
  }

  /** Delivers the messages that have arrived. @returns false if some before them are missing, or none have arrived */
  #handOutFresh(): boolean {
    while (this.#fresh.length > 0) {
      const heard = this.#fresh[0]!
      if (heard.seq > this.#position) {
        if (heard.after > this.#position) return false
        this.#handOut(heard)
        if (this.#fresh.length === 1) {
          this.#fresh = []
          return true
        }
      }
      this.#fresh.shift()
    }
    return false
  }

  #skip(): void {
    const heard = this.#fresh.find(({ seq }) => seq > this.#position)
    if (heard !== undefined) this.#hearGap(heard.after)
  }

  #hearGap(position: number): void {
    this.#position = position
    this.#recent = []
    this.#recentCharacters = 0
    for (const one of [...this.#live]) one.hearGap(position)
  }

  /**
   * Whether messages of the channel after a position are no longer kept, and where to continue. The first sequence tells what a stream has dropped,
   * but not for which channel: a reported gap may concern only other channels.
   */
  async #findGap(position: number, { created, first, last, maxLength }: StreamState): Promise<{ isGap: boolean; position: number }> {
    if (position > last || (this.#created !== '' && this.#created !== created)) return { isGap: true, position: first - 1 }
    if (first > position + 1) return { isGap: true, position: first - 1 }
    if (maxLength === 0) return { isGap: false, position }
    // A full channel drops its oldest message with each new one.
    const oldest = await this.#stream.next(this.#subject, 1)
    if (oldest === null || oldest.seq <= position + 1) return { isGap: false, position }
    if ((await this.#stream.count(this.#subject)) < maxLength) return { isGap: false, position }
    return { isGap: true, position: oldest.seq - 1 }
  }

  async #resume(subscription: NatsSubscription, after: string): Promise<void> {
    subscription.sequence = sequenceOf(after)
    let isChecked = false
    while (!subscription.isClosed && !this.#link.isOver) {
      await this.#settling
      if (!this.#isLive) await pause()
      if (!this.#isLive || subscription.isClosed) continue
      if (this.#joinRecent(subscription, isChecked)) return
      try {
        if (!isChecked) {
          const { position, isGap } = await this.#findGap(subscription.sequence, await this.#stream.state())
          isChecked = true
          if (isGap) subscription.hearGap(position)
          continue
        }
        const verified = this.#position
        const next = await this.#stream.next(this.#subject, subscription.sequence + 1)
        if (next !== null) subscription.hearFrom(next.seq, messageOf(next.seq, next.data))
        else subscription.sequence = Math.max(subscription.sequence, verified)
      } catch {
        isChecked = false
        await pause()
      }
    }
  }

  /** Joins a subscription that has received everything before the oldest message in memory. An unchecked id may not belong to this stream. */
  #joinRecent(subscription: NatsSubscription, isChecked: boolean): boolean {
    const { sequence } = subscription
    const oldest = this.#recent[0]?.after ?? this.#position
    if (sequence < oldest || (!isChecked && sequence > this.#position)) return false
    for (const { message, seq } of this.#recent) subscription.hearFrom(seq, message)
    this.#join(subscription)
    return true
  }
}

/** -1 for an id that no stream can have. */
function sequenceOf(id: string): number {
  if (id === BEFORE_FIRST) return 0
  return SEQUENCE.test(id) && Number.isSafeInteger(Number(id)) ? Number(id) : -1
}

function messageOf(seq: number, data: string): RelayMessage {
  return Object.freeze({ id: String(seq), data })
}

/** Whether the program's account is not allowed to ask for the stream. */
function isForbidden(error: unknown): boolean {
  const { cause, name } = Object(error) as { readonly cause?: unknown; readonly name?: unknown }
  return name === 'PermissionViolationError' || (cause !== undefined && isForbidden(cause))
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref())
}
