// Hashes of passwords, Basic and API keys.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import * as crypto from 'node:crypto'
import { before, describe, type TestContext, test } from 'node:test'

import { HttpServer, type HttpSession } from '../../../src/index.ts'
import {
  type ApiKeyOptions,
  apiKey,
  apiKeyDigest,
  auth,
  type BasicOptions,
  basic,
  hashPassword,
  needsRehash,
  newApiKey,
  PasswordHasher,
  verifyPassword,
} from '../../../src/modules/auth/index.ts'
import { RawClient } from '../../support/raw-client.ts'

/** Cheap, so that the tests are fast. */
const CHEAP = { ln: 4, r: 1, p: 1 }
const cheap = new PasswordHasher(CHEAP)
const hasArgon2 = 'argon2' in crypto
const OVER_TLS = { isSecure: true }
const encoded = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
let annsHash = ''
before(async () => {
  annsHash = await cheap.hash('correct: horse')
})

describe('password hashes', () => {
  test('hold their parameters, and differ for the same password', async () => {
    const [one, other] = [await cheap.hash('x'), await cheap.hash('x')]
    assert.match(one!, /^\$scrypt\$ln=4,r=1,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    assert.notEqual(one, other)
    for (const hash of [one!, other!]) {
      assert.equal(await cheap.verify('x', hash), true)
      assert.equal(await new PasswordHasher().verify('x', hash), true, 'whatever its own parameters')
      for (const wrong of ['', 'X', 'x ', 'xx']) assert.equal(await cheap.verify(wrong, hash), false)
    }
  })

  test('the default costs what OWASP recommends, and is shared', async () => {
    const [hash] = (await Promise.all(['secret'].map(hashPassword))) as [string]
    const expected = hasArgon2 ? /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/ : /^\$scrypt\$ln=15,r=8,p=3\$/
    assert.match(hash, expected)
    assert.match(await new PasswordHasher({ algorithm: 'scrypt' }).hash('secret'), /^\$scrypt\$ln=15,r=8,p=3\$/)
    assert.equal(await verifyPassword('secret', hash), true)
    assert.equal(needsRehash(hash), false)
    assert.equal(needsRehash(annsHash), true)
    assert.equal(await verifyPassword('secret', null), false)
  })

  test('RFC 7914: the third test vector of scrypt', async () => {
    const salt = Buffer.from('SodiumChloride').toString('base64').replace(/=+$/, '')
    const hash = Buffer.from(
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
      'hex',
    )
    const text = `$scrypt$ln=14,r=8,p=1$${salt}$${hash.toString('base64').replace(/=+$/, '')}`
    assert.equal(await cheap.verify('pleaseletmein', text), true)
    assert.equal(await cheap.verify('pleaseletmeout', text), false)
  })

  test('the test vectors of the reference implementation of argon2id', { skip: !hasArgon2 }, async () => {
    for (const [parameters, hash] of [
      ['m=256,t=2,p=1', 'nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'],
      ['m=256,t=2,p=2', 'bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc'],
    ]) {
      const text = `$argon2id$v=19$${parameters}$c29tZXNhbHQ$${hash}`
      assert.equal(await cheap.verify('password', text), true, parameters)
      assert.equal(await cheap.verify('passwords', text), false, parameters)
      assert.equal(cheap.needsRehash(text), true, 'of another algorithm')
    }
  })

  test('argon2id takes the place of scrypt at the next login', { skip: !hasArgon2 }, async () => {
    const hasher = new PasswordHasher({ memory: '8KiB', passes: 1 })
    const before = await cheap.hash('x')
    assert.equal(await hasher.verify('x', before), true)
    assert.equal(hasher.needsRehash(before), true)
    const after = await hasher.hash('x')
    assert.match(after, /^\$argon2id\$v=19\$m=8,t=1,p=1\$/)
    assert.equal(hasher.needsRehash(after), false)
    assert.equal(new PasswordHasher({ memory: '8KiB', passes: 2 }).needsRehash(after), true)
    assert.equal(new PasswordHasher({ memory: '9KiB', passes: 1 }).needsRehash(after), true)
    assert.equal(await cheap.verify('x', after), true, 'whatever it makes itself')
    assert.equal(await cheap.verify('y', after), false)
  })

  test('without argon2 in Node.js, its hashes and options are errors that say so', { skip: hasArgon2 }, async () => {
    const text = '$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
    await assert.rejects(verifyPassword('password', text), { code: 'WEIR_PASSWORD_HASH', message: /needs Node\.js 24\.7 or newer, not v/ })
    for (const options of [{ algorithm: 'argon2id' }, { memory: '19MiB' }, { passes: 3 }] as const)
      assert.throws(() => new PasswordHasher(options), { code: 'WEIR_OPTION_INVALID', message: /needs Node\.js 24\.7 or newer/ })
  })

  test('the same text in another normal form is the same password', async () => {
    assert.equal(await cheap.verify('gru\u0308n', await cheap.hash('grün')), true)
  })

  test('passwords of up to 1,024 bytes, and no others', async () => {
    const longest = 'ü'.repeat(512)
    const hash = await cheap.hash(longest)
    assert.equal(await cheap.verify(longest, hash), true)
    assert.equal(await cheap.verify(`${longest}x`, hash), false)
    await assert.rejects(cheap.hash(`${longest}x`), { code: 'WEIR_PASSWORD_TOO_LONG', status: 400, maximum: 1024, actual: 1025 })
    await assert.rejects(cheap.hash(7 as never), { code: 'WEIR_OPTION_INVALID' })
  })

  test('a password that is too long is not normalized, which would take minutes here', async () => {
    const marks = `a${'\u0301'.repeat(500_000)}${'\u0316'.repeat(500_000)}`
    await assert.rejects(cheap.hash(marks), { code: 'WEIR_PASSWORD_TOO_LONG' })
    assert.equal(await cheap.verify(marks, annsHash), false)
    const combined = 'u\u0308\u0304'.repeat(512) // ǖ
    assert.equal(await cheap.verify(combined, await cheap.hash('ǖ'.repeat(512))), true)
  })

  test('what is not a hash is an error that does not show it', async () => {
    const [, , parameters, salt, hash] = annsHash.split('$')
    const wrong = [
      '',
      'secret',
      undefined as never,
      `$scrypt$${parameters}$${salt}`,
      `${annsHash}$`,
      `$scrypt$ln=21,r=8,p=1$${salt}$${hash}`,
      `$scrypt$ln=20,r=32,p=1$${salt}$${hash}`,
      `$scrypt$ln=0,r=8,p=1$${salt}$${hash}`,
      `$scrypt$ln=14,r=8,p=99$${salt}$${hash}`,
      `$argon2id$${parameters}$${salt}$${hash}`,
      `$argon2i$v=19$m=256,t=2,p=1$${salt}$${hash}`,
      `$argon2id$v=16$m=256,t=2,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=524289,t=2,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=256,t=17,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=256,t=0,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=256,t=2,p=17$${salt}$${hash}`,
      `$argon2id$v=19$m=31,t=2,p=4$${salt}$${hash}`,
      `$scrypt$${parameters}$${salt}$AAAA`,
      `$scrypt$${parameters}$$${hash}`,
    ]
    for (const text of wrong) {
      await assert.rejects(cheap.verify('x', text), (error: Error & { code: string; status: number }) => {
        assert.deepEqual([error.code, error.status], ['WEIR_PASSWORD_HASH', 500])
        assert.ok(!error.message.includes('secret'))
        return true
      })
      assert.throws(() => cheap.needsRehash(text), { code: 'WEIR_PASSWORD_HASH' })
    }
  })

  test('a bounded number is computed at once, and a bounded number waits', async () => {
    const hasher = new PasswordHasher({ ...CHEAP, maxRunning: 2, maxWaiting: 3 })
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => hasher.hash('x')))
    assert.deepEqual(
      all.map(({ status }) => status),
      [...Array(5).fill('fulfilled'), ...Array(3).fill('rejected')],
    )
    assert.equal((all.at(-1) as PromiseRejectedResult).reason.code, 'WEIR_PASSWORDS_BUSY')
    assert.equal((all.at(-1) as PromiseRejectedResult).reason.status, 503)
    const again = await Promise.allSettled(Array.from({ length: 5 }, () => hasher.verify('x', null)))
    assert.ok(
      again.every(({ status }) => status === 'fulfilled'),
      'places are free again',
    )
  })

  test('clients take turns, and a flood of one network refuses only its own calls', async () => {
    const hasher = new PasswordHasher({ ...CHEAP, maxRunning: 1, maxWaiting: 10 })
    const order: string[] = []
    const call = (from: string): Promise<void> => hasher.verify('x', null, from).then(() => void order.push(from))
    const flood = Promise.allSettled(Array.from({ length: 50 }, (_, i) => call(`2001:db8::${i.toString(16)}`)))
    await Promise.all([call('192.0.2.1'), call('192.0.2.2')])
    assert.ok(order.length <= 4, order.join())
    const statuses = (await flood).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 'fulfilled').length, 1 + 8)
    await assert.rejects(hasher.hash('x', 7 as never), { code: 'WEIR_OPTION_INVALID' })
  })

  test('a user who does not exist is work as well, and so is a password that is too long', async () => {
    const hasher = new PasswordHasher({ ...CHEAP, maxRunning: 1, maxWaiting: 0 })
    const known = await hasher.hash('x')
    for (const [password, hash] of [
      ['y', known],
      ['y', null],
      ['', null],
      ['y'.repeat(2000), known],
      ['y'.repeat(2000), null],
    ] as const) {
      const running = hasher.verify(password, hash)
      await assert.rejects(hasher.verify('x', known), { code: 'WEIR_PASSWORDS_BUSY' }, 'the only place is taken')
      assert.equal(await running, false)
    }
  })

  test('options are checked', () => {
    for (const options of [
      { ln: 0 },
      { ln: 21 },
      { r: 33 },
      { p: 17 },
      { ln: 20, r: 32 },
      { maxRunning: 0 },
      { maxWaiting: -1 },
      { N: 1 },
      { algorithm: 'bcrypt' },
      { algorithm: 'scrypt', memory: '19MiB' },
      { algorithm: 'argon2id', ln: 15 },
      { ln: 15, passes: 2 },
      { memory: '7KiB' },
      { memory: '1GiB' },
      { passes: 17 },
    ])
      assert.throws(() => new PasswordHasher(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  })
})

