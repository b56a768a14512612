// Responses that last as long as their clients stay, such as streams of events and WebSockets, by the session under which they were opened. They
// end when that session does.

import { FairQueue } from '../../base/fair-queue.ts'
import { keepNewest } from '../../base/keep-newest.ts'

/** One response. */
interface Lasting {
  /** Of its session: those that end with it. */
  group: Set<Lasting>
  /** The id of its session, which may change. */
  id: string
  readonly end: () => void
}

/** With ids of sealed sessions, which contain the id of the user, at most 4 MB. */
const MAX_REMEMBERED = 1_000

/** Responses that end in one turn of the event loop. Each takes about 15 µs. */
const ENDED_PER_TURN = 256
const turns = FairQueue.turns(ENDED_PER_TURN)

export class LastingResponses {
  /** By the id of the session. A group exists as long as one of its responses. */
  readonly #groups = new Map<string, Set<Lasting>>()
  /**
   * Ids that were given up recently, and the ones that have taken their places; null for none. A request that has found its session before that
   * may open a stream only after it.
   */
  readonly #successors = new Map<string, string | null>()
  #givenUp = 0

  /** How many sessions have one, for tests. */
  get size(): number {
    return this.#groups.size
  }

  /** How many ids were given up so far, for `add`. */
  get givenUp(): number {
    return this.#givenUp
  }

  /**
   * @param id of the session under which it was opened
   * @param since how many ids were given up when its session had not been looked for yet
   * @param end called when that session is over; at once if it is, or if that is no longer known: the client connects again
   * @returns a function to call when the response has ended
   */
  add(id: string, since: number, end: () => void): () => void {
    if (this.#givenUp - since > MAX_REMEMBERED) {
      end()
      return () => {}
    }
    for (let next = this.#successors.get(id); next !== undefined; next = this.#successors.get(id)) {
      if (next === null) {
        end()
        return () => {}
      }
      id = next
    }
    const one: Lasting = { group: this.#groupOf(id), id, end }
    one.group.add(one)
    return () => {
      one.group.delete(one)
      if (one.group.size === 0 && this.#groups.get(one.id) === one.group) this.#groups.delete(one.id)
    }
  }

  /**
   * A session has got another id, or is over.
   * @param next null: nobody has the session any more
   * @returns a function that ends the responses of a session that is over, few in one turn of the event loop: sessions take turns
   */
  replace(id: string | null, next: string | null): () => void {
    // A clock may go back, so that a sealed session gets an id that was given up.
    if (next !== null) this.#successors.delete(next)
    if (id === null || id === next) return () => {}
    this.#givenUp++
    this.#successors.delete(id) // so that it becomes the newest
    this.#successors.set(id, next)
    keepNewest(this.#successors, MAX_REMEMBERED)
    const group = this.#groups.get(id)
    this.#groups.delete(id)
    if (group === undefined) return () => {}
    if (next === null)
      return () => {
        for (const one of [...group]) turns.run(id, () => endNow(one))
      }
    const others = this.#groupOf(next)
    for (const one of group) {
      one.id = next
      one.group = others.add(one)
    }
    return () => {}
  }

  #groupOf(id: string): Set<Lasting> {
    let group = this.#groups.get(id)
    if (group === undefined) this.#groups.set(id, (group = new Set()))
    return group
  }
}

function endNow(one: Lasting): void {
  if (!one.group.has(one)) return // its client has left
  turns.spend(1)
  one.end()
}
