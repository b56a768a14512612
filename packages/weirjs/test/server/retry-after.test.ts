// 503 for what is away for a moment: clients are told when to ask again.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'

import { generateKeyPair, SignJWT } from 'jose'
import { jwt } from '../../../jwt/src/index.ts'
import { HttpServer, WeirError } from '../../src/index.ts'
import { auth, PasswordHasher } from '../../src/modules/auth/index.ts'
import { sessions } from '../../src/modules/sessions/index.ts'

async function retryAfterOf(server: HttpServer, headers: Record<string, string> = {}): Promise<[number, string | null]> {
  const response = await server.inject({ url: '/', headers, peer: { isSecure: true } })
  return [response.status, response.headers.get('retry-after')]
}

test('keys of an issuer that cannot be fetched', async () => {
  const seconds = Math.floor(Date.now() / 1000)
  const claims = { iss: 'https://id.example', aud: 'api', sub: 'ann', iat: seconds, exp: seconds + 60 }
  const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'a' }).sign((await generateKeyPair('RS256')).privateKey)
  const scheme = jwt({
    jwks: 'https://127.0.0.1:1/keys',
    issuer: 'https://id.example',
    audience: 'api',
    algorithms: ['RS256'],
  })
  const server = new HttpServer({ logger: null }).use(auth({ schemes: [scheme] })).mapGet('/', () => 'x')
  assert.deepEqual(await retryAfterOf(server, { authorization: `Bearer ${token}` }), [503, '5'])
})

test('a store of sessions that does not answer', async () => {
  const away = async (): Promise<never> => {
    throw new Error('away')
  }
  const users = sessions({ store: { read: away, write: away, replace: away, delete: away } })
  const server = new HttpServer({ logger: null }).use(users).mapGet('/', async (_, session) => (await users.of(session)).principal)
  const cookie = `__Host-session=${randomBytes(32).toString('base64url')}; session=${randomBytes(32).toString('base64url')}`
  assert.deepEqual(await retryAfterOf(server, { cookie }), [503, '5'])
})

test('passwords that would have to wait too long', async () => {
  const hasher = new PasswordHasher({ maxRunning: 1, maxWaiting: 1 })
  const server = new HttpServer({ logger: null }).mapGet('/', async () => {
    await Promise.all([1, 2, 3].map(() => hasher.hash('a password')))
  })
  assert.deepEqual(await retryAfterOf(server), [503, '1'])
})

test('fields of the error itself win', async () => {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', () => {
    throw new WeirError('WEIR_STORE_UNAVAILABLE', undefined, { headers: { 'Retry-After': '60', 'X-More': 'yes' } })
  })
  assert.deepEqual(await retryAfterOf(server), [503, '60'])
})
