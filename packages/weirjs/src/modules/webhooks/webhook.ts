// `weirjs/webhooks`: bodies that other services send, and sign. They are verified over the bytes that arrived, before anything parses them.

import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Duration } from '../../base/duration.ts'
import { WeirError } from '../../base/errors.ts'
import { keepNewest } from '../../base/keep-newest.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { anything, duration, oneOf, readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import { json } from '../../http/body/schema-body.ts'
import type { TypedBody } from '../../http/body/typed-body.ts'
import { verified } from '../../http/body/verified-body.ts'
import type { AnySchema, InputOf, OutputOf, StandardSchema } from '../../schema/standard.ts'
import { SCHEMES, type Signature } from './schemes.ts'

/** Over HTTP/2, a client may send a long field by reference again and again, for a few bytes each. */
const MOST_FIELD_LENGTH = 8_192

export interface WebhookOptions<S extends AnySchema = StandardSchema> {
  /**
   * How the sender signs. `standard`: Standard Webhooks, with the fields webhook-id, webhook-timestamp and webhook-signature. `github`:
   * X-Hub-Signature-256. `stripe`: Stripe-Signature.
   */
  readonly scheme: 'standard' | 'github' | 'stripe'
  /**
   * The secrets that may have signed a request, in the form in which the sender shows them. With several, one can be replaced while the sender still
   * uses another: add the new one here first.
   */
  readonly secrets: readonly string[]
  /** The schema of the body. It is read as JSON. Default: any JSON value. */
  readonly body?: S
  /**
   * How far the time in a signature may be from the server's, in both directions. GitHub signs no time. Default 5 minutes, which the senders
   * recommend.
   */
  readonly tolerance?: Duration
}

/** @internal */
export const WEBHOOK_RULES = rules<WebhookOptions>('webhook')({
  scheme: oneOf('standard', 'github', 'stripe'),
  secrets: readBy(secretsOf),
  body: anything().optional('any JSON'),
  tolerance: duration({ leastNumber: 1_000 }).or('5m'),
})

/** How many requests are remembered, to refuse those that are sent again. Only requests with a valid signature are. */
const MOST_REMEMBERED = 10_000
/** A request has as many signatures as the sender has secrets. */
const MOST_SIGNATURES = 32

/** Any value, which documents describe by an empty schema. */
const ANY_JSON: StandardSchema & { readonly '~standard': { readonly jsonSchema: unknown } } = {
  '~standard': {
    version: 1,
    vendor: 'weir',
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({}), output: () => ({}) },
  },
}

/**
 * Returns a body for a route: JSON that a known sender has signed. A request without a signature of one of the secrets is refused with 401; one
 * whose time is not within `tolerance`, or which has been received before, with 400. All routes of a server remember together what they have
 * received: the last 10,000 requests of each secret. One whose response was a 5xx may come again.
 *
 * GitHub signs no time and no id, so anyone who has seen a request of GitHub can send it again.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function webhook<S extends AnySchema = StandardSchema>(
  options: WebhookOptions<S>,
): TypedBody<OutputOf<S>, InputOf<S>> & {
  /**
   * For tests: returns the header fields of a request with this body, signed with the first of the secrets.
   * @param body exactly as it is sent @param at default: now
   * @throws WEIR_OPTION_INVALID for a body that is an object
   */
  sign(body: string | Uint8Array, at?: Date): Record<string, string>
} {
  const { scheme, secrets, body = ANY_JSON, tolerance } = WEBHOOK_RULES.read(options as WebhookOptions)
  const { keyOf, signatureOf, sign, fields } = SCHEMES[scheme]
  const keys = secrets.map((secret, i) => keyOf(secret) ?? refuseSecret(scheme, i))
  const checked = verified(json(body as S), (request) => {
    const signature = signatureOf((name) => shortField(request.field(name)))
    if (signature === null) throw unsigned(scheme, 'the request has no signature, or one of another form')
    const macs = expectedMacs(signature, keys, request.bytes)
    if (!macs.some(({ isGiven }) => isGiven)) throw unsigned(scheme, 'no secret fits the signature')
    if (signature.time === null) return
    if (Math.abs(request.now - signature.time) > tolerance)
      throw new WeirError('WEIR_WEBHOOK_STALE', 'its time is not within the tolerance')
    request.onFailure(remember(memoriesOf(request.server, keys), macs))
  })
  // For documents, as `describe` of a policy returns it.
  const parameters = fields.map((name) => ({ name, in: 'header', required: true, schema: { type: 'string' } }))
  const signer = {
    sign(bytes: string | Uint8Array, at = new Date()): Record<string, string> {
      if (typeof bytes !== 'string' && !(bytes instanceof Uint8Array))
        throw invalid('sign()', `the body is ${kindOf(bytes)}, not the text that is sent: write JSON.stringify(…)`)
      const seconds = Math.floor(at.getTime() / 1000)
      const signed = sign((prefix, encoding) => createHmac('sha256', keys[0]!).update(prefix).update(bytes).digest(encoding), seconds)
      return { 'Content-Type': 'application/json', ...signed }
    },
  }
  return Object.assign(checked, signer, { description: { refuses: [401], parameters } })
}

