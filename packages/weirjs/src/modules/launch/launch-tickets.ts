// Tokens for launch URLs: each opens one browser, once, and soon. Any process that knows the token of a server can sign one, so another process of
// the same user need not ask the server for it.

import { randomBytes } from 'node:crypto'

import type { Clock } from '../../base/clock.ts'
import { LaunchToken } from './launch-token.ts'

/** How long one is good for: long enough for a browser that starts, and for a person who first reads what the terminal says. */
const LIFETIME_MS = 600_000
/** Milliseconds since 1970 at which it ends, as base 36; a number of its own; and the proof that its signer knows the token. */
const TICKET = /^([0-9a-z]{1,11})-([\w-]{22})-([\w-]{43})$/

export class LaunchTickets {
  readonly #token: string
  readonly #clock: Clock
  /** The end of each ticket that was used. Only signed tickets are kept, and only until they end. */
  readonly #used = new Map<string, number>()

  constructor(token: string, clock: Clock) {
    this.#token = token
    this.#clock = clock
  }

  /** Signs a ticket for the server with this token. @param now milliseconds since 1970 */
  static sign(token: string, now: number): string {
    const facts = `${(now + LIFETIME_MS).toString(36)}-${randomBytes(16).toString('base64url')}`
    return `${facts}-${LaunchToken.proofOf(token, `launch ${facts}`)}`
  }

  issue(): string {
    return LaunchTickets.sign(this.#token, this.#clock.wallTime())
  }

  /** Whether it was signed, is not too old, and was not used before. Marks it as used. */
  use(ticket: string): boolean {
    const now = this.#clock.wallTime()
    for (const [number, end] of this.#used) if (end <= now) this.#used.delete(number)
    const signed = this.#read(ticket)
    if (signed === null || signed.end <= now || this.#used.has(signed.number)) return false
    this.#used.set(signed.number, signed.end)
    return true
  }

  /** Whether it was signed, used or not. */
  knows(ticket: string): boolean {
    return this.#read(ticket) !== null
  }

  #read(ticket: string): { readonly number: string; readonly end: number } | null {
    const [, end, number, proof] = TICKET.exec(ticket) ?? []
    if (proof === undefined) return null
    const expected = LaunchToken.proofOf(this.#token, `launch ${end}-${number}`)
    return LaunchToken.isSame(proof, expected) ? { number: number!, end: Number.parseInt(end!, 36) } : null
  }
}
