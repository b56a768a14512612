// Remembers the logins that have signed someone in. A browser can keep the cookie of a login and send its response again. Even if the provider
// accepts the code twice, it must not sign in twice. Each process knows its own logins.

import { WeirError } from 'weirjs'

/** More in ten minutes are refused: a login that is forgotten too soon could be used again. */
const MOST_LOGINS = 100_000

export class UsedLogins {
  /** Until when the cookie of a login is valid, by its state. Those that were used first are at the front. */
  readonly #endsAt = new Map<string, number>()
  readonly #validMs: number
  readonly #mostLogins: number

  /** @param validMs how long the cookie of a login is valid */
  constructor(validMs: number, mostLogins: number = MOST_LOGINS) {
    this.#validMs = validMs
    this.#mostLogins = mostLogins
  }

  /**
   * Runs `signIn` for a login that has not signed anyone in. One that fails may be tried again, so no one can fill the table without an account at
   * the provider.
   * @param now in milliseconds since 1970
   * @throws (rejects) WEIR_OIDC_RESPONSE if it is used, or is being used; WEIR_OIDC_UNAVAILABLE for too many
   */
  async use<T>(state: string, now: number, signIn: () => Promise<T>): Promise<T> {
    this.#forget(now)
    if (this.#endsAt.has(state)) throw new WeirError('WEIR_OIDC_RESPONSE', 'this login has been used')
    if (this.#endsAt.size >= this.#mostLogins)
      throw new WeirError('WEIR_OIDC_UNAVAILABLE', `more than ${this.#mostLogins} logins in ten minutes`)
    this.#endsAt.set(state, now + this.#validMs)
    try {
      return await signIn()
    } catch (error) {
      this.#endsAt.delete(state)
      throw error
    }
  }

  #forget(now: number): void {
    for (const [state, endsAt] of this.#endsAt) {
      if (endsAt > now) return
      this.#endsAt.delete(state)
    }
  }
}
