// A source of events that any number of clients share. Each event is encoded once.

import type { HttpSession } from '../../http/session.ts'
import type { EncodedEvent } from './event.ts'

/** What many clients listen to: an `SseChannel`, or what `relayChannel` of `weirjs/relay` returns. */
export abstract class SseFeed {
  /** Tells a feed from other objects, for the compiler too. */
  readonly #isFeed = true

  /** @internal */
  static is(value: unknown): value is SseFeed {
    return typeof value === 'object' && value !== null && #isFeed in value
  }

  /** The number of listening clients. */
  abstract get size(): number

  /** @internal Listens from now on, beginning with the events that were missed since `lastEventId`. */
  abstract subscribe(lastEventId: string | null, session: HttpSession): AsyncIterable<EncodedEvent>

  /** @internal Called before the response begins. @throws what refuses the client */
  admit(_session: HttpSession): void {}

  /** @internal Whether nothing will ever come after this id, so that the client need not return. */
  isOver(_lastEventId: string): boolean {
    return false
  }
}
