// The keys of an issuer: rotation, outages, and what an issuer may not send.

import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { mostInATurn } from '../../weirjs/test/support/most-in-a-turn.ts'
import { eventually, gate } from '../../weirjs/test/support/serving.ts'
import type { JwtOptions } from '../src/index.ts'
import { AUDIENCE, ISSUER, type Issuer, type KeyPair, keyPair, serverFor, startIssuer, tokenOf } from './support.ts'

let first: KeyPair
let second: KeyPair
let weak: KeyPair
before(async () => {
  first = await keyPair('first')
  second = await keyPair('second')
  weak = await keyPair('weak')
})

const MINUTE = 60_000

async function served(context: TestContext, options: Partial<JwtOptions> = {}) {
  const issuer = await startIssuer(context, [first.jwk])
  const errors: unknown[] = []
  const { client, clock, server } = serverFor({
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ['ES256'],
    jwks: issuer.url,
    onJwksError: (error) => void errors.push(error),
    ...options,
  })
  const statusOf = async (token: string, path = '/'): Promise<number> =>
    (await client().get(path, { headers: { Authorization: `Bearer ${token}` } })).status
  return { issuer, errors, clock, server, statusOf }
}

const isAway = (issuer: Issuer): void => {
  issuer.answer = (send) => send(500, 'down')
}
/** A token that lives for a day. */
const longToken = (pair: KeyPair): Promise<string> =>
  tokenOf(pair, { claims: { exp: 1_704_067_200 + 86_400, jti: Math.random().toString() } })

describe('rotation', () => {
  test('keys are fetched once, when the first token arrives', async (context) => {
    const { issuer, statusOf } = await served(context)
    assert.equal(issuer.fetches, 0)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => longToken(first)))
    assert.deepEqual(new Set(await Promise.all(tokens.map((token) => statusOf(token)))), new Set([200]))
    assert.equal(issuer.fetches, 1)
  })

  for (const [how, status] of [
    ['sends its keys', 200],
    ['fails', 500],
  ] as const)
    test(`a thousand requests that wait for an issuer, which ${how}, go on in turns`, async (context) => {
      const { issuer, server } = await served(context)
      const { promise: asked, open } = gate()
      issuer.answer = (send) => void asked.then(() => send(status, JSON.stringify({ keys: [first.jwk] })))
      const headers = { Authorization: `Bearer ${await tokenOf(second)}` }
      const all = Array.from({ length: 1_000 }, () => server.fetch(new Request('http://localhost/', { headers })))
      await eventually(() => issuer.fetches === 1, 'a request for the keys')
      open()
      const most = await mostInATurn(all)
      assert.ok(most <= 256, `${most} in one turn`)
    })

  test('an unknown kid causes one request to the issuer, and then none for 30 s', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    assert.equal(await statusOf(await longToken(first)), 200)
    issuer.keys = [first.jwk, second.jwk]
    const tokens = await Promise.all(Array.from({ length: 20 }, () => longToken(second)))
    assert.deepEqual(new Set(await Promise.all(tokens.map((token) => statusOf(token)))), new Set([200]))
    assert.equal(issuer.fetches, 2)

    const unknown = (): Promise<string> => tokenOf(second, { header: { kid: Math.random().toString() } })
    for (let i = 0; i < 20; i++) assert.equal(await statusOf(await unknown()), 401)
    assert.equal(issuer.fetches, 2)
    await clock.advance(29_000)
    assert.equal(await statusOf(await unknown()), 401)
    assert.equal(issuer.fetches, 2)
    await clock.advance(1_000)
    assert.deepEqual(await Promise.all([unknown(), unknown()].map(async (token) => statusOf(await token))), [401, 401])
    assert.equal(issuer.fetches, 3)
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('forged tokens cause one request after the start, too, and then none for 30 s', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    const forged = (): Promise<string> => tokenOf(second, { header: { kid: Math.random().toString() } })
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => statusOf(await forged())))
    assert.deepEqual(new Set(statuses), new Set([401]))
    for (let second = 0; second < 30; second++) {
      assert.equal(await statusOf(await forged()), 401)
      assert.equal(issuer.fetches, 1, `after ${second} s`)
      await clock.advance(1_000)
    }
    assert.equal(await statusOf(await forged()), 401)
    assert.equal(issuer.fetches, 2)
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('keys are fetched again every ten minutes, without a request waiting for it', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    assert.equal(await statusOf(await longToken(first)), 200)
    await clock.advance(10 * MINUTE)
    assert.equal(await statusOf(await longToken(first)), 200)
    assert.equal(issuer.fetches, 1)
    await clock.advance(1)
    let release = (): void => {}
    const asked = new Promise<void>((resolve) => {
      issuer.answer = (send) => {
        release = () => send(200, JSON.stringify({ keys: [first.jwk] }))
        resolve()
      }
    })
    assert.equal(await statusOf(await longToken(first)), 200, 'before the issuer has answered')
    await asked
    assert.equal(await statusOf(await longToken(first)), 200)
    assert.equal(issuer.fetches, 2)
    release()
  })

  test('a token whose key was withdrawn is refused, even if it is cached', async (context) => {
    const { issuer, statusOf } = await served(context)
    const token = await longToken(first)
    assert.deepEqual([await statusOf(token), await statusOf(token)], [200, 200])
    issuer.keys = [second.jwk]
    assert.equal(await statusOf(await longToken(second)), 200, 'fetches the keys')
    assert.equal(await statusOf(token), 401)
  })
})

