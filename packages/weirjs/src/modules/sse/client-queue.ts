// One client of a channel: the events that wait for it, in a bounded queue.

import type { EncodedEvent } from './event.ts'
import type { MissedEvents } from './event-history.ts'
import { Fifo } from './fifo.ts'

/** How a full queue is handled. */
export type FullQueuePolicy = 'disconnect' | 'drop-oldest'

/** What an event costs in a queue in addition to its bytes, which all queues share. */
const ENTRY_BYTES = 64
const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** It has one reader, which waits for each event before it requests the next. */
export class ClientQueue implements AsyncIterableIterator<EncodedEvent> {
  readonly #onLeave: () => void
  /** Resolves when the client may be told that it is connected; null: immediately. */
  readonly opened: Promise<void> | null
  /** The id that is sent first, from which the client continues if it has to return before its first event. Null: there is none. */
  start: string | null = null
  /** Whether it has received an event, which has its own id. */
  hasHeard = false
  /** The missed events, which the client gets first. They do not count towards the limit, because they are in a history that all clients share. */
  #missed: MissedEvents | null
  readonly #queue = new Fifo<EncodedEvent>()
  #queuedBytes = 0
  #deliver: ((result: IteratorResult<EncodedEvent>) => void) | null = null
  #isFinished = false

  constructor(missed: MissedEvents | null, opened: Promise<void> | null, onLeave: () => void) {
    this.#missed = missed
    this.opened = opened
    this.#onLeave = onLeave
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** @returns whether the client will get the event */
  push(event: EncodedEvent, maxQueuedSize: number, whenFull: FullQueuePolicy): boolean {
    this.hasHeard = true
    if (this.#deliver !== null) {
      this.#give({ value: event })
      return true
    }
    const cost = costOf(event)
    if (whenFull === 'disconnect' && this.#queuedBytes + cost > maxQueuedSize) {
      this.#discard()
      this.finish()
      return false
    }
    if (cost > maxQueuedSize) return false // it would not fit into an empty queue
    if (this.#queuedBytes + cost > maxQueuedSize) this.#missed = null // missed events are older than all others
    while (this.#queuedBytes + cost > maxQueuedSize) this.#shift()
    this.#queue.push(event)
    this.#queuedBytes += cost
    return true
  }

  /** Takes the next event if it waits already, and has at most `mostBytes`. */
  take(mostBytes: number): EncodedEvent | null {
    const next = this.#missed?.first ?? this.#queue.first
    return next !== undefined && next.bytes.length <= mostBytes ? this.#shift()! : null
  }

  /** Accepts no more events: the stream ends after those that are queued. */
  finish(): void {
    this.#isFinished = true
    this.#onLeave()
    this.#give(DONE)
  }

  next(): Promise<IteratorResult<EncodedEvent>> {
    const event = this.#shift()
    if (event !== undefined) return Promise.resolve({ value: event })
    if (this.#isFinished) return Promise.resolve(DONE)
    return new Promise((resolve) => (this.#deliver = resolve))
  }

  return(): Promise<IteratorResult<EncodedEvent>> {
    this.#discard()
    this.finish()
    return Promise.resolve(DONE)
  }

  #shift(): EncodedEvent | undefined {
    const missed = this.#missed?.shift()
    if (missed !== undefined) return missed
    this.#missed = null
    const event = this.#queue.shift()
    if (event !== undefined) this.#queuedBytes -= costOf(event)
    return event
  }

  #discard(): void {
    this.#missed = null
    this.#queue.clear()
  }

  #give(result: IteratorResult<EncodedEvent>): void {
    const deliver = this.#deliver
    this.#deliver = null
    deliver?.(result)
  }
}

/** How much of `maxQueuedSize` an event takes. */
export function costOf(event: EncodedEvent): number {
  return event.bytes.length + ENTRY_BYTES
}
