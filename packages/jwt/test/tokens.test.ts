// Accepted tokens: their principals, the cache, challenges, options.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createSecretKey, generateKeyPairSync, KeyObject } from 'node:crypto'
import { before, describe, test } from 'node:test'

import * as jose from 'jose'

import { HttpServer } from '../../weirjs/src/index.ts'
import { auth, basic } from '../../weirjs/src/modules/auth/index.ts'
import { type JwtOptions, jwt } from '../src/index.ts'
import { AUDIENCE, CLAIMS, ISSUER, type KeyPair, keyPair, NOW, serverFor, tokenOf } from './support.ts'

let own: KeyPair
let base: JwtOptions
before(async () => {
  own = await keyPair('own')
  base = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], jwks: { keys: [own.jwk] } }
})

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })

async function principalOf(claims: Record<string, unknown>, options: Partial<JwtOptions> = {}): Promise<Record<string, unknown>> {
  const { client } = serverFor({ ...base, ...options })
  const { status, json } = await client().get('/all', bearer(await tokenOf(own, { claims })))
  assert.equal(status, 200)
  return json() as Record<string, unknown>
}

describe('the principal', () => {
  test('is made of the claims', async () => {
    const claims = { name: 'Ann', roles: ['admin', 7], scope: 'read  write', more: { deep: [1] } }
    const { id, name, roles, scopes, scheme, claims: all } = await principalOf(claims)
    assert.deepEqual([id, name, roles, scopes, scheme], ['ann', 'Ann', ['admin'], ['read', 'write'], 'jwt'])
    assert.deepEqual(all, { ...CLAIMS, ...claims })
  })

  test('has nothing that the token does not have', async () => {
    const { name, roles, scopes } = await principalOf({})
    assert.deepEqual([name, roles, scopes], [null, [], []])
    const odd = await principalOf({ name: 7, roles: { admin: true }, scope: 7 })
    assert.deepEqual([odd['name'], odd['roles'], odd['scopes']], [null, [], []])
  })

  test('a role may contain spaces, and is not several', async () => {
    assert.deepEqual((await principalOf({ roles: 'not admin' }))['roles'], ['not admin'])
  })

  test('is made of other claims on request', async () => {
    const claims = { 'https://x.example/roles': 'admin', scp: ['a', 'b'], azp: 'robot', realm: { name: 'R' } }
    const made = await principalOf(claims, {
      id: 'azp',
      roles: 'https://x.example/roles',
      scopes: 'scp',
      principalName: ({ realm }) => (realm as { name: string }).name,
    })
    assert.deepEqual([made['id'], made['name'], made['roles'], made['scopes']], ['robot', 'R', ['admin'], ['a', 'b']])
    assert.deepEqual((await principalOf({}, { roles: 'constructor', scopes: '__proto__' }))['roles'], [])
  })

  test('cannot be changed: other requests share it', async () => {
    const users = auth({ schemes: [jwt(base)] })
    const server = new HttpServer({ logger: null }).use(users)
    server.mapGet('/', (_, session) => {
      const { roles, claims } = users.principal.required(session)
      assert.throws(() => (roles as string[]).push('admin'), TypeError)
      assert.throws(() => Object.assign(claims, { sub: 'root' }), TypeError)
      assert.throws(() => (claims['list'] as string[]).push('x'), TypeError)
      return 'done'
    })
    const token = await tokenOf(own, { claims: { list: [], exp: Math.floor(Date.now() / 1000) + 60 } })
    assert.equal((await server.inject({ url: '/', ...bearer(token) })).status, 200)
  })

  test('an error in a mapping is the program’s', async () => {
    const { client } = serverFor({ ...base, roles: ({ realm }) => (realm as { roles: string[] }).roles })
    assert.equal((await client().get('/', bearer(await tokenOf(own)))).status, 500)
  })
})

