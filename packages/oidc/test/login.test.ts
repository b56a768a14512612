// Logins at a real identity provider: the way in, everything that must not lead in, and the way out.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { memorySessions, type SessionsOptions, sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { CLIENT, type IdentityProvider, startProvider, takeCodesAgain, Visitor } from '../../weirjs/test/support/identity-provider.ts'
import { keyOf } from '../../weirjs/test/support/user-sessions.ts'
import { type Oidc, type OidcOptions, oidc } from '../src/index.ts'

interface JwkSet {
  readonly keys: readonly Readonly<Record<string, unknown>>[]
}

/** A public key that has not signed anything. */
function otherKey(): Readonly<Record<string, unknown>> {
  return { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }
}

interface App {
  readonly server: HttpServer
  readonly origin: string
  readonly login: Oidc
  readonly idp: IdentityProvider
  readonly logged: unknown[]
  who(visitor: Visitor): Promise<unknown>
}

const PLACES: Readonly<Record<string, () => { store: SessionsOptions['store']; keys?: Uint8Array[] }>> = {
  sealed: () => ({ store: sealed({ keys: [keyOf('one')] }) }),
  'in a store': () => ({ store: memorySessions(), keys: [keyOf('one')] }),
}

/** An app on localhost, and its provider on 127.0.0.1: two sites. */
async function startApp(t: TestContext, place = PLACES['sealed']!, options: Partial<OidcOptions> = {}): Promise<App> {
  const logged: unknown[] = []
  const server = new HttpServer('127.0.0.1', 0, { logger: { error: (message, detail) => void logged.push(message, detail) } })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const origin = `http://localhost:${server.port}`
  const idp = await startProvider(t, [origin])
  const { store, keys } = place()
  const users = sessions({ store })
  const login = oidc({ sessions: users, issuer: idp.issuer, ...CLIENT, ...(keys !== undefined && { keys }), ...options })
  server.use(users)
  server.use(login)
  server.mapGet('/', (_, session) => users.of(session).principal ?? { id: null })
  server.mapGet('/cart', (_, session) => {
    users.of(session).update({ cart: ['book'] })
    return 'kept'
  })
  server.mapGet('/data', (_, session) => users.of(session).data)
  const who = async (visitor: Visitor): Promise<unknown> => ((await (await visitor.go(`${origin}/`)).json()) as { id: unknown }).id
  return { server, origin, login, idp, logged, who }
}

for (const [title, place] of Object.entries(PLACES))
  describe(`with sessions ${title}`, () => {
    test('a login leads to the page that the visitor wanted, with what the ID token states, and keeps what they had', async (t) => {
      const { origin, who, logged } = await startApp(t, place)
      const visitor = new Visitor()
      await visitor.go(`${origin}/cart`)
      const before = visitor.cookies.get(origin)!.get('__Host-session')
      const done = await visitor.logIn(origin, 'ann', '/auth/login?return=/orders?page=2')
      assert.equal(done.status, 303)
      assert.equal(done.headers.get('location'), '/orders?page=2')
      assert.equal(done.headers.get('cache-control'), 'no-store')
      assert.equal(await who(visitor), 'ann')
      assert.notEqual(visitor.cookies.get(origin)!.get('__Host-session'), before)
      assert.deepEqual([...visitor.cookies.get(origin)!.keys()], ['__Host-session'], 'the login in progress is over')
      assert.deepEqual(await (await visitor.go(`${origin}/data`)).json(), { cart: ['book'] })
      assert.deepEqual(logged, [])
    })

    test('logging out ends the session here and at the provider', async (t) => {
      const { origin, who, idp } = await startApp(t, place)
      const visitor = new Visitor()
      await visitor.logIn(origin, 'ann')
      const cookie = visitor.cookies.get(origin)!.get('__Host-session')!
      const out = await visitor.go(`${origin}/auth/logout`, {})
      assert.equal(out.status, 303)
      const elsewhere = new URL(out.headers.get('location')!)
      assert.equal(elsewhere.origin, idp.issuer)
      assert.equal(elsewhere.searchParams.get('post_logout_redirect_uri'), `${origin}/`)
      assert.equal(await who(visitor), null)
      visitor.cookies.get(origin)!.set('__Host-session', cookie)
      if (title !== 'sealed') assert.equal(await who(visitor), null, 'replayed')
    })
  })

