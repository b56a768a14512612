// Creating accounts, signing in and out, and what administrators do.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type Module, Problem, t } from 'weirjs'

import type { Access } from './access.ts'
import { Name, type Store, Text, User } from './store.ts'

const Credentials = t.named('Credentials', t.object({ name: Name, password: t.string.min(10).max(200).secret() }))

export const accounts = (store: Store, { users, auth, limits, senderOf }: Access): Module => ({
  name: 'accounts',
  install({ mapGet, mapPost, mapDelete }) {
    const signUp = { summary: 'Creates an account', body: Credentials, use: [auth.open, limits.signUps] }
    mapPost('/users', { ...signUp, answers: { 201: User, 409: Problem } }, ({ body }) => store.add(body.name, body.password))

    const signIn = { summary: 'Signs in', body: Credentials, use: [auth.open, limits.signIns] }
    mapPost('/session', { ...signIn, answers: { 204: null, 401: Problem } }, async ({ body }, session) => {
      await limits.guesses.enforce(body.name)
      const { name, role } = await store.check(body.name, body.password, session.clientAddress)
      await Promise.all([limits.guesses.refund(name), limits.signIns.refund(session)])
      users.signIn(session, { id: name, name, roles: [role] })
      return session.response.noContent()
    })

    mapDelete('/session', { summary: 'Signs out', answers: { 204: null } }, (_, session) => {
      store.emit('revoked', senderOf(session))
      users.signOut(session)
    })

    mapGet('/me', { summary: 'Shows who is signed in', answers: { 200: User } }, (_, session) => senderOf(session))
  },
})

export const administration = (store: Store, folder: string, { senderOf }: Access): Module => ({
  name: 'administration',
  install({ mapGet, mapPost, mapDelete }) {
    mapGet('/users', { summary: 'Lists all accounts', answers: { 200: t.array(User) } }, () => [...store.accounts.values()])

    const removal = { summary: 'Deletes an account', name: Name, answers: { 204: null, 404: Problem } }
    mapDelete('/users/:name', removal, async ({ name }) => {
      const account = store.find(name)
      store.delete(account)
      for (const { attachment } of account.inbox) if (attachment !== null) await rm(join(folder, attachment.fileName))
    })

    const broadcast = { summary: 'Sends a message to everybody', body: t.object({ text: Text }), answers: { 204: null } }
    mapPost('/broadcasts', broadcast, ({ body }, session) => {
      for (const account of store.accounts.values()) store.post(senderOf(session), account, body.text)
    })
  },
})