describe('Basic', () => {
  const serverOf = (options: BasicOptions, logger: { error: (...args: unknown[]) => void } | null = null): HttpServer => {
    const users = auth({ schemes: [basic(options)], roles: ['admin'] })
    const server = new HttpServer({ logger }).use(users)
    server.mapGet('/', (_, session) => users.principal.required(session))
    server.mapGet('/admin', { use: [users.roles('admin')] }, () => 'done')
    server.mapGet('/open', { use: [users.open] }, (_, session) => users.principal(session)?.id ?? 'nobody')
    return server
  }
  const ask = (server: HttpServer, authorization: string | null, url = '/', peer: { isSecure: boolean } = OVER_TLS) =>
    server.inject({ url, peer, headers: authorization === null ? {} : { Authorization: authorization } })
  const table = () => ({ ann: annsHash, bob: { password: annsHash, name: 'Bob', roles: ['admin'], id: '7', claims: { team: 'x' } } })

  test('a table of hashes', async () => {
    const server = serverOf({ users: table() })
    const { status, json } = await ask(server, encoded('ann:correct: horse'))
    assert.equal(status, 200)
    assert.deepEqual(json(), { id: 'ann', name: 'ann', roles: [], scopes: [], claims: {}, scheme: 'basic' })
    const bob = (await ask(server, encoded('bob:correct: horse'))).json()
    assert.deepEqual(bob, { id: '7', name: 'Bob', roles: ['admin'], scopes: [], claims: { team: 'x' }, scheme: 'basic' })
    for (const wrong of [
      'ann:',
      'ann:wrong',
      'Ann:correct: horse',
      'eve:correct: horse',
      ':correct: horse',
      'ann:correct',
      'constructor:x',
      '__proto__:x',
    ])
      for (let i = 0; i < 2; i++) assert.equal((await ask(server, encoded(wrong))).status, 401, wrong)
    assert.equal((await ask(server, encoded('ann:correct: horse'), '/admin')).status, 403)
    assert.equal((await ask(server, encoded('ann:correct: horse'), '/admin')).headers.get('www-authenticate'), null)
    assert.equal((await ask(server, encoded('bob:correct: horse'), '/admin')).status, 200)
  })

  test('what has been verified is not hashed again, and requests at the same time share one hash', async () => {
    const costly = await new PasswordHasher({ ln: 14, r: 8, p: 1 }).hash('x')
    const server = serverOf({ users: { ann: costly } })
    // Each hash takes at least 20 ms, and only 102 may wait.
    const all = await Promise.all(Array.from({ length: 500 }, () => ask(server, encoded('ann:x'))))
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]))
  })

  test('a function', async () => {
    const seen: unknown[] = []
    const server = serverOf({
      users: async (name, password, { route }) => {
        seen.push([name, password, route])
        return name === 'ann' && password === 'grün' ? { roles: ['admin'] } : null
      },
      realm: 'A "place"',
    })
    assert.equal((await ask(server, encoded('ann:grün'), '/admin')).status, 200)
    const refused = await ask(server, encoded('ann:x'))
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('www-authenticate'), 'Basic realm="A \\"place\\"", charset="UTF-8"')
    assert.deepEqual(seen, [
      ['ann', 'grün', 'GET /admin'],
      ['ann', 'x', 'GET /'],
    ])
    assert.equal((await ask(serverOf({ users: () => 'ann' as never }), encoded('a:b'))).status, 500)
  })

  test('malformed credentials', async () => {
    const server = serverOf({ users: () => assert.fail('asked') })
    const wrong = [
      'Basic',
      'Basic ',
      'Basic !',
      'Basic YTpi YTpi',
      'Basic YTpi, Basic YTpi',
      'Basic =YTpi',
      `Basic ${Buffer.from('no colon').toString('base64')}`,
      `Basic ${Buffer.from('a:\0').toString('base64')}`,
      `Basic ${Buffer.from('a\n:b').toString('base64')}`,
      `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString('base64')}`,
      `Basic ${'YTpi'.repeat(1000)}!`,
    ]
    for (const authorization of wrong) assert.equal((await ask(server, authorization)).status, 401, authorization.slice(0, 30))
  })

  test('over plain HTTP: refused with 403, never asked for, unless that is allowed', async () => {
    const server = serverOf({ users: () => assert.fail('asked') })
    const refused = await ask(server, encoded('ann:x'), '/', { isSecure: false })
    assert.equal(refused.status, 403)
    assert.equal((refused.json() as { code: string }).code, 'WEIR_CREDENTIALS_INSECURE')
    assert.equal(refused.headers.get('cache-control'), 'no-store')
    const anonymous = await ask(server, null, '/', { isSecure: false })
    assert.equal(anonymous.status, 401)
    assert.equal(anonymous.headers.get('www-authenticate'), null)
    assert.equal((await ask(server, encoded('ann:x'), '/open', { isSecure: false })).text(), 'nobody')
    const allowing = serverOf({ users: table(), allowInsecure: true })
    assert.equal((await ask(allowing, encoded('ann:correct: horse'), '/', { isSecure: false })).status, 200)
    assert.match((await ask(allowing, null, '/', { isSecure: false })).headers.get('www-authenticate')!, /^Basic /)
  })

  test('behind a proxy that terminates TLS, the client counts', async () => {
    const users = auth({ schemes: [basic({ users: table() })] })
    const server = new HttpServer({ logger: null, proxies: { trust: ['loopback'] } }).use(users).mapGet('/', () => 'done')
    const via = async (proto: string, address = '127.0.0.1'): Promise<number> => {
      const headers = { Authorization: encoded('ann:correct: horse'), 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': proto }
      return (await server.inject({ url: '/', headers, peer: { address } })).status
    }
    assert.equal(await via('https'), 200)
    assert.equal(await via('http'), 403)
    assert.equal(await via('https', '203.0.113.9'), 403, 'nobody else may say so')
  })

  test('nothing of a password is logged or answered', async () => {
    const logged: unknown[] = []
    const server = serverOf({ users: table() }, { error: (...args) => void logged.push(args) })
    for (const text of ['ann:hunter2', 'hunter2', 'ann:hunter2\n'])
      for (const isSecure of [true, false]) {
        const { text: body, headers } = await ask(server, encoded(text), '/', { isSecure })
        assert.ok(!body().includes('hunter2') && !JSON.stringify([...headers]).includes('hunter2'))
      }
    assert.deepEqual(logged, [])
  })

  test('options are checked', () => {
    const wrong: readonly unknown[] = [
      {},
      { users: null },
      { users: { ann: 'secret' } },
      { users: { ann: { roles: [] } } },
      { users: { 'a:b': annsHash } },
      { users: { ann: { password: annsHash, roles: 'admin' } } },
      { users: {}, realm: 7 },
      { users: {}, allowInsecure: 'yes' },
      { users: {}, user: {} },
    ]
    for (const options of wrong)
      assert.throws(() => basic(options as never), { code: /^WEIR_(?:OPTION_INVALID|PASSWORD_HASH)$/ }, JSON.stringify(options))
  })
})

