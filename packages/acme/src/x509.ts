// Certificate requests (RFC 2986), and self-signed certificates: for challenges, and until there is a real one.

import { Buffer } from 'node:buffer'
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

import { bits, explicit, identifier, implicit, integer, octets, sequence, set, time, utf8, yes } from './der.ts'
import { addressBytes, type Identifier } from './identifiers.ts'

const ECDSA_SHA256 = '1.2.840.10045.4.3.2'
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const SUBJECT_ALT_NAME = '2.5.29.17'
const COMMON_NAME = '2.5.4.3'
/** RFC 8737 §6.1. */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
const DAY_MS = 86_400_000

/** A key and the certificate for it, as PEM. */
export interface Pair {
  readonly key: string
  readonly cert: string
}

/** P-256, which all CAs and clients know. */
export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

export function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** A request for a certificate of these names, signed with its key, as DER. */
export function signingRequest(identifiers: readonly Identifier[], key: KeyObject): Buffer {
  const extensions = sequence(altNames(identifiers))
  const attributes = explicit(0, sequence(identifier(EXTENSION_REQUEST), set(extensions)))
  return signed(sequence(integer(Buffer.of(0)), sequence(), publicKeyOf(key), attributes), key)
}

/** The certificate that clients get until there is a real one: the handshake succeeds for clients that trust any certificate. */
export function placeholder(nowMs: number): Pair {
  return selfSigned([], [], nowMs)
}

/** The certificate of a tls-alpn-01 challenge (RFC 8737 §3). */
export function challengeCertificate(identified: Identifier, keyAuthorization: string, nowMs: number): Pair {
  const digest = createHash('sha256').update(keyAuthorization).digest()
  return selfSigned([identified], [sequence(identifier(ACME_IDENTIFIER), yes(), octets(octets(digest)))], nowMs)
}

function selfSigned(identifiers: readonly Identifier[], extensions: readonly Buffer[], nowMs: number): Pair {
  const key = newKey()
  const name = sequence(set(sequence(identifier(COMMON_NAME), utf8('no certificate yet'))))
  const all = identifiers.length === 0 ? extensions : [altNames(identifiers), ...extensions]
  const body = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    sequence(identifier(ECDSA_SHA256)),
    name,
    sequence(time(nowMs - DAY_MS), time(nowMs + 7 * DAY_MS)),
    name,
    publicKeyOf(key),
    ...(all.length === 0 ? [] : [explicit(3, sequence(...all))]),
  )
  const cert = signed(body, key)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')
  return { key: pemOf(key), cert: `-----BEGIN CERTIFICATE-----\n${cert}\n-----END CERTIFICATE-----\n` }
}

function signed(body: Buffer, key: KeyObject): Buffer {
  return sequence(body, sequence(identifier(ECDSA_SHA256)), bits(sign('sha256', body, key)))
}

function altNames(identifiers: readonly Identifier[]): Buffer {
  const names = identifiers.map(({ type, value }) => (type === 'dns' ? implicit(2, Buffer.from(value)) : implicit(7, addressBytes(value))))
  return sequence(identifier(SUBJECT_ALT_NAME), octets(sequence(...names)))
}

function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}
