// How senders sign: which fields have the signature, which bytes it covers, and the form of secrets.

import { Buffer } from 'node:buffer'
import { randomUUID } from 'node:crypto'

/** A signature that a request states. */
export interface Signature {
  /** The text that is signed before the body. */
  readonly prefix: string
  readonly encoding: 'hex' | 'base64'
  /** One for each secret of the sender. */
  readonly given: readonly string[]
  /** When it was made, in milliseconds since 1970; null if the scheme has no time. */
  readonly time: number | null
}

interface SigningScheme {
  /** The header fields that a request needs, for documents. */
  readonly fields: readonly string[]
  /** The key of a secret; null if the secret does not have the form of this scheme. */
  readonly keyOf: (secret: string) => Buffer | null
  /** The signature of a request; null if there is none, or if it has another form. */
  readonly signatureOf: (field: (name: string) => string | null) => Signature | null
  /** The fields that `signatureOf` reads. @param mac of a text and the body after it @param time in seconds since 1970 */
  readonly sign: (mac: (prefix: string, encoding: 'hex' | 'base64') => string, time: number) => Record<string, string>
}

const HEX = /^[\da-f]{64}$/i
const BASE64 = /^[\w+/]{43}=$/
const SECONDS = /^\d{1,12}$/
/** Standard Webhooks: from 24 to 64 bytes. */
const LEAST_KEY_BYTES = 24

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const standard: SigningScheme = {
  fields: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  keyOf(secret) {
    const text = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret
    const key = /^[\w+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null
    return key !== null && key.length >= LEAST_KEY_BYTES ? key : null
  },
  signatureOf(field) {
    const id = field('webhook-id')
    const time = field('webhook-timestamp')
    // Signatures of other versions are asymmetric.
    const given = (field('webhook-signature') ?? '').split(' ').flatMap((one) => (one.startsWith('v1,') ? one.slice('v1,'.length) : []))
    if (id === null || id === '' || time === null || !SECONDS.test(time) || given.length === 0) return null
    return { prefix: `${id}.${time}.`, encoding: 'base64', given: given.filter((one) => BASE64.test(one)), time: Number(time) * 1000 }
  },
  sign(mac, time) {
    const id = `msg_${randomUUID()}`
    return { 'webhook-id': id, 'webhook-timestamp': `${time}`, 'webhook-signature': `v1,${mac(`${id}.${time}.`, 'base64')}` }
  },
}

/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
const github: SigningScheme = {
  fields: ['X-Hub-Signature-256'],
  keyOf: (secret) => Buffer.from(secret),
  signatureOf(field) {
    const [, given] = /^sha256=([\da-f]{64})$/i.exec(field('x-hub-signature-256') ?? '') ?? []
    return given === undefined ? null : { prefix: '', encoding: 'hex', given: [given], time: null }
  },
  sign: (mac) => ({ 'X-Hub-Signature-256': `sha256=${mac('', 'hex')}` }),
}

/** https://docs.stripe.com/webhooks#verify-manually */
const stripe: SigningScheme = {
  fields: ['Stripe-Signature'],
  keyOf: (secret) => Buffer.from(secret),
  signatureOf(field) {
    const parts = (field('stripe-signature') ?? '').split(',').map((part) => part.trim().split('='))
    const valuesOf = (name: string): string[] => parts.flatMap(([key, value]) => (key === name && value !== undefined ? value : []))
    const [time, ...more] = valuesOf('t')
    const given = valuesOf('v1').filter((one) => HEX.test(one))
    if (time === undefined || more.length > 0 || !SECONDS.test(time) || given.length === 0) return null
    return { prefix: `${time}.`, encoding: 'hex', given, time: Number(time) * 1000 }
  },
  sign: (mac, time) => ({ 'Stripe-Signature': `t=${time},v1=${mac(`${time}.`, 'hex')}` }),
}

export const SCHEMES: Readonly<Record<'standard' | 'github' | 'stripe', SigningScheme>> = { standard, github, stripe }
