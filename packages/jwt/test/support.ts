// Issuers for tests: keys, tokens, and the set of keys that an issuer publishes.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

import * as jose from 'jose'

import { HttpServer, type ServerOptions } from '../../weirjs/src/index.ts'
import { auth } from '../../weirjs/src/modules/auth/index.ts'
import { connect, type TestClient, TestClock } from '../../weirjs/src/testing/index.ts'
import { type JwtOptions, jwt } from '../src/index.ts'

export const ISSUER = 'https://issuer.example/'
export const AUDIENCE = 'https://api.example/'

export interface KeyPair {
  readonly kid: string
  readonly alg: string
  readonly privateKey: jose.CryptoKey
  readonly publicKey: jose.CryptoKey
  readonly jwk: jose.JWK
}

export async function keyPair(kid: string, alg = 'ES256'): Promise<KeyPair> {
  const { privateKey, publicKey } = await jose.generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicKey, jwk: { ...(await jose.exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** Seconds since 1970, by the clock of a server. */
export const NOW = Math.floor(new TestClock().wallTime() / 1000)

export interface TokenParts {
  readonly header?: Readonly<Record<string, unknown>>
  /** Undefined removes a claim. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Claims that are accepted, for an hour from `NOW`. */
export const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: NOW + 3600, iat: NOW }

/** A token that is accepted, unless parts of it are changed. */
export function tokenOf({ privateKey, kid, alg }: KeyPair, { header = {}, claims = {} }: TokenParts = {}): Promise<string> {
  const payload = JSON.parse(JSON.stringify({ ...CLAIMS, ...claims })) as jose.JWTPayload
  return new jose.SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
}

/** A server whose route `/` answers with the `id` of the principal, and a client of it on a clock. */
export function serverFor(
  options: JwtOptions,
  serverOptions: ServerOptions = {},
): { server: HttpServer; client: () => TestClient; clock: TestClock } {
  const users = auth({ schemes: [jwt(options)], roles: ['admin'] })
  const server = new HttpServer({ logger: null, ...serverOptions }).use(users)
  server.mapGet('/', (_, session) => users.principal.required(session).id)
  server.mapGet('/all', (_, session) => users.principal.required(session))
  server.mapGet('/admin', { use: [users.roles('admin')] }, () => 'done')
  server.mapGet('/write', { use: [users.scopes('read', 'write')] }, () => 'done')
  server.mapGet('/open', { use: [users.open] }, (_, session) => users.principal(session)?.id ?? 'nobody')
  server.mapPost('/upload', { body: 'stream' }, () => 'done')
  const clock = new TestClock()
  return { server, clock, client: () => connect(server, { clock }) }
}

/** An issuer that publishes keys over HTTP. */
export interface Issuer {
  readonly url: string
  keys: readonly jose.JWK[]
  /** Answers with this instead. */
  answer: ((send: (status: number, body: string, headers?: Record<string, string>) => void) => void) | null
  /** How often the keys were fetched. */
  fetches: number
}

export async function startIssuer(context: TestContext, keys: readonly jose.JWK[]): Promise<Issuer> {
  const server = createServer((_, response) => {
    issuer.fetches++
    const send = (status: number, body: string, headers = {}): void => void response.writeHead(status, headers).end(body)
    if (issuer.answer !== null) issuer.answer(send)
    else send(200, JSON.stringify({ keys: issuer.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const issuer: Issuer = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, keys, answer: null, fetches: 0 }
  return issuer
}
