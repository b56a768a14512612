// Routes of a login at which nobody could log in: only people could reach them who have done so, or there is no session to begin.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'

import { HttpServer, type Usable } from '../../weirjs/src/index.ts'
import { auth, basic, type Scheme } from '../../weirjs/src/modules/auth/index.ts'
import { sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { mostInATurn } from '../../weirjs/test/support/most-in-a-turn.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
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
    /oidc\(\): GET \/auth\/login \(inline\) at \S+ requires a login, so nobody can log in: write oidc\(\{ …, use: \[auth\.open\] \}\)$/
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
  const message =
    /oidc\(\): GET \/auth\/login \(inline\) at \S+ has no sessions: write server\.use\(…\) with what sessions\(\) has returned$/
  await assert.rejects(server.start(), { code: 'WEIR_OPTION_INVALID', message })
})

test('a thousand logins that wait for the provider respond in turns', async (t) => {
  const { promise: asked, open } = gate()
  let isAsked = false
  const provider = createServer((_, response) => {
    isAsked = true
    void asked.then(() => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  t.after(() => provider.close().closeAllConnections())
  const { port } = provider.address() as AddressInfo
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }), allowInsecure: true })
  const login = oidc({ sessions: users, issuer: `http://127.0.0.1:${port}`, clientId: 'a', clientSecret: null })
  const server = new HttpServer({ logger: null }).use(users).use(login)
  const all = Array.from({ length: 1_000 }, () => server.fetch(new Request(`http://localhost${login.loginPath}`)))
  await eventually(() => isAsked, 'a request to the provider')
  open()
  const most = await mostInATurn(all)
  assert.deepEqual(new Set((await Promise.all(all)).map(({ status }) => status)), new Set([503]))
  assert.ok(most <= 256, `${most} in one turn`)
})