describe('while the issuer is away', () => {
  test('the last keys serve for an hour; then requests get 503, cached or not, until it is back', async (context) => {
    const { issuer, errors, statusOf, clock } = await served(context)
    const cached = await longToken(first)
    assert.equal(await statusOf(cached), 200)
    isAway(issuer)
    for (let minute = 5; minute <= 60; minute += 5) {
      await clock.advance(5 * MINUTE)
      assert.equal(await statusOf(cached), 200, `after ${minute} minutes`)
      assert.equal(await statusOf(await longToken(first)), 200)
      // Keys are fresh for ten minutes. Then each step causes one fetch, in the background.
      await eventually(() => errors.length >= minute / 5 - 2, 'a fetch has failed')
    }
    assert.equal(errors.length, 10)
    assert.match(String(errors[0]), /answered with status 500/)
    await clock.advance(MINUTE)
    for (const token of [cached, await longToken(first), await longToken(second)]) assert.equal(await statusOf(token), 503)
    assert.equal(await statusOf(cached, '/open'), 200, 'where anybody may pass, nobody is refused')
    const { fetches } = issuer
    for (let i = 0; i < 10; i++) assert.equal(await statusOf(cached), 503)
    assert.equal(issuer.fetches, fetches, 'it is not asked again for 5 s')
    issuer.answer = null
    await clock.advance(5_000)
    assert.equal(await statusOf(cached), 200)
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('before there are any keys, requests get 503', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    isAway(issuer)
    assert.equal(await statusOf(await longToken(first)), 503)
    assert.equal(await statusOf('a.b.c'), 401, 'this is no token, whatever the keys')
    issuer.answer = null
    assert.equal(await statusOf(await longToken(first)), 503)
    await clock.advance(5_000)
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('nobody can tell whether an unknown kid is new: 503, and known ones pass', async (context) => {
    const { issuer, statusOf } = await served(context)
    assert.equal(await statusOf(await longToken(first)), 200)
    isAway(issuer)
    assert.equal(await statusOf(await longToken(second)), 503)
    assert.equal(await statusOf(await longToken(second)), 503)
    assert.equal(issuer.fetches, 2)
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('forged tokens cause one request in 30 s while there are keys, and nobody is told that a key is unknown', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    assert.equal(await statusOf(await longToken(first)), 200)
    isAway(issuer)
    for (let second = 0; second < 30; second++) {
      assert.equal(await statusOf(await tokenOf(first, { header: { kid: `${second}` } })), 503)
      assert.equal(issuer.fetches, 2, `after ${second} s`)
      await clock.advance(1_000)
    }
    issuer.answer = null
    assert.equal(await statusOf(await tokenOf(first, { header: { kid: 'forged' } })), 401)
    assert.equal(issuer.fetches, 3)
  })

  test('while there are no keys, tokens cause one request in 5 s', async (context) => {
    const { issuer, statusOf, clock } = await served(context)
    isAway(issuer)
    for (let second = 0; second < 30; second++) {
      assert.equal(await statusOf(await longToken(second % 2 === 0 ? first : weak)), 503)
      assert.equal(issuer.fetches, 1 + Math.floor(second / 5), `after ${second} s`)
      await clock.advance(1_000)
    }
  })

  test('few signatures are checked at a time, and none of them waits for the issuer', async (context) => {
    const { issuer, statusOf } = await served(context)
    assert.equal(await statusOf(await tokenOf(first)), 200)
    let open = (): void => {}
    issuer.answer = (send) => {
      open = () => send(500, 'down')
    }
    const unknown = await tokenOf(second)
    const waiting = Array.from({ length: 40 }, () => statusOf(unknown))
    await eventually(() => issuer.fetches === 2, 'the request to the issuer')
    let most = 0
    let running = 0
    const { verify } = crypto.subtle
    context.mock.method(crypto.subtle, 'verify', async (...parts: Parameters<typeof verify>) => {
      most = Math.max(most, ++running)
      try {
        return await verify.apply(crypto.subtle, parts)
      } finally {
        running--
      }
    })
    const tokens = await Promise.all(Array.from({ length: 200 }, (_, i) => tokenOf(first, { claims: { jti: `${i}` } })))
    const statuses = await Promise.all(tokens.map((token) => statusOf(token)))
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.ok(most > 1 && most <= 16, `${most} at a time`)
    open()
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([503]))
  })

  test('a client learns nothing of the cause', async (context) => {
    const issuer = await startIssuer(context, [])
    isAway(issuer)
    const logged: unknown[] = []
    const { client } = serverFor(
      { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], jwks: issuer.url },
      { logger: { error: (...args: unknown[]) => void logged.push(args) } },
    )
    const token = await longToken(first)
    const { status, text } = await client().get('/', { headers: { Authorization: `Bearer ${token}` } })
    assert.equal(status, 503)
    assert.doesNotMatch(text(), /127\.0\.0\.1/)
    assert.equal(logged.length, 1, 'the program learns it')
    assert.ok(!JSON.stringify(logged).includes(token.slice(0, 30)))
  })
})

describe('what an issuer may not send', () => {
  const wrong: readonly (readonly [string, (issuer: Issuer) => void])[] = [
    [
      'more than the limit',
      (issuer) => (issuer.answer = (send) => send(200, JSON.stringify({ keys: [first.jwk], x: 'x'.repeat(600_000) }))),
    ],
    ['a redirect', (issuer) => (issuer.answer = (send) => send(302, '', { location: 'https://evil.example/' }))],
    ['something that is not JSON', (issuer) => (issuer.answer = (send) => send(200, '<html>'))],
    ['something that is not a set', (issuer) => (issuer.answer = (send) => send(200, '{"keys":7}'))],
    ['an empty body', (issuer) => (issuer.answer = (send) => send(200, ''))],
    ['nothing at all', (issuer) => (issuer.answer = () => {})],
  ]
  for (const [title, spoil] of wrong)
    test(`${title}: 503 without keys, and the last keys stay`, async (context) => {
      const { issuer, statusOf, clock } = await served(context, { jwksTimeout: 100 })
      spoil(issuer)
      assert.equal(await statusOf(await longToken(first)), 503)
      issuer.answer = null
      await clock.advance(5_000)
      assert.equal(await statusOf(await longToken(first)), 200)
      spoil(issuer)
      assert.equal(await statusOf(await longToken(second)), 503)
      assert.equal(await statusOf(await longToken(first)), 200)
    })

  test('keys that cannot verify: symmetric, private, for another use or algorithm', async (context) => {
    const { issuer, statusOf } = await served(context)
    const { d } = await (await import('jose')).exportJWK(weak.privateKey)
    issuer.keys = [
      { kty: 'oct', kid: 'oct', k: Buffer.alloc(32).toString('base64url'), alg: 'HS256' },
      { ...weak.jwk, d: d!, kid: 'private' },
      { ...weak.jwk, use: 'enc', kid: 'enc' },
      { ...weak.jwk, alg: 'ES384', kid: 'other' },
      { ...weak.jwk, key_ops: ['sign'], kid: 'sign' },
      { ...weak.jwk, kid: 'twice' },
      { ...weak.jwk, kid: 'twice' },
      first.jwk,
    ]
    for (const kid of ['oct', 'private', 'enc', 'other', 'sign', 'twice', undefined])
      assert.equal(await statusOf(await tokenOf(weak, { header: { kid } })), 401, String(kid))
    assert.equal(await statusOf(await longToken(first)), 200)
  })

  test('a token without a kid fits the only key of its kind', async (context) => {
    const { statusOf } = await served(context)
    assert.equal(await statusOf(await tokenOf(first, { header: { kid: undefined } })), 200)
  })
})
