// What attackers and clients send as credentials appears nowhere: not in what the server logs, in its access log, its metrics, the errors
// that observers get, or a response. Every attack on credentials is sent to one server with all of these.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { jwt } from '../../../jwt/src/index.ts'
import { ATTACKS, optionsOf, own } from '../../../jwt/test/attack-list.ts'
import { tokenOf } from '../../../jwt/test/support.ts'
import { oidc } from '../../../oidc/src/index.ts'
import { HttpServer, t as schema } from '../../src/index.ts'
import { apiKey, apiKeyDigest, auth, basic, PasswordHasher } from '../../src/modules/auth/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { metrics } from '../../src/modules/metrics/index.ts'
import { memorySessions, sealed, sessions } from '../../src/modules/sessions/index.ts'
import { connect, TestClock } from '../../src/testing/index.ts'
import { cookieOf, keyOf } from '../support/user-sessions.ts'

const PASSWORD = 'correct-horse-battery-staple'
const GUESS = 'wrong-horse-battery-staple'
const API_KEY = 'key_4f1d0c9a7be2463d'
const WRONG_KEY = 'key_ffffffff00000000aaaa'
const STRANGER = { address: '203.0.113.7', isSecure: true }
const IN_THE_CLEAR = { address: '203.0.113.8', isSecure: false }
type InjectOptions = Exclude<Parameters<HttpServer['inject']>[0], string>
/** Shorter texts appear by chance. */
const SHORTEST = 12
const PIECE = 16
const hash = await new PasswordHasher({ ln: 4, r: 2, p: 1 }).hash(PASSWORD)

interface Watched {
  readonly server: HttpServer
  /** Everything that anybody could read, except for the body of responses. */
  readonly texts: string[]
}

function watched(place: 'sealed' | 'in a store', debug: boolean): Watched {
  const texts: string[] = []
  const note = (...values: unknown[]): void => void texts.push(...values.map((value) => inspect(value, { depth: 8 })))
  const server = new HttpServer({ debug, logger: { error: note, warn: note }, timeouts: { keepAliveTimeout: null } })
  const fields = ['authorization', 'cookie', 'x-api-key', 'origin', 'user-agent']
  for (const format of ['json', 'combined'] as const)
    server.use(accessLog({ name: format, format, fields, to: { write: (line: string) => texts.push(line) > 0 } as never }))
  server.use(metrics())
  server.observe({ end: ({ error, route, firstBytes }) => note(error, route, firstBytes) })
  const users = sessions({ store: place === 'sealed' ? sealed({ keys: [keyOf('one')] }) : memorySessions() })
  const schemes = [
    jwt(optionsOf()),
    basic({ users: { ann: hash } }),
    apiKey({ keys: { [apiKeyDigest(API_KEY)]: { id: 'service' } } }),
    users.scheme(),
  ]
  const rules = auth({ schemes, roles: ['admin'] })
  server.use(users)
  server.use(rules)
  server.use(
    oidc({
      sessions: users,
      issuer: 'https://issuer.example',
      clientId: 'app',
      clientSecret: PASSWORD,
      keys: [keyOf('two')],
      use: [auth.open],
    }),
  )
  server.mapGet('/', () => 'done')
  server.mapGet('/open', { use: [auth.open] }, () => 'done')
  server.mapGet('/admin', { use: [rules.roles('admin')] }, () => 'done')
  server.mapPost('/upload', { body: 'stream' }, () => 'done')
  const logins = rateLimit({ name: 'login', quota: 3, window: '15m' })
  const Login = schema.object({ user: schema.string, password: schema.string.secret() })
  server.mapPost('/login', { use: [auth.open, logins], body: Login }, ({ body }, session) => {
    if (body.password !== PASSWORD) return session.response.unauthorized()
    users.signIn(session, { id: body.user, roles: [] })
    return 'welcome'
  })
  return { server, texts }
}

/** All pieces of a secret that would help somebody. */
function piecesOf(secret: string): string[] {
  const pieces: string[] = []
  for (const part of secret.split(/[.;=, ]+/)) {
    if (part.length < SHORTEST) continue
    for (let at = 0; at + PIECE < part.length; at += PIECE) pieces.push(part.slice(at, at + PIECE))
    pieces.push(part.slice(-Math.min(PIECE, part.length)))
  }
  return pieces
}

