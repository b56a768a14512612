// The latest events of a channel in the memory of this process, without a gap: clients that have missed only these need not ask the relay.

import { costOf } from './client-queue.ts'
import type { EncodedEvent } from './event.ts'

/** By default. The events count as in a client's queue, their ids twice their length. The newest is kept, however large it is. */
const MOST_BYTES = 1024 * 1024
/** What a message costs whose event cannot be sent, in addition to its id. */
const ENTRY_BYTES = 64

interface Entry {
  readonly id: string
  /** Null: clients do not get it, but others know its id. */
  readonly event: EncodedEvent | null
}

export class RecentEvents {
  #entries: Entry[] = []
  /** The number of the first entry. */
  #first = 0
  /** The numbers of entries, by id. */
  readonly #numbers = new Map<string, number>()
  #bytes = 0
  readonly #mostBytes: number

  constructor(mostBytes: number = MOST_BYTES) {
    this.#mostBytes = mostBytes
  }

  has(id: string): boolean {
    return this.#numbers.has(id)
  }

  add(id: string, event: EncodedEvent | null): void {
    const entry = { id, event }
    this.#numbers.set(id, this.#first + this.#entries.length)
    this.#entries.push(entry)
    this.#bytes += costOfEntry(entry)
    while (this.#bytes > this.#mostBytes && this.#entries.length > 1) {
      const oldest = this.#entries.shift()!
      this.#numbers.delete(oldest.id)
      this.#bytes -= costOfEntry(oldest)
      this.#first++
    }
  }

  /** @param id of an entry */
  after(id: string): EncodedEvent[] {
    return this.#entries.slice(this.#numbers.get(id)! - this.#first + 1).flatMap(({ event }) => event ?? [])
  }

  clear(): void {
    this.#entries = []
    this.#numbers.clear()
    this.#bytes = this.#first = 0
  }
}

function costOfEntry({ id, event }: Entry): number {
  return 2 * id.length + (event === null ? ENTRY_BYTES : costOf(event))
}
