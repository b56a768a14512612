// Who gets the cookie of a session: the attributes that a program chooses, what needs what, and the warning of a login that cannot last.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type Logger, type Policy } from '../../../src/index.ts'
import { auth } from '../../../src/modules/auth/index.ts'
import { cors } from '../../../src/modules/cors/index.ts'
import { csrf } from '../../../src/modules/csrf/index.ts'
import { memorySessions, type SessionCookieOptions, type SessionsOptions, sealed, sessions } from '../../../src/modules/sessions/index.ts'
import { keyOf, SECURE_PEER } from '../../support/user-sessions.ts'

const APP = 'https://example.app'
const FROM_APP = { Origin: APP, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' }

function serverWith(options: Partial<SessionsOptions> = {}, logger: Logger | null = null, credentials = true): HttpServer {
  const server = new HttpServer({ logger, frontEnds: [APP] })
  const users = sessions({ store: memorySessions(), ...options })
  server.use(cors({ credentials })).use(users)
  server.mapPost('/login', (_, session) => {
    users.signIn(session, { id: 'ann' })
    return 'in'
  })
  server.mapPost('/logout', (_, session) => {
    users.signOut(session)
    return 'out'
  })
  server.mapGet('/', (_, session) => users.of(session).principal?.id ?? 'nobody')
  return server
}

const post = (server: HttpServer, url: string, headers: Record<string, string> = {}) =>
  server.inject({ method: 'POST', url, headers, peer: SECURE_PEER })

describe('the cookie', () => {
  const cases: readonly (readonly [SessionCookieOptions, prefix: string, attributes: string])[] = [
    [{}, '__Host-', 'Path=/; HttpOnly; SameSite=Lax; Secure'],
    [{ sameSite: 'lax' }, '__Host-', 'Path=/; HttpOnly; SameSite=Lax; Secure'],
    [{ sameSite: 'strict' }, '__Host-', 'Path=/; HttpOnly; SameSite=Strict; Secure'],
    [{ sameSite: 'none' }, '__Host-', 'Path=/; HttpOnly; SameSite=None; Secure'],
    [{ sameSite: 'none', partitioned: true }, '__Host-', 'Path=/; HttpOnly; SameSite=None; Secure; Partitioned'],
    [{ path: '/app' }, '__Secure-', 'Path=/app; HttpOnly; SameSite=Lax; Secure'],
    [{ domain: 'example.com' }, '__Secure-', 'Path=/; Domain=example.com; HttpOnly; SameSite=Lax; Secure'],
  ]
  for (const [cookie, prefix, attributes] of cases)
    for (const store of [memorySessions(), sealed({ keys: [keyOf('one')] })])
      test(`${JSON.stringify(cookie)} ${store.constructor.name}`, async () => {
        const server = serverWith({ cookie, store })
        const [set] = (await post(server, '/login')).headers.getSetCookie()
        const [pair, ...rest] = set!.split('; ')
        assert.ok(pair!.startsWith(`${prefix}session=`), set)
        assert.equal(rest.join('; '), attributes)
        const read = await server.inject({ url: '/', headers: { Cookie: pair! }, peer: SECURE_PEER })
        assert.equal(read.text(), 'ann')
        const cleared = (await post(server, '/logout', { Cookie: pair!, 'Sec-Fetch-Site': 'same-origin' })).headers.getSetCookie()
        assert.ok(
          cleared.some((one) => one.startsWith(`${prefix}session=; ${attributes}; Expires=`)),
          `a browser removes it only with the same domain and path: ${cleared.join('\n')}`,
        )
        await server.start()
        await server.stop()
      })
})

test('mistakes are errors where they are written', () => {
  const refused = (options: object, message: RegExp): void =>
    assert.throws(
      () => sessions({ store: memorySessions(), ...options }),
      { code: 'WEIR_OPTION_INVALID', message },
      JSON.stringify(options),
    )
  refused({ cookie: { sameSite: 'None' } }, /sameSite is the string "None", not "lax", "strict" or "none"/)
  refused({ cookie: { secure: false } }, /no option "secure"/)
  for (const domain of ['.example.com', 'localhost', '127.0.0.1', 'example.com:443', 'https://example.com', 'a.com; Path=/', ''])
    refused({ cookie: { domain } }, /domain is .*not a domain such as "example\.com"/)
  for (const path of ['app', '/a;b', '/a b', '/ä', '']) refused({ cookie: { path } }, /path is .*not a path such as "\/app"/)
  refused({ cookie: { partitioned: 1 } }, /partitioned is 1/)
  refused(
    { cookie: { sameSite: 'none' }, allowInsecure: true },
    /allowInsecure is true, but browsers take a cookie with sameSite: 'none' over TLS alone/,
  )
  refused({ cookie: { partitioned: true }, allowInsecure: true }, /with partitioned over TLS alone/)
})

describe("sameSite: 'none' needs csrf", () => {
  const none = { cookie: { sameSite: 'none' } } as const
  const startOf = async (server: HttpServer): Promise<void> => {
    try {
      await server.start()
    } finally {
      await server.stop()
    }
  }

  test('without it, or if it only reports, the server does not start', async () => {
    const message = /sameSite is 'none'.*it needs csrf/
    await assert.rejects(startOf(serverWith({ ...none, csrf: false })), { code: 'WEIR_OPTION_INVALID', message })
    await assert.rejects(startOf(serverWith({ ...none, csrf: { mode: 'report', onRefused: () => {} } })), { message })
  })

  test('that of sessions, or one of the server, is enough, and a route may leave it out', async () => {
    await startOf(serverWith(none))
    await startOf(serverWith({ ...none, csrf: false }).use(csrf()))
    await startOf(serverWith(none).mapPost('/hook', { use: [{ name: 'csrf' }] }, () => 'hooked'))
  })

  test('also where auth alone reads the cookie', async () => {
    const serverOf = (cookie: SessionCookieOptions, policy?: Policy): HttpServer => {
      const users = sessions({ store: memorySessions(), cookie })
      const server = new HttpServer({ logger: null }).use(auth({ schemes: [users.scheme()] }))
      if (policy !== undefined) server.use(policy)
      server.group('/web').use(users)
      return server.mapPost('/api', () => 'done')
    }
    const refused = { code: 'WEIR_AUTH_SETUP', message: /sameSite is 'none'.*it needs csrf/ }
    await assert.rejects(startOf(serverOf(none.cookie)), refused)
    await assert.rejects(startOf(serverOf(none.cookie, csrf({ mode: 'report', onRefused: () => {} }))), refused)
    await startOf(serverOf(none.cookie, csrf()))
    await startOf(serverOf({}))
  })

  test('and refuses what pages of other sites send', async () => {
    const server = serverWith(none)
    const evil = { ...FROM_APP, Origin: 'https://evil.example' }
    assert.deepEqual([(await post(server, '/login', FROM_APP)).status, (await post(server, '/login', evil)).status], [200, 403])
  })
})

describe('a login by a page on another site', () => {
  function logged(options: Partial<SessionsOptions> = {}, credentials = true): { readonly server: HttpServer; readonly lines: string[] } {
    const lines: string[] = []
    const logger = { error: () => assert.fail('an error'), warn: (message: string) => void lines.push(message) }
    return { server: serverWith(options, logger, credentials), lines }
  }

  test('is a warning, once, with what to write', async () => {
    const { server, lines } = logged()
    for (let i = 0; i < 3; i++) assert.equal((await post(server, '/login', FROM_APP)).status, 200)
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /a page of "https:\/\/example\.app" has signed in.*SameSite=Lax.*sameSite: 'none'/)
  })

  test('is none with a cookie that comes back, from the same site, after a navigation, and without a browser', async () => {
    const quiet = logged({ cookie: { sameSite: 'none' } })
    await post(quiet.server, '/login', FROM_APP)
    const { server, lines } = logged()
    for (const headers of [
      {},
      { ...FROM_APP, 'Sec-Fetch-Site': 'same-site' },
      { Origin: APP, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' },
      { ...FROM_APP, 'Sec-Fetch-Mode': 'navigate' },
    ])
      assert.equal((await post(server, '/login', headers)).status, 200)
    assert.deepEqual([quiet.lines, lines], [[], []])
  })

  test('is a warning as well where cors lets the page have no cookie, whatever SameSite is', async () => {
    for (const [site, sameSite] of [
      ['cross-site', 'none'],
      ['same-site', 'lax'],
    ] as const) {
      const { server, lines } = logged({ cookie: { sameSite } }, false)
      for (let i = 0; i < 2; i++) await post(server, '/login', { ...FROM_APP, 'Sec-Fetch-Site': site })
      assert.equal(lines.length, 1, site)
      assert.match(
        lines[0]!,
        /a page of "https:\/\/example\.app" has signed in, and cors\(\) lets it keep no cookie: write cors\(\{ credentials: true \}\)/,
      )
    }
  })

  test('is none where cors is for other pages, and the login is of a page of the server, of a form, or of a program', async () => {
    const { server, lines } = logged({ cookie: { sameSite: 'none' } }, false)
    for (const headers of [
      {},
      { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' },
      { ...FROM_APP, 'Sec-Fetch-Mode': 'navigate' },
      { ...FROM_APP, 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'no-cors' },
    ])
      assert.equal((await post(server, '/login', headers)).status, 200)
    assert.deepEqual(lines, [])
  })

  test('cannot make the line long, and a logger without warn is told', async () => {
    const lines: string[] = []
    const server = serverWith({ csrf: false }, { error: (message) => void lines.push(message) })
    await post(server, '/login', { ...FROM_APP, Origin: `https://${'a'.repeat(10_000)}` })
    assert.equal(lines.length, 1)
    assert.ok(lines[0]!.length < 500, `${lines[0]!.length}`)
  })
})

test('the log says once that browsers ignore the cookie at a host outside of its domain', async () => {
  const cookie = { domain: 'Example.com' }
  const linesAt = async (...hosts: string[]): Promise<string[]> => {
    const lines: string[] = []
    const server = serverWith({ cookie }, { error: () => {}, warn: (message) => void lines.push(message) })
    for (const Host of hosts) assert.equal((await post(server, '/login', { Host })).status, 200)
    return lines
  }
  assert.deepEqual(await linesAt('example.com', 'EXAMPLE.com.', 'a.example.com:8443'), [])
  const lines = await linesAt('localhost:3000', 'notexample.com')
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /signed in at "localhost", and browsers ignore a cookie there whose domain is example\.com/)
  assert.equal((await linesAt('notexample.com')).length, 1)
  assert.equal((await linesAt('com')).length, 1)
})
