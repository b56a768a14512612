// Authentication as real clients see it: curl, undici and Chromium.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'

import * as jose from 'jose'
import type { Browser } from 'playwright-core'
import { Agent, fetch, request, WebSocket } from 'undici'
import { jwt } from '../../packages/jwt/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { apiKey, apiKeyDigest, auth, basic, PasswordHasher } from '../../packages/weirjs/src/modules/auth/index.ts'
import { sse } from '../../packages/weirjs/src/modules/sse/index.ts'
import { websocket } from '../../packages/weirjs/src/modules/websocket/index.ts'
import { cert, key } from '../../packages/weirjs/test/support/certificate.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'
import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'

const ISSUER = 'https://issuer.example/'
const AUDIENCE = 'https://api.example/'
const API_KEY = 'key_0123456789'
const insecure = new Agent({ connect: { rejectUnauthorized: false } })
let token = ''
let expired = ''
let jwk: jose.JWK
let hash = ''

before(async () => {
  const { publicKey, privateKey } = await jose.generateKeyPair('ES256')
  jwk = { ...(await jose.exportJWK(publicKey)), kid: 'a', alg: 'ES256' }
  const sign = (exp: string) =>
    new jose.SignJWT({ scope: 'read', roles: ['admin'] })
      .setProtectedHeader({ alg: 'ES256', kid: 'a' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject('ann')
      .setExpirationTime(exp)
      .sign(privateKey)
  token = await sign('5m')
  expired = await sign('-5m')
  hash = await new PasswordHasher({ ln: 4, r: 1, p: 1 }).hash('grün')
})

async function start(context: TestContext, isSecure = true): Promise<{ origin: string; port: number; read: () => number }> {
  let read = 0
  const users = auth({
    schemes: [
      jwt({ issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], jwks: { keys: [jwk] } }),
      basic({ users: { ann: { password: hash, roles: ['admin'] }, bob: hash } }),
      apiKey({ keys: { [apiKeyDigest(API_KEY)]: { id: 'shop' } } }),
    ],
    roles: ['admin'],
  })
  const server = new HttpServer({ address: '127.0.0.1', port: 0, logger: null, ...(isSecure ? { tls: { cert, key }, http2: true } : {}) })
  server.use(users)
  server.mapGet('/', (_, session) => `${users.principal.required(session).scheme} ${users.principal.required(session).id}`)
  server.mapGet('/admin', { use: [users.roles('admin')] }, () => 'admin')
  server.mapGet('/write', { use: [users.scopes('write')] }, () => 'written')
  server.mapGet('/page', { use: [users.required('basic')] }, (_, { response }) => response.html('<!doctype html><title>in</title>'))
  server.mapPost('/upload', { body: 'stream' }, async (_, { request: upload }) => {
    for await (const piece of upload.bodyStream()) read += piece.length
    return String(read)
  })
  server.mapGet('/events', (_, session) =>
    sse(
      session,
      (async function* () {
        yield { data: 'hello' }
      })(),
    ),
  )
  server.use(websocket('/socket', { open: (socket) => void socket.send('hello') }))
  await server.start()
  context.after(() => server.stop({ graceMs: 0 }))
  return { origin: `${isSecure ? 'https' : 'http'}://127.0.0.1:${server.port}`, port: server.port, read: () => read }
}

describe('curl', { skip: noCurl }, () => {
  for (const version of ['--http1.1', '--http2'])
    test(`passwords, tokens and keys over TLS, ${version.slice(2)}`, async (context) => {
      const { origin } = await start(context)
      const ask = async (path: string, ...args: readonly string[]) => {
        const { response } = await curl(['-k', version, ...args, `${origin}${path}`])
        return `${response.status} ${response.status === 200 ? response.text : (response.header('www-authenticate') ?? '')}`.trim()
      }
      const challenges = 'Bearer realm="api", Basic realm="restricted", charset="UTF-8", ApiKey header="X-API-Key"'
      assert.equal(await ask('/'), `401 ${challenges}`)
      assert.equal(await ask('/', '--user', 'ann:grün'), '200 basic ann')
      assert.equal(await ask('/', '--anyauth', '--user', 'ann:grün'), '200 basic ann', 'after reading the challenges')
      assert.match(await ask('/', '--user', 'ann:x'), /^401 /)
      assert.equal(await ask('/admin', '--user', 'ann:grün'), '200 admin')
      assert.equal(await ask('/admin', '--user', 'bob:grün'), '403')
      assert.equal(await ask('/', '--oauth2-bearer', token), '200 jwt ann')
      assert.match(
        await ask('/', '--oauth2-bearer', expired),
        /^401 Bearer realm="api", error="invalid_token", error_description="the token has expired", Basic/,
      )
      assert.equal(await ask('/write', '--oauth2-bearer', token), '403 Bearer realm="api", error="insufficient_scope", scope="write"')
      assert.equal(await ask('/', '-H', `X-API-Key: ${API_KEY}`), '200 apiKey shop')
      assert.match(await ask('/none', '-X', 'DELETE'), /^401 /)
    })

  test('an upload is refused before it is sent', async (context) => {
    const { origin, read } = await start(context)
    const { responses } = await curl([
      '-k',
      '--http1.1',
      '-H',
      'Expect: 100-continue',
      '--data-binary',
      '@package-lock.json',
      `${origin}/upload`,
    ])
    assert.deepEqual(
      responses.map(({ status }) => status),
      [401],
      'no 100 Continue',
    )
    assert.equal(read(), 0)
  })

  test('over plain HTTP, passwords and keys get 403, and tokens pass', async (context) => {
    const { origin } = await start(context, false)
    const statusOf = async (...args: readonly string[]): Promise<number> => (await curl([...args, `${origin}/`])).response.status
    assert.equal(await statusOf('--user', 'ann:grün'), 403)
    assert.equal(await statusOf('-H', `X-API-Key: ${API_KEY}`), 403)
    assert.equal(await statusOf('--oauth2-bearer', token), 200)
  })
})

describe('undici', () => {
  test('fetch, requests, event streams and WebSockets', async (context) => {
    const { origin } = await start(context)
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${origin}/`, { dispatcher: insecure, headers })
    assert.equal(await response.text(), 'jwt ann')
    assert.equal((await fetch(`${origin}/`, { dispatcher: insecure })).status, 401)
    const { statusCode, body } = await request(`${origin}/events`, { dispatcher: insecure })
    assert.equal(statusCode, 401)
    await body.dump()
    assert.match(await (await fetch(`${origin}/events`, { dispatcher: insecure, headers })).text(), /data: hello/)
    const opened = async (fields: Record<string, string>): Promise<string> => {
      const socket = new WebSocket(`${origin.replace('https', 'wss')}/socket`, { dispatcher: insecure, headers: fields })
      const said = await new Promise<string>((resolve) => {
        socket.addEventListener('message', ({ data }) => resolve(String(data)))
        socket.addEventListener('error', () => resolve('refused'))
      })
      socket.close()
      return said
    }
    assert.equal(await opened(headers), 'hello')
    assert.equal(await opened({}), 'refused')
  })
})

describe('Chromium', { skip: noChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  const visit = async (context: TestContext, url: string, httpCredentials?: { username: string; password: string }) => {
    const own = await browser.newContext({ ignoreHTTPSErrors: true, ...(httpCredentials === undefined ? {} : { httpCredentials }) })
    context.after(() => own.close())
    const tab = await own.newPage()
    const response = await tab.goto(url).catch((error: Error) => error.message)
    return { status: typeof response === 'string' ? response : response!.status(), title: await tab.title(), tab }
  }

  test('answers the challenge with a name and a password, umlauts included', async (context) => {
    const { origin } = await start(context)
    const { status, title, tab } = await visit(context, `${origin}/page`, { username: 'ann', password: 'grün' })
    assert.deepEqual([status, title], [200, 'in'])
    // For the rest of the origin, it sends them without being asked.
    assert.equal(await tab.evaluate(`fetch('/admin').then((response) => response.text())`), 'admin')
  })

  test('is not let in with a wrong password', async (context) => {
    const { origin } = await start(context)
    assert.notEqual((await visit(context, `${origin}/page`, { username: 'ann', password: 'green' })).status, 200)
  })

  test('is not asked for a password over plain HTTP', async (context) => {
    const { origin } = await start(context, false)
    const { status } = await visit(context, `${origin}/page`, { username: 'ann', password: 'grün' })
    assert.equal(status, 401)
  })
})
