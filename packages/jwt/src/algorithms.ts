// Which algorithms tokens may be signed with, and which keys these need (RFC 7518 §3, RFC 8037).

import { createPublicKey, type KeyObject } from 'node:crypto'
import { invalid, option } from 'weirjs/kit'

const KEY_OF = {
  RS256: 'rsa',
  RS384: 'rsa',
  RS512: 'rsa',
  PS256: 'rsa',
  PS384: 'rsa',
  PS512: 'rsa',
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
  EdDSA: 'ed25519',
  Ed25519: 'ed25519',
  HS256: 32,
  HS384: 48,
  HS512: 64,
} as const
const LEAST_RSA_BITS = 2048

/** An algorithm of signatures. `none` is not one. */
export type JwtAlgorithm = keyof typeof KEY_OF

/** A JSON Web Key (RFC 7517 §4). */
export interface Jwk {
  readonly kty?: string
  readonly kid?: string
  readonly alg?: string
  readonly use?: string
  readonly key_ops?: readonly string[]
  readonly crv?: string
  readonly x?: string
  readonly y?: string
  readonly n?: string
  readonly e?: string
  readonly x5c?: readonly string[]
  readonly x5t?: string
}

/** @internal Those that the issuer signs with. */
export const ALGORITHMS = option.listOf(...(Object.keys(KEY_OF) as JwtAlgorithm[])).filled('no token could be accepted')

/** Whether there is one key for signing and verifying. */
function isSymmetric(algorithm: JwtAlgorithm): boolean {
  return typeof KEY_OF[algorithm] === 'number'
}

/** @param hasSecret whether tokens are verified with a secret @throws WEIR_OPTION_INVALID */
export function checkAlgorithms(algorithms: readonly JwtAlgorithm[], hasSecret: boolean): readonly JwtAlgorithm[] {
  for (const algorithm of algorithms) {
    if (isSymmetric(algorithm) && !hasSecret)
      throw invalid('jwt', `algorithms: ${algorithm} needs a secret. With public keys, everybody who has them could sign`)
    if (!isSymmetric(algorithm) && hasSecret) throw invalid('jwt', `algorithms: ${algorithm} needs publicKey or jwks, not a secret`)
  }
  return Object.freeze([...algorithms])
}

/** @throws WEIR_OPTION_INVALID for a secret that is shorter than the hash (RFC 7518 §3.2) */
export function checkSecret(secret: Uint8Array, algorithms: readonly JwtAlgorithm[]): Uint8Array {
  if (!(secret instanceof Uint8Array)) throw invalid('jwt', 'secret must be bytes: a Uint8Array or a Buffer. Decode a text first')
  for (const algorithm of algorithms) {
    const least = KEY_OF[algorithm] as number
    if (secret.length < least)
      throw invalid(
        'jwt',
        `secret has ${secret.length} bytes, and ${algorithm} needs at least ${least}: crypto.randomBytes(${least}) returns one`,
      )
  }
  return new Uint8Array(secret)
}

/** @throws WEIR_OPTION_INVALID for what is not a public key, or one of another kind than an algorithm needs */
export function checkPublicKey(key: string | KeyObject | Jwk, algorithms: readonly JwtAlgorithm[]): KeyObject {
  const publicKey = publicKeyOf(key)
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0, namedCurve } = {} } = publicKey
  const kind = type === 'ec' ? namedCurve : type
  for (const algorithm of algorithms)
    if (KEY_OF[algorithm] !== kind) throw invalid('jwt', `publicKey is of kind ${kind}, and ${algorithm} needs ${KEY_OF[algorithm]}`)
  if (type === 'rsa' && modulusLength < LEAST_RSA_BITS)
    throw invalid('jwt', `publicKey has ${modulusLength} bits, and RSA needs at least ${LEAST_RSA_BITS}`)
  return publicKey
}

/** The error does not show the key: it may be a private one. */
function publicKeyOf(key: string | KeyObject | Jwk): KeyObject {
  try {
    if (typeof key === 'string') return createPublicKey(key)
    if ('type' in key) return key.type === 'public' ? (key as KeyObject) : createPublicKey(key as KeyObject)
    return createPublicKey({ key: key as { kty: string }, format: 'jwk' })
  } catch {
    throw invalid('jwt', 'publicKey is not a public key: PEM, a KeyObject or a JWK is needed')
  }
}
