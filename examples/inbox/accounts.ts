// Creating accounts, signing in and out, and what administrators do.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type Module, Problem, t } from 'weir'

import type { Access } from './access.ts'
import { Name, type Store, Text, User } from './store.ts'

const Credentials = t.object({ name: Name, password: t.string.min(10).max(200).secret() })

export const accounts = (store: Store, { users, auth, limits, senderOf }: Access): Module => ({
  name: 'accounts',
  install({ mapGet, mapPost, mapDelete }) {
    const signUp = { body: Credentials, use: [auth.open, limits.signUps], answers: { 201: User, 409: Problem, 429: Problem } }
    mapPost('/users', signUp, ({ body }) => store.add(body.name, body.password))

    const signIn = { body: Credentials, use: [auth.open, limits.signIns], answers: { 204: null, 429: Problem } }
    mapPost('/session', signIn, async ({ body }, session) => {
      await limits.guesses.enforce(body.name)
      const { name, role } = await store.check(body.name, body.password)
      await Promise.all([limits.guesses.refund(name), limits.signIns.refund(session)])
      users.signIn(session, { id: name, name, roles: [role] })
      return session.response.noContent()
    })

    mapDelete('/session', { answers: { 204: null } }, (_, session) => {
      store.emit('revoked', senderOf(session))
      users.signOut(session)
    })

    mapGet('/me', { answers: { 200: User } }, (_, session) => senderOf(session))
  },
})

export const administration = (store: Store, folder: string, { senderOf }: Access): Module => ({
  name: 'administration',
  install({ mapGet, mapPost, mapDelete }) {
    mapGet('/users', { answers: { 200: t.array(User) } }, () => [...store.accounts.values()])

    mapDelete('/users/:name', { name: Name, answers: { 204: null, 404: Problem } }, async ({ name }) => {
      const account = store.find(name)
      store.delete(account)
      for (const { attachment } of account.inbox) if (attachment !== null) await rm(join(folder, attachment.fileName))
    })

    mapPost('/broadcasts', { body: t.object({ text: Text }), answers: { 204: null } }, ({ body }, session) => {
      for (const account of store.accounts.values()) store.post(senderOf(session), account, body.text)
    })
  },
})
