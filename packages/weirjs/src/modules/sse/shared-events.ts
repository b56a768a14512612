// The events that clients read in pages. Each client chooses where its pages begin, so that none of them may be that of another one; but the
// events in them are the same, and are in memory once.

import { ownText } from '../../base/own-text.ts'
import type { EncodedEvent } from './event.ts'

/** So many ids of events that nobody has any more are not looked for. */
const LEAST_IDS = 1_024

export class SharedEvents {
  /** As long as some page has them. */
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