describe('what a login sends', () => {
  test('PKCE, a state and a nonce, each new for each login', async (t) => {
    const { origin, idp } = await startApp(t, PLACES['sealed'], { parameters: { prompt: 'login' }, scope: 'openid email' })
    const visitor = new Visitor()
    const [one, other] = [await visitor.begin(origin), await visitor.begin(origin)]
    assert.equal(one.origin, idp.issuer)
    const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(one.searchParams)
    assert.deepEqual(rest, {
      prompt: 'login',
      response_type: 'code',
      client_id: 'app',
      redirect_uri: `${origin}/auth/callback`,
      scope: 'openid email',
      code_challenge_method: 'S256',
    })
    for (const [name, value] of Object.entries({ state, nonce, code_challenge: challenge })) {
      assert.match(value!, /^[\w-]{43}$/)
      assert.notEqual(other.searchParams.get(name), value)
    }
  })

  test('each login in progress is a sealed cookie for ten minutes, and there are at most five', async (t) => {
    const { origin } = await startApp(t)
    const visitor = new Visitor()
    const begun: URL[] = []
    for (let i = 0; i < 8; i++) begun.push(await visitor.begin(origin))
    const [, field] = visitor.received[0]!
    assert.match(field, /^__Host-login-[\da-f]{6}-[\w-]{10}=1\.[\w-]{8}\.[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/)
    assert.ok(!field.includes(begun[0]!.searchParams.get('nonce')!))
    assert.equal(visitor.cookies.get(origin)!.size, 5)
    const last = await visitor.go(await visitor.logInAt(begun.at(-1)!, 'ann'))
    assert.equal(last.status, 303)
    const first = await visitor.go(await visitor.logInAt(begun[0]!, 'ann'))
    assert.equal(first.status, 400)
  })

  test('of many cookies that look like a login, few are opened and cleared', async (t) => {
    const { origin } = await startApp(t)
    const visitor = new Visitor()
    await visitor.begin(origin)
    const [name] = [...visitor.cookies.get(origin)!.keys()]
    const start = name!.slice(0, name!.lastIndexOf('-') + 1)
    const cookie = Array.from({ length: 300 }, (_, i) => `${start}${String(i).padStart(10, '0')}=1.AAAAAAAA.${'A'.repeat(30)}`).join('; ')
    const response = await fetch(`${origin}/auth/login`, { headers: { cookie }, redirect: 'manual' })
    assert.equal(response.status, 303)
    assert.equal(response.headers.getSetCookie().length, 16 - 4 + 1)
  })

  test('a long path is not returned to, and an address of another site never', async (t) => {
    const { origin } = await startApp(t)
    const visitor = new Visitor()
    for (const path of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/%0d/evil.example',
      `/${'a'.repeat(1_500)}`,
      'javascript:alert(1)',
    ]) {
      const done = await visitor.logIn(origin, 'ann', `/auth/login?return=${encodeURIComponent(path)}`)
      assert.equal(done.headers.get('location'), path.startsWith('/%0d') ? '/%0d/evil.example' : '/', path)
    }
  })
})

