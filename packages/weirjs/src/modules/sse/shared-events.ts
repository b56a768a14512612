// The events that clients read in pages. Each client chooses where its pages begin, so clients may share no page. But they share the events in
// them, which are in memory only once.

import { ownText } from '../../base/own-text.ts'
import type { EncodedEvent } from './event.ts'

/** With at most this many ids, those whose events are gone are not removed. */
const LEAST_IDS = 1_024

export class SharedEvents {
  /** The events, by id, as long as a page has them. */
  readonly #events = new Map<string, WeakRef<EncodedEvent>>()
  #mostIds = LEAST_IDS

  /** The event that has this id in a page, or a new one. @param decode returns null for one that clients do not get */
  take(id: string, decode: () => EncodedEvent | null): EncodedEvent | null {
    const known = this.#events.get(id)?.deref()
    if (known !== undefined) return known
    const event = decode()
    if (event === null) return null
    if (this.#events.size >= this.#mostIds) this.#forgetGone()
    this.#events.set(ownText(id), new WeakRef(event))
    return event
  }

  clear(): void {
    this.#events.clear()
    this.#mostIds = LEAST_IDS
  }

  #forgetGone(): void {
    for (const [id, event] of this.#events) if (event.deref() === undefined) this.#events.delete(id)
    this.#mostIds = Math.max(LEAST_IDS, 2 * this.#events.size)
  }
}
