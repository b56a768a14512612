// One subscriber of a stream: follows the chain of messages, and reads from the stream what is missing in it.

import type { RelayMessage, RelaySubscribeOptions } from 'weirjs/relay'
import { BEFORE_FIRST } from 'weirjs/relay'
import { type LiveMessage, RedisSubscription, type SubscriptionEvents } from './redis-subscription.ts'

/** The messages after an id, in order, as many as fit. */
export interface StreamPage {
  /** The id of the newest message in the stream, `0-0` if it has none. */
  readonly newest: string
  readonly messages: readonly LiveMessage[]
}

export interface StreamSource {
  readNewest(): Promise<string>
  read(after: string): Promise<StreamPage>
}

/** What precedes the first message of a stream. */
const BEGINNING = '0-0'
/** The predecessor of an entry that no relay has made: it is not known which messages before it are missing. */
const FOREIGN = ''
/** The ids that Redis makes of its time. Their numbers are exact in JavaScript. */
const ID = /^[1-9]\d{0,14}-(?:0|[1-9]\d{0,14})$/
/** How many live messages are kept while a subscriber reads. Further ones are dropped, because the subscriber reads them. */
const MOST_PENDING = 128

export class StreamSubscription extends RedisSubscription {
  readonly #source: StreamSource
  /** The message up to which everything has been delivered; null: begin with new messages. */
  #last: string | null
  /** The predecessor that the next message must have; null: any, because a gap has been reported already. */
  #previous: string | null
  /** Whether `#last` was passed in by the program and has not been found yet. */
  #isResuming: boolean
  #isLive = false
  #isReading = false
  readonly #pending: LiveMessage[] = []
  /** How many of them had arrived before the stream was last read. */
  #covered = 0
  #hasDropped = false

  constructor(source: StreamSource, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions, events: SubscriptionEvents) {
    super(listener, options, events)
    this.#source = source
    const { after } = options
    this.#isResuming = after !== undefined
    if (after === undefined) this.#last = this.#previous = null
    else if (after === BEFORE_FIRST) this.#last = this.#previous = BEGINNING
    else if (ID.test(after)) this.#last = this.#previous = after
    else [this.#last, this.#previous] = [BEGINNING, ''] // as unknown as an id that no message has as its predecessor
  }

  override get position(): string | null {
    return this.#isResuming ? null : this.#last === BEGINNING ? BEFORE_FIRST : this.#last
  }

  onLive(live: LiveMessage): void {
    if (this.#isLive && this.#take(live)) return
    if (this.#pending.length === MOST_PENDING) {
      this.#pending.length = 0
      this.#hasDropped = true
    }
    this.#pending.push(live)
    if (!this.#isLive) return
    this.#isLive = false
    this.reportHole()
  }

  async catchUp(): Promise<boolean> {
    if (this.isClosed || this.#isReading) return false
    const wasLive = this.#isLive
    let hasFound = false
    this.#isReading = true
    this.#isLive = false
    try {
      if (this.#last === null) this.#last = this.#previous = await this.#source.readNewest()
      else hasFound = await this.#readOn()
      while (!this.isClosed && !this.#takePending()) hasFound = (await this.#readOn()) || hasFound
      this.#isLive = true
      this.becomeReady()
      return wasLive && hasFound
    } finally {
      this.#isReading = false
    }
  }

  /** Delivers everything that the stream has after `#last`. @returns whether it had anything */
  async #readOn(): Promise<boolean> {
    for (let hasFound = false; ; ) {
      this.#hasDropped = false
      this.#covered = this.#pending.length
      const { newest, messages } = await this.#source.read(this.#last!)
      if (this.isClosed) return false
      if (this.#isResuming && !this.#isKnown(newest, messages)) continue
      this.#isResuming = false
      for (const live of messages) this.#deliver(live)
      hasFound ||= messages.length > 0
      if (messages.length === 0 && this.#previous !== null && this.#previous !== newest) this.#rewind(newest)
      if (messages.length === 0 || this.#last === newest) return hasFound
    }
  }

  /** If the id to resume after is unknown, everything that is kept comes next. */
  #isKnown(newest: string, messages: readonly LiveMessage[]): boolean {
    const found = messages.length > 0 ? messages[0]!.previous : newest
    if (found === this.#previous) return true
    this.gap()
    this.#isResuming = false
    this.#last = BEGINNING
    this.#previous = null
    return false
  }

  /** Whether the message is the next one, or an old one. */
  #take(live: LiveMessage): boolean {
    if (live.previous !== this.#last) return !isAfter(live.id, this.#last!)
    this.#deliver(live)
    return true
  }

  /**
   * A message that arrived while the stream was read has been read, or follows, or shows that there is more to read. A message that arrived before,
   * but was not in the stream, has been dropped from it.
   *
   * @returns whether nothing is missing
   */
  #takePending(): boolean {
    const covered = this.#hasDropped ? 0 : this.#covered
    for (const [i, live] of this.#pending.entries()) {
      if (this.#take(live)) continue
      if (i >= covered) {
        this.#pending.splice(0, i)
        return false
      }
      this.#deliver(live)
    }
    this.#pending.length = 0
    return !this.#hasDropped
  }

  #deliver(live: LiveMessage): void {
    if (this.#previous !== null && live.previous !== this.#previous) this.gap()
    this.#last = this.#previous = live.id
    if (live.previous !== FOREIGN) this.deliver(live.message)
  }

  /** The newest message is older than the last one here: Redis has lost the end of the stream, or all of it. */
  #rewind(newest: string): void {
    this.gap()
    this.#last = this.#previous = newest
  }
}

function isAfter(id: string, other: string): boolean {
  const [time, count] = numbersOf(id)
  const [otherTime, otherCount] = numbersOf(other)
  return time === otherTime ? count > otherCount : time > otherTime
}

function numbersOf(id: string): readonly [time: number, count: number] {
  const dash = id.indexOf('-')
  return [Number(id.slice(0, dash)), Number(id.slice(dash + 1))]
}