describe('API keys', () => {
  const KEY = newApiKey('shop_')
  const owner = { id: 'shop', roles: ['admin'], scopes: ['read'] }
  const serverOf = (options: ApiKeyOptions): HttpServer => {
    const users = auth({ schemes: [apiKey(options)], roles: ['admin'] })
    return new HttpServer({ logger: null }).use(users).mapGet('/', (_, session) => users.principal.required(session))
  }
  const ask = (server: HttpServer, headers: Record<string, string | readonly string[]>, peer: { isSecure: boolean } = OVER_TLS) =>
    server.inject({ url: '/', headers, peer })

  test('a table of digests', async () => {
    const server = serverOf({ keys: { [apiKeyDigest(KEY)]: owner, [apiKeyDigest('other')]: { id: 'other' } } })
    const { status, json } = await ask(server, { 'x-api-key': KEY })
    assert.equal(status, 200)
    assert.deepEqual(json(), { id: 'shop', name: 'shop', roles: ['admin'], scopes: ['read'], claims: {}, scheme: 'apiKey' })
    const wrong = ['', ' ', `${KEY}x`, KEY.slice(1), KEY.toUpperCase(), apiKeyDigest(KEY), 'x'.repeat(1025), `${KEY}, ${KEY}`]
    for (const key of wrong) assert.equal((await ask(server, { 'X-API-Key': key })).status, 401, key)
    assert.equal((await ask(server, { 'X-API-Key': [KEY, 'other'] })).status, 401, 'two keys')
    const refused = await ask(server, {})
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('www-authenticate'), 'ApiKey header="X-API-Key"')
  })

  test('a function gets the digest, and never the key', async () => {
    const seen: unknown[] = []
    const keys = async (digest: string, session: HttpSession) => {
      seen.push([digest, session.route])
      return digest === apiKeyDigest(KEY) ? owner : null
    }
    const server = serverOf({ keys, header: 'X-Shop' })
    assert.equal((await ask(server, { 'X-Shop': KEY })).status, 200)
    assert.equal((await ask(server, { 'X-Shop': 'x' })).status, 401)
    assert.equal((await ask(server, { 'X-API-Key': KEY })).status, 401)
    assert.deepEqual(seen, [
      [apiKeyDigest(KEY), 'GET /'],
      [apiKeyDigest('x'), 'GET /'],
    ])
    assert.equal((await ask(serverOf({ keys: () => ({ roles: [] }) as never }), { 'X-API-Key': 'x' })).status, 500)
  })

  test('over plain HTTP: refused, unless that is allowed', async () => {
    const options = { keys: { [apiKeyDigest(KEY)]: owner } }
    assert.equal((await ask(serverOf(options), { 'X-API-Key': KEY }, { isSecure: false })).status, 403)
    assert.equal((await ask(serverOf(options), {}, { isSecure: false })).status, 401)
    assert.equal((await ask(serverOf({ ...options, allowInsecure: true }), { 'X-API-Key': KEY }, { isSecure: false })).status, 200)
  })

  test('keys are random, and start with what they are for', () => {
    assert.match(KEY, /^shop_[\w-]{43}$/)
    assert.notEqual(newApiKey(), newApiKey())
  })

  test('options are checked', () => {
    const digest = apiKeyDigest(KEY)
    const wrong: readonly unknown[] = [
      {},
      { keys: null },
      { keys: { [KEY]: owner } },
      { keys: { [digest.toUpperCase()]: owner } },
      { keys: { [digest]: {} } },
      { keys: { [digest]: { id: 'x', scopes: 'all' } } },
      { keys: {}, header: 'a b' },
      { keys: {}, header: 'Authorization' },
      { keys: {}, header: 'cookie' },
      { keys: {}, allowInsecure: 1 },
      { keys: {}, query: 'key' },
    ]
    for (const options of wrong) assert.throws(() => apiKey(options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  })
})

test('plain HTTP on a socket is not secure', async (context: TestContext) => {
  const users = auth({ schemes: [basic({ users: { ann: annsHash } })] })
  const server = new HttpServer({ logger: null, address: '127.0.0.1', port: 0 }).use(users).mapGet('/', () => 'done')
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  const client = await RawClient.connect(server.port)
  context.after(() => client.destroy())
  client.send(`GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${encoded('ann:correct: horse')}\r\n\r\n`)
  assert.equal((await client.message()).status, 403)
})
