// Tokens for launch URLs: each opens one browser, once, and soon.

import { createHash } from 'node:crypto'

import type { Clock } from '../../base/clock.ts'
import { newLaunchToken } from './launch-token.ts'

/** How long one is good for: long enough for a browser that starts, and for a person who first reads what the terminal says. */
const LIFETIME_MS = 600_000
/** How many are known, used ones included. With one more, the oldest is void. */
const MOST = 32

export class LaunchTickets {
  readonly #clock: Clock
  /** When each ends, by its digest: how long a look-up takes says nothing about the token itself. */
  readonly #ends = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  issue(): string {
    const ticket = newLaunchToken()
    this.#ends.set(digestOf(ticket), this.#clock.now() + LIFETIME_MS)
    for (const oldest of this.#ends.keys()) {
      if (this.#ends.size <= MOST) break
      this.#ends.delete(oldest)
    }
    return ticket
  }

  /** Whether it was issued, is not too old, and was not used before. From now on, it was. */
  use(ticket: string): boolean {
    const digest = digestOf(ticket)
    const end = this.#ends.get(digest)
    if (end === undefined) return false
    this.#ends.set(digest, 0)
    return this.#clock.now() < end
  }

  /** Whether it was issued, used or not. */
  knows(ticket: string): boolean {
    return this.#ends.has(digestOf(ticket))
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
