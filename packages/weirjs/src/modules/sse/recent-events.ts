// The latest events of a channel in the memory of this process, without a gap: clients that have missed only these need not ask the relay. They
// are in parts, which clients share: each client only knows where it is.

import { costOf, type EncodedEvent } from './event.ts'
import { type HistoryPart, MissedEvents } from './event-history.ts'

/** By default. The events count as in a client's queue, their ids twice their length. The newest is kept, however large it is. */
const MOST_BYTES = 1024 * 1024
/** The cost of a message whose event cannot be sent, in addition to its id. */
const ENTRY_BYTES = 64
/** About how many parts there are. The oldest part is forgotten as a whole, so that parts that clients share never change. */
const PARTS = 16

interface Part extends HistoryPart {
  /** The number of its first event. */
  readonly first: number
  readonly events: EncodedEvent[]
  /** The ids of all messages, even of events that clients do not get: other processes know them. */
  readonly ids: string[]
  bytes: number
  isForgotten: boolean
}

export class RecentEvents {
  #parts: Part[] = []
  /** The number of the next event. */
  #next = 0
  /** By id, the number of the event that follows. */
  readonly #numbers = new Map<string, number>()
  #bytes = 0
  readonly #mostBytes: number

  constructor(mostBytes: number = MOST_BYTES) {
    this.#mostBytes = mostBytes
  }

  has(id: string): boolean {
    return this.#numbers.has(id)
  }

  /** @param event null: clients do not get it */
  add(id: string, event: EncodedEvent | null): void {
    const bytes = 2 * id.length + (event === null ? ENTRY_BYTES : costOf(event))
    let part = this.#parts.at(-1)
    if (part === undefined || part.bytes + bytes > this.#mostBytes / PARTS) {
      part = { first: this.#next, events: [], ids: [], bytes: 0, isForgotten: false }
      this.#parts.push(part)
    }
    part.ids.push(id)
    part.bytes += bytes
    this.#bytes += bytes
    if (event !== null) {
      part.events.push(event)
      this.#next++
    }
    this.#numbers.set(id, this.#next)
    while (this.#bytes > this.#mostBytes && this.#parts.length > 1) this.#forget(this.#parts.shift()!)
  }

  #forget(part: Part): void {
    const { ids, bytes } = part
    part.isForgotten = true
    for (const id of ids) this.#numbers.delete(id)
    this.#bytes -= bytes
  }

  /** @param id that it has */
  after(id: string): MissedEvents {
    const from = this.#numbers.get(id)!
    const parts = this.#parts.filter(({ first, events }) => events.length > 0 && first + events.length > from)
    return new MissedEvents(parts, parts.length === 0 ? 0 : from - parts[0]!.first, this.#next - from)
  }

  clear(): void {
    for (const part of this.#parts) part.isForgotten = true
    this.#parts = []
    this.#numbers.clear()
    this.#bytes = this.#next = 0
  }
}