describe('the cache', () => {
  /** A set of keys that counts how often it is used. */
  const counted = (options: Partial<JwtOptions> = {}) => {
    let verified = 0
    const id: JwtOptions['id'] = ({ sub }) => {
      verified++
      return sub!
    }
    const made = serverFor({ ...base, id, ...options })
    return { ...made, verified: () => verified }
  }

  test('verifies a token once', async () => {
    const { client, verified } = counted()
    const token = await tokenOf(own)
    for (let i = 0; i < 5; i++) assert.equal((await client().get('/', bearer(token))).status, 200)
    assert.equal(verified(), 1)
  })

  test('never serves a token past exp', async () => {
    const { client, clock, verified } = counted({ clockTolerance: 10_000 })
    const token = await tokenOf(own, { claims: { exp: NOW + 60 } })
    assert.equal((await client().get('/', bearer(token))).status, 200)
    await clock.advance(59_999)
    assert.equal((await client().get('/', bearer(token))).status, 200)
    assert.equal(verified(), 1)
    await clock.advance(1)
    assert.equal((await client().get('/', bearer(token))).status, 200, 'within the tolerance')
    assert.equal(verified(), 2, 'and verified again')
    await clock.advance(10_000)
    assert.equal((await client().get('/', bearer(token))).status, 401)
  })

  test('forgets the oldest token', async () => {
    const { client, verified } = counted({ maxCachedTokens: 2 })
    const tokens = await Promise.all(['a', 'b', 'c'].map((sub) => tokenOf(own, { claims: { sub } })))
    for (const token of [...tokens, tokens[2]!, tokens[1]!]) await client().get('/', bearer(token))
    assert.equal(verified(), 3)
    await client().get('/', bearer(tokens[0]!))
    assert.equal(verified(), 4)
  })

  test('may be switched off', async () => {
    const { client, verified } = counted({ maxCachedTokens: 0 })
    const token = await tokenOf(own)
    for (let i = 0; i < 3; i++) await client().get('/', bearer(token))
    assert.equal(verified(), 3)
  })

  test('does not hold what was refused', async () => {
    const { client, clock } = serverFor(base)
    const token = await tokenOf(own, { claims: { nbf: NOW + 60 } })
    assert.equal((await client().get('/', bearer(token))).status, 401)
    await clock.advance(60_000)
    assert.equal((await client().get('/', bearer(token))).status, 200)
  })
})

describe('challenges', () => {
  const challengeOf = async (path: string, headers: Record<string, string>, options: Partial<JwtOptions> = {}) => {
    const { client } = serverFor({ ...base, ...options })
    const response = await client().get(path, { headers })
    return `${response.status} ${response.headers.get('www-authenticate')}`
  }

  test('say nothing of an error if there are no credentials', async () => {
    assert.equal(await challengeOf('/', {}), '401 Bearer realm="api"')
  })

  test('invalid_token, and why', async () => {
    const expired = await tokenOf(own, { claims: { exp: NOW - 100 } })
    const challenge = 'Bearer realm="api", error="invalid_token", error_description="the token has expired"'
    assert.equal(await challengeOf('/', { Authorization: `Bearer ${expired}` }), `401 ${challenge}`)
  })

  test('insufficient_scope with the scopes of the route, and nothing for a role', async () => {
    const { Authorization } = { Authorization: `Bearer ${await tokenOf(own, { claims: { scope: 'read' } })}` }
    assert.equal(await challengeOf('/write', { Authorization }), '403 Bearer realm="api", error="insufficient_scope", scope="read write"')
    assert.equal(await challengeOf('/admin', { Authorization }), '403 null')
  })

  test('the URL of the metadata on request', async () => {
    const resourceMetadata = 'https://api.example/.well-known/oauth-protected-resource'
    assert.equal(
      await challengeOf('/', {}, { resourceMetadata, realm: 'a "b"' }),
      `401 Bearer realm="a \\"b\\"", resource_metadata="${resourceMetadata}"`,
    )
  })

  test('bearer and Basic in one field; only the scheme that was used has an error', async () => {
    const users = basic({ users: () => null, allowInsecure: true })
    const server = new HttpServer({ logger: null }).use(auth({ schemes: [jwt(base), users] })).mapGet('/', () => 'done')
    const { headers } = await server.inject({ url: '/', headers: { Authorization: 'Basic YTpi' } })
    assert.equal(headers.get('www-authenticate'), 'Bearer realm="api", Basic realm="restricted", charset="UTF-8"')
  })
})

