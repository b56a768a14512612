// One client of a channel: the events that wait for it, in a bounded queue.

import { costOf, type EncodedEvent } from './event.ts'
import type { MissedEvents } from './event-history.ts'

/** How a full queue is handled. */
export type FullQueuePolicy = 'disconnect' | 'drop-oldest'

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** An event that waits. In an array, to take the first of many would move all others. */
interface Waiting {
  readonly event: EncodedEvent
  next: Waiting | null
}

/** It has one reader, which waits for each event before it requests the next. */
export class ClientQueue implements AsyncIterableIterator<EncodedEvent> {
  readonly #onLeave: () => void
  /** Resolves when the client may be told that it is connected; null: immediately. */
  readonly opened: Promise<void> | null
  /** The id that is sent first, from which the client continues if it has to return before its first event. Null: there is none. */
  start: string | null = null
  /** Whether it has received an event, which has its own id. */
  hasHeard = false
  /** The missed events, which the client gets first. They count towards the limit once the history that all clients share has forgotten them. */
  #missed: MissedEvents | null
  #first: Waiting | null = null
  #last: Waiting | null = null
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
    const wanted = this.#queuedBytes + cost + (this.#missed?.forgottenBytes ?? 0)
    if (whenFull === 'disconnect' && wanted > maxQueuedSize) {
      this.#discard()
      this.finish()
      return false
    }
    if (cost > maxQueuedSize) return false // it would not fit into an empty queue
    if (wanted > maxQueuedSize) this.#missed = null // missed events are older than all others
    while (this.#queuedBytes + cost > maxQueuedSize) this.#shift()
    const waiting = { event, next: null }
    if (this.#last === null) this.#first = waiting
    else this.#last.next = waiting
    this.#last = waiting
    this.#queuedBytes += cost
    return true
  }

  /** Takes the next event if it waits already, and has at most `mostBytes`. */
  take(mostBytes: number): EncodedEvent | null {
    const next = this.#missed?.first ?? this.#first?.event
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
    if (this.#missed?.first === undefined) this.#missed = null // with the last one: what it holds would count as waiting
    if (missed !== undefined) return missed
    const first = this.#first
    if (first === null) return undefined
    this.#first = first.next
    first.next = null // old memory that is not collected yet would keep what comes after it
    if (this.#first === null) this.#last = null
    this.#queuedBytes -= costOf(first.event)
    return first.event
  }

  #discard(): void {
    this.#missed = null
    this.#first = this.#last = null
  }

  #give(result: IteratorResult<EncodedEvent>): void {
    const deliver = this.#deliver
    this.#deliver = null
    deliver?.(result)
  }
}