/** The signature of a request by a key. */
interface Mac {
  readonly text: string
  /** Whether the request states it. */
  readonly isGiven: boolean
}

/**
 * The signatures of a request by all keys. All are remembered: a request that is sent again with another one of its signatures, or to a route that
 * knows only some of the secrets, is the same.
 */
function expectedMacs({ prefix, encoding, given }: Signature, keys: readonly Buffer[], bytes: Uint8Array): readonly Mac[] {
  const macs = given.slice(0, MOST_SIGNATURES).map((text) => Buffer.from(text, encoding))
  return keys.map((key) => {
    const made = createHmac('sha256', key).update(prefix).update(bytes).digest()
    const isGiven = macs.some((mac) => mac.length === made.length && timingSafeEqual(mac, made))
    return { text: made.toString('base64'), isGiven }
  })
}

/**
 * The signatures of received requests by one key. They can be forgotten once their time is no longer accepted. Those of requests that others have
 * signed are apart: one sender must not have the requests of another forgotten.
 */
interface Memory {
  readonly own: Set<string>
  readonly others: Set<string>
}
/** The memories of a server, by key: a request that was sent to one of its routes is not accepted at another. */
const memories = new WeakMap<object, Map<string, Memory>>()

/** The memories of the keys, in their order. */
function memoriesOf(server: object, keys: readonly Buffer[]): readonly Memory[] {
  let ofServer = memories.get(server)
  if (ofServer === undefined) memories.set(server, (ofServer = new Map()))
  return keys.map((key) => {
    const name = key.toString('base64')
    let memory = ofServer.get(name)
    if (memory === undefined) ofServer.set(name, (memory = { own: new Set(), others: new Set() }))
    return memory
  })
}

/** @returns a function that forgets it @throws WEIR_WEBHOOK_STALE if it is known */
function remember(all: readonly Memory[], macs: readonly Mac[]): () => void {
  if (macs.some(({ text }, i) => all[i]!.own.has(text) || all[i]!.others.has(text)))
    throw new WeirError('WEIR_WEBHOOK_STALE', 'it has been received before')
  const places = macs.map(({ isGiven }, i) => (isGiven ? all[i]!.own : all[i]!.others))
  for (const [i, place] of places.entries()) {
    place.add(macs[i]!.text)
    keepNewest(place, MOST_REMEMBERED)
  }
  return () => {
    for (const [i, place] of places.entries()) place.delete(macs[i]!.text)
  }
}

function unsigned(scheme: string, detail: string): WeirError {
  return new WeirError('WEIR_WEBHOOK_UNSIGNED', detail, { headers: { 'WWW-Authenticate': `Webhook scheme="${scheme}"` } })
}

/** @throws WEIR_OPTION_INVALID, without the secret */
function secretsOf(secrets: unknown, owner: string): readonly string[] {
  if (!Array.isArray(secrets))
    throw invalid(owner, `secrets is ${typeof secrets === 'string' ? 'a text' : shown(secrets)}, not a list of texts`)
  if (secrets.length === 0) throw invalid(owner, 'secrets is empty: give at least one')
  for (const [i, secret] of secrets.entries())
    if (typeof secret !== 'string' || secret === '')
      throw invalid(owner, `secrets[${i}] is ${secret === '' ? 'empty' : kindOf(secret)}, not the text that the sender shows`)
  return secrets as readonly string[]
}

function refuseSecret(scheme: string, index: number): never {
  throw invalid('webhook', `secrets[${index}] is not a secret of the scheme "${scheme}": "whsec_" and at least 24 bytes in base64`)
}

/** Null for a field that is longer than any signature. */
function shortField(value: string | null): string | null {
  return value !== null && value.length <= MOST_FIELD_LENGTH ? value : null
}