test('several issuers are several schemes', async () => {
  const other = await keyPair('own')
  const iss = 'https://other.example'
  const second = jwt({ ...base, issuer: iss, jwks: { keys: [other.jwk] }, name: 'second' })
  const users = auth({ schemes: [jwt({ ...base, name: 'first' }), second] })
  const server = new HttpServer({ logger: null }).use(users).mapGet('/', (_, session) => users.principal.required(session).scheme)
  const exp = Math.floor(Date.now() / 1000) + 60
  const ask = async (token: string) => {
    const { status, text } = await server.inject({ url: '/', ...bearer(token) })
    return status === 200 ? text() : status
  }
  assert.equal(await ask(await tokenOf(own, { claims: { exp } })), 'first')
  assert.equal(await ask(await tokenOf(other, { claims: { exp, iss } })), 'second')
  assert.equal(await ask(await tokenOf(own, { claims: { exp, iss } })), 401)
  assert.equal(await ask(await tokenOf(other, { claims: { exp } })), 401)
})

describe('keys that do not change', () => {
  const accepts = async (options: Partial<JwtOptions>, token: string): Promise<number> => {
    const { client } = serverFor({ issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], ...options } as JwtOptions)
    return (await client().get('/', bearer(token))).status
  }

  test('a public key as PEM, KeyObject and JWK; a private key stands for its public one', async () => {
    const token = await tokenOf(own)
    const forged = await tokenOf(await keyPair('own'))
    const publicKey = KeyObject.from(own.publicKey)
    for (const key of [await jose.exportSPKI(own.publicKey), publicKey, own.jwk as never, KeyObject.from(own.privateKey)]) {
      assert.equal(await accepts({ publicKey: key }, token), 200)
      assert.equal(await accepts({ publicKey: key }, forged), 401)
    }
  })

  for (const alg of ['ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS512'] as const)
    test(alg, async () => {
      const pair = await keyPair('x', alg)
      const publicKey = KeyObject.from(pair.publicKey)
      assert.equal(await accepts({ publicKey, algorithms: [alg] }, await tokenOf(pair)), 200)
      assert.equal(await accepts({ publicKey, algorithms: [alg] }, await tokenOf(own)), 401)
    })

  test('a secret', async () => {
    const secret = Buffer.alloc(64, 7)
    const sign = (alg: string, key: Uint8Array) => new jose.SignJWT({ ...CLAIMS }).setProtectedHeader({ alg }).sign(key)
    for (const alg of ['HS256', 'HS384', 'HS512'] as const) {
      assert.equal(await accepts({ secret, algorithms: [alg] }, await sign(alg, secret)), 200)
      assert.equal(await accepts({ secret, algorithms: [alg] }, await sign(alg, Buffer.alloc(64, 8))), 401)
    }
    assert.equal(await accepts({ secret, algorithms: ['HS256'] }, await sign('HS512', secret)), 401)
  })
})

