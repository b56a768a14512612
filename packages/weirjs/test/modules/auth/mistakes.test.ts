// Mistakes of programs that add authentication and sessions: the error says what to do.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer, type Logger } from '../../../src/index.ts'
import { auth, basic, hashPassword } from '../../../src/modules/auth/index.ts'
import { cache } from '../../../src/modules/cache/index.ts'
import { compression } from '../../../src/modules/compression/index.ts'
import { cors } from '../../../src/modules/cors/index.ts'
import { csrf } from '../../../src/modules/csrf/index.ts'
import { decompression } from '../../../src/modules/decompression/index.ts'
import { idempotency } from '../../../src/modules/idempotency/index.ts'
import { concurrencyLimit, rateLimit, shed } from '../../../src/modules/limits/index.ts'
import { memorySessions, sealed, sessions } from '../../../src/modules/sessions/index.ts'
import { signing } from '../../../src/modules/signing/index.ts'
import { webhook } from '../../../src/modules/webhooks/index.ts'

const hash = await hashPassword('secret')

function thrownBy(mistake: () => unknown): string {
  try {
    mistake()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was thrown'
}

/** The status of a request, and what the server logged about it. */
async function responseOf(prepare: (server: HttpServer) => unknown, url: string, accept = 'text/html') {
  const logged: unknown[] = []
  const log = (...parts: unknown[]): void => void logged.push(...parts)
  const logger: Logger = { error: log, warn: log }
  const server = new HttpServer({ logger })
  prepare(server)
  const { status } = await server.inject({ url, headers: { Accept: accept, Host: 'app.example.com' }, peer: { address: '10.0.0.7' } })
  const error = logged.find((part) => part instanceof Error)
  return { status, message: error?.message ?? '' }
}

for (const [mistake, make, expected] of [
  [
    'a scheme that is not called',
    () => auth({ schemes: [basic as never] }),
    /schemes\[0\] is a function, not a scheme: call it, as in basic\(/,
  ],
  [
    'a password that is not hashed',
    () => basic({ users: { ann: 'secret' } }),
    /basic: user "ann": it is neither \$argon2id\$.*which hashPassword\(password\)/,
  ],
  [
    'a hash that is not awaited',
    () => basic({ users: { ann: hashPassword('x') as never } }),
    /user "ann": it is a promise: await hashPassword/,
  ],
  [
    'the same in an object',
    () => basic({ users: { ann: { password: hashPassword('x') as never } } }),
    /it is a promise: await hashPassword/,
  ],
  [
    'a misspelt property of a user',
    () => basic({ users: { ann: { password: hash, role: ['a'] } as never } }),
    /user "ann": there is no option "role"/,
  ],
  ['a list of users', () => basic({ users: [{ name: 'ann' }] as never }), /users is an array, not a table from names to hashes/],
  [
    'auth as a module',
    () => new HttpServer().useModule(auth({ schemes: [basic({ users: {} })] }) as never),
    /install\(host\), not an Auth$/,
  ],
  ['a key of which the variable is not set', () => sealed({ keys: [undefined as never] }), /keys\[0\] is undefined, not 32 bytes/],
  ['a password as a key', () => sealed({ keys: ['secret'] }), /keys\[0\] is a text of 6 characters, not 32 bytes/],
  ['half a key', () => sealed({ keys: [new Uint8Array(16)] }), /keys\[0\] is 16 bytes, not 32 bytes/],
] as const)
  test(mistake, () => assert.match(thrownBy(make), expected))

const links = signing({ keys: ['x'.repeat(32)] })
const UNCALLED = {
  auth,
  'auth.roles': auth.roles,
  'auth.required': auth.required,
  'auth.scopes': auth.scopes,
  'auth.policy': auth.policy,
  'auth.roles of an auth': auth({ schemes: [basic({ users: {} })] }).roles,
  rateLimit,
  concurrencyLimit,
  shed,
  csrf,
  cors,
  cache,
  compression,
  decompression,
  idempotency,
  webhook,
  sessions,
  signing,
  'signing().required': links.required,
}
for (const [name, made] of Object.entries(UNCALLED))
  for (const where of ['use of a route', 'use', 'gate'] as const)
    test(`${name}, added to ${where} without being called, refuses and names itself`, async () => {
      const { status, message } = await responseOf((server) => {
        if (where !== 'use of a route') server[where](made as never)
        server.mapGet('/', where === 'use of a route' ? { use: [made as never] } : {}, () => 'secret')
      }, '/')
      assert.equal(status, 500)
      assert.ok(message.includes(`${name.replace(/ of .*/, '')}`), message)
      assert.ok(message.includes(': the function itself was added to a server or a route: call it'), message)
    })

function withLogin(server: HttpServer): HttpServer {
  const users = sessions({ store: memorySessions() })
  server.use(users)
  return server.use(auth({ schemes: [users.scheme({ login: '/login' })] }))
}

test('start refuses a scheme of sessions that no server uses', async () => {
  const users = sessions({ store: memorySessions() })
  const closed = (scheme = users.scheme()): HttpServer => {
    const server = new HttpServer({ logger: null, port: 0 })
    server.group('/in', { use: [auth({ schemes: [basic({ users: {} }), scheme] })] }).mapGet('/', () => 'x')
    return server
  }
  const expected = { code: 'WEIR_AUTH_SETUP', message: /GET \/in.*the scheme "session" is of a sessions\(\) that no server uses/ }
  for (const server of [closed(), closed(users.scheme({ login: '/login' }))]) await assert.rejects(server.start(), expected)

  await using inGroup = closed()
  inGroup.group('/site').use(users)
  await inGroup.start()
  await using other = closed() // it reads the sessions of the first server
  await other.start()
})

test('a login page that is closed is an error, not a redirect to itself', async () => {
  const { status, message } = await responseOf((server) => withLogin(server).mapGet('/login', () => 'form'), '/login')
  assert.equal(status, 500)
  assert.match(message, /GET \/login.* is the login page, but requires a login: give it \{ use: \[auth\.open\] \}/)
})

test('a login form that nobody may send is the same error', async () => {
  const mapped = (server: HttpServer) =>
    withLogin(server)
      .mapPost('/login', () => 'welcome')
      .mapGet('/login', { use: [auth.open] }, () => 'form')
  assert.equal((await responseOf(mapped, '/login')).status, 200)
  const server = new HttpServer({ logger: null })
  mapped(server)
  assert.equal((await server.inject({ method: 'POST', url: '/login' })).status, 500)
})

test('a login page that does not exist is an error', async () => {
  const { status, message } = await responseOf(withLogin, '/login')
  assert.equal(status, 500)
  assert.match(message, /no route matches the login page \/login/)
  assert.equal((await responseOf(withLogin, '/login', 'application/json')).status, 401)
  assert.equal((await responseOf(withLogin, '/other')).status, 303)
})

test('a session that no module opens', async () => {
  const users = sessions({ store: memorySessions() })
  const { message } = await responseOf((server) => server.mapGet('/', (_, session) => users.of(session).data), '/')
  assert.match(message, /install it with use\(\), before what reads it/)
})

test('a session over plain HTTP', async () => {
  const users = sessions({ store: memorySessions() })
  const { message } = await responseOf((server) => server.use(users).mapGet('/', (_, session) => users.signIn(session, { id: 'ann' })), '/')
  assert.match(message, /needs TLS, or a browser on the same machine: use https; behind a proxy that terminates TLS, set proxies/)
})
