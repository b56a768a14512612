// Tokens that must not be accepted: each gets 401, before the body is read, and nothing secret is logged.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ATTACKS, type Attack, encoded, foreign, optionsOf, own, rsa } from './attack-list.ts'
import { AUDIENCE, CLAIMS, NOW, serverFor, startIssuer, tokenOf } from './support.ts'

describe('each attack is refused', () => {
  for (const [title, make, options] of ATTACKS)
    test(title, async () => {
      const logged: unknown[] = []
      const log = (...args: unknown[]): void => void logged.push(args)
      const { client } = serverFor({ ...optionsOf(), ...options }, { logger: { error: log } })
      const token = await make()
      for (const method of ['GET', 'POST']) {
        const path = method === 'GET' ? '/' : '/upload'
        // The body is announced, and never sent.
        const headers = {
          Authorization: `Bearer ${token}`,
          ...(method === 'POST' ? { 'Content-Length': 1000, Expect: '100-continue' } : {}),
        }
        const { status, headers: fields, text } = await client().request({ method, url: path, headers })
        assert.equal(status, 401)
        assert.match(fields.get('www-authenticate') ?? '', /^Bearer realm="api", error="invalid_token", error_description="[^"]+"/)
        assert.equal(fields.get('cache-control'), 'no-store')
        assert.equal((JSON.parse(text()) as { code: string }).code, 'WEIR_CREDENTIALS_INVALID')
        if (token.length > 20) assert.ok(!text().includes(token.slice(0, 20)), 'the token is not repeated')
      }
      assert.equal((await client().get('/open', { headers: { Authorization: `Bearer ${token}` } })).text(), 'nobody')
      assert.deepEqual(logged, [])
    })
})

describe('a token of a MiB', () => {
  const huge = (): string => `${encoded({ alg: 'ES256', kid: 'own' })}.${'A'.repeat(1024 * 1024)}.AAAA`

  test('does not fit into a head', async () => {
    const { client } = serverFor(optionsOf())
    assert.equal((await client().get('/', { headers: { Authorization: `Bearer ${huge()}` } })).status, 431)
  })

  test('is refused before it is hashed, if heads may be larger', async () => {
    const { client } = serverFor(optionsOf(), { limits: { maxRequestHeaderSize: 4 * 1024 * 1024 } })
    const { status, headers } = await client().get('/', { headers: { Authorization: `Bearer ${huge()}` } })
    assert.equal(status, 401)
    assert.match(headers.get('www-authenticate')!, /the token has more than 8192 characters/)
  })
})

test('what resembles the attacks and is right is accepted', async () => {
  const accepted: readonly Attack[] = [
    ['plain', () => tokenOf(own)],
    ['another algorithm of the list', () => tokenOf(rsa)],
    ['the audience in a list', () => tokenOf(own, { claims: { aud: ['https://other.example/', AUDIENCE] } })],
    ['expired within the tolerance', () => tokenOf(own, { claims: { exp: NOW - 4 } })],
    ['valid soon, within the tolerance', () => tokenOf(own, { claims: { nbf: NOW + 5 } })],
    ['the type', () => tokenOf(own, { header: { typ: 'at+jwt' } }), { typ: 'at+jwt' }],
    ['the type in full', () => tokenOf(own, { header: { typ: 'application/AT+JWT' } }), { typ: 'at+jwt' }],
    ['a thumbprint of a certificate', () => tokenOf(own, { header: { x5t: 'abc' } })],
  ]
  for (const [title, make, options] of accepted) {
    const { client } = serverFor({ ...optionsOf(), ...options })
    const token = await make()
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const { status, text } = await client().get('/', { headers: { Authorization: `${scheme} ${token}` } })
      assert.deepEqual([status, text()], [200, 'ann'], title)
    }
  }
})

test('a token is read from Authorization only', async () => {
  const { client } = serverFor(optionsOf())
  const token = await tokenOf(own)
  assert.equal((await client().get(`/?access_token=${token}`)).status, 401)
  assert.equal((await client().get('/', { headers: { Cookie: `access_token=${token}` } })).status, 401)
  assert.equal((await client().get('/', { headers: { Authorization: token } })).status, 401)
  assert.equal((await client().get('/', { headers: { Authorization: `Token ${token}` } })).status, 401)
})

test('forged tokens of other issuers cause no request to the issuer', async (context) => {
  const issuer = await startIssuer(context, [own.jwk])
  const { client } = serverFor({ ...optionsOf(), jwks: issuer.url })
  for (const token of [
    await tokenOf(foreign, { claims: { iss: 'https://evil.example/' } }),
    `${encoded({ alg: 'none' })}.${encoded(CLAIMS)}.AAAA`,
    'a.b.c',
  ])
    assert.equal((await client().get('/', { headers: { Authorization: `Bearer ${token}` } })).status, 401)
  assert.equal(issuer.fetches, 0)
})