describe('options', () => {
  const rsa1024 = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey
  const cases: readonly (readonly [string, () => Readonly<Record<string, unknown>>, RegExp])[] = [
    ['no issuer', () => ({ issuer: undefined }), /issuer is .*, not a string: exactly "iss" of the tokens/],
    ['an empty issuer', () => ({ issuer: '' }), /issuer is .*, not a string: exactly "iss" of the tokens/],
    ['no audience', () => ({ audience: undefined }), /audience is needed/],
    ['an empty list of audiences', () => ({ audience: [] }), /audience is needed/],
    ['no algorithms', () => ({ algorithms: undefined }), /algorithms is undefined, not a list/],
    ['no algorithm', () => ({ algorithms: [] }), /algorithms is empty/],
    ['none', () => ({ algorithms: ['none'] }), /"none" is not "RS256", /],
    ['an algorithm from the prototype', () => ({ algorithms: ['constructor'] }), /"constructor" is not "RS256", /],
    ['a symmetric algorithm with a set of keys', () => ({ algorithms: ['ES256', 'HS256'] }), /HS256 needs a secret/],
    ['a symmetric algorithm with a URL', () => ({ algorithms: ['HS256'], jwks: 'https://x.example/' }), /HS256 needs a secret/],
    ['a symmetric algorithm with a public key', () => ({ algorithms: ['HS256'], jwks: undefined, publicKey: ec }), /HS256 needs a secret/],
    ['an asymmetric algorithm with a secret', () => ({ jwks: undefined, secret: Buffer.alloc(64) }), /ES256 needs publicKey or jwks/],
    [
      'a short secret',
      () => ({ jwks: undefined, secret: Buffer.alloc(31), algorithms: ['HS256'] }),
      /31 bytes, and HS256 needs at least 32: crypto\.randomBytes\(32\) returns one/,
    ],
    ['a secret that is text', () => ({ jwks: undefined, secret: 'x'.repeat(64), algorithms: ['HS256'] }), /secret must be bytes/],
    ['no key', () => ({ jwks: undefined }), /exactly one of/],
    ['two keys', () => ({ publicKey: ec }), /exactly one of/],
    ['a key of another kind', () => ({ jwks: undefined, publicKey: rsa1024 }), /of kind rsa, and ES256 needs prime256v1/],
    ['a weak key', () => ({ jwks: undefined, publicKey: rsa1024, algorithms: ['RS256'] }), /1024 bits/],
    ['a key that is none', () => ({ jwks: undefined, publicKey: 'secret' }), /publicKey is not a public key/],
    [
      'a secret as a public key',
      () => ({ jwks: undefined, publicKey: createSecretKey(Buffer.alloc(32)) }),
      /publicKey is not a public key/,
    ],
    ['keys over plain HTTP', () => ({ jwks: 'http://issuer.example/keys' }), /must be an https URL/],
    ['keys in a file', () => ({ jwks: new URL('file:///etc/keys') }), /must be an https URL/],
    ['keys that are neither', () => ({ jwks: 'keys' }), /neither a URL nor a set/],
    ['a set that is none', () => ({ jwks: {} }), /neither a URL nor a set/],
    ['too much tolerance', () => ({ clockTolerance: 60_001 }), /of at most 60000 ms/],
    ['a tolerance in seconds as text', () => ({ clockTolerance: '5 s' }), /clockTolerance is/],
    ['a tolerance in seconds, as of jose', () => ({ clockTolerance: 5 }), /clockTolerance is 5, not .*: write "5s" if these are seconds/],
    ['a time to fetch a secret', () => ({ jwks: undefined, secret: Buffer.alloc(64), jwksTimeout: '9s' }), /jwksTimeout needs jwks$/],
    ['what fetches a public key', () => ({ jwks: undefined, publicKey: ec, fetch }), /fetch needs jwks$/],
    ['an unknown option', () => ({ audiences: [] }), /there is no option "audiences"/],
  ]
  for (const [title, change, message] of cases)
    test(title, () => {
      assert.throws(() => jwt({ ...base, ...change() } as JwtOptions), { code: 'WEIR_OPTION_INVALID', message })
    })

  test('keys over plain HTTP from this machine, for tests', () => {
    for (const host of ['localhost', '127.0.0.1:8080', '[::1]']) jwt({ ...base, jwks: `http://${host}/keys` })
  })
})