describe('what must not lead in', () => {
  const refused = async (t: TestContext, tamper: (callback: URL, visitor: Visitor, app: App) => unknown, status = 400): Promise<string> => {
    const app = await startApp(t)
    const visitor = new Visitor()
    const callback = await visitor.logInAt(await visitor.begin(app.origin), 'ann')
    await tamper(callback, visitor, app)
    const response = await visitor.go(callback)
    assert.equal(response.status, status)
    assert.equal(await app.who(visitor), null)
    const text = JSON.stringify([await response.text(), app.logged])
    for (const secret of [callback.searchParams.get('code')!, CLIENT.clientSecret]) assert.ok(!text.includes(secret))
    return text
  }

  test('a wrong, missing or repeated state', async (t) => {
    await refused(t, (callback) => callback.searchParams.set('state', 'A'.repeat(43)))
    await refused(t, (callback) => callback.searchParams.delete('state'))
    await refused(t, (callback) => callback.searchParams.append('state', callback.searchParams.get('state')!))
    await refused(t, (callback) =>
      callback.searchParams.set('state', `${callback.searchParams.get('state')!.slice(0, 10)}${'A'.repeat(33)}`),
    )
  })

  test('a login that another browser has begun', async (t) => {
    await refused(t, (_, visitor) => visitor.cookies.clear())
  })

  test('the cookie of another login under the name of this one, and a changed one', async (t) => {
    await refused(t, async (_, visitor, { origin }) => {
      const jar = visitor.cookies.get(origin)!
      const [[name]] = [...jar] as [[string, string]]
      await visitor.begin(origin)
      jar.set(name, [...jar.values()].at(-1)!)
    })
    await refused(t, (_, visitor, { origin }) => {
      const jar = visitor.cookies.get(origin)!
      const [[name, value]] = [...jar] as [[string, string]]
      jar.set(name, `${value.slice(0, -5)}AAAAA`)
    })
  })

  test('a wrong or missing issuer', async (t) => {
    assert.match(await refused(t, (callback) => callback.searchParams.set('iss', 'https://other.example')), /WEIR_OIDC_RESPONSE/)
    await refused(t, (callback) => callback.searchParams.delete('iss'))
  })

  test('a code that another login has got, because its PKCE verifier differs', async (t) => {
    await refused(t, async (callback, visitor, { origin }) => {
      const other = await visitor.logInAt(await visitor.begin(origin), 'bob')
      callback.searchParams.set('code', other.searchParams.get('code')!)
    })
  })

  test('a wrong nonce in the ID token', async (t) => {
    const app = await startApp(t)
    const visitor = new Visitor()
    const begun = await visitor.begin(app.origin)
    begun.searchParams.set('nonce', 'another')
    const response = await visitor.go(await visitor.logInAt(begun, 'ann'))
    assert.equal(response.status, 400)
    assert.match(await response.text(), /WEIR_OIDC_RESPONSE/)
    assert.equal(await app.who(visitor), null)
  })

  test('the same response twice', async (t) => {
    const app = await startApp(t)
    const visitor = new Visitor()
    const callback = await visitor.logInAt(await visitor.begin(app.origin), 'ann')
    const pending = new Map(visitor.cookies.get(app.origin)!)
    assert.equal((await visitor.go(callback)).status, 303)
    assert.equal((await visitor.go(callback)).status, 400, 'the login is over')
    const thief = new Visitor()
    thief.cookies.set(app.origin, pending)
    assert.equal((await thief.go(callback)).status, 400, 'the code was used')
    assert.equal(await app.who(thief), null)
  })

  for (const [title, place] of Object.entries(PLACES))
    test(`the same response twice, although the provider takes its code again: sessions ${title}`, async (t) => {
      const app = await startApp(t, place)
      takeCodesAgain(app.idp)
      const visitor = new Visitor()
      const callback = await visitor.logInAt(await visitor.begin(app.origin), 'ann')
      const pending = new Map(visitor.cookies.get(app.origin)!)
      const withCookie = (): Visitor => {
        const one = new Visitor()
        one.cookies.set(app.origin, new Map(pending))
        return one
      }
      const visitors = [withCookie(), withCookie(), withCookie()]
      const responses = await Promise.all(visitors.map((one) => one.go(callback)))
      assert.deepEqual(responses.map(({ status }) => status).sort(), [303, 400, 400], 'at the same time')
      const thief = withCookie()
      assert.equal((await thief.go(callback)).status, 400, 'later')
      assert.equal(await app.who(thief), null)
    })

  for (const [title, keys] of [
    [
      'other keys than those of the provider',
      (own: JwkSet): JwkSet => ({ keys: own.keys.map((key) => ({ ...otherKey(), kid: key['kid'] })) }),
    ],
    ['no key of the provider', (own: JwkSet): JwkSet => ({ keys: own.keys.map((key) => ({ ...key, kid: 'another' })) })],
  ] as const)
    test(`an ID token whose signature has ${title}`, async (t) => {
      const outcomes: number[] = []
      for (const checkSignature of [undefined, true, false]) {
        const app = await startApp(t, PLACES['sealed'], checkSignature === undefined ? {} : { checkSignature })
        const own = (await (await fetch(`${app.idp.issuer}/jwks`)).json()) as JwkSet
        app.idp.instead = (request, response) => {
          if (request.url !== '/jwks') return false
          response.setHeader('Content-Type', 'application/jwk-set+json').end(JSON.stringify(keys(own)))
          return true
        }
        const visitor = new Visitor()
        outcomes.push((await visitor.logIn(app.origin, 'ann')).status)
      }
      assert.deepEqual(outcomes, [400, 400, 303], 'it is checked for an http issuer, unless the program does not want that')
    })

  test('a response of one provider at the callback of another (mix-up)', async (t) => {
    const app = await startApp(t)
    const other = await startProvider(t, [])
    const users = sessions({ store: sealed({ keys: [keyOf('one')] }), name: 'other' })
    const group = app.server.group('/other')
    group.use(users)
    group.use(oidc({ sessions: users, issuer: other.issuer, ...CLIENT, path: '/auth' }))
    const visitor = new Visitor()
    const callback = await visitor.logInAt(await visitor.begin(app.origin), 'ann')
    await visitor.begin(app.origin, '/other/auth/login')
    callback.pathname = '/other/auth/callback'
    assert.equal((await visitor.go(callback)).status, 400)
    assert.ok(!other.requests.includes('POST /token'), 'the code did not get there')
  })

  test('a login that took more than ten minutes', async (t) => {
    const { connect, TestClock } = await import('../../weirjs/src/testing/index.ts')
    const app = await startApp(t)
    const clock = new TestClock()
    const status = async (minutes: number): Promise<number> => {
      const visitor = new Visitor()
      const headers = { Host: new URL(app.origin).host }
      const client = () => connect(app.server, { clock, peer: { address: '127.0.0.1' } })
      const begun = await client().get('/auth/login', { headers })
      const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!
      const callback = await visitor.logInAt(new URL(begun.headers.get('location')!), 'ann')
      await clock.advance(minutes * 60_000)
      return (await client().get(callback.pathname + callback.search, { headers: { ...headers, Cookie: cookie } })).status
    }
    assert.equal(await status(10), 303)
    assert.equal(await status(10.01), 400)
  })

  test('an error of the provider', async (t) => {
    const app = await startApp(t)
    for (const [error, status, code] of [
      ['access_denied', 403, 'WEIR_OIDC_DENIED'],
      ['login_required', 400, 'WEIR_OIDC_RESPONSE'],
      ['<script>', 400, 'WEIR_OIDC_RESPONSE'],
      ['temporarily_unavailable', 503, 'WEIR_OIDC_UNAVAILABLE'],
    ] as const) {
      const visitor = new Visitor()
      const begun = await visitor.begin(app.origin)
      const query = new URLSearchParams({
        error,
        state: begun.searchParams.get('state')!,
        iss: app.idp.issuer,
        error_description: '<b>hidden</b>',
      })
      const response = await visitor.go(`${app.origin}/auth/callback?${query}`)
      assert.equal(response.status, status)
      const text = await response.text()
      assert.match(text, new RegExp(code))
      assert.doesNotMatch(text, /script|hidden/)
    }
  })
})

