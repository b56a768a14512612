// Where an `auth` has decided who has sent a request, sessions that it does not know add no principal: those of two modules look the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { auth } from '../../../src/modules/auth/index.ts'
import { memorySessions, sealed, sessions } from '../../../src/modules/sessions/index.ts'
import { cookieOf, keyOf, SECURE_PEER } from '../../support/user-sessions.ts'

for (const [place, store] of Object.entries({ sealed: sealed({ keys: [keyOf('one')] }), 'in a store': memorySessions() }))
  test(`the session of a user is not that of an administrator: ${place}`, async () => {
    const users = sessions({ store, name: 'users' })
    const admins = sessions({ store, name: 'admins' })
    const admin = auth({ schemes: [admins.scheme()], anonymous: 'allowed' })
    const server = new HttpServer({ logger: null })
    server.use(admin)
    server.use(users)
    server.mapPost('/login', (_, session) => {
      users.signIn(session, { id: 'eve', roles: ['admin'] })
      return 'welcome'
    })
    server.mapGet('/who', (_, session) => ({
      user: users.of(session).principal?.id ?? null,
      admin: admin.principal(session)?.id ?? null,
    }))
    const login = await server.inject({ method: 'POST', url: '/login', peer: SECURE_PEER })
    const who = await server.inject({ url: '/who', peer: SECURE_PEER, headers: { cookie: cookieOf(login) } })
    assert.deepEqual(who.json(), { user: 'eve', admin: null })
  })
