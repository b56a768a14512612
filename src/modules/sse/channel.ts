// Events for whoever listens: each is encoded once, and waits for each client in a queue with a bound.

import { checkNames, invalid, namesOf, wholeNumber } from '../../base/options.ts'
import { EncodedEvent, type SseEvent } from './event.ts'

/** What becomes of a client whose queue is full. */
export type FullQueuePolicy = 'disconnect' | 'drop-oldest'

export interface SseChannelOptions {
  /** How many bytes of events may wait for one client, beyond what its socket holds. An event costs 64 bytes more than it has. Default 1 MiB. */
  readonly maxQueuedBytes?: number
  /**
   * What becomes of a client that reads too slowly. `'disconnect'`, the default: its queue is dropped and its stream ends, so that it comes
   * again and says what it saw last. `'drop-oldest'`: it misses the oldest events that wait, or the
   * new one if that is larger than the whole queue.
   */
  readonly whenFull?: FullQueuePolicy
  /** How many of the latest events that have an id are kept for clients that come again with Last-Event-ID. Default 0. */
  readonly history?: number
}

const OPTION_NAMES = namesOf<SseChannelOptions>()(['maxQueuedBytes', 'whenFull', 'history'])
const DEFAULT_QUEUED_BYTES = 1024 * 1024
/** What an event costs in a queue beside its bytes, which all queues share. */
const ENTRY_BYTES = 64

/** One source of events, and all who listen to it. */
export class SseChannel {
  readonly #maxQueuedBytes: number
  readonly #whenFull: FullQueuePolicy
  readonly #historyLength: number
  readonly #history: EncodedEvent[] = []
  readonly #clients = new Set<Subscription>()

  /** @throws WEIR_OPTION_INVALID */
  constructor(options: SseChannelOptions = {}) {
    checkNames('channel', options, OPTION_NAMES)
    const { maxQueuedBytes = DEFAULT_QUEUED_BYTES, whenFull = 'disconnect', history = 0 } = options
    if (whenFull !== 'disconnect' && whenFull !== 'drop-oldest') throw invalid('channel', `whenFull is ${JSON.stringify(whenFull)}`)
    this.#maxQueuedBytes = wholeNumber('channel', 'maxQueuedBytes', maxQueuedBytes, 1)
    this.#whenFull = whenFull
    this.#historyLength = wholeNumber('channel', 'history', history)
  }

  /** How many clients listen. */
  get size(): number {
    return this.#clients.size
  }

  /**
   * Sends an event to all who listen. Never waits.
   * @returns for how many it was queued
   * @throws WEIR_RESULT_UNSENDABLE for what cannot be sent; nobody gets it then
   */
  send(event: SseEvent | string): number {
    const encoded = new EncodedEvent(event)
    if (encoded.id !== null && this.#historyLength > 0) {
      this.#history.push(encoded)
      if (this.#history.length > this.#historyLength) this.#history.shift()
    }
    let queued = 0
    for (const client of this.#clients) if (client.push(encoded, this.#maxQueuedBytes, this.#whenFull)) queued++
    return queued
  }

  /** Ends the streams of all who listen now, when they have read what waits for them. Who comes later or again is welcome. */
  endAll(): void {
    for (const client of this.#clients) client.finish()
  }

  /** @internal Listens from now on, behind what was missed since `lastEventId`. */
  subscribe(lastEventId: string | null): AsyncIterable<EncodedEvent> {
    const missed = lastEventId === null ? [] : this.#since(lastEventId)
    const client: Subscription = new Subscription(missed, () => this.#clients.delete(client))
    this.#clients.add(client)
    return client
  }

  /** An id that is not known is older than all that is kept. */
  #since(lastEventId: string): EncodedEvent[] {
    return this.#history.slice(this.#history.findLastIndex(({ id }) => id === lastEventId) + 1)
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One client of a channel. Read by one reader, which asks again when it has had its answer. */
class Subscription implements AsyncIterableIterator<EncodedEvent> {
  readonly #onLeave: () => void
  #queue: EncodedEvent[]
  /** Events at the front that do not count: they were missed, and all who missed them share them. */
  #uncounted: number
  #queuedBytes = 0
  #deliver: ((result: IteratorResult<EncodedEvent>) => void) | null = null
  #isFinished = false

  constructor(missed: EncodedEvent[], onLeave: () => void) {
    this.#queue = missed
    this.#uncounted = missed.length
    this.#onLeave = onLeave
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @returns whether the client will get it */
  push(event: EncodedEvent, maxQueuedBytes: number, whenFull: FullQueuePolicy): boolean {
    if (this.#deliver !== null) {
      this.#give({ value: event })
      return true
    }
    const cost = costOf(event)
    if (whenFull === 'disconnect' && this.#queuedBytes + cost > maxQueuedBytes) {
      this.#queue = []
      this.finish()
      return false
    }
    if (cost > maxQueuedBytes) return false // no room that could be made would do
    while (this.#queuedBytes + cost > maxQueuedBytes && this.#queue.length > 0) this.#shift()
    this.#queue.push(event)
    this.#queuedBytes += cost
    return true
  }

  /** Nothing more is pushed: the stream ends behind what waits. */
  finish(): void {
    this.#isFinished = true
    this.#onLeave()
    this.#give(DONE)
  }

  next(): Promise<IteratorResult<EncodedEvent>> {
    if (this.#queue.length > 0) return Promise.resolve({ value: this.#shift() })
    if (this.#isFinished) return Promise.resolve(DONE)
    return new Promise((resolve) => (this.#deliver = resolve))
  }

  return(): Promise<IteratorResult<EncodedEvent>> {
    this.#queue = []
    this.finish()
    return Promise.resolve(DONE)
  }

  #shift(): EncodedEvent {
    const event = this.#queue.shift()!
    if (this.#uncounted > 0) this.#uncounted--
    else this.#queuedBytes -= costOf(event)
    return event
  }

  #give(result: IteratorResult<EncodedEvent>): void {
    const deliver = this.#deliver
    this.#deliver = null
    deliver?.(result)
  }
}

function costOf(event: EncodedEvent): number {
  return event.bytes.length + ENTRY_BYTES
}
