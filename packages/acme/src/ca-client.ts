// Requests to a CA (RFC 8555 §6): each is signed with the key of the account, and has a nonce of the CA.

import { Buffer } from 'node:buffer'
import { createHash, createHmac, createPublicKey, type KeyObject, sign } from 'node:crypto'

import { type Clock, isInstance, isSecureUrl, parseHttpDate } from 'weirjs/kit'

import { pause } from './pause.ts'

const BAD_NONCE = 'urn:ietf:params:acme:error:badNonce'
const NO_ACCOUNT = 'urn:ietf:params:acme:error:accountDoesNotExist'
/** A CA under load, or one that tests its clients, refuses several in a row. */
const MOST_NONCES = 10
/** For a longer `Retry-After`, the attempt ends: the whole order is tried again then. */
const LONGEST_WAIT_MS = 30_000
const MOST_WAITS = 5
const TIMEOUT_MS = 30_000
const MOST_BYTES = 1 << 20
const MOST_NONCES_KEPT = 8
/** How long the directory is used: a CA may move, or support more. */
const DIRECTORY_MS = 86_400_000
/** A CA wants to know which programs it serves (RFC 8555 §6.1). */
const USER_AGENT = `weirjs-acme node/${process.versions.node}`
const JSON_TYPE = /^application\/(?:problem\+)?json\b/i

export interface ExternalAccount {
  readonly kid: string
  /** Base64url, as CAs show it. */
  readonly key: string
}

/** RFC 8555 §7.1.1. */
interface CaDirectory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
  readonly renewalInfo?: string
  readonly meta?: { readonly profiles?: Readonly<Record<string, string>>; readonly externalAccountRequired?: boolean }
}

/** The response to a request. */
interface CaResponse {
  readonly status: number
  readonly location: string | null
  /** Milliseconds; null if the CA states none. */
  readonly retryAfterMs: number | null
  readonly text: string
}

/** The CA refuses something (RFC 7807). */
export class CaRefusal extends Error {
  override readonly name = 'CaRefusal'
  readonly type: string
  readonly status: number
  readonly retryAfterMs: number | null

