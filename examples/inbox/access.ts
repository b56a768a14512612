// Who may call what, and how often.

import type { HttpSession } from 'weirjs'
import { auth as authentication } from 'weirjs/auth'
import { rateLimit } from 'weirjs/limits'
import { type SessionStore, sessions } from 'weirjs/sessions'

import type { Account, Store } from './store.ts'

const DAY_MS = 24 * 3_600_000
const END_OF_TIME = new Date(8.64e15)

export type Access = ReturnType<typeof accessTo>

export function accessTo(store: Store, kept: SessionStore) {
  const users = sessions({
    store: kept,
    persistent: true,
    idleTimeout: DAY_MS,
    absoluteTimeout: 7 * DAY_MS,
    // A session ends with its account. It is worth nothing if somebody else takes the name.
    notBefore: (principal) => (principal === null ? null : (store.accounts.get(principal.id)?.createdAt ?? END_OF_TIME)),
  })
  const auth = authentication({ schemes: [users.scheme()], roles: ['user', 'admin'], unrouted: 'allowed' })
  /** The sender of a request, on routes that are not open to anyone. */
  const senderOf = (session: HttpSession): Account => store.find(auth.principal.required(session).id)
  const limits = {
    signUps: rateLimit({ name: 'sign-ups', quota: 20, window: '1h' }),
    // Of sign-ins, only those that fail count. Guesses at one account may come from many addresses.
    signIns: rateLimit({ name: 'sign-ins', quota: 20, window: '15m' }),
    guesses: rateLimit({ name: 'guesses', quota: 5, window: '15m' }),
    uploads: rateLimit({ name: 'uploads', quota: 60, window: '1m', key: 'principal' }),
  }
  return { users, auth, senderOf, limits }
}
