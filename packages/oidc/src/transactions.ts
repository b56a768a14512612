// Logins in progress. Each is a cookie of its own, sealed, so that several tabs can log in at the same time, and that whoever only visits the
// login page costs the server no memory.

import type { HttpSession } from 'weirjs'
import {
  type CookieForm,
  clearCookieText,
  exchange,
  type KeyRing,
  parseCookies,
  type SealedBox,
  setCookieText,
  soleCookie,
} from 'weirjs/kit'
import type { LoginSecrets } from './provider.ts'

/** What has to be the same when a browser comes back from the provider. */
export interface Transaction extends LoginSecrets {
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
  readonly #box: SealedBox
  /** What the names of the cookies begin with, after `__Host-`. */
  readonly #prefix: string

  /** @param purpose whose logins they are: those of another provider are not found here */
  constructor(ring: KeyRing, purpose: string, prefix: string) {
    this.#box = ring.boxFor(`login ${purpose}`)
    this.#prefix = prefix
  }

  /** Adds the cookie to the response. */
  begin(session: HttpSession, form: CookieForm, transaction: Transaction, now: number): void {
    const sealed: Sealed = { ...transaction, begunAt: now }
    for (const name of this.#surplus(exchange(session).field('cookie'), form))
      session.response.appendHeader('Set-Cookie', clearCookieText({ ...form, name }))
    const own = { ...form, name: this.#nameOf(form, transaction.state) }
    session.response.appendHeader('Set-Cookie', setCookieText(own, this.#box.seal(JSON.stringify(sealed)), MAX_LOGIN_MS / 1000))
  }

  /** Takes the login that a state belongs to, and removes its cookie. Null if this browser has not begun it here, or too long ago. */
  take(session: HttpSession, form: CookieForm, state: string): Transaction | null {
    const field = exchange(session).field('cookie')
    const own = { ...form, name: this.#nameOf(form, state) }
    const value = field === null ? null : soleCookie(field, own.name)
    if (value === null) return null
    session.response.appendHeader('Set-Cookie', clearCookieText(own))
    const transaction = this.#open(value)
    if (transaction === null || transaction.state !== state) return null
    const age = exchange(session).clock.wallTime() - transaction.begunAt
    return age <= MAX_LOGIN_MS ? transaction : null
  }

  /** The cookies of older logins for which there is no room next to a new one. */
  #surplus(field: string | null, form: CookieForm): string[] {
    if (field === null) return []
    const start = this.#nameOf(form, '')
    const cookies = parseCookies(field)
    const begun = cookies.flatMap((name, i) =>
      i % 2 === 0 && name.startsWith(start) ? { name, begunAt: this.#open(cookies[i + 1]!)?.begunAt ?? 0 } : [],
    )
    return begun
      .sort((a, b) => b.begunAt - a.begunAt)
      .slice(MAX_LOGINS - 1)
      .map(({ name }) => name)
  }

  #open(value: string): Sealed | null {
    const text = this.#box.open(value)
    return text === null ? null : (JSON.parse(text) as Sealed)
  }

  #nameOf({ isSecure }: CookieForm, state: string): string {
    return `${isSecure ? '__Host-' : ''}${this.#prefix}-${state.slice(0, ID_CHARACTERS)}`
  }
}
