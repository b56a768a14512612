// What the requests of one session share while its tokens are refreshed: however many wait, the store and the provider are asked once.

import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { HttpServer } from '../../weirjs/src/index.ts'
import { sessions, sessionsHandle } from '../../weirjs/src/modules/sessions/index.ts'
import { connect, TestClock } from '../../weirjs/src/testing/index.ts'
import { CLIENT } from '../../weirjs/test/support/identity-provider.ts'
import { mostInATurn } from '../../weirjs/test/support/most-in-a-turn.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { keyOf, WatchedStore } from '../../weirjs/test/support/user-sessions.ts'
import { type OidcOptions, oidc } from '../src/index.ts'

const SECURE = { address: '127.0.0.1', isSecure: true }

/** A provider whose token endpoint answers when it is told to, and a session whose access token has expired. */
async function start(t: TestContext, options: Partial<OidcOptions> = {}) {
  const asked: ServerResponse[] = []
  const provider = createServer(async (request, response) => {
    response.setHeader('Content-Type', 'application/json')
    if (request.url !== '/token') return response.end(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }))
    for await (const _ of request);
    return asked.push(response)
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  t.after(() => provider.close().closeAllConnections())
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const store = new WatchedStore()
  const clock = new TestClock()
  let running = 0
  const process = () => {
    const users = sessions({ store })
    const login = oidc({ sessions: users, issuer, ...CLIENT, keys: [keyOf('one')], keepTokens: true, ...options })
    const server = new HttpServer({ logger: null }).use(users).use(login)
    server.mapGet('/in', (_, session) => {
      const kept = { client: `${issuer} ${CLIENT.clientId}`, access: 'old', expiresAt: 1, scope: '', refresh: 'r', id: null }
      sessionsHandle(users)!.signIn(session, { id: 'ann' }, { ...kept, refreshingUntil: 0 })
      return 'in'
    })
    server.mapGet('/token', async (_, session) => {
      running++
      try {
        return (await login.tokens(session))?.accessToken ?? 'none'
      } finally {
        running--
      }
    })
    return server
  }
  const server = process()
  const signedIn = await connect(server, { clock, peer: SECURE }).get('/in')
  const headers = { Cookie: signedIn.headers.getSetCookie()[0]!.split(';')[0]! }
  const client = (of = server) => {
    const one = connect(of, { clock, peer: SECURE })
    return { answer: one.get('/token', { headers }), leave: () => one.abort() }
  }
  const answers = async (number: number): Promise<string[]> => {
    const responses = await Promise.all(Array.from({ length: number }, () => client().answer))
    return [...new Set(responses.map(({ status, body }) => `${status} ${status === 200 ? body : ''}`))]
  }
  const refuse = (): unknown => asked.shift()!.writeHead(500).end('{}')
  const issue = (): unknown => asked.shift()!.end(JSON.stringify({ access_token: 'new', token_type: 'bearer', expires_in: 3_600 }))
  return { server, process, store, clock, asked, client, answers, refuse, issue, running: () => running }
}

const readsOf = ({ calls }: WatchedStore): number => calls.filter((call) => call === 'read').length

test('requests that wait share one refresh and its failure, and none is tried for five seconds', async (t) => {
  const { store, clock, asked, answers, refuse, issue } = await start(t)
  const failed = answers(100)
  await eventually(() => asked.length === 1, 'a refresh')
  const reads = readsOf(store)
  await clock.advance(1_000)
  assert.equal(readsOf(store), reads, 'nobody asks the store while the process itself refreshes')
  refuse()
  assert.deepEqual(await failed, ['503 '])
  assert.deepEqual(await answers(10), ['503 '])
  await clock.advance(4_999)
  assert.deepEqual(await answers(10), ['503 '])
  assert.equal(asked.length, 0)
  await clock.advance(1)
  const refreshed = answers(100)
  await eventually(() => asked.length === 1, 'another refresh')
  issue()
  assert.deepEqual(await refreshed, ['200 new'])
  assert.deepEqual(await answers(10), ['200 new'])
  assert.equal(asked.length, 0)
})

test('the failure of another process counts, too', async (t) => {
  const { process, clock, asked, client, refuse } = await start(t)
  const other = process()
  const first = client()
  await eventually(() => asked.length === 1, 'a refresh')
  const second = client(other)
  await clock.advance(100)
  refuse()
  assert.equal((await first.answer).status, 503)
  await clock.advance(100)
  assert.equal((await second.answer).status, 503)
  assert.equal(asked.length, 0)
})

test('while another process refreshes, one request looks for the result, and none for clients that have left', async (t) => {
  const { process, store, clock, asked, client, running } = await start(t)
  const other = process()
  const first = client()
  await eventually(() => asked.length === 1, 'a refresh')
  const waiting = Array.from({ length: 50 }, () => client(other))
  await eventually(() => running() === 51, 'that all wait')
  await clock.advance(50)
  const before = readsOf(store)
  await clock.advance(500)
  assert.equal(readsOf(store) - before, 10, 'one look each 50 ms')
  for (const one of [first, ...waiting]) {
    one.answer.catch(() => {})
    one.leave()
  }
  await eventually(() => running() === 0, 'that nobody waits')
  await clock.advance(50)
  const reads = readsOf(store)
  await clock.advance(1_000)
  assert.equal(readsOf(store), reads)
})

test('nobody waits for another process longer than twice the timeout', async (t) => {
  const { store, clock, asked, client, running } = await start(t, { timeout: 2_000 })
  const [[key, text]] = [...store.texts] as [[string, string]]
  // As if the clock of the other machine were an hour ahead.
  await store.write(key, text.replace('"refreshingUntil":0', `"refreshingUntil":${clock.wallTime() + 3_600_000}`), 3_600_000)
  const waiting = client()
  let isAnswered = false
  void waiting.answer.finally(() => (isAnswered = true))
  await eventually(() => running() === 1, 'that it waits')
  for (let i = 0; i < 20; i++) await setImmediate()
  await clock.advance(3_950)
  assert.ok(!isAnswered)
  await clock.advance(100)
  assert.equal((await waiting.answer).status, 503)
  assert.equal(asked.length, 0)
})

test('a thousand requests that wait for a refresh go on in turns', async (t) => {
  const { server, asked, issue } = await start(t)
  const ask = (path: string, Cookie = '') =>
    server.fetch(new Request(`https://localhost${path}`, { headers: { Cookie } }), { peer: SECURE })
  const cookie = (await ask('/in')).headers.getSetCookie()[0]!.split(';')[0]!
  const all = Array.from({ length: 1_000 }, () => ask('/token', cookie))
  await eventually(() => asked.length === 1, 'a refresh')
  for (let i = 0; i < 20; i++) await setImmediate()
  issue()
  const most = await mostInATurn(all)
  assert.deepEqual(new Set((await Promise.all(all)).map(({ status }) => status)), new Set([200]))
  assert.ok(most <= 256, `${most} in one turn`)
})
