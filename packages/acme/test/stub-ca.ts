// A CA for tests, written from RFC 8555 and RFC 9773, as a function in place of `fetch`: it checks each request as strictly as the RFC allows,
// and fails in the ways that a test asks for.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'

import type { Clock } from 'weirjs/kit'

import { bits, explicit, identifier, implicit, integer, octets, piecesOf, sequence, set, time, utf8 } from '../src/der.ts'

const ORIGIN = 'https://ca.test'
const DAY_MS = 86_400_000
const ECDSA_SHA256 = '1.2.840.10045.4.3.2'

/** What a request is about. */
export type Step =
  | 'directory'
  | 'newNonce'
  | 'newAccount'
  | 'newOrder'
  | 'order'
  | 'authorization'
  | 'challenge'
  | 'finalize'
  | 'certificate'
  | 'renewalInfo'

interface Authorization {
  readonly value: string
  readonly type: string
  readonly token: string
  status: string
  /** How often it is asked for before it is settled. */
  left: number
}

interface Order {
  readonly identifiers: readonly { readonly type: string; readonly value: string }[]
  readonly authorizations: readonly string[]
  status: string
  left: number
  certificate: string | null
}

export interface Call {
  readonly step: Step
  /** By the clock of the CA. */
  readonly at: number
  readonly payload: Readonly<Record<string, unknown>> | null
}

