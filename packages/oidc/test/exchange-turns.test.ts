// How many codes the server exchanges at once: each takes a descriptor, and anyone who has begun a login may send wrong ones.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import { HttpServer } from '../../weirjs/src/index.ts'
import { sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { CLIENT, startProvider } from '../../weirjs/test/support/identity-provider.ts'
import { keyOf } from '../../weirjs/test/support/user-sessions.ts'
import { oidc } from '../src/index.ts'

const MOST_AT_ONCE = 16

/** A provider that answers for a code only when it is told to. */
async function startApp(t: TestContext) {
  const server = new HttpServer({ logger: null })
  const idp = await startProvider(t, [])
  const users = sessions({ store: sealed({ keys: [keyOf('one')] }) })
  server.use(users)
  server.use(oidc({ sessions: users, issuer: idp.issuer, ...CLIENT }))
  const asked: { readonly code: string; refuse(): void }[] = []
  const held = new Set<ServerResponse>()
  let most = 0
  idp.instead = (request, response) => {
    if (request.url !== '/token') return false
    let body = ''
    request.on('data', (text) => (body += text))
    request.on('end', () => {
      held.add(response)
      most = Math.max(most, held.size)
      const refuse = (): void => {
        held.delete(response)
        response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"invalid_grant"}')
      }
      asked.push({ code: new URLSearchParams(body).get('code')!, refuse })
    })
    return true
  }
  const peerOf = (address: string) => ({ peer: { address } })
  /** Begins a login, and returns how its client brings back a code. */
  const begin = async (address: string): Promise<(code: string, signal?: AbortSignal) => Promise<Response>> => {
    const begun = await server.fetch(new Request('http://localhost/auth/login'), peerOf(address))
    const state = new URL(begun.headers.get('location')!).searchParams.get('state')
    const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!
    return (code, signal) => {
      const url = `http://localhost/auth/callback?state=${state}&code=${code}&iss=${encodeURIComponent(idp.issuer)}`
      return server.fetch(new Request(url, { headers: { cookie }, ...(signal && { signal }) }), peerOf(address))
    }
  }
  /** Everything that was going to be asked has been asked. */
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await fetch(`${idp.issuer}/jwks`)
      await setImmediate()
    }
  }
  const waitFor = async (number: number): Promise<void> => {
    while (asked.length < number) await setImmediate()
  }
  return { begin, asked, settle, waitFor, most: () => most }
}

test('sixteen at once, clients take turns, and those that have left ask for nothing', async (t) => {
  const { begin, asked, settle, waitFor, most } = await startApp(t)
  const flood = await Promise.all(Array.from({ length: 40 }, () => begin('127.0.0.1')))
  const honest = await begin('127.0.0.2')
  const leaving = new AbortController()
  const responses = flood.map((bring, i) => bring(`flood-${i}`, i === 39 ? leaving.signal : undefined).catch(() => null))
  await waitFor(MOST_AT_ONCE)
  await settle()
  assert.equal(asked.length, MOST_AT_ONCE)
  const other = honest('honest')
  await settle()
  leaving.abort()
  for (let i = 0; i < 40; i++) {
    asked[i]!.refuse()
    await waitFor(Math.min(i + 1 + MOST_AT_ONCE, 40))
  }
  assert.deepEqual([...new Set((await Promise.all([...responses.slice(0, 39), other])).map((response) => response?.status))], [400])
  const codes = asked.map(({ code }) => code)
  assert.ok(codes.indexOf('honest') < MOST_AT_ONCE + 2, 'it did not wait for the flood')
  assert.ok(!codes.includes('flood-39'))
  assert.equal(most(), MOST_AT_ONCE)
})
