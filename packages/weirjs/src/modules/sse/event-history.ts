// The latest events of a channel. Clients that have missed some share them: each client only knows where it is.

import { costOf, type EncodedEvent } from './event.ts'

/** How many parts a full history has. Whole parts are forgotten, so that parts that clients share never change. */
const PARTS = 16

/** Events in their order, which the history and clients share. */
export interface HistoryPart {
  readonly events: readonly EncodedEvent[]
  /** As a queue counts them. */
  readonly bytes: number
  /** Whether the history has forgotten it, so that only clients keep it in memory. */
  readonly isForgotten: boolean
}

type OwnPart = HistoryPart & { events: EncodedEvent[]; bytes: number; isForgotten: boolean }

export class EventHistory {
  readonly #most: number
  readonly #partLength: number
  /** Each is full, except the last one. */
  readonly #parts: OwnPart[] = []
  /** The number of the first event of the first part. */
  #first = 0
  /** The number of the next event. */
  #next = 0
  /** The numbers of the latest events, by id. */
  readonly #numbers = new Map<string, number>()

  /** @param most how many events it has at most */
  constructor(most: number) {
    this.#most = most
    this.#partLength = Math.max(1, Math.ceil(most / PARTS))
  }

  /** The id of the last event. */
  get lastId(): string | null {
    return this.#parts.at(-1)?.events.at(-1)?.id ?? null
  }

  add(id: string, event: EncodedEvent): void {
    if (this.#most === 0) return
    if ((this.#next - this.#first) % this.#partLength === 0) this.#parts.push({ events: [], bytes: 0, isForgotten: false })
    const part = this.#parts.at(-1)!
    part.events.push(event)
    part.bytes += costOf(event)
    this.#numbers.set(id, this.#next++) // the last event of an id counts
    if (this.#next - this.#first - this.#partLength < this.#most) return
    const oldest = this.#parts.shift()!
    oldest.isForgotten = true
    for (const { id: old } of oldest.events) {
      if (this.#numbers.get(old!) === this.#first) this.#numbers.delete(old!)
      this.#first++
    }
  }

  /** The events after the event with this id. An unknown id counts as older than all events. */
  since(id: string): MissedEvents {
    const oldest = Math.max(this.#first, this.#next - this.#most)
    const from = Math.max(oldest, (this.#numbers.get(id) ?? -1) + 1)
    const part = Math.floor((from - this.#first) / this.#partLength)
    return new MissedEvents(this.#parts.slice(part), from - this.#first - part * this.#partLength, this.#next - from)
  }
}

/** The events that one client has missed. */
export class MissedEvents {
  readonly #parts: HistoryPart[]
  /** Where the next event is in the first part. */
  #at: number
  /** How many are left. More may have been added to the last part since. */
  #left: number

  constructor(parts: HistoryPart[], at: number, count: number) {
    this.#parts = parts
    this.#at = at
    this.#left = count
  }

  get first(): EncodedEvent | undefined {
    return this.#left === 0 ? undefined : this.#parts[0]!.events[this.#at]
  }

  /** The size of the parts that only clients keep in memory. They are the oldest. */
  get forgottenBytes(): number {
    let bytes = 0
    for (const part of this.#parts) {
      if (!part.isForgotten) break
      bytes += part.bytes
    }
    return bytes
  }

  shift(): EncodedEvent | undefined {
    if (this.#left === 0) return undefined
    this.#left--
    const part = this.#parts[0]!.events
    const event = part[this.#at++]
    if (this.#at === part.length && this.#left > 0) {
      this.#parts.shift()
      this.#at = 0
    }
    return event
  }
}
