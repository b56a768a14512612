// Routes of a login at which nobody could log in: only people could reach them who have done so, or there is no session to begin.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'

import { HttpServer, type Usable } from '../../weirjs/src/index.ts'
import { auth, basic, type Scheme } from '../../weirjs/src/modules/auth/index.ts'
import { sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { keyOf } from '../../weirjs/test/support/user-sessions.ts'
import { oidc } from '../src/index.ts'

async function start(t: TestContext, others: readonly Scheme[], use: readonly Usable[]): Promise<void> {
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }) })
  const login = oidc({ sessions: users, issuer: 'https://id.example', clientId: 'a', clientSecret: null, use })
  const server = new HttpServer({ logger: null }).use(users)
  server.use(auth({ schemes: [users.scheme({ login: login.loginPath }), ...others] })).use(login)
  t.after(() => server.stop())
  await server.start()
}

test('a login that requires a login is refused when the server starts', async (t) => {
  const message =
    /oidc\(\): GET \/auth\/login \(inline\) requires a login, so nobody can log in: write oidc\(\{ …, use: \[auth\.open\] \}\)$/
  await assert.rejects(start(t, [], []), { code: 'WEIR_OPTION_INVALID', message })
  await assert.rejects(start(t, [], [auth.required()]), { code: 'WEIR_OPTION_INVALID', message })
  await start(t, [], [auth.open])
})

test('a login may be for those who have another way in', async (t) => {
  await start(t, [basic({ users: () => null })], [])
})

test('a login without sessions is refused when the server starts', async (t) => {
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }) })
  const server = new HttpServer({ logger: null })
  server.use(oidc({ sessions: users, issuer: 'https://id.example', clientId: 'a', clientSecret: null }))
  t.after(() => server.stop())
  const message = /oidc\(\): GET \/auth\/login \(inline\) has no sessions: write server\.use\(…\) with what sessions\(\) has returned$/
  await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message })
})
