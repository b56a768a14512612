// What applies to whole groups of routes: who may call them, and from which pages.

import { HttpError, type HttpSession, metadataKey, type Policy, principalKey } from 'weir'

import type { Account, Store } from './store.ts'

/** Because of the prefix, browsers accept the cookie only if it is secure and belongs to this host alone. */
export const COOKIE = '__Host-session'
/** Who may call a route: `{ metadata: role('admin') }`. Without it, everyone who has signed in. */
export const role = metadataKey<Account['role'] | 'anyone'>('role')
const principalOf = principalKey<Account>()

/** The sender of a request, on routes that are not open to anyone. */
export function senderOf(session: HttpSession): Account {
  const account = principalOf(session)
  if (account === null) throw new Error(`${session.route} is open to anyone`)
  return account
}

export const authentication = (store: Store): Policy => ({
  name: 'authentication',
  gate(session) {
    const required = role.of(session) ?? 'user'
    if (required === 'anyone') return
    const account = store.sender(session.request.cookie(COOKIE) ?? '')
    if (account === null) throw new HttpError(401, 'Sign in first.')
    if (required === 'admin' && account.role !== 'admin') throw new HttpError(403, 'Only administrators may do this.')
    principalOf.set(session, account)
  },
})

/** Pages of other origins may not change anything on behalf of a user. */
export const sameOrigin: Policy = {
  name: 'same-origin',
  gate({ request, origin }) {
    const page = request.header('origin')
    if (request.method !== 'GET' && page !== null && page !== origin) throw new HttpError(403, 'This page may not do this.')
  },
}
