// Logins in progress. Each has its own sealed cookie, so that several tabs can log in at the same time, and visitors of the login page cost the
// server no memory.

import type { HttpSession } from 'weirjs'
import { exchange } from 'weirjs/kit'
import type { SealedCookies } from 'weirjs/sessions'
import type { LoginSecrets } from './provider.ts'

/** The data of a login that must be the same when a browser comes back from the provider. */
interface Transaction extends LoginSecrets {
  /** Where the client goes after the login. */
  readonly path: string
}

interface Sealed extends Transaction {
  /** Milliseconds since 1970. */
  readonly begunAt: number
}

/** How long a person may take to log in. */
export const MAX_LOGIN_MS: number = 10 * 60_000
/** How many logins a browser can have in progress. The oldest one is given up for another. */
const MAX_LOGINS = 5
/** Of `state`, in the name of the cookie. */
const ID_CHARACTERS = 10

export class Transactions {
  readonly #cookies: SealedCookies

  constructor(cookies: SealedCookies) {
    this.#cookies = cookies
  }

  /** @throws WEIR_SESSION_INSECURE */
  check(session: HttpSession): void {
    this.#cookies.check(session)
  }

  /** Adds the cookie to the response. */
  begin(session: HttpSession, transaction: Transaction, now: number): void {
    const sealed: Sealed = { ...transaction, begunAt: now }
    for (const id of this.#surplus(session)) this.#cookies.clear(session, id)
    this.#cookies.write(session, idOf(transaction.state), JSON.stringify(sealed), MAX_LOGIN_MS)
  }

  /**
   * Takes the login that a state belongs to, and removes its cookie. Null if this browser has not begun it here, or too long ago.
   * @throws WEIR_SESSION_INSECURE
   */
  take(session: HttpSession, state: string): Transaction | null {
    const transaction = parsed(this.#cookies.take(session, idOf(state)))
    if (transaction === null || transaction.state !== state) return null
    const age = exchange(session).clock.wallTime() - transaction.begunAt
    return age <= MAX_LOGIN_MS ? transaction : null
  }

  /** The cookies of older logins for which there is no room next to a new one. */
  #surplus(session: HttpSession): string[] {
    const begun = this.#cookies.list(session).map(({ id, text }) => ({ id, begunAt: parsed(text)?.begunAt ?? 0 }))
    return begun
      .sort((a, b) => b.begunAt - a.begunAt)
      .slice(MAX_LOGINS - 1)
      .map(({ id }) => id)
  }
}

function parsed(text: string | null): Sealed | null {
  return text === null ? null : (JSON.parse(text) as Sealed)
}

function idOf(state: string): string {
  return state.slice(0, ID_CHARACTERS)
}