describe('a provider that is away', () => {
  test('is a 503 for logins, and found again with the next one', async (t) => {
    const { origin, idp, who } = await startApp(t, PLACES['sealed'], { timeout: 200 })
    const visitor = new Visitor()
    let release = (): void => {}
    for (const before of [() => Promise.reject(new Error('away')), () => new Promise<void>((resolve) => (release = resolve))]) {
      idp.before = before
      const response = await visitor.go(`${origin}/auth/login`)
      assert.equal(response.status, 503)
      assert.equal(response.headers.get('retry-after'), '5')
      assert.equal(await who(visitor), null)
    }
    release()
    idp.before = null
    assert.equal((await visitor.logIn(origin, 'ann')).status, 303)
    assert.equal(await who(visitor), 'ann')
  })

  test('does not keep anybody from logging out here', async (t) => {
    const { origin, idp, who } = await startApp(t, PLACES['sealed'], { timeout: 200 })
    const visitor = new Visitor()
    await visitor.logIn(origin, 'ann')
    idp.before = () => Promise.reject(new Error('away'))
    assert.equal((await visitor.go(`${origin}/auth/logout`, {})).status, 303)
    assert.equal(await who(visitor), null)
  })

  test('is asked once by many logins at the same time', async (t) => {
    const { origin, idp } = await startApp(t)
    await Promise.all(Array.from({ length: 5 }, () => new Visitor().begin(origin)))
    assert.equal(idp.requests.filter((request) => request.includes('.well-known')).length, 1)
  })
})

