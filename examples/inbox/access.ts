// Who may call what, and how often.

import type { HttpSession } from 'weirjs'
import { auth as authentication } from 'weirjs/auth'
import { type LimitStore, rateLimit } from 'weirjs/limits'
import { type SessionStore, sessions } from 'weirjs/sessions'

import type { Account, Store } from './store.ts'

export type Stores = { readonly sessions: SessionStore; readonly rateLimit: LimitStore }
export type Access = ReturnType<typeof accessTo>

export function accessTo(store: Store, kept: Stores) {
  const users = sessions({
    store: kept.sessions,
    persistent: true,
    idleTimeout: '1d',
    absoluteTimeout: '7d',
    // A session ends with its account. It is worth nothing if somebody else takes the name.
    notBefore: (principal) => (principal === null ? null : (store.accounts.get(principal.id)?.createdAt ?? new Date(8.64e15))),
  })
  const auth = authentication({ schemes: [users.scheme()], roles: ['user', 'admin'], unrouted: 'allowed' })
  /** The sender of a request, on routes that are not open to anyone. */
  const senderOf = (session: HttpSession): Account => store.find(auth.principal.required(session).id)
  const shared = { store: kept.rateLimit }
  const limits = {
    signUps: rateLimit({ ...shared, name: 'sign-ups', quota: 20, window: '1h' }),
    // Of sign-ins, only those that fail count. Guesses at one account may come from many addresses.
    signIns: rateLimit({ ...shared, name: 'sign-ins', quota: 20, window: '15m' }),
    guesses: rateLimit({ ...shared, name: 'guesses', quota: 5, window: '15m' }),
    uploads: rateLimit({ ...shared, name: 'uploads', quota: 60, window: '1m', key: 'principal' }),
  }
  return { users, auth, senderOf, limits }
}
