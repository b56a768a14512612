// Creating accounts, signing in and out, and what administrators do.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { type Module, Problem, t } from 'weir'

import { COOKIE, role, senderOf } from './policies.ts'
import { Name, SESSION_SECONDS, type Store, Text, User } from './store.ts'

const Credentials = t.object({ name: Name, password: t.string.min(10).max(200).secret() })
const COOKIE_OPTIONS = { path: '/', secure: true, httpOnly: true, sameSite: 'strict', maxAge: SESSION_SECONDS } as const

export const accounts = (store: Store): Module => ({
  name: 'accounts',
  install({ mapGet, mapPost, mapDelete }) {
    const open = { metadata: role('anyone'), body: Credentials }

    mapPost('/users', { ...open, answers: { 201: User, 409: Problem } }, ({ body }) => store.add(body.name, body.password))

    mapPost('/session', { ...open, answers: { 204: null, 401: Problem } }, async ({ body }, { response }) =>
      response.cookie(COOKIE, store.signIn(await store.check(body.name, body.password)), COOKIE_OPTIONS).noContent(),
    )

    mapDelete('/session', { answers: { 204: null } }, (_, session) => {
      store.signOut(senderOf(session), session.request.cookie(COOKIE)!)
      return session.response.deleteCookie(COOKIE, COOKIE_OPTIONS).noContent()
    })

    mapGet('/me', { answers: { 200: User } }, (_, session) => senderOf(session))
  },
})

export const administration = (store: Store, folder: string): Module => ({
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
