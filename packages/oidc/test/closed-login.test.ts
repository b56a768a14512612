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

/** A provider whose configuration comes when it is told to, and a server on which everybody is signed in at `/in`. */
async function startSlow(t: TestContext) {
  const { promise: asked, open } = gate<boolean>()
  let isAsked = false
  const provider = createServer((_, response) => {
    isAsked = true
    void asked.then((isThere) => {
      const issuer = `http://127.0.0.1:${port}`
      const found = { issuer, authorization_endpoint: `${issuer}/in`, end_session_endpoint: `${issuer}/out` }
      response.writeHead(isThere ? 200 : 500, { 'Content-Type': 'application/json' }).end(JSON.stringify(found))
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  t.after(() => provider.close().closeAllConnections())
  const { port } = provider.address() as AddressInfo
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }), allowInsecure: true })
  const login = oidc({ sessions: users, issuer: `http://127.0.0.1:${port}`, clientId: 'a', clientSecret: null, timeout: '10m' })
  const server = new HttpServer({ logger: null }).use(users).use(login)
  server.mapGet('/in', (_, session) => {
    users.signIn(session, { id: 'ann' })
    return 'in'
  })
  const signedIn = await server.fetch(new Request('http://localhost/in'))
  const Cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!
  const all = async (request: () => Request, isThere: boolean): Promise<{ responses: Response[]; most: number }> => {
    const asking = Array.from({ length: 1_000 }, () => server.fetch(request()))
    await eventually(() => isAsked, 'a request to the provider')
    open(isThere)
    const most = await mostInATurn(asking)
    return { responses: await Promise.all(asking), most }
  }
  const logout = () =>
    new Request(`http://localhost${login.logoutPath}`, { method: 'POST', headers: { Cookie, 'Sec-Fetch-Site': 'same-origin' } })
  return { all, login: () => new Request(`http://localhost${login.loginPath}`), logout }
}

test('a thousand logins that wait for the provider respond in turns, also if it fails', async (t) => {
  const { all, login } = await startSlow(t)
  const { responses, most } = await all(login, false)
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([503]))
  assert.ok(most <= 256, `${most} in one turn`)
})

test('a thousand logins that wait for the provider make their addresses in turns', async (t) => {
  const { all, login } = await startSlow(t)
  let made = 0
  let most = 0
  const endTurn = (): void => {
    most = Math.max(most, made)
    made = 0
  }
  const { append } = URLSearchParams.prototype
  t.mock.method(URLSearchParams.prototype, 'append', function (this: URLSearchParams, name: string, value: string) {
    if (name === 'state' && made++ === 0) setImmediate(endTurn)
    append.call(this, name, value)
  })
  const { responses } = await all(login, true)
  assert.deepEqual(new Set(responses.map(({ headers }) => new URL(headers.get('location')!).pathname)), new Set(['/in']))
  assert.ok(most > 0 && most <= 256, `${most} in one turn`)
})

for (const isThere of [true, false])
  test(`a thousand logouts that wait for the provider go on in turns, ${isThere ? 'there' : 'here if it fails'}`, async (t) => {
    const { all, logout } = await startSlow(t)
    const { responses, most } = await all(logout, isThere)
    const paths = responses.map(({ headers }) => new URL(headers.get('location')!, 'http://localhost').pathname)
    assert.deepEqual(new Set(paths), new Set([isThere ? '/out' : '/']))
    assert.ok(most <= 256, `${most} in one turn`)
  })
