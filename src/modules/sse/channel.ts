// Sends events to many clients. Each event is encoded once, and waits for each client in a bounded queue.

import { checkNames, invalid, namesOf, wholeNumber } from '../../base/options.ts'
import { EncodedEvent, type SseEvent } from './event.ts'

/** What happens to a client whose queue is full. */
export type FullQueuePolicy = 'disconnect' | 'drop-oldest'

export interface SseChannelOptions {
  /**
   * How many bytes of events may wait for one client, in addition to what its socket buffers. Each event counts 64 bytes more than its
   * size. Default 1 MiB.
   */
  readonly maxQueuedBytes?: number
  /**
   * What happens to a client that reads too slowly. `'disconnect'`, the default, discards its queue and ends its stream, so that the client
   * reconnects and sends the last id that it saw. `'drop-oldest'` discards the oldest waiting events, or the new event if it alone exceeds
   * `maxQueuedBytes`.
   */
  readonly whenFull?: FullQueuePolicy
  /** How many of the latest events with an id are kept for clients that reconnect with Last-Event-ID. Default 0. */
  readonly history?: number
}

const OPTION_NAMES = namesOf<SseChannelOptions>()(['maxQueuedBytes', 'whenFull', 'history'])
const DEFAULT_QUEUED_BYTES = 1024 * 1024
/** What an event costs in a queue in addition to its bytes, which all queues share. */
const ENTRY_BYTES = 64

/** A source of events with any number of listening clients. */
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
    if (whenFull !== 'disconnect' && whenFull !== 'drop-oldest')
      throw invalid('channel', `whenFull is ${JSON.stringify(whenFull)}, not "disconnect" or "drop-oldest"`)
    this.#maxQueuedBytes = wholeNumber('channel', 'maxQueuedBytes', maxQueuedBytes, 1)
    this.#whenFull = whenFull
    this.#historyLength = wholeNumber('channel', 'history', history)
  }

  /** The number of listening clients. */
  get size(): number {
    return this.#clients.size
  }

  /**
   * Sends an event to all listening clients. Never waits.
   *
   * @param event a string is the data of an event
   * @returns the number of clients for which it was queued
   * @throws WEIR_RESULT_UNSENDABLE for an event that cannot be sent; no client gets it then
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

  /** Ends the streams of all listening clients once they have read what is queued. The channel stays usable: clients may connect again. */
  endAll(): void {
    for (const client of this.#clients) client.finish()
  }

  /** @internal Listens from now on, beginning with the events that were missed since `lastEventId`. */
  subscribe(lastEventId: string | null): AsyncIterable<EncodedEvent> {
    const missed = lastEventId === null ? [] : this.#since(lastEventId)
    const client: Subscription = new Subscription(missed, () => this.#clients.delete(client))
    this.#clients.add(client)
    return client
  }

  /** An unknown id counts as older than all events in the history. */
  #since(lastEventId: string): EncodedEvent[] {
    return this.#history.slice(this.#history.findLastIndex(({ id }) => id === lastEventId) + 1)
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** One client of a channel. It has one reader, which waits for each event before it requests the next. */
class Subscription implements AsyncIterableIterator<EncodedEvent> {
  readonly #onLeave: () => void
  #queue: EncodedEvent[]
  /** Events at the front that do not count towards the limit: they come from the history, which all clients share. */
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

  /** @returns whether the client will get the event */
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
    if (cost > maxQueuedBytes) return false // it would not fit into an empty queue
    while (this.#queuedBytes + cost > maxQueuedBytes && this.#queue.length > 0) this.#shift()
    this.#queue.push(event)
    this.#queuedBytes += cost
    return true
  }

  /** Accepts no more events: the stream ends after those that are queued. */
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
