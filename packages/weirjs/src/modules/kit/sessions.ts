// What a module that signs people in needs of `sessions()`.

import type { HttpSession } from '../../http/session.ts'
import type { KeyRing } from '../sessions/key-ring.ts'
import type { CookieForm } from '../sessions/session-cookie.ts'
import type { SessionPrincipal } from '../sessions/session-record.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import { SessionsModule, type SignIn } from '../sessions/sessions.ts'
import type { StoredObject } from '../sessions/stored-value.ts'

/** The session of one request. */
export interface OpenedSession {
  /** Null if nobody is signed in. */
  readonly principal: SessionPrincipal | null
  /** What the module that has signed the principal in keeps with it. */
  readonly extra: StoredObject
  /** How its cookie is written; null if the connection is too insecure for one. */
  readonly form: CookieForm | null
  /**
   * Changes `extra` at once, in the store. Several requests do so in turn.
   * @param change undefined: nothing changes
   * @returns what is kept now; null if the session is over
   */
  changeExtra(change: (extra: StoredObject) => StoredObject | undefined): Promise<StoredObject | null>
}

/** What `sessions()` returned, for a module that signs people in. */
export interface SessionsHandle {
  /** The keys of sealed sessions; null if the sessions are kept in a store. */
  readonly ring: KeyRing | null
  /** Null if the sessions are sealed. */
  readonly store: SessionStore | null
  /** Whether `csrf` is installed with them. */
  readonly protects: boolean
  of(session: HttpSession): OpenedSession
  signIn(session: HttpSession, principal: SignIn, extra?: StoredObject): void
  signOut(session: HttpSession): void
}

/** @returns null for what `sessions()` has not returned */
export function sessionsHandle(sessions: unknown): SessionsHandle | null {
  if (!(sessions instanceof SessionsModule)) return null
  return {
    ring: sessions.sealing?.ring ?? null,
    store: sessions.store,
    protects: sessions.protects,
    of: (session) => sessions.of(session),
    signIn: (session, principal, extra) => sessions.signIn(session, principal, extra),
    signOut: (session) => sessions.signOut(session),
  }
}
