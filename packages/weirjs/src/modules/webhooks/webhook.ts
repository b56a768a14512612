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
  tolerance: duration().or('5m'),
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
 * whose time is not within `tolerance`, or which has been received before, with 400. Received requests are remembered in this process, the last
 * 10,000, for as long as their time is accepted.
 *
 * GitHub signs no time and no id, so a request of GitHub can be sent again by whoever has seen it.
 *
 * @throws WEIR_OPTION_INVALID
 */
export function webhook<S extends AnySchema = StandardSchema>(options: WebhookOptions<S>): TypedBody<OutputOf<S>, InputOf<S>> {
  const { scheme, secrets, body = ANY_JSON, tolerance } = WEBHOOK_RULES.read(options as WebhookOptions)
  const { keyOf, signatureOf } = SCHEMES[scheme]
  const keys = secrets.map((secret, i) => keyOf(secret) ?? refuseSecret(scheme, i))
  const received = new Map<string, number>()

  return verified(json(body as S), (request) => {
    const signature = signatureOf((name) => request.field(name))
    if (signature === null) throw unsigned(scheme, 'the request has no signature, or one of another form')
    const mac = matching(signature, keys, request.bytes)
    if (mac === null) throw unsigned(scheme, 'no secret fits the signature')
    if (signature.time === null) return
    if (Math.abs(request.now - signature.time) > tolerance)
      throw new WeirError('WEIR_WEBHOOK_STALE', 'its time is not within the tolerance')
    remember(received, mac, signature.time + tolerance, request.now)
  })
}

/**
 * What a request is remembered by, if one of the keys has made one of its signatures; null if none has. It does not depend on which: a request that is
 * sent again with only one of its signatures is the same.
 */
function matching({ prefix, encoding, given }: Signature, keys: readonly Buffer[], bytes: Uint8Array): string | null {
  const macs = given.slice(0, MOST_SIGNATURES).map((text) => Buffer.from(text, encoding))
  const expected = keys.map((key) => createHmac('sha256', key).update(prefix).update(bytes).digest())
  const fits = (made: Buffer): boolean => macs.some((mac) => mac.length === made.length && timingSafeEqual(mac, made))
  return expected.some(fits) ? expected[0]!.toString('base64') : null
}

/** @throws WEIR_WEBHOOK_STALE if it is known */
function remember(received: Map<string, number>, mac: string, until: number, now: number): void {
  if ((received.get(mac) ?? 0) >= now) throw new WeirError('WEIR_WEBHOOK_STALE', 'it has been received before')
  received.delete(mac)
  received.set(mac, until)
  keepNewest(received, MOST_REMEMBERED)
}

function unsigned(scheme: string, detail: string): WeirError {
  return new WeirError('WEIR_WEBHOOK_UNSIGNED', detail, { headers: { 'WWW-Authenticate': `Webhook scheme="${scheme}"` } })
}

/** @throws WEIR_OPTION_INVALID, without the secret */
function secretsOf(secrets: unknown, owner: string): readonly string[] {
  if (!Array.isArray(secrets))
    throw invalid(owner, `secrets is ${typeof secrets === 'string' ? 'a text' : shown(secrets)}, not a list of texts`)
  if (secrets.length === 0) throw invalid(owner, 'secrets is empty')
  for (const [i, secret] of secrets.entries())
    if (typeof secret !== 'string' || secret === '')
      throw invalid(owner, `secrets[${i}] is ${secret === '' ? 'empty' : kindOf(secret)}, not the text that the sender shows`)
  return secrets as readonly string[]
}

function refuseSecret(scheme: string, index: number): never {
  throw invalid('webhook', `secrets[${index}] is not a secret of the scheme "${scheme}": "whsec_" and at least 24 bytes in base64`)
}