test('the principal is what the program makes of the claims, and of those of the UserInfo endpoint', async (t) => {
  const app = await startApp(t, PLACES['sealed'], {
    async principal(claims, { userInfo, scopes }) {
      const { email } = await userInfo()
      return {
        id: claims.sub,
        name: String(claims['name']),
        roles: email === 'ann@example.com' ? ['admin'] : [],
        scopes,
        claims: { email: email! },
      }
    },
  })
  const visitor = new Visitor()
  await visitor.logIn(app.origin, 'ann')
  assert.deepEqual(await (await visitor.go(`${app.origin}/`)).json(), {
    id: 'ann',
    name: 'ANN',
    roles: ['admin'],
    scopes: ['openid', 'profile', 'email'],
    claims: { email: 'ann@example.com' },
    scheme: 'session',
  })
})

describe('the host to which the provider returns', () => {
  const ADDRESSES: readonly (readonly [host: string, options: Partial<OidcOptions>, expected: string | RegExp | 421])[] = [
    ['localhost:8080', {}, 'http://localhost:8080'],
    ['127.0.0.1', {}, 'http://127.0.0.1'],
    ['[::1]:81', {}, 'http://[::1]:81'],
    ['app.localhost', {}, 'http://app.localhost'],
    ['evil.example', {}, /origin is missing.*write oidc\(\{ …, origin: "http:\/\/evil.example" \}\)/],
    ['localhost.evil.example', {}, /origin is missing/],
    ['evil.example', { origin: 'https://app.example.com' }, 'https://app.example.com'],
    ['a.example.com', { hosts: ['a.example.com', 'b.example.com:81'] }, 'http://a.example.com'],
    ['A.Example.Com:80', { hosts: ['a.example.com', 'b.example.com:81'] }, 'http://a.example.com'],
    ['b.example.com:81', { hosts: ['a.example.com', 'b.example.com:81'] }, 'http://b.example.com:81'],
    ['b.example.com', { hosts: ['a.example.com', 'b.example.com:81'] }, 421],
    ['evil.example', { hosts: ['a.example.com', 'b.example.com:81'] }, 421],
    ['localhost', { hosts: ['a.example.com', 'b.example.com:81'] }, 421],
  ]
  for (const [host, options, expected] of ADDRESSES)
    test(`${host}, with ${JSON.stringify(options)}`, async (t) => {
      const idp = await startProvider(t, ['http://localhost'])
      const logged: unknown[] = []
      const users = sessions({ store: sealed({ keys: [keyOf('one')] }), allowInsecure: true })
      const server = new HttpServer({ logger: { error: (message, detail) => void logged.push(message, detail) } })
      server.use(users)
      server.use(oidc({ sessions: users, issuer: idp.issuer, ...CLIENT, ...options }))
      for (const path of ['/auth/login', `/auth/callback?code=a&state=b`]) {
        const response = await server.inject({ url: path, headers: { Host: host } })
        if (path !== '/auth/login') continue
        if (typeof expected === 'string') {
          const address = new URL(response.headers.get('location')!)
          assert.equal(address.searchParams.get('redirect_uri'), `${expected}/auth/callback`)
        } else if (expected === 421) assert.equal(response.status, 421)
        else {
          assert.equal(response.status, 500)
          assert.match(String(logged.map((one) => (one as { error?: Error }).error?.message ?? one)), expected)
          assert.doesNotMatch(response.text(), /evil/)
        }
      }
    })

  test('whoever logs out under another name is signed out, and stays', async (t) => {
    const idp = await startProvider(t, ['http://localhost'])
    const users = sessions({ store: memorySessions(), allowInsecure: true })
    const server = new HttpServer({ logger: null })
    server.use(users)
    server.use(oidc({ sessions: users, issuer: idp.issuer, ...CLIENT, keys: [keyOf('one')] }))
    server.mapGet('/in', (_, session) => users.signIn(session, { id: 'ann' }))
    server.mapGet('/', (_, session) => users.of(session).principal?.id ?? 'nobody')
    const cookie = (await server.inject('/in')).headers.getSetCookie()[0]!.split(';')[0]!
    for (const [host, elsewhere] of [
      ['evil.example', '/'],
      ['localhost', new URL('/session/end', idp.issuer).href],
    ] as const) {
      const headers = { Host: host, Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' }
      if (host === 'localhost') headers.Cookie = (await server.inject('/in')).headers.getSetCookie()[0]!.split(';')[0]!
      const out = await server.inject({ method: 'POST', url: '/auth/logout', headers })
      assert.equal(out.status, 303)
      assert.equal(out.headers.get('location')!.split('?')[0], elsewhere)
      assert.equal((await server.inject({ url: '/', headers: { Cookie: headers.Cookie } })).text(), 'nobody')
    }
  })
})

test('wrong options are refused', async () => {
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }) })
  const kept = sessions({ store: memorySessions() })
  const right = { sessions: users, issuer: 'https://id.example.com', clientId: 'app', clientSecret: 'secret' }
  oidc(right)
  oidc({ ...right, clientSecret: null }) // a public client
  const wrong: readonly [object, RegExp][] = [
    [{ sessions: {} }, /sessions is an object, not what sessions\(\) returns/],
    [{ issuer: 'id.example.com' }, /issuer/],
    [{ issuer: 'http://id.example.com' }, /has to begin with https/],
    [{ clientId: '' }, /clientId/],
    [{ clientSecret: undefined }, /clientSecret is missing: a public client has \{ clientSecret: null \}/],
    [{ clientSecret: '' }, /clientSecret is a string, not a string that is not empty: a public client has/],
    [{ clientSecret: 7 }, /clientSecret is a number, not a string/],
    [{ keepTokens: true }, /keepTokens needs sessions in a store/],
    [{ sessions: kept }, /keys is missing/],
    [{ sessions: kept, keys: ['short'] }, /keys\[0\]/],
    [{ path: 'auth' }, /path/],
    [{ path: '/auth/' }, /path/],
    [{ path: '/:tenant' }, /path/],
    [{ origin: 'https://app.example.com/' }, /origin/],
    [{ origin: 'https://app.example.com', hosts: ['app.example.com'] }, /origin and hosts exclude each other/],
    [{ hosts: [] }, /hosts is empty/],
    [{ hosts: ['https://app.example.com'] }, /hosts: the string "https:\/\/app.example.com" is not a host/],
    [{ hosts: ['App.example.com'] }, /not a host/],
    [{ hosts: 'app.example.com' }, /hosts/],
    [{ checkSignature: 1 }, /checkSignature/],
    [{ scope: 'profile' }, /scope is the string "profile", not scopes with "openid"/],
    [{ parameters: { state: 'fixed' } }, /parameters has "state"/],
    [{ afterLogout: 'https://evil.example' }, /afterLogout/],
    [{ timeout: 0 }, /timeout is 0, not whole milliseconds/],
    [{ timout: 5 }, /no option "timout", perhaps "timeout"/],
    [{ use: {} }, /use/],
  ]
  for (const [options, message] of wrong) assert.throws(() => oidc({ ...right, ...options } as OidcOptions), message)
  const server = new HttpServer()
  server.use(users)
  assert.throws(() => server.group('/:tenant').use(oidc(right)), /has parameters/)
  await assert.rejects(oidc(right).tokens(null as never), /keepTokens: true/)
})