for (const place of ['sealed', 'in a store'] as const)
  for (const debug of [false, true])
    test(`nothing that is secret is logged or answered, with sessions ${place}, ${debug ? 'with' : 'without'} debug`, async () => {
      const { server, texts } = watched(place, debug)
      const secrets = new Set<string>()
      let sent = 0
      const send = async (what: string, secret: string, options: InjectOptions, statuses: readonly number[]): Promise<void> => {
        secrets.add(secret)
        sent++
        const accept = { Accept: sent % 2 === 0 ? 'text/html' : 'application/json' }
        const { peer = STRANGER, ...request } = options
        const client = connect(server, { clock: new TestClock(), peer }) // the clock by which the tokens are valid
        const response = await client.request({ ...request, headers: { ...accept, ...(request.headers as object) } })
        assert.ok(statuses.includes(response.status), `${what}: ${response.status}`)
        texts.push(inspect([...response.headers].filter(([name]) => name !== 'set-cookie')), response.text())
      }
      const withFields = (headers: Record<string, string>, more: Partial<InjectOptions> = {}): InjectOptions => ({
        url: '/',
        headers,
        ...more,
      })
      const basicOf = (text: string | Uint8Array): string => `Basic ${Buffer.from(text).toString('base64')}`

      // Tokens.
      for (const [title, make, options] of ATTACKS) {
        if (options !== undefined) continue
        const token = await make()
        for (const more of [{}, { method: 'POST', url: '/upload' }, { url: '/nowhere' }])
          await send(title, token, withFields({ Authorization: `Bearer ${token}` }, more), [401])
        await send(title, token, withFields({ Authorization: `Bearer ${token}` }, { url: '/open' }), [200])
      }
      const token = await tokenOf(own)
      await send('a token without the role', token, withFields({ Authorization: `Bearer ${token}` }, { url: '/admin' }), [403])
      for (const name of ['access_token', 'id_token', 'token'])
        for (const path of ['/', '/open', '/nowhere'])
          await send(`${name} in the query`, token, { url: `${path}?${name}=${token}` }, [200, 401])

      // Passwords and keys.
      for (const [title, text] of [
        ['a wrong password', `ann:${GUESS}`],
        ['a name that nobody has', `nobody:${GUESS}`],
        ['no colon', GUESS],
        ['a control character', `ann:${GUESS}\x07`],
        ['not UTF-8', Buffer.concat([Buffer.from(`ann:${GUESS}`), Buffer.from([0xff])])],
        ['a very long password', `ann:${GUESS.repeat(60)}`],
      ] as const) {
        await send(title, GUESS, withFields({ Authorization: basicOf(text) }), [401])
        secrets.add(basicOf(text).slice(6))
      }
      await send('not base64', GUESS, withFields({ Authorization: `Basic ${GUESS}!` }), [401])
      await send('an unknown scheme', GUESS, withFields({ Authorization: `Digest response="${GUESS}"` }), [401])
      await send(
        'a password in the clear',
        PASSWORD,
        withFields({ Authorization: basicOf(`ann:${PASSWORD}`) }, { peer: IN_THE_CLEAR }),
        [403],
      )
      secrets.add(basicOf(`ann:${PASSWORD}`).slice(6))
      await send('the right password', PASSWORD, withFields({ Authorization: basicOf(`ann:${PASSWORD}`) }, { url: '/admin' }), [403])
      await send('a wrong key', WRONG_KEY, withFields({ 'X-API-Key': WRONG_KEY }), [401])
      await send('two keys', WRONG_KEY, withFields({ 'X-API-Key': `${WRONG_KEY}, ${API_KEY}` }), [401])
      await send('a key in the clear', API_KEY, withFields({ 'X-API-Key': API_KEY }, { peer: IN_THE_CLEAR }), [403])
      await send('the right key', API_KEY, withFields({ 'X-API-Key': API_KEY }, { url: '/admin' }), [403])
      for (const name of ['api_key', 'password']) await send('a key in the query', API_KEY, { url: `/nowhere?${name}=${API_KEY}` }, [401])

      // Logins: three are allowed.
      const json = { 'Content-Type': 'application/json' }
      const login = (body: unknown): InjectOptions => ({
        method: 'POST',
        url: '/login',
        headers: json,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      await send('a body that is not JSON', GUESS, login(`{"user":"ann","password":"${GUESS}"`), [400])
      await send('a password that does not fit', GUESS, login({ user: 'ann', password: [GUESS] }), [400])
      const clock = new TestClock()
      const first = await connect(server, { clock, peer: STRANGER }).request(login({ user: 'ann', password: PASSWORD }))
      const cookie = cookieOf(first)
      const value = cookie.slice(cookie.indexOf('=') + 1)
      for (let i = 0; i < 2; i++) await send('a guess', GUESS, login({ user: 'ann', password: GUESS }), [429])
      await send('a guess of another address', GUESS, { ...login({ user: 'ann', password: GUESS }), peer: IN_THE_CLEAR }, [401])

      // Cookies of sessions.
      for (const [title, text] of [
        ['a truncated cookie', cookie.slice(0, -5)],
        ['a longer cookie', `${cookie}AAAA`],
        ['a changed cookie', cookie.replace(/.{3}$/, 'AAA')],
        ['two cookies', `${cookie}; __Host-session=${'B'.repeat(43)}`],
        ['a cookie of another name', `session=${value}`],
        ['an invented cookie', `__Host-session=${'C'.repeat(43)}`],
      ] as const)
        await send(title, text.slice(text.indexOf('=') + 1), withFields({ Cookie: text }), [401])
      await send('the right cookie', value, withFields({ Cookie: cookie }, { url: '/admin' }), [403])
      await send(
        'a page of another site',
        value,
        withFields({ Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' }, { method: 'POST', url: '/upload' }),
        [403],
      )

      // A login at a provider that nobody has begun.
      const code = 'SplxlOBeZQQYbYS6WxSbIA'
      await send('a forged code', code, { url: `/auth/callback?code=${code}&state=af0ifjsldkj` }, [400])

      const metricsText = (await server.inject({ url: '/metrics', peer: STRANGER, headers: { 'X-API-Key': API_KEY } })).text()
      assert.match(metricsText, /http_server/)
      texts.push(metricsText)
      assert.ok(texts.length > 4 * sent, 'everything is watched')
      const all = texts.join('\n')
      for (const secret of secrets)
        for (const piece of piecesOf(secret)) {
          const at = all.indexOf(piece)
          assert.equal(at, -1, `${secret}: …${all.slice(Math.max(0, at - 200), at + 60)}…`)
        }
    })