export class StubCa {
  readonly directory = `${ORIGIN}/directory`
  readonly calls: Call[] = []
  /** PEM of each certificate that it has given. */
  readonly issued: string[] = []
  /** Called instead of the CA, or after it, with what it would respond; may never resolve. */
  intercept: (step: Step, answer: () => Promise<Response>) => Promise<Response> = (_, answer) => answer()
  /** Fetches what a challenge is about; null: it cannot be fetched. */
  visit: (host: string, path: string) => Promise<string | null> = () => Promise.resolve(null)
  lifeMs = 90 * DAY_MS
  profiles: Readonly<Record<string, string>> | null = null
  /** How many good nonces are refused before one is accepted. */
  badNonces = 0
  /** How often authorizations and orders are asked for before they are settled, and what is stated as Retry-After. */
  slowness = 0
  retryAfter: string | null = null
  /** Null: the CA knows no renewal information. */
  window: ((notBefore: number, notAfter: number) => readonly [start: number, end: number]) | null = null
  /** What is said to orders that name a certificate that they replace. */
  refusesReplacements: readonly [status: number, type: string] | null = null
  /** A page about that. */
  explanation: string | null = null
  readonly #clock: Clock
  readonly #key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  readonly #nonces = new Set<string>()
  readonly #accounts = new Map<string, { readonly jwk: Record<string, string> }>()
  readonly #orders = new Map<string, Order>()
  readonly #authorizations = new Map<string, Authorization>()
  readonly #times = new Map<string, readonly [number, number]>()
  #count = 0
  #refused = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  count(step: Step): number {
    return this.calls.filter((call) => call.step === step).length
  }

  /** It knows no account any more. */
  forgetAccounts(): void {
    this.#accounts.clear()
  }

  readonly fetch: typeof globalThis.fetch = async (url, init = {}) => {
    const { pathname } = new URL(String(url))
    const [, step, id = ''] = pathname.split('/') as [string, Step, string?]
    assert.match(new Headers(init.headers).get('user-agent') ?? '', /^weirjs-acme /)
    const { signal } = init
    const gone = new Promise<never>((_, reject) => {
      if (signal?.aborted) reject(signal.reason as Error)
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    gone.catch(() => {})
    return Promise.race([gone, this.intercept(step, () => this.#answer(step, id, String(url), init))])
  }

  async #answer(step: Step, id: string, url: string, { method = 'GET', body }: RequestInit): Promise<Response> {
    if (method !== 'POST') {
      this.calls.push({ step, at: this.#clock.wallTime(), payload: null })
      if (step === 'directory') return this.#json(this.#contents())
      if (step === 'newNonce') return new Response(null, { headers: this.#fields() })
      if (step === 'renewalInfo') return this.#renewalInfo(decodeURIComponent(id))
      return this.#problem(405, 'malformed')
    }
    const { protected: head, payload, signature } = JSON.parse(String(body)) as Record<string, string>
    const {
      alg,
      nonce,
      url: stated,
      kid,
      jwk,
    } = decoded(head!) as { alg: string; nonce: string; url: string; kid?: string; jwk?: Record<string, string> }
    assert.equal(stated, url)
    assert.equal(alg, 'ES256')
    assert.equal(kid === undefined, step === 'newAccount', 'jwk is for new accounts alone')
    const key = jwk ?? this.#accounts.get(kid!)?.jwk
    if (key === undefined) return this.#problem(400, 'accountDoesNotExist')
    const isSigned = verify(
      'sha256',
      Buffer.from(`${head}.${payload}`),
      { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature!, 'base64url'),
    )
    assert.ok(isSigned, 'the signature is right')
    if (!this.#nonces.delete(nonce) || this.#refused < this.badNonces) {
      this.#refused++
      return this.#problem(400, 'badNonce')
    }
    this.#refused = 0
    const content = payload === '' ? null : (decoded(payload!) as Record<string, unknown>)
    this.calls.push({ step, at: this.#clock.wallTime(), payload: content })
    if (step === 'newAccount') return this.#newAccount(jwk!, content!)
    if (step === 'newOrder') return this.#newOrder(content!)
    if (step === 'challenge')
      return this.#challenge(
        id,
        createHash('sha256')
          .update(JSON.stringify({ crv: key['crv'], kty: key['kty'], x: key['x'], y: key['y'] }))
          .digest('base64url'),
      )
    if (step === 'finalize') return this.#finalize(id, content!)
    assert.equal(content, null, 'POST-as-GET has no payload')
    if (step === 'authorization') return this.#authorization(id)
    if (step === 'order') return this.#order(id)
    assert.equal(step, 'certificate')
    return new Response(this.#orders.get(id)!.certificate, { headers: this.#fields('application/pem-certificate-chain') })
  }

  #contents(): object {
    const at = (step: Step): string => `${ORIGIN}/${step}`
    return {
      newNonce: at('newNonce'),
      newAccount: at('newAccount'),
      newOrder: at('newOrder'),
      ...(this.window === null ? {} : { renewalInfo: at('renewalInfo') }),
      meta: this.profiles === null ? {} : { profiles: this.profiles },
    }
  }

  #newAccount(jwk: Record<string, string>, { termsOfServiceAgreed }: Record<string, unknown>): Response {
    assert.equal(termsOfServiceAgreed, true)
    const url = `${ORIGIN}/account/${jwk['x']}`
    const status = this.#accounts.has(url) ? 200 : 201
    this.#accounts.set(url, { jwk })
    return this.#json({ status: 'valid' }, status, { location: url })
  }

  #newOrder(content: Record<string, unknown>): Response {
    if (content['replaces'] !== undefined && this.refusesReplacements !== null) return this.#problem(...this.refusesReplacements)
    const identifiers = content['identifiers'] as Order['identifiers']
    const id = String(++this.#count)
    const authorizations = identifiers.map(({ type, value }, i) => {
      const own = `${id}-${i}`
      this.#authorizations.set(own, { type, value, token: randomBytes(16).toString('base64url'), status: 'pending', left: this.slowness })
      return own
    })
    const order = { identifiers, authorizations, status: 'pending', left: this.slowness, certificate: null }
    this.#orders.set(id, order)
    return this.#json(this.#orderAs(id, order), 201, { location: `${ORIGIN}/order/${id}` })
  }

  #orderAs(id: string, { identifiers, authorizations, status }: Order): object {
    return {
      status,
      identifiers,
      authorizations: authorizations.map((one) => `${ORIGIN}/authorization/${one}`),
      finalize: `${ORIGIN}/finalize/${id}`,
      ...(status === 'valid' ? { certificate: `${ORIGIN}/certificate/${id}` } : {}),
    }
  }

  #order(id: string): Response {
    const order = this.#orders.get(id)
    if (order === undefined) return this.#problem(404, 'malformed')
    const all = order.authorizations.map((one) => this.#authorizations.get(one)!.status)
    if (order.status === 'pending' && all.includes('invalid')) order.status = 'invalid'
    else if (order.status === 'pending' && all.every((status) => status === 'valid')) order.status = 'ready'
    else if (order.status === 'processing' && order.left-- <= 0) order.status = 'valid'
    return this.#json(this.#orderAs(id, order))
  }

  #authorization(id: string): Response {
    const { type, value, token, status } = this.#authorizations.get(id)!
    return this.#json({
      status,
      identifier: { type, value },
      challenges: [{ type: 'http-01', url: `${ORIGIN}/challenge/${id}`, token, status }],
    })
  }

  async #challenge(id: string, thumbprint: string): Promise<Response> {
    const own = this.#authorizations.get(id)!
    const found = await this.visit(own.value, `/.well-known/acme-challenge/${own.token}`)
    if (found !== `${own.token}.${thumbprint}`) own.status = 'invalid'
    else if (own.left-- <= 0) own.status = 'valid'
    else this.#settleLater(own)
    return this.#json({ status: own.status, type: 'http-01' })
  }

  /** Slow validation: it is settled some polls later. */
  #settleLater(own: Authorization): void {
    const stop = this.#clock.every(5_000, () => {
      if (own.left-- > 0) return
      own.status = 'valid'
      stop()
    })
  }

  #finalize(id: string, { csr }: Record<string, unknown>): Response {
    const order = this.#orders.get(id)!
    if (order.status !== 'ready') return this.#problem(403, 'orderNotReady')
    const { publicKey, names } = requested(Buffer.from(String(csr), 'base64url'))
    assert.deepEqual(
      names,
      order.identifiers.map(({ value }) => value),
    )
    order.certificate = this.#issue(publicKey, names)
    order.status = order.left > 0 ? 'processing' : 'valid'
    return this.#json(this.#orderAs(id, order))
  }

  #issue(publicKey: Buffer, names: readonly string[]): string {
    const serial = Buffer.concat([Buffer.of(0x80 | this.issued.length), randomBytes(15)]) // so that its first bit is set
    const now = Math.floor(this.#clock.wallTime() / 1000) * 1000
    const issuer = sequence(set(sequence(identifier('2.5.4.3'), utf8('stub'))))
    const keyId = createHash('sha1').update(publicKey).digest()
    const body = sequence(
      explicit(0, integer(Buffer.of(2))),
      integer(serial),
      sequence(identifier(ECDSA_SHA256)),
      issuer,
      sequence(time(now), time(now + this.lifeMs)),
      sequence(),
      publicKey,
      explicit(
        3,
        sequence(
          sequence(identifier('2.5.29.17'), octets(sequence(...names.map((name) => implicit(2, Buffer.from(name)))))),
          sequence(identifier('2.5.29.35'), octets(sequence(implicit(0, keyId)))),
        ),
      ),
    )
    const der = sequence(body, sequence(identifier(ECDSA_SHA256)), bits(sign('sha256', body, this.#key)))
    const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
    this.issued.push(pem)
    const id = `${keyId.toString('base64url')}.${Buffer.concat([Buffer.of(0), serial]).toString('base64url')}`
    this.#times.set(id, [now, now + this.lifeMs])
    return pem
  }

  #renewalInfo(id: string): Response {
    const times = this.#times.get(id)
    if (this.window === null || times === undefined) return this.#problem(404, 'malformed')
    const [start, end] = this.window(...times)
    const suggestedWindow = { start: new Date(start).toISOString(), end: new Date(end).toISOString() }
    const { explanation } = this
    return this.#json(explanation === null ? { suggestedWindow } : { suggestedWindow, explanationURL: explanation }, 200, {
      'retry-after': '21600',
    })
  }

  #fields(type = 'application/json'): Record<string, string> {
    const nonce = randomBytes(12).toString('base64url')
    this.#nonces.add(nonce)
    return { 'replay-nonce': nonce, 'content-type': type, ...(this.retryAfter === null ? {} : { 'retry-after': this.retryAfter }) }
  }

  #json(content: object, status = 200, more: Readonly<Record<string, string>> = {}): Response {
    return new Response(JSON.stringify(content), { status, headers: { ...this.#fields(), ...more } })
  }

  #problem(status: number, type: string): Response {
    return this.refuse(status, type, {})
  }

  /** For `intercept`. */
  refuse(status: number, type: string, more: Readonly<Record<string, string>>): Response {
    const problem = { type: `urn:ietf:params:acme:error:${type}`, detail: `it is ${type}` }
    return new Response(JSON.stringify(problem), { status, headers: { ...this.#fields('application/problem+json'), ...more } })
  }
}

function decoded(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

/** The key and the names of a request (RFC 2986). */
function requested(csr: Buffer): { readonly publicKey: Buffer; readonly names: readonly string[] } {
  const [body, , signature] = piecesOf(piecesOf(csr)[0]!.content)
  const [, , key, attributes] = piecesOf(body!.content)
  const publicKey = sequence(key!.content)
  const isSigned = verify(
    'sha256',
    sequence(body!.content),
    createPublicKey({ key: publicKey, format: 'der', type: 'spki' }),
    signature!.content.subarray(1),
  )
  assert.ok(isSigned, 'the request is signed with its key')
  const [, values] = piecesOf(piecesOf(attributes!.content)[0]!.content)
  const extension = piecesOf(piecesOf(values!.content)[0]!.content)[0]!
  const names = piecesOf(piecesOf(piecesOf(extension.content)[1]!.content)[0]!.content)
  return { publicKey, names: names.map(({ content }) => content.toString()) }
}
