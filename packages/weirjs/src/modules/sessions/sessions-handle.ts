// The functions of `sessions()` for a module that signs people in.

import type { HttpSession } from '../../http/session.ts'
import { exchange } from '../kit/exchange.ts'
import { KeyRing, type SealedBox, type SealingKey } from './key-ring.ts'
import { type CookieForm, clearCookieText, insecureSession, returningForm, setCookieText, soleCookie } from './session-cookie.ts'
import type { SessionPrincipal } from './session-record.ts'
import type { SessionStore } from './session-store.ts'
import { SessionsModule, type SignIn } from './sessions.ts'
import type { StoredObject } from './stored-value.ts'

/** The session of a person, as one request has it. Valid as long as the request. */
export interface OpenedSession {
  /** Null if no one is signed in. */
  readonly principal: SessionPrincipal | null
  /** The same for all requests of one session in a store. Null if this request has begun it, has ended it, or it is sealed. */
  readonly key: string | null
  /** Data that the module that has signed the principal in keeps with it. */
  readonly extra: StoredObject
  /**
   * Changes `extra` in the store immediately. Requests take turns.
   * @param change undefined: nothing changes
   * @returns what is kept now; null if the session is over
   * @throws (rejects) WEIR_STORE_UNAVAILABLE
   */
  changeExtra(change: (extra: StoredObject) => StoredObject | undefined): Promise<StoredObject | null>
}

/**
 * Sealed cookies in which a module keeps texts: the client can neither read nor change them. Each has its own id, and the attributes of the cookie
 * of `sessions()`. Made by `sealedCookies` of a `SessionsHandle`.
 */
export interface SealedCookies {
  /** @throws WEIR_SESSION_INSECURE if the connection is too insecure for cookies. So do all other members */
  check(session: HttpSession): void
  /** The ids and texts of those that the request has, 16 at most. The text is null if the cookie was not sealed for this purpose, or was changed. */
  list(session: HttpSession): { readonly id: string; readonly text: string | null }[]
  /** Adds one to the response. @param id letters and digits @param maxAgeMs whole seconds, in milliseconds */
  write(session: HttpSession, id: string, text: string, maxAgeMs: number): void
  /** Returns the text of one, and removes it by the response. Null without it, and if it was not sealed for this purpose. */
  take(session: HttpSession, id: string): string | null
  /** Removes one by the response. */
  clear(session: HttpSession, id: string): void
}

/** The result of `sessions()`, as a module that signs people in sees it. Valid as long as the server. */
export interface SessionsHandle {
  /** Null if the sessions are sealed: their data is at the clients, and what must not leave the server cannot be kept with them. */
  readonly store: SessionStore | null
  /** Whether `csrf` is installed with them. */
  readonly protects: boolean
  /** The session that the request belongs to. */
  of(session: HttpSession): OpenedSession
  /** Begins a session, as `sessions().signIn` does. @param extra what the module keeps with it @throws what that throws */
  signIn(session: HttpSession, principal: SignIn, extra?: StoredObject): void
  /** Ends the session, as `sessions().signOut` does. */
  signOut(session: HttpSession): void
  /**
   * @param owner the module, for messages
   * @param purpose what is sealed: no other purpose can open it
   * @param name what the names of the cookies begin with
   * @param keys undefined: the keys of the sealed sessions
   * @returns null without `keys` if the sessions are in a store, which has none
   * @throws WEIR_OPTION_INVALID for wrong keys
   */
  sealedCookies(owner: string, purpose: string, name: string, keys: readonly SealingKey[] | undefined): SealedCookies | null
}

/**
 * Returns what a module may do with the sessions that the program has passed to it. @param sessions the option of the program @returns null for a
 * value that `sessions()` has not returned
 */
export function sessionsHandle(sessions: unknown): SessionsHandle | null {
  if (!(sessions instanceof SessionsModule)) return null
  return {
    store: sessions.store,
    protects: sessions.protects,
    of: (session) => sessions.of(session),
    signIn: (session, principal, extra) => sessions.signIn(session, principal, extra),
    signOut: (session) => sessions.signOut(session),
    sealedCookies(owner, purpose, name, keys) {
      const ring = keys === undefined ? sessions.sealing?.ring : new KeyRing(owner, keys)
      return ring === undefined ? null : new Cookies(sessions, ring.boxFor(purpose), name)
    },
  }
}

/** A client may send thousands, each of which would have to be decrypted. */
const MOST_LISTED = 16

class Cookies implements SealedCookies {
  readonly #sessions: SessionsModule
  readonly #box: SealedBox
  readonly #name: string

  constructor(sessions: SessionsModule, box: SealedBox, name: string) {
    this.#sessions = sessions
    this.#box = box
    this.#name = name
  }

  check(session: HttpSession): void {
    this.#formOf(session, '')
  }

  list(session: HttpSession): { readonly id: string; readonly text: string | null }[] {
    const { name: start } = this.#formOf(session, '')
    const cookies = exchange(session).cookies(true)
    const found: { id: string; text: string | null }[] = []
    for (let i = 0; i < cookies.length && found.length < MOST_LISTED; i += 2) {
      const name = cookies[i]!
      if (name.startsWith(start)) found.push({ id: name.slice(start.length), text: this.#box.open(cookies[i + 1]!) })
    }
    return found
  }

  write(session: HttpSession, id: string, text: string, maxAgeMs: number): void {
    session.response.appendHeader('Set-Cookie', setCookieText(this.#formOf(session, id), this.#box.seal(text), maxAgeMs / 1_000))
  }

  take(session: HttpSession, id: string): string | null {
    const value = soleCookie(exchange(session).cookies(true), this.#formOf(session, id).name)
    if (value === null) return null
    this.clear(session, id)
    return this.#box.open(value)
  }

  clear(session: HttpSession, id: string): void {
    session.response.appendHeader('Set-Cookie', clearCookieText(this.#formOf(session, id)))
  }

  #formOf(session: HttpSession, id: string): CookieForm {
    const { form } = this.#sessions.of(session)
    if (form === null) throw insecureSession()
    return returningForm(form, `${this.#name}-${id}`)
  }
}