  constructor(url: string, { status, retryAfterMs, text }: CaResponse, isProblem: boolean) {
    const { type, detail } = isProblem ? problemIn(text) : { type: '', detail: '' }
    super(
      `${new URL(url).host} responded with ${status}${type === '' ? '' : ` ${type.replace(/^.*:/, '')}`}${detail === '' ? '' : `: ${detail}`}`,
    )
    this.type = type
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

/** The CA asks to try again, but not soon. */
export class CaDelay extends Error {
  override readonly name = 'CaDelay'
  readonly retryAfterMs: number

  constructor(url: string, retryAfterMs: number) {
    super(`${new URL(url).host} is not done yet`)
    this.retryAfterMs = retryAfterMs
  }
}

/** When the CA asks to try again after this error; null if it does not say. */
export function retryAfterOf(error: unknown): number | null {
  return isInstance(error, CaRefusal) || isInstance(error, CaDelay) ? error.retryAfterMs : null
}

interface ClientOptions {
  readonly directory: string
  readonly email: string | null
  readonly eab: ExternalAccount | null
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
}

export class CaClient {
  readonly #options: ClientOptions
  readonly #key: KeyObject
  readonly #jwk: Readonly<Record<string, string>>
  readonly #nonces: string[] = []
  #directory: CaDirectory | null = null
  /** When it was read, by the clock that never runs backwards. */
  #readAt = 0
  /** The URL of the account, once it is known. */
  #account: string | null = null

  /** @param key of the account */
  constructor(options: ClientOptions, key: KeyObject) {
    this.#options = options
    this.#key = key
    const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' }) as Record<string, string>
    this.#jwk = { crv: crv!, kty: kty!, x: x!, y: y! } // in the order of RFC 7638
  }

  /** The response to a challenge (RFC 8555 §8.1). */
  keyAuthorization(token: string): string {
    return `${token}.${createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url')}`
  }

  async directory(signal: AbortSignal): Promise<CaDirectory> {
    const { directory, clock } = this.#options
    if (this.#directory === null || clock.now() - this.#readAt >= DIRECTORY_MS) {
      this.#directory = checkedDirectory(await this.get(directory, signal), directory)
      this.#readAt = clock.now()
    }
    return this.#directory
  }

  /** An unsigned request: for the directory and renewal information alone. */
  async get(url: string, signal: AbortSignal): Promise<CaResponse> {
    const { response, isProblem } = await this.#fetch(url, { headers: { accept: 'application/json' } }, signal)
    if (response.status !== 200) throw new CaRefusal(url, response, isProblem)
    return response
  }

  /** POST-as-GET: the object at this URL. */
  async read<T>(url: string, signal: AbortSignal): Promise<{ readonly object: T; readonly retryAfterMs: number | null }> {
    const { text, retryAfterMs } = await this.post(url, null, signal)
    return { object: objectIn(text, url) as T, retryAfterMs }
  }

  /** @param payload null: POST-as-GET */
  async post(url: string, payload: object | null, signal: AbortSignal): Promise<CaResponse> {
    const known = this.#account
    this.#account = known ?? (await this.#openAccount(signal))
    try {
      return await this.#send(url, payload, { kid: this.#account }, signal)
    } catch (error) {
      // A CA that has lost its accounts opens another one for the same key.
      if (known === null || !isInstance(error, CaRefusal) || error.type !== NO_ACCOUNT) throw error
      this.#account = null
      return this.post(url, payload, signal)
    }
  }

  /** Returns the account of the key if there is one. The person who runs the program has agreed to the terms of the CA. */
  async #openAccount(signal: AbortSignal): Promise<string> {
    const { newAccount, meta } = await this.directory(signal)
    const { email, eab } = this.#options
    if (meta?.externalAccountRequired === true && eab === null)
      throw new Error(`${new URL(newAccount).host} requires an account of its own: set eab`)
    const payload = {
      termsOfServiceAgreed: true,
      ...(email === null ? {} : { contact: [`mailto:${email}`] }),
      ...(eab === null ? {} : { externalAccountBinding: this.#bind(newAccount, eab) }),
    }
    const { location } = await this.#send(newAccount, payload, { jwk: this.#jwk }, signal)
    if (location === null) throw new Error(`${new URL(newAccount).host} did not state the URL of the account`)
    return location
  }

  /** RFC 8555 §7.3.4. */
  #bind(url: string, { kid, key }: ExternalAccount): object {
    const head = encoded({ alg: 'HS256', kid, url })
    const payload = encoded(this.#jwk)
    const signature = createHmac('sha256', Buffer.from(key, 'base64url')).update(`${head}.${payload}`).digest('base64url')
    return { protected: head, payload, signature }
  }

  async #send(url: string, payload: object | null, by: object, signal: AbortSignal): Promise<CaResponse> {
    let nonces = 0
    let waits = 0
    for (;;) {
      const head = encoded({ alg: 'ES256', nonce: this.#nonces.pop() ?? (await this.#newNonce(signal)), url, ...by })
      const body = payload === null ? '' : encoded(payload)
      const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key: this.#key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
      const { response, isProblem } = await this.#fetch(
        url,
        {
          method: 'POST',
          headers: { 'content-type': 'application/jose+json', accept: 'application/json, application/pem-certificate-chain' },
          body: JSON.stringify({ protected: head, payload: body, signature }),
        },
        signal,
      )
      if (response.status < 400) return response
      const refusal = new CaRefusal(url, response, isProblem)
      const { retryAfterMs } = refusal
      if (refusal.type === BAD_NONCE && ++nonces < MOST_NONCES) continue
      const isBusy = (refusal.status === 429 || refusal.status === 503) && retryAfterMs !== null && retryAfterMs <= LONGEST_WAIT_MS
      if (!isBusy || ++waits > MOST_WAITS) throw refusal
      await pause(this.#options.clock, retryAfterMs, signal)
    }
  }

  async #newNonce(signal: AbortSignal): Promise<string> {
    const { newNonce } = await this.directory(signal)
    await this.#fetch(newNonce, { method: 'HEAD' }, signal)
    const nonce = this.#nonces.pop()
    if (nonce === undefined) throw new Error(`${new URL(newNonce).host} gave no nonce`)
    return nonce
  }

  async #fetch(url: string, init: RequestInit, signal: AbortSignal): Promise<{ response: CaResponse; isProblem: boolean }> {
    if (!isSecureUrl(new URL(url))) throw new Error(`${url} is not https`)
    const { fetch, clock } = this.#options
    const ending = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    let response: Response
    try {
      const headers = { 'user-agent': USER_AGENT, ...(init.headers as Record<string, string>) }
      response = await fetch(url, { ...init, headers, redirect: 'error', signal: ending })
    } catch (error) {
      signal.throwIfAborted()
      throw new Error(`${new URL(url).host} cannot be reached: ${reasonOf(error)}`)
    }
    const nonce = response.headers.get('replay-nonce')
    if (nonce !== null && /^[\w-]{1,256}$/.test(nonce)) this.#nonces.push(nonce)
    if (this.#nonces.length > MOST_NONCES_KEPT) this.#nonces.shift()
    return {
      response: {
        status: response.status,
        location: response.headers.get('location'),
        retryAfterMs: waitIn(response.headers.get('retry-after'), clock),
        text: await textOf(response, url),
      },
      isProblem: JSON_TYPE.test(response.headers.get('content-type') ?? ''),
    }
  }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** @throws Error if it is not a JSON object */
export function objectIn(text: string, url: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {}
  throw new Error(`${url} is no object in JSON`)
}

function problemIn(text: string): { type: string; detail: string } {
  try {
    const { type, detail, subproblems } = JSON.parse(text) as Record<string, unknown>
    const inner = Array.isArray(subproblems)
      ? (subproblems as { detail?: unknown }[]).map((one) => one?.detail).filter((one) => typeof one === 'string')
      : []
    const words = [...(typeof detail === 'string' ? [detail] : []), ...inner].join('; ')
    return { type: typeof type === 'string' ? type : '', detail: words }
  } catch {
    return { type: '', detail: '' }
  }
}

const LONGEST_DETAIL = 1_000

/** For logs and people: one short line, whatever the CA has sent. */
export function printable(text: string): string {
  return text.slice(0, LONGEST_DETAIL).replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ')
}

function checkedDirectory({ text }: CaResponse, url: string): CaDirectory {
  const directory = objectIn(text, url) as CaDirectory
  for (const name of ['newNonce', 'newAccount', 'newOrder'] as const)
    if (typeof directory[name] !== 'string' || !URL.canParse(directory[name]))
      throw new Error(`${url} is no directory of an ACME server: it has no ${name}`)
  return directory
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function waitIn(text: string | null, clock: Clock): number | null {
  if (text === null) return null
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const date = parseHttpDate(text, clock.wallTime())
  return date === null ? null : Math.max(0, Number(date) - clock.wallTime())
}

async function textOf(response: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new Error(`${url} has more than ${MOST_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The cause of an error: the message `fetch failed` alone says nothing. */
function reasonOf(error: unknown): string {
  const cause = isInstance(error, Error) ? (error as Error & { cause?: unknown }).cause : undefined
  const told = isInstance(cause, Error) ? cause : error
  return isInstance(told, Error) ? told.message || ((told as NodeJS.ErrnoException).code ?? told.name) : String(told)
}
