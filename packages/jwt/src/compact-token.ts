// The form of a signed token (RFC 7515 §7.1), checked before anything in it is used. Nothing here is trusted: it has not been verified.

import { Buffer } from 'node:buffer'
import type { JWTHeaderParameters } from 'jose'
import { CredentialsError } from 'weirjs/auth'

import type { JwtAlgorithm } from './algorithms.ts'

/** Three parts in base64url, none of them empty. An encrypted token has more parts, and a token without a signature has an empty one. */
const FORM = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
/** Header parameters with which a token names its own key. A client that could choose the key could sign any token (RFC 8725 §3.10). */
const KEYS_OF_ITS_OWN = ['jwk', 'jku', 'x5u', 'x5c'] as const

/** The header of a token, and the issuer that it names. @throws CredentialsError for another form, and for a header that is not allowed */
export function checkToken(
  token: string,
  algorithms: readonly JwtAlgorithm[],
): { readonly header: JWTHeaderParameters; readonly issuer: unknown } {
  const parts = FORM.exec(token)
  if (parts === null) throw new CredentialsError('it is not a signed token')
  const header = objectIn(parts[1]!)
  if (!algorithms.includes(header['alg'] as JwtAlgorithm)) throw new CredentialsError('the algorithm of the token is not accepted')
  for (const name of KEYS_OF_ITS_OWN)
    if (Object.hasOwn(header, name)) throw new CredentialsError(`the token brings its own key, in "${name}"`)
  if (Object.hasOwn(header, 'crit')) throw new CredentialsError('the token has critical extensions')
  if (Object.hasOwn(header, 'kid') && typeof header['kid'] !== 'string') throw new CredentialsError('"kid" of the token is not a text')
  return { header: header as unknown as JWTHeaderParameters, issuer: objectIn(parts[2]!)['iss'] }
}

/** @throws CredentialsError */
function objectIn(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // the same error
  }
  throw new CredentialsError('a part of the token is not a JSON object')
}
